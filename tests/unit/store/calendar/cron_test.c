/* cron: texts, and the next local time compared with a walk through all minutes. */
#include "store/calendar/cron.h"

#include <stdio.h>

#include "store/calendar/civil.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static struct bytes text_of(const char *text)
{
    return bytes_of(text, strlen(text));
}

static struct cron parsed(const char *text)
{
    struct cron cron;
    char fault[CRON_FAULT_MAX];
    ck_assert_msg(cron_parse(text_of(text), &cron, fault), "%s: %s", text, fault);
    return cron;
}

static const char *fault_of(struct bytes text)
{
    static char fault[CRON_FAULT_MAX];
    struct cron cron;
    ck_assert(!cron_parse(text, &cron, fault));
    return fault;
}

static int64_t local_of(int64_t year, int month, int day, int hour, int minute, int second)
{
    return civil_to_days((struct civil){ year, month, day }) * SECONDS_PER_DAY +
           hour * SECONDS_PER_HOUR + minute * SECONDS_PER_MINUTE + second;
}

START_TEST(dates_and_days_are_inverse_across_centuries)
{
    int64_t days = civil_to_days((struct civil){ -401, 3, 1 });
    struct civil date = { -401, 3, 1 };
    for (; date.year < 2500; days++) {
        struct civil found = civil_of_days(days);
        ck_assert_int_eq(found.year, date.year);
        ck_assert_int_eq(found.month, date.month);
        ck_assert_int_eq(found.day, date.day);
        ck_assert_int_eq(civil_to_days(date), days);
        if (date.day++ < days_in_month(date.year, date.month)) continue;
        date.day = 1;
        if (date.month++ < 12) continue;
        date.month = 1;
        date.year++;
    }
    ck_assert_int_eq(weekday_of_days(0), 4); /* a Thursday */
    ck_assert_int_eq(weekday_of_days(-5), 6);
    ck_assert_int_eq(civil_to_days((struct civil){ 1970, 1, 1 }), 0);
}
END_TEST

START_TEST(names_and_spaces_and_lists_are_values)
{
    struct cron cron = parsed("\t0,30   8-18/5 L,15 jan,DEC mon-Sun ");
    ck_assert_uint_eq(cron.seconds, 1);
    ck_assert_uint_eq(cron.minutes, UINT64_C(1) << 30 | 1);
    ck_assert_uint_eq(cron.hours, 1U << 8 | 1U << 13 | 1U << 18);
    ck_assert_uint_eq(cron.days, 1U << 15);
    ck_assert(cron.last_day && cron.either_day && cron.follows_elapsed);
    ck_assert_uint_eq(cron.months, 1U << 1 | 1U << 12);
    ck_assert_uint_eq(cron.weekdays, 0x7f);

    cron = parsed("*/20 5 0-23 */2 * 7");
    ck_assert_uint_eq(cron.seconds, UINT64_C(1) | UINT64_C(1) << 20 | UINT64_C(1) << 40);
    ck_assert_uint_eq(cron.weekdays, 1);
    ck_assert(!cron.either_day && !cron.follows_elapsed);
    ck_assert(parsed("@HOURLY").follows_elapsed);
    ck_assert_uint_eq(parsed("@weekly").weekdays, 1);
}
END_TEST

START_TEST(every_cut_of_a_text_is_refused_or_parsed)
{
    static const char text[] = "*/20 5-50/3,7 1,L- L,*/2 jan-DEC,3 MON-sun/2,@daily 7";
    for (size_t from = 0; from < sizeof(text); from++)
        for (size_t to = from; to < sizeof(text); to++) {
            struct cron cron;
            char fault[CRON_FAULT_MAX] = "";
            bool good = cron_parse(bytes_of(text + from, to - from), &cron, fault);
            ck_assert(good == (fault[0] == '\0'));
        }
}
END_TEST

START_TEST(faults_show_no_byte_that_is_not_printable)
{
    static char many[CRON_TEXT_MAX + 1];
    ck_assert_str_eq(fault_of(LIT("\x01\x7f * * * *")), "minute: '\?\?' is not within 0-59");
    memset(many, '1', sizeof(many));
    ck_assert_str_eq(fault_of(bytes_of(many, sizeof(many))), "the text is longer than 1024 bytes");
    memcpy(many + CRON_TEXT_MAX - 8, " * * * *", 8);
    ck_assert_str_eq(fault_of(bytes_of(many, CRON_TEXT_MAX)),
                     "minute: '111111111111111111111111...' is not within 0-59");
    ck_assert_str_eq(fault_of(LIT("0 0 31 2 *")), "no date ever matches it");
}
END_TEST

