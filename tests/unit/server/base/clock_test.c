/* Tests of clock: real, held and stepped time, and the counter. */
#include "server/base/clock.h"

#include "tests/support/suite.h"

static int steps;

static void count_step(void *ctx)
{
    ck_assert_ptr_eq(ctx, &steps);
    steps++;
}

static struct clock new_clock(void)
{
    struct clock clock;
    clock_init(&clock);
    clock.on_step = count_step;
    clock.ctx = &steps;
    steps = 0;
    return clock;
}

START_TEST(a_fresh_clock_shows_the_wall_time)
{
    struct clock clock;
    clock_init(&clock);

    int64_t usec = clock_wall_usec(&clock);

    ck_assert(!clock.stepped);
    ck_assert_int_ge(usec / 1000, clock_now(&clock));
    ck_assert_int_lt(usec / 1000, clock_now(&clock) + 60 * 1000);
}
END_TEST

START_TEST(now_is_constant_between_ticks)
{
    struct clock clock = new_clock();
    clock.now = 5;

    ck_assert_int_eq(clock_now(&clock), 5);
    msec ticked = clock_tick(&clock);

    ck_assert_int_gt(ticked, 5);
    ck_assert_int_eq(clock_now(&clock), ticked);
}
END_TEST

START_TEST(a_held_clock_does_not_tick_and_reports_that_it_was_set)
{
    struct clock clock = new_clock();

    clock_hold(&clock, 1234);

    ck_assert_int_eq(steps, 1);
    ck_assert_int_eq(clock_tick(&clock), 1234);
    ck_assert_int_eq(clock_now(&clock), 1234);
    ck_assert_int_eq(clock_wall_usec(&clock), 1234000);
}
END_TEST

START_TEST(a_step_moves_a_held_clock_by_just_so_much)
{
    struct clock clock = new_clock();
    clock_hold(&clock, 1000);

    clock_step(&clock, 1);
    ck_assert_int_eq(clock_tick(&clock), 1001);
    clock_step(&clock, -501);

    ck_assert_int_eq(clock_tick(&clock), 500);
    ck_assert_int_eq(steps, 3);
}
END_TEST

START_TEST(a_step_holds_a_running_clock_from_now_on)
{
    struct clock clock = new_clock();
    clock.now = 5; /* an old reading: the step begins at the present */

    clock_step(&clock, 60 * 60 * 1000);

    ck_assert(clock.stepped);
    ck_assert_int_gt(clock_now(&clock), 60 * 60 * 1000 + 5);
    ck_assert_int_eq(clock_tick(&clock), clock_now(&clock));
}
END_TEST

START_TEST(a_step_too_far_stops_at_the_last_instant)
{
    struct clock clock = new_clock();
    clock_hold(&clock, 1000);

    clock_step(&clock, INT64_MAX);

    ck_assert_int_eq(clock_now(&clock), INSTANT_MAX);
    ck_assert_int_eq(clock_wall_usec(&clock), INT64_MAX);
}
END_TEST

START_TEST(a_released_clock_shows_the_wall_time_again)
{
    struct clock clock = new_clock();
    clock_hold(&clock, 1000);

    clock_release(&clock);

    ck_assert(!clock.stepped);
    ck_assert_int_gt(clock_now(&clock), 1000);
    ck_assert_int_eq(steps, 2);
}
END_TEST

START_TEST(monotonic_time_never_goes_back_and_ignores_a_held_clock)
{
    struct clock clock = new_clock();
    int64_t before = clock_mono_usec();

    clock_hold(&clock, 0);

    ck_assert_int_gt(before, 0);
    ck_assert_int_ge(clock_mono_usec(), before);
}
END_TEST

enum { SPAN_USEC = 30 * 1000, OFF_USEC = 3 * 1000 };

START_TEST(the_counter_measures_spans_as_the_clock_does)
{
    struct clock clock = new_clock();
    clock_mark(&clock);
    int64_t began = clock_mono_usec(), now = began;
    while (now < began + SPAN_USEC)
        now = clock_mono_usec();
    int64_t marked = clock_mark(&clock);
    ck_assert_int_ge(marked, now);

    while (now < marked + SPAN_USEC)
        now = clock_mono_usec();
    int64_t quick = clock_quick_usec(&clock);

    ck_assert_int_ge(quick, now - OFF_USEC);
    ck_assert_int_le(quick, clock_mono_usec() + OFF_USEC);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_fresh_clock_shows_the_wall_time,
        now_is_constant_between_ticks,
        a_held_clock_does_not_tick_and_reports_that_it_was_set,
        a_step_moves_a_held_clock_by_just_so_much,
        a_step_holds_a_running_clock_from_now_on,
        a_step_too_far_stops_at_the_last_instant,
        a_released_clock_shows_the_wall_time_again,
        monotonic_time_never_goes_back_and_ignores_a_held_clock,
        the_counter_measures_spans_as_the_clock_does,
        NULL,
    };
    return suite_of("clock", tests);
}
