/* instant: deadlines, due instants, and the millisecond between them. */
#include "store/base/instant.h"
#include "tests/support/suite.h"

static const msec edges[] = { INT64_MIN, -1, 0, 1, 1000000, INSTANT_MAX };
enum { EDGES = sizeof(edges) / sizeof(edges[0]) };

START_TEST(expiry_is_due_one_ms_after_the_deadline)
{
    for (int i = 0; i < EDGES; i++) {
        struct due_at due = due_at_expiry(edges[i]);
        ck_assert(!instant_expired(edges[i], edges[i]));
        ck_assert(!due_at_come(due, edges[i]));
        ck_assert(instant_expired(edges[i], due.at));
        ck_assert(due_at_come(due, due.at));
    }
}
END_TEST

START_TEST(due_instant_converts_back_to_its_deadline)
{
    for (int i = 0; i < EDGES; i++)
        ck_assert_int_eq(due_at_deadline(due_at_expiry(edges[i])), edges[i]);
}
END_TEST

START_TEST(no_deadline_is_never_due)
{
    ck_assert(due_at_is_never(due_at_expiry(NEVER)));
    ck_assert_int_eq(due_at_deadline(DUE_AT_NEVER), NEVER);
    ck_assert(!due_at_come(DUE_AT_NEVER, INSTANT_MAX));
    ck_assert(due_at_before(due_at_expiry(INSTANT_MAX), DUE_AT_NEVER));
}
END_TEST

START_TEST(element_is_due_at_its_deadline)
{
    for (int i = 0; i < EDGES; i++) {
        ck_assert(due_at_come(due_at_instant(edges[i]), edges[i]));
        ck_assert(due_at_before(due_at_instant(edges[i]), due_at_expiry(edges[i])));
    }
}
END_TEST

START_TEST(last_expired_deadline_is_before_now)
{
    for (int i = 1; i < EDGES; i++) {
        ck_assert(instant_expired(instant_last_expired(edges[i]), edges[i]));
        ck_assert(!instant_expired(instant_last_expired(edges[i]) + 1, edges[i]));
    }
    ck_assert_int_eq(instant_last_expired(INT64_MIN), INT64_MIN);
}
END_TEST

START_TEST(moved_instant_stays_within_limits)
{
    ck_assert_int_eq(instant_moved(7, -5), 2);
    ck_assert_int_eq(instant_moved(INSTANT_MAX - 1, 1), INSTANT_MAX);
    ck_assert_int_eq(instant_moved(INSTANT_MAX - 1, 2), INSTANT_MAX);
    ck_assert_int_eq(instant_moved(1, INT64_MAX), INSTANT_MAX);
    ck_assert_int_eq(instant_moved(INSTANT_MIN + 1, -1), INSTANT_MIN);
    ck_assert_int_eq(instant_moved(INSTANT_MIN + 1, -2), INSTANT_MIN);
    ck_assert_int_eq(instant_moved(-2, INT64_MIN), INSTANT_MIN);
}
END_TEST

START_TEST(due_instants_take_no_more_memory)
{
    ck_assert_uint_eq(sizeof(struct due_at), sizeof(msec));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        expiry_is_due_one_ms_after_the_deadline,
        due_instant_converts_back_to_its_deadline,
        no_deadline_is_never_due,
        element_is_due_at_its_deadline,
        last_expired_deadline_is_before_now,
        moved_instant_stays_within_limits,
        due_instants_take_no_more_memory,
        NULL,
    };
    return suite_of("instant", tests);
}
