/* key_changes: the queue, against a plain array. */
#include "server/module/keys/key_changes.h"

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { AT_ONCE = 16, STEPS = 3000, LONG_NAME = 5000 };

/* A name of this many bytes, each of them its number. */
static struct bytes name_of(unsigned number, size_t len)
{
    static char text[LONG_NAME];
    memset(text, (int)('a' + number % 26), len);
    return bytes_of(text, len);
}

static size_t len_of(unsigned number)
{
    return number % 97 == 0 ? LONG_NAME : number % 40;
}

static void put(struct key_changes *changes, unsigned number)
{
    key_changes_put(changes, number + 7, (enum key_change_kind)(number % 3), number,
                    name_of(number, len_of(number)));
}

static void check(const struct key_change *change, unsigned number)
{
    ck_assert_uint_eq(change->database, number + 7);
    ck_assert_uint_eq(change->kind, number % 3);
    ck_assert_int_eq(change->at, number);
    ck_assert(bytes_equal(key_change_name(change), name_of(number, len_of(number))));
}

START_TEST(changes_leave_in_the_order_in_which_they_came)
{
    struct key_changes changes;
    const struct key_change *found[AT_ONCE];
    unsigned added = 0, taken = 0;
    struct rng rng;
    rng_init(&rng, test_seed());
    key_changes_init(&changes);
    for (int step = 0; step < STEPS; step++) {
        for (uint64_t more = rng_below(&rng, 20); more > 0; more--)
            put(&changes, added++);
        unsigned seen = key_changes_peek(&changes, found, (unsigned)rng_below(&rng, AT_ONCE) + 1);
        ck_assert((seen > 0) == (added > taken));
        put(&changes, added++); /* what was found stays where it is */
        for (unsigned i = 0; i < seen; i++)
            check(found[i], taken + i);
        key_changes_take(&changes, seen);
        taken += seen;
        ck_assert_uint_eq(changes.count, added - taken);
    }
    key_changes_drop(&changes);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(an_empty_queue_keeps_little_memory)
{
    struct key_changes changes;
    const struct key_change *found[AT_ONCE];
    unsigned seen;
    key_changes_init(&changes);
    ck_assert_uint_eq(key_changes_peek(&changes, found, AT_ONCE), 0);
    ck_assert_uint_eq(key_changes_bytes(&changes), 0);
    for (unsigned i = 0; i < 10000; i++)
        put(&changes, i);
    ck_assert_uint_gt(key_changes_bytes(&changes), 10000 * sizeof(struct key_change));
    while ((seen = key_changes_peek(&changes, found, AT_ONCE)) > 0)
        key_changes_take(&changes, seen);
    ck_assert_uint_le(key_changes_bytes(&changes), 4096);
    key_changes_drop(&changes);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { changes_leave_in_the_order_in_which_they_came,
                                   an_empty_queue_keeps_little_memory, NULL };
    return suite_of("key_changes", tests);
}
