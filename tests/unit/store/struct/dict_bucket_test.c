/* dict_bucket: one bucket against an array, with more elements than a table ever gives it. */
#include "store/mem/mem.h"
#include "store/struct/dict_bucket.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { MOST = LINE_SLOTS + UINT8_MAX };

static char elements[1 << 16]; /* only their addresses count */

static struct slot draw(struct rng *rng)
{
    return (struct slot){ tag_of(rng_next(rng)), &elements[rng_below(rng, sizeof(elements))] };
}

static void assert_holds(const struct dict_bucket *bucket, const struct slot *wanted,
                         unsigned count)
{
    bucket_check(bucket);
    ck_assert_uint_eq(bucket_count(bucket), count);
    for (unsigned i = 0; i < count; i++) {
        struct slot slot = bucket_get(bucket, i);
        ck_assert_uint_eq(slot.tag, wanted[i].tag);
        ck_assert_ptr_eq(slot.element, wanted[i].element);
        if (i >= LINE_SLOTS) ck_assert(overflow_may_have(bucket, slot.tag));
    }
}

START_TEST(random_programs_match_array)
{
    enum { STEPS = 16000 };
    struct dict_bucket bucket = { 0 };
    struct slot slots[MOST];
    struct rng rng;
    size_t bytes = 0;
    unsigned count = 0;
    rng_init(&rng, test_seed());
    for (int i = 0; i < STEPS; i++) {
        bool growing = (i / 1000) % 2 == 0;
        struct slot slot = draw(&rng);
        if (count > 0 && rng_chance(&rng, 30)) {
            unsigned position = (unsigned)rng_below(&rng, count);
            bucket_put(&bucket, position, slots[position] = slot);
        } else if (count < MOST && growing == !rng_chance(&rng, 20)) {
            bucket_append(&bucket, slots[count++] = slot, &bytes);
        } else if (count > 0) {
            struct slot last = bucket_pop(&bucket, &bytes);
            ck_assert_ptr_eq(last.element, slots[--count].element);
            ck_assert_uint_eq(last.tag, slots[count].tag);
        }
        if (i % 16 == 0) assert_holds(&bucket, slots, count);
        ck_assert_uint_eq(bytes, bucket_overflow_bytes(&bucket));
        ck_assert_uint_ge(mem_used(), bytes);
    }
    bucket_clear(&bucket, &bytes);
    assert_holds(&bucket, slots, 0);
    ck_assert_uint_eq(bytes, 0);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(tags_equal_compares_all_tags_exactly)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int i = 0; i < 20000; i++) {
        uint64_t tags = 0, wanted = 0;
        uint8_t tag = (uint8_t)rng_below(&rng, 256);
        for (unsigned at = 0; at < LINE_SLOTS; at++) {
            /* Near tags too, to detect a carry from a neighbour. */
            uint8_t other = (uint8_t)(rng_chance(&rng, 50) ? tag + rng_below(&rng, 3) - 1
                                                           : rng_below(&rng, 256));
            tags |= (uint64_t)other << 8 * at;
            wanted |= (uint64_t)(other == tag) << (8 * at + 7);
        }
        ck_assert_uint_eq(tags_equal(tags, tag), wanted);
        if (wanted == 0) continue;
        ck_assert_uint_eq((uint8_t)(tags >> 8 * first_position(wanted)), tag);
    }
}
END_TEST

START_TEST(tag_is_never_zero)
{
    ck_assert_uint_eq(tag_of(0), 1);
    for (uint64_t top = 1; top < 256; top++)
        ck_assert_uint_eq(tag_of(top << TAG_SHIFT), top);
}
END_TEST

START_TEST(a_bucket_holds_more_elements_than_16_bits_count)
{
    enum { COUNT = LINE_SLOTS + UINT16_MAX + 20, LEFT = LINE_SLOTS + UINT16_MAX - 20 };
    struct dict_bucket bucket = { 0 };
    static struct slot slots[COUNT];
    struct rng rng;
    size_t bytes = 0;
    rng_init(&rng, test_seed());
    for (unsigned i = 0; i < COUNT; i++) {
        bucket_append(&bucket, slots[i] = draw(&rng), &bytes);
        ck_assert_uint_eq(bytes, bucket_overflow_bytes(&bucket));
        if (i >= LEFT) assert_holds(&bucket, slots, i + 1);
    }
    bucket_put(&bucket, LINE_SLOTS, slots[LINE_SLOTS] = draw(&rng));
    bucket_put(&bucket, COUNT - 1, slots[COUNT - 1] = draw(&rng));
    for (unsigned i = COUNT; i > LEFT; i--) {
        assert_holds(&bucket, slots, i);
        struct slot last = bucket_pop(&bucket, &bytes);
        ck_assert_ptr_eq(last.element, slots[i - 1].element);
        ck_assert_uint_eq(bytes, bucket_overflow_bytes(&bucket));
    }
    assert_holds(&bucket, slots, LEFT);
    bucket_clear(&bucket, &bytes);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_programs_match_array,
        a_bucket_holds_more_elements_than_16_bits_count,
        tags_equal_compares_all_tags_exactly,
        tag_is_never_zero,
        NULL,
    };
    return suite_of("dict_bucket", tests);
}
