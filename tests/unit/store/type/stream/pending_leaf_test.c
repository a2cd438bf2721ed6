/* pending_leaf: the forms of records at their limits, positions, summaries, memory. */
#include "store/type/stream/pending_leaf.h"

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static const struct pending_record plain = { { 1000, 5 }, 2000, 1, 1 };

static void assert_record(const struct pending_leaf *leaf, unsigned i,
                          const struct pending_record *record)
{
    struct pending_record found;
    pending_leaf_get(leaf, i, &found);
    ck_assert(stream_id_equal(found.id, record->id));
    ck_assert_int_eq(found.at, record->at);
    ck_assert_uint_eq(found.deliveries, record->deliveries);
    ck_assert_uint_eq(found.consumer, record->consumer);
}

/* The bytes of a leaf of `plain` and this record, which comes after it; both can be read again,
 * whether they come at once or one after the other. */
static size_t bytes_with(const struct pending_record *record)
{
    const struct pending_record both[] = { plain, *record };
    size_t bytes = 0, grown = 0;
    struct pending_leaf *leaf = pending_leaf_new(both, 2, &bytes);
    pending_leaf_check(leaf);
    assert_record(leaf, 0, &plain);
    assert_record(leaf, 1, record);
    struct pending_leaf *other = pending_leaf_new(&plain, 1, &grown);
    other = pending_leaf_insert(other, 1, record, &grown);
    pending_leaf_check(other);
    assert_record(other, 0, &plain);
    assert_record(other, 1, record);
    ck_assert_uint_eq(bytes, mem_size(leaf));
    ck_assert_uint_eq(grown, mem_size(other));
    ck_assert_uint_eq(bytes + grown, mem_used());
    size_t result = bytes;
    pending_leaf_free(leaf, &bytes);
    pending_leaf_free(other, &grown);
    ck_assert_uint_eq(bytes + grown, 0);
    return result;
}

enum {
    HEAD = sizeof(struct pending_leaf),
    NARROW = HEAD + 2 * 16,
    WIDE = HEAD + 2 * 32,
    HUGEST = HEAD + 2 * 40
};

START_TEST(records_take_16_32_or_40_bytes)
{
    const uint64_t high = UINT32_MAX;
    const struct {
        struct pending_record record;
        size_t bytes;
    } cases[] = {
        { { { 1000, 6 }, 2000, 1, 1 }, NARROW },
        { { { 1000, high }, 0, 0, 0 }, NARROW },
        { { { 1000, high + 1 }, 0, 0, 0 }, WIDE },
        { { { 1000 + high, 0 }, 2000, 4095, (1 << 20) - 1 }, NARROW },
        { { { 1001 + high, 0 }, 2000, 1, 1 }, WIDE },
        { { { 1001, 0 }, 2000, 4096, 1 }, WIDE },
        { { { 1001, 0 }, 2000, 1, 1 << 20 }, WIDE },
        { { { 1001, 0 }, 2000 + UINT32_MAX, 1, 1 }, NARROW },
        { { { 1001, 0 }, 2001 + (msec)UINT32_MAX, 1, 1 }, WIDE },
        { { { 1001, 0 }, 2000 - (msec)UINT32_MAX, 1, 1 }, NARROW },
        { { { 1001, 0 }, 1999 - (msec)UINT32_MAX, 1, 1 }, WIDE },
        { { { 1001, 0 }, INSTANT_MAX, high, UINT32_MAX }, WIDE },
        { { { 1001, 0 }, 2000, high + 1, 1 }, HUGEST },
        { { STREAM_ID_MAX, NEVER, UINT64_MAX, UINT32_MAX }, HUGEST },
        { { STREAM_ID_MAX, INT64_MIN, UINT64_MAX, 0 }, HUGEST },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        ck_assert_msg(bytes_with(&cases[i].record) == cases[i].bytes, "case %zu: %zu bytes", i,
                      bytes_with(&cases[i].record));
}
END_TEST

START_TEST(full_leaf_of_small_records_fits_the_pool)
{
    struct pending_record records[PENDING_LEAF_MAX];
    size_t bytes = 0;
    for (unsigned i = 0; i < PENDING_LEAF_MAX; i++)
        records[i] = (struct pending_record){ { i, 0 }, i, 1, 1 };
    struct pending_leaf *leaf = pending_leaf_new(records, PENDING_LEAF_MAX, &bytes);
    ck_assert_uint_le(bytes, 1024);
    pending_leaf_free(leaf, &bytes);
}
END_TEST

START_TEST(position_is_found_for_any_id)
{
    const struct pending_record records[] = {
        { { 10, 1 }, 0, 1, 1 },
        { { 10, 5 }, 0, 1, 1 },
        { { 12, UINT32_MAX }, 0, 1, 1 },
    };
    const struct {
        struct stream_id id;
        unsigned from;
    } cases[] = {
        { { 0, 0 }, 0 },
        { { 10, 1 }, 0 },
        { { 10, 2 }, 1 },
        { { 10, UINT64_MAX }, 2 },
        { { 11, UINT64_C(1) << 32 }, 2 },
        { { 12, UINT32_MAX }, 2 },
        { { 12, UINT64_C(1) << 32 }, 3 },
        { { UINT64_C(10) + UINT32_MAX, UINT64_MAX }, 3 },
        { { UINT64_MAX, UINT64_MAX }, 3 },
        { { UINT64_MAX, 0 }, 3 },
    };
    size_t bytes = 0;
    struct pending_leaf *leaf = pending_leaf_new(records, 3, &bytes);
    for (int wide = 0; wide < 2; wide++) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
            ck_assert_uint_eq(pending_leaf_from(leaf, cases[i].id), cases[i].from);
        const struct pending_record again = { { 10, 5 }, 0, 1 << 12, 1 };
        leaf = pending_leaf_set(leaf, 1, &again, &bytes);
        assert_record(leaf, 1, &again);
        pending_leaf_check(leaf);
    }
    pending_leaf_free(leaf, &bytes);
    ck_assert_uint_eq(bytes, 0);
}
END_TEST

