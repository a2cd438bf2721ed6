/* Tests of latency: the samples of slow events. */
#include "server/engine/observe/latency.h"

#include "tests/support/suite.h"

static struct latency latency;
static const struct latency_series *const commands = &latency.series[LATENCY_COMMAND];

static void note(int64_t at_sec, int64_t msec)
{
    latency_note(&latency, LATENCY_COMMAND, at_sec, msec);
}

static void ck_sample(unsigned i, int64_t at_sec, int64_t msec)
{
    const struct latency_sample *sample = latency_sample(commands, i);
    ck_assert_int_eq(sample->at_sec, at_sec);
    ck_assert_int_eq(sample->msec, msec);
}

START_TEST(of_one_second_the_worst_sample_is_kept)
{
    latency = (struct latency){ 0 };
    note(100, 7);
    note(100, 9);
    note(100, 8);
    note(101, 3);
    ck_assert_uint_eq(commands->count, 2);
    ck_sample(0, 100, 9);
    ck_sample(1, 101, 3);
    ck_assert_int_eq(commands->worst_msec, 9);
}
END_TEST

START_TEST(only_the_latest_samples_are_kept)
{
    enum { NOTED = 2 * LATENCY_KEPT + 5 };
    latency = (struct latency){ 0 };
    for (int i = 0; i < NOTED; i++)
        note(i, i == 0 ? 5000 : i);
    ck_assert_uint_eq(commands->count, LATENCY_KEPT);
    for (unsigned i = 0; i < LATENCY_KEPT; i++)
        ck_sample(i, NOTED - LATENCY_KEPT + i, NOTED - LATENCY_KEPT + i);
    ck_assert_int_eq(commands->worst_msec, 5000);
}
END_TEST

START_TEST(events_are_separate_and_found_by_name)
{
    latency = (struct latency){ 0 };
    note(1, 2);
    for (int i = 0; i < LATENCY_EVENTS; i++) {
        enum latency_event event = (enum latency_event)i;
        const char *name = latency_name(event);
        ck_assert_int_eq(latency_find(bytes_of(name, strlen(name))), event);
        ck_assert_uint_eq(latency.series[i].count, event == LATENCY_COMMAND);
    }
    ck_assert_int_eq(latency_find(LIT("comman")), LATENCY_EVENTS);
    ck_assert_int_eq(latency_find(LIT("COMMAND")), LATENCY_EVENTS);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        of_one_second_the_worst_sample_is_kept,
        only_the_latest_samples_are_kept,
        events_are_separate_and_found_by_name,
        NULL,
    };
    return suite_of("latency", tests);
}