START_TEST(the_last_day_follows_the_length_of_the_month)
{
    struct cron cron = parsed("0 0 L 2 *");
    int64_t at = cron_next_local(&cron, local_of(2023, 3, 1, 0, 0, 0));
    ck_assert_int_eq(at, local_of(2024, 2, 29, 0, 0, 0));
    ck_assert_int_eq(cron_next_local(&cron, at), local_of(2025, 2, 28, 0, 0, 0));
    cron = parsed("59 59 23 L 12 *");
    ck_assert_int_eq(cron_next_local(&cron, local_of(1969, 12, 31, 23, 59, 59)),
                     local_of(1970, 12, 31, 23, 59, 59));
}
END_TEST

START_TEST(rare_dates_are_found_after_forty_years)
{
    struct cron cron = parsed("0 0 29 2 */7"); /* on a Sunday */
    ck_assert_int_eq(cron_next_local(&cron, local_of(2088, 2, 29, 0, 0, 0)),
                     local_of(2128, 2, 29, 0, 0, 0));
    ck_assert_int_eq(cron_next_local(&cron, local_of(2032, 2, 29, 0, 0, 0)),
                     local_of(2060, 2, 29, 0, 0, 0));
}
END_TEST

/* ---- random texts ---- */

static void add_field(struct rng *rng, char *text, int low, int high)
{
    size_t len = strlen(text);
    int a = (int)rng_between(rng, low, high), b = (int)rng_between(rng, low, high);
    if (a > b) {
        int swapped = a;
        a = b;
        b = swapped;
    }
    switch (rng_below(rng, 6)) {
    case 0:
    case 1: snprintf(text + len, 40, "* "); break;
    case 2: snprintf(text + len, 40, "%d ", a); break;
    case 3: snprintf(text + len, 40, "%d-%d ", a, b); break;
    case 4: snprintf(text + len, 40, "%d,%d ", a, b); break;
    default: snprintf(text + len, 40, "*/%d ", 1 + a % (high - low)); break;
    }
}

static bool matches(const struct cron *cron, int64_t local)
{
    int64_t day = floor_div(local, SECONDS_PER_DAY), second = local - day * SECONDS_PER_DAY;
    struct civil date = civil_of_days(day);
    bool by_month = (cron->days >> date.day & 1) ||
                    (cron->last_day && date.day == days_in_month(date.year, date.month));
    bool by_week = cron->weekdays >> weekday_of_days(day) & 1;
    return (cron->months >> date.month & 1) &&
           (cron->either_day ? by_month || by_week : by_month && by_week) &&
           (cron->hours >> second / 3600 & 1) && (cron->minutes >> second / 60 % 60 & 1) &&
           (cron->seconds >> second % 60 & 1);
}

START_TEST(random_texts_match_a_walk)
{
    enum { PROGRAMS = 300, STEPS = 4000 };
    static const int ranges[][2] = { { 0, 59 }, { 0, 23 }, { 1, 28 }, { 1, 12 }, { 0, 7 } };
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int i = 0; i < PROGRAMS; i++) {
        char text[300] = "";
        bool has_seconds = rng_below(&rng, 4) == 0;
        if (has_seconds) add_field(&rng, text, 0, 59);
        for (int field = 0; field < 5; field++)
            add_field(&rng, text, ranges[field][0], ranges[field][1]);
        struct cron cron = parsed(text);
        int64_t unit = has_seconds ? 1 : SECONDS_PER_MINUTE;
        int64_t at = rng_between(&rng, -50000, 50000) * SECONDS_PER_DAY / 2 / unit * unit;
        int64_t next = cron_next_local(&cron, at);
        for (int step = 0; step < STEPS; step++) {
            at += unit;
            ck_assert_msg(matches(&cron, at) == (at == next), "'%s' at %lld: next is %lld", text,
                          (long long)at, (long long)next);
            if (at == next) next = cron_next_local(&cron, at);
            ck_assert_int_gt(next, at);
        }
        if (next != LOCAL_NEVER) ck_assert(matches(&cron, next));
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        dates_and_days_are_inverse_across_centuries,
        names_and_spaces_and_lists_are_values,
        every_cut_of_a_text_is_refused_or_parsed,
        faults_show_no_byte_that_is_not_printable,
        the_last_day_follows_the_length_of_the_month,
        rare_dates_are_found_after_forty_years,
        random_texts_match_a_walk,
        NULL,
    };
    return suite_of("cron", tests);
}
