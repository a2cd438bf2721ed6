/* Tests of progress: the share that is done, and the time that is left. */
#include "server/disk/progress.h"

#include "tests/support/suite.h"

enum { SEC = 1000 * 1000, BEGAN = 77 * SEC };

static struct progress begun(uint64_t total)
{
    struct progress progress;
    progress_begin(&progress, "Testing", total, BEGAN);
    return progress;
}

START_TEST(the_time_left_follows_from_the_share_that_is_done)
{
    struct progress progress = begun(1000);
    progress.done = 250;
    struct progress_report report = progress_report(&progress, BEGAN + 10 * SEC);
    ck_assert_str_eq(report.what, "Testing");
    ck_assert_double_eq(report.percent, 25);
    ck_assert_int_eq(report.left_sec, 30);
    progress.done = 1000;
    report = progress_report(&progress, BEGAN + 40 * SEC);
    ck_assert_double_eq(report.percent, 100);
    ck_assert_int_eq(report.left_sec, 0);
}
END_TEST

START_TEST(without_a_start_or_a_total_the_time_left_is_unknown)
{
    struct progress progress = begun(1000);
    ck_assert_int_eq(progress_report(&progress, BEGAN + SEC).left_sec, -1);
    progress = begun(0);
    progress.done = 10;
    ck_assert_int_eq(progress_report(&progress, BEGAN + SEC).left_sec, -1);
    ck_assert_double_eq(progress_report(&progress, BEGAN + SEC).percent, 0);
}
END_TEST

START_TEST(more_than_the_total_is_all_of_it)
{
    struct progress progress = begun(10);
    progress.done = 11;
    struct progress_report report = progress_report(&progress, BEGAN + SEC);
    ck_assert_double_eq(report.percent, 100);
    ck_assert_int_eq(report.left_sec, 0);
}
END_TEST

START_TEST(it_is_logged_at_most_every_five_seconds)
{
    struct progress progress = begun(10);
    progress.done = 1;
    progress_log(&progress, BEGAN + 5 * SEC - 1);
    ck_assert_int_eq(progress.logged_usec, BEGAN);
    progress_log(&progress, BEGAN + 6 * SEC);
    ck_assert_int_eq(progress.logged_usec, BEGAN + 6 * SEC);
    progress_log(&progress, BEGAN + 10 * SEC);
    ck_assert_int_eq(progress.logged_usec, BEGAN + 6 * SEC);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        the_time_left_follows_from_the_share_that_is_done,
        without_a_start_or_a_total_the_time_left_is_unknown,
        more_than_the_total_is_all_of_it,
        it_is_logged_at_most_every_five_seconds,
        NULL,
    };
    return suite_of("progress", tests);
}
