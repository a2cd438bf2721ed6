/* Tests of stats: rates, recent peaks, and sums of time. */
#include "server/engine/observe/stats.h"

#include "store/mem/mem.h"
#include "tests/support/suite.h"

#define SECOND INT64_C(1000000)

static struct stats stats;

START_TEST(rates_are_those_between_two_samples)
{
    stats = (struct stats){ 0 };
    stats_sample(&stats, SECOND);
    stats.commands = 30;
    stats.bytes_in = 2048;
    stats.turns = (struct loop_turns){ .count = 10, .usec = 500 };
    stats_sample(&stats, 3 * SECOND);
    ck_assert_double_eq(stats.commands_per_sec, 15);
    ck_assert_double_eq(stats.in_per_sec, 1024);
    ck_assert_double_eq(stats.turns_per_sec, 5);
    ck_assert_double_eq(stats.usec_per_turn, 50);
    stats_sample(&stats, 4 * SECOND);
    ck_assert_double_eq(stats.commands_per_sec, 0);
    ck_assert_double_eq(stats.usec_per_turn, 0);
}
END_TEST

START_TEST(counters_that_were_reset_have_no_rate)
{
    stats = (struct stats){ .commands = 100, .turns = { .count = 100, .usec = 100 } };
    stats_sample(&stats, SECOND);
    stats.commands = 1;
    stats.turns = (struct loop_turns){ .count = 1, .usec = 1 };
    stats_sample(&stats, 2 * SECOND);
    ck_assert_double_eq(stats.commands_per_sec, 0);
    ck_assert_double_eq(stats.turns_per_sec, 0);
    ck_assert_double_eq(stats.usec_per_turn, 0);
}
END_TEST

START_TEST(a_peak_is_recent_for_eight_seconds)
{
    stats = (struct stats){ 0 };
    peak_note(&stats.input, 5);
    peak_note(&stats.input, 3);
    for (int i = 1; i < PEAK_SECONDS; i++)
        stats_sample(&stats, i * SECOND);
    peak_note(&stats.input, 2);
    ck_assert_uint_eq(peak_recent(&stats.input), 5);
    ck_assert_uint_eq(peak_recent(&stats.output), 0);
    stats_sample(&stats, PEAK_SECONDS * SECOND);
    ck_assert_uint_eq(peak_recent(&stats.input), 2);
}
END_TEST

START_TEST(periods_add_up_and_the_current_one_counts)
{
    struct stopwatch stopwatch = { 0 };
    stopwatch_end(&stopwatch, 5);
    ck_assert_int_eq(stopwatch_total(&stopwatch, 10), 0);
    stopwatch_begin(&stopwatch, 10);
    stopwatch_begin(&stopwatch, 15); /* it is so already */
    ck_assert_int_eq(stopwatch_current(&stopwatch, 30), 20);
    stopwatch_end(&stopwatch, 40);
    ck_assert_int_eq(stopwatch_current(&stopwatch, 50), 0);
    ck_assert_int_eq(stopwatch_total(&stopwatch, 50), 30);
    stopwatch_begin(&stopwatch, 60);
    ck_assert_int_eq(stopwatch_total(&stopwatch, 65), 35);
    ck_assert_int_eq(stopwatch_total(&stopwatch, 55), 30); /* the quick clock was corrected */
}
END_TEST

START_TEST(the_time_of_the_memory_peak_is_that_of_its_first_sample)
{
    stats = (struct stats){ 0 };
    mem_free(mem_alloc(100));
    stats_sample(&stats, SECOND);
    stats_sample(&stats, 2 * SECOND);
    ck_assert_int_eq(stats.memory_peak_usec, SECOND);
    mem_free(mem_alloc(1 << 20));
    stats_sample(&stats, 3 * SECOND);
    ck_assert_int_eq(stats.memory_peak_usec, 3 * SECOND);
    ck_assert_uint_eq(stats.memory_peak, mem_peak());
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        rates_are_those_between_two_samples,
        counters_that_were_reset_have_no_rate,
        a_peak_is_recent_for_eight_seconds,
        periods_add_up_and_the_current_one_counts,
        the_time_of_the_memory_peak_is_that_of_its_first_sample,
        NULL,
    };
    return suite_of("stats", tests);
}
