/* Tests of pace: for how long expiry waits for clients that read slowly. */
#include "server/engine/pace.h"

#include "tests/support/suite.h"

enum { NOW = 1000000 };

static struct pace pace;
static struct lag slow, slower;

static void begin(void)
{
    pace = (struct pace){ 0 };
    slow = slower = (struct lag){ 0 };
}

START_TEST(expiry_waits_until_the_client_has_read_one_half)
{
    begin();
    ck_assert(!pace_holds(&pace, NOW));
    pace_filled(&pace, &slow, NOW);
    ck_assert(pace_holds(&pace, NOW));
    pace_halved(&slow);
    ck_assert(!pace_holds(&pace, NOW));
    ck_assert_int_eq(pace_until(&pace), INT64_MIN);
    pace_filled(&pace, &slow, NOW + 1);
    ck_assert(pace_holds(&pace, NOW + 1));
    pace_forget(&slow);
    ck_assert(!pace_holds(&pace, NOW + 1));
}
END_TEST

START_TEST(the_time_of_a_client_begins_with_its_first_wait)
{
    begin();
    pace_filled(&pace, &slow, NOW);
    pace_halved(&slow);
    pace_filled(&pace, &slow, NOW + 7000);
    ck_assert_int_eq(pace_until(&pace), NOW + PACE_MSEC);
    ck_assert(pace_holds(&pace, NOW + PACE_MSEC));
    ck_assert(!pace_holds(&pace, NOW + PACE_MSEC + 1));
    pace_halved(&slow);
    pace_filled(&pace, &slow, NOW + PACE_MSEC + 2);
    ck_assert(!pace_holds(&pace, NOW + PACE_MSEC + 2));
}
END_TEST

START_TEST(a_client_that_has_read_everything_is_waited_for_again)
{
    begin();
    pace_filled(&pace, &slow, NOW);
    ck_assert(!pace_holds(&pace, NOW + PACE_MSEC + 1));
    pace_forget(&slow);
    pace_filled(&pace, &slow, NOW + PACE_MSEC + 1);
    ck_assert(pace_holds(&pace, NOW + PACE_MSEC + 1));
    ck_assert_int_eq(pace_until(&pace), NOW + 2 * PACE_MSEC + 1);
}
END_TEST

START_TEST(a_client_that_does_not_read_costs_no_other_its_time)
{
    begin();
    pace_filled(&pace, &slower, NOW);
    pace_filled(&pace, &slow, NOW + 9000);
    ck_assert(pace_holds(&pace, NOW + PACE_MSEC + 1));
    pace_halved(&slow);
    ck_assert(!pace_holds(&pace, NOW + PACE_MSEC + 1));
    pace_filled(&pace, &slow, NOW + PACE_MSEC + 2);
    ck_assert(pace_holds(&pace, NOW + PACE_MSEC + 2));
    ck_assert_int_eq(pace_until(&pace), NOW + 9000 + PACE_MSEC);
}
END_TEST

START_TEST(times_move_with_the_system_clock)
{
    begin();
    pace_filled(&pace, &slow, NOW);
    pace_filled(&pace, &slower, NOW);
    pace_halved(&slower);
    pace_clock_set(&pace, -NOW / 2);
    ck_assert_int_eq(slow.until, NOW / 2 + PACE_MSEC);
    ck_assert_int_eq(slower.until, NOW / 2 + PACE_MSEC);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        expiry_waits_until_the_client_has_read_one_half,
        the_time_of_a_client_begins_with_its_first_wait,
        a_client_that_has_read_everything_is_waited_for_again,
        a_client_that_does_not_read_costs_no_other_its_time,
        times_move_with_the_system_clock,
        NULL,
    };
    return suite_of("pace", tests);
}