/* Adds at the end and removes at the front, and the other way round, at each fill. */
START_TEST(leaf_moves_in_both_directions_at_each_fill)
{
    for (unsigned fill = 1; fill < PENDING_LEAF_MAX; fill++) {
        size_t bytes = 0;
        struct pending_record record = { { 500, 0 }, 0, 1, 1 };
        struct pending_leaf *leaf = pending_leaf_new(&record, 1, &bytes);
        for (unsigned i = 1; i < 200; i++) {
            bool at_end = i < 100;
            record.id.ms = at_end ? 500 + i : 500 - i;
            leaf = pending_leaf_insert(leaf, at_end ? leaf->count : 0, &record, &bytes);
            if (leaf->count > fill)
                leaf = pending_leaf_remove(leaf, at_end ? 0 : leaf->count - 1U, &bytes);
            pending_leaf_check(leaf);
            ck_assert_uint_eq(bytes, mem_used());
        }
        ck_assert_uint_eq(leaf->count, fill);
        pending_leaf_get(leaf, 0, &record);
        ck_assert_uint_eq(record.id.ms, 500 - 199);
        pending_leaf_get(leaf, fill - 1, &record);
        ck_assert_uint_eq(record.id.ms, 500 - 199 + fill - 1);
        pending_leaf_free(leaf, &bytes);
    }
}
END_TEST

START_TEST(summary_without_a_record_is_that_of_the_rest)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 300; round++) {
        struct pending_record records[PENDING_LEAF_MAX];
        unsigned count = 2 + (unsigned)rng_below(&rng, PENDING_LEAF_MAX - 1);
        size_t bytes = 0;
        for (unsigned i = 0; i < count; i++)
            records[i] = (struct pending_record){
                { i, 0 }, rng_between(&rng, 0, 9), 1, (uint32_t)rng_below(&rng, 4) * 21
            };
        struct pending_leaf *leaf = pending_leaf_new(records, count, &bytes);
        struct pending_summary before = pending_leaf_summary(leaf);
        unsigned gone = (unsigned)rng_below(&rng, count);
        leaf = pending_leaf_remove(leaf, gone, &bytes);
        struct pending_summary after = pending_leaf_summary(leaf);
        struct pending_summary quick = pending_leaf_summary_without(leaf, &before, &records[gone]);
        ck_assert_int_eq(quick.first[PENDING_DELIVERED], after.first[PENDING_DELIVERED]);
        ck_assert_int_eq(quick.first[PENDING_RELEASED], after.first[PENDING_RELEASED]);
        ck_assert_uint_eq(quick.consumers, after.consumers);
        pending_leaf_free(leaf, &bytes);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        records_take_16_32_or_40_bytes,
        full_leaf_of_small_records_fits_the_pool,
        position_is_found_for_any_id,
        leaf_moves_in_both_directions_at_each_fill,
        summary_without_a_record_is_that_of_the_rest,
        NULL,
    };
    return suite_of("pending_leaf", tests);
}
