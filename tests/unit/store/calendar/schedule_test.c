/* schedule, zone, footer and calendar: zones made of bytes in the test. */
#include "store/calendar/schedule.h"

#include <stdio.h>

#include "store/calendar/calendar.h"
#include "store/calendar/civil.h"
#include "store/calendar/footer.h"
#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

/* ---- files ---- */

struct change_of_clock {
    int64_t at, offset;
};

static void put(struct buffer *file, int64_t value, unsigned size)
{
    for (unsigned i = size; i-- > 0;) {
        char byte = (char)(value >> (8 * i));
        buffer_append(file, &byte, 1);
    }
}

static void put_part(struct buffer *file, char version, int64_t first,
                     const struct change_of_clock *changes, unsigned count, unsigned instant)
{
    buffer_append(file, "TZif", 4);
    buffer_append(file, &version, 1);
    put(file, 0, 8);
    put(file, 0, 7);
    const unsigned counts[] = { 0, 0, 0, count, count + 1, 4 };
    for (unsigned i = 0; i < 6; i++)
        put(file, counts[i], 4);
    for (unsigned i = 0; i < count; i++)
        put(file, changes[i].at, instant);
    for (unsigned i = 0; i < count; i++)
        put(file, i + 1, 1);
    for (unsigned i = 0; i <= count; i++) {
        put(file, i == 0 ? first : changes[i - 1].offset, 4);
        put(file, 0, 2);
    }
    buffer_append(file, "ABC\0", 4);
}

/* A file of version 2 with this footer, or of version 1 without one. */
static void put_file(struct buffer *file, int64_t first, const struct change_of_clock *changes,
                     unsigned count, const char *footer)
{
    put_part(file, footer == NULL ? '\0' : '2', first, changes, count, 4);
    if (footer == NULL) return;
    put_part(file, '2', first, changes, count, 8);
    buffer_append(file, "\n", 1);
    buffer_append(file, footer, strlen(footer));
    buffer_append(file, "\n", 1);
}

static struct zone *zone_of(int64_t first, const struct change_of_clock *changes, unsigned count,
                            const char *footer)
{
    struct buffer file = { 0 };
    const char *fault;
    put_file(&file, first, changes, count, footer);
    struct zone *zone = zone_parse(buffer_bytes(&file), &fault);
    ck_assert_msg(zone != NULL, "%s", fault);
    buffer_drop(&file);
    return zone;
}

static struct cron cron_of(const char *text)
{
    struct cron cron;
    char fault[CRON_FAULT_MAX];
    ck_assert(cron_parse(bytes_of(text, strlen(text)), &cron, fault));
    return cron;
}

static int64_t next_second(const char *text, const struct zone *zone, int64_t after)
{
    struct cron cron = cron_of(text);
    return schedule_next(&cron, zone, after * 1000) / 1000;
}

enum { HOUR = SECONDS_PER_HOUR, DAY = SECONDS_PER_DAY };

/* ---- rules ---- */

START_TEST(a_gap_runs_once_and_an_overlap_once)
{
    static const struct change_of_clock changes[] = { { 10 * DAY, 2 * HOUR }, { 20 * DAY, HOUR } };
    struct zone *zone = zone_of(HOUR, changes, 2, NULL);
    /* At 10 days the clock moves from 1:00 to 2:00; at 20 days from 2:00 to 1:00. */
    ck_assert_int_eq(next_second("20,40 1 * * *", zone, 10 * DAY - 1), 10 * DAY);
    ck_assert_int_eq(next_second("20,40 1 * * *", zone, 10 * DAY), 11 * DAY - 2 * HOUR + 4800);
    ck_assert_int_eq(next_second("0 2 * * *", zone, 10 * DAY - 1), 10 * DAY);
    ck_assert_int_eq(next_second("20 1 * * *", zone, 20 * DAY - 3000), 20 * DAY - 2400);
    ck_assert_int_eq(next_second("20 1 * * *", zone, 20 * DAY - 2400), 21 * DAY + 1200);
    ck_assert_int_eq(next_second("20 * * * *", zone, 10 * DAY - 2400), 10 * DAY + 1200);
    ck_assert_int_eq(next_second("20 * * * *", zone, 20 * DAY - 2400), 20 * DAY + 1200);
    ck_assert_int_eq(next_second("20 1-2/1 * * *", zone, 20 * DAY - 2400), 20 * DAY + 1200);
    zone_free(zone);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(an_instant_within_a_second_belongs_to_the_past_second)
{
    struct zone *zone = zone_utc();
    struct cron cron = cron_of("* * * * * *");
    ck_assert_int_eq(schedule_next(&cron, zone, 5000), 6000);
    ck_assert_int_eq(schedule_next(&cron, zone, 5999), 6000);
    ck_assert_int_eq(schedule_next(&cron, zone, 0), 1000);
    ck_assert_int_eq(schedule_next(&cron, zone, INSTANT_MAX), NEVER);
    ck_assert_int_eq(schedule_next(&cron, zone, INSTANT_MAX - 1000), INSTANT_MAX / 1000 * 1000);
    zone_free(zone);
}
END_TEST

/* A zone with rules of today after 400 years of any number shows the same clocks. */
START_TEST(the_footer_holds_for_ever)
{
    struct zone *zone = zone_of(HOUR, NULL, 0, "CET-1CEST,M3.5.0,M10.5.0/3");
    static const char *const texts[] = { "30 2 * * *", "30 * 29 * 0", "0 0 29 2 */7",
                                         "30 2 31 3 *" };
    for (unsigned i = 0; i < 4; i++) {
        int64_t at = civil_to_days((struct civil){ 1999, 1, 1 }) * DAY;
        for (unsigned step = 0; step < 50; step++) {
            int64_t next = next_second(texts[i], zone, at);
            ck_assert_int_gt(next, at);
            ck_assert_int_eq(next_second(texts[i], zone, at + SECONDS_PER_CYCLE),
                             next + SECONDS_PER_CYCLE);
            ck_assert_int_eq(next_second(texts[i], zone, at + 1000 * SECONDS_PER_CYCLE),
                             next + 1000 * SECONDS_PER_CYCLE);
            at = next;
        }
    }
    zone_free(zone);
}
END_TEST

START_TEST(the_rule_of_the_footer_begins_after_the_last_transition)
{
    int64_t may = civil_to_days((struct civil){ 2030, 5, 1 }) * DAY;
    const struct change_of_clock changes[] = { { DAY, 0 }, { 2 * DAY, HOUR }, { may, HOUR } };
    struct zone *zone = zone_of(HOUR, changes, 3, "<+01>-1<+02>,M3.5.0,M10.5.0/3");
    int64_t july = civil_to_days((struct civil){ 2030, 7, 1 }) * DAY;
    /* The last transition says winter time in May 2030: it holds until the rule's next change. */
    ck_assert_int_eq(next_second("0 12 * * *", zone, july), july + 11 * HOUR);
    ck_assert_int_eq(next_second("0 12 * * *", zone, july + 366 * DAY),
                     july + 366 * DAY + 10 * HOUR);
    zone_free(zone);
}
END_TEST

START_TEST(footers_are_parsed_or_refused)
{
    static const char *const good[] = {
        "UTC0",
        "<-03>3",
        "EST5EDT,M3.2.0,M11.1.0",
        "IST-1GMT0,M10.5.0,M3.5.0/1",
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "EET-2EEST,M3.4.4/50,M10.4.4/50",
        "XXX3YYY,J60,J365/25:30:59",
        "AAA+24BBB,0/-167,365/167",
    };
    static const char *const bad[] = {
        "",
        "U0",
        "UTC",
        "UTC25",
        "<UTC0",
        "UTC0 ",
        "EST5EDT",
        "EST5EDT,",
        "EST5EDT,M3.2.0",
        "EST5EDT,M13.1.0,M1.1.0",
        "EST5EDT,M1.6.0,M1.1.0",
        "EST5EDT,M1.1.7,M1.1.0",
        "EST5EDT,J0,J1",
        "EST5EDT,366,1",
        "EST5EDT,1/168,2",
        "EST5:60",
        "EST5EDT,M3.2.0,M11.1.0x",
        "UTC99999999999999999999",
    };
    struct footer footer;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ck_assert_msg(footer_parse(bytes_of(good[i], strlen(good[i])), &footer), "%s", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(!footer_parse(bytes_of(bad[i], strlen(bad[i])), &footer), "%s", bad[i]);
}
END_TEST

START_TEST(daylight_saving_time_without_end_has_one_offset)
{
    struct zone *zone = zone_of(-3 * HOUR, NULL, 0, "XXX3EDT4,0/0,J365/23");
    ck_assert_int_eq(next_second("0 12 1 1 *", zone, 0), 16 * HOUR);
    ck_assert_int_eq(next_second("0 12 1 7 *", zone, 0),
                     civil_to_days((struct civil){ 1970, 7, 1 }) * DAY + 16 * HOUR);
    ck_assert_uint_le(zone->count, 3);
    zone_free(zone);
}
END_TEST

START_TEST(every_cut_of_a_file_is_refused)
{
    static const struct change_of_clock changes[] = { { DAY, 2 * HOUR }, { 9 * DAY, HOUR } };
    struct buffer file = { 0 };
    put_file(&file, HOUR, changes, 2, "CET-1CEST,M3.5.0,M10.5.0/3");
    for (size_t len = 0; len < file.len; len++) {
        const char *fault;
        /* A copy of this length, so that a sanitizer sees a read beyond it. */
        char *cut = mem_alloc(len + 1);
        memcpy(cut + 1, file.data, len);
        ck_assert_ptr_null(zone_parse(bytes_of(cut + 1, len), &fault));
        ck_assert_ptr_nonnull(fault);
        mem_free(cut);
    }
    buffer_drop(&file);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

/* ---- random zones ---- */

/* What the clock shows, by the definition alone. */
static int64_t shown_at(int64_t first, const struct change_of_clock *changes, unsigned count,
                        int64_t at)
{
    int64_t offset = first;
    for (unsigned i = 0; i < count && changes[i].at <= at; i++)
        offset = changes[i].offset;
    return at + offset;
}

START_TEST(random_zones_match_a_walk)
{
    enum { PROGRAMS = 400, CHANGES = 6, MINUTES = 6 * 1440 };
    static const char *const texts[] = { "*/7 * * * *",     "0 */2 * * *",   "30 2 * * *",
                                         "15,45 0-3 * * *", "0 0 * * *",     "10 0-23/5 */2 * *",
                                         "59 23 * * 1-5",   "0 1,3 1-31 1 *" };
    struct rng rng;
    rng_init(&rng, test_seed());
    for (unsigned i = 0; i < PROGRAMS; i++) {
        struct change_of_clock changes[CHANGES];
        unsigned count = (unsigned)rng_below(&rng, CHANGES + 1);
        int64_t first = rng_between(&rng, -26, 26) * 1800, at = 2 * DAY, latest;
        for (unsigned j = 0; j < count; j++) {
            at += rng_between(&rng, 1, 1500) * 60;
            changes[j] = (struct change_of_clock){ at, rng_between(&rng, -48, 48) * 1800 };
        }
        struct zone *zone = zone_of(first, changes, count, rng_below(&rng, 2) == 0 ? "" : NULL);
        struct cron cron = cron_of(texts[rng_below(&rng, 8)]);
        latest = shown_at(first, changes, count, 0);
        int64_t next = schedule_next(&cron, zone, 0) / 1000;
        for (unsigned minute = 1; minute < MINUTES; minute++) {
            int64_t now = minute * INT64_C(60), local = shown_at(first, changes, count, now);
            bool runs = false;
            if (cron.follows_elapsed) runs = cron_next_local(&cron, local - 1) == local;
            if (!cron.follows_elapsed && local > latest)
                runs = cron_next_local(&cron, latest) <= local;
            if (local > latest) latest = local;
            ck_assert_msg(runs == (next == now), "program %u, minute %u: next is %lld", i, minute,
                          (long long)next);
            if (runs) next = schedule_next(&cron, zone, now * 1000) / 1000;
        }
        zone_free(zone);
    }
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

/* ---- the cache ---- */

static unsigned reads;

static bool read_file(const char *name, struct buffer *file)
{
    static const struct change_of_clock none[1];
    reads++;
    if (strcmp(name, "Zone/East") != 0) return false;
    put_file(file, HOUR * (int64_t)reads, none, 0, "");
    return true;
}

START_TEST(a_zone_is_read_once_until_it_is_forgotten)
{
    char fault[CALENDAR_FAULT_MAX];
    struct calendar *calendar = calendar_new();
    calendar_set_reader(calendar, read_file);
    reads = 0;
    const struct schedule *noon =
        calendar_find(calendar, LIT("0 12 * * *"), LIT("Zone/East"), fault);
    ck_assert_int_eq(calendar_next(noon, 0), 11 * HOUR * 1000);
    ck_assert_ptr_eq(calendar_find(calendar, LIT("0 12 * * *"), LIT("Zone/East"), fault), noon);
    ck_assert_ptr_nonnull(calendar_find(calendar, LIT("0 13 * * *"), LIT("Zone/East"), fault));
    ck_assert_uint_eq(reads, 1);
    calendar_forget(calendar);
    noon = calendar_find(calendar, LIT("0 12 * * *"), LIT("Zone/East"), fault);
    ck_assert_int_eq(calendar_next(noon, 0), 10 * HOUR * 1000);
    ck_assert_ptr_null(calendar_find(calendar, LIT("0 12 * * *"), LIT("Zone/West"), fault));
    ck_assert_str_eq(fault, "zone Zone/West: the system has no such zone. Is the package tzdata "
                            "installed?");
    ck_assert_ptr_nonnull(calendar_find(calendar, LIT("0 12 * * *"), LIT("UTC"), fault));
    calendar_free(calendar);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(many_schedules_take_bounded_memory)
{
    enum { MANY = 20000 };
    char fault[CALENDAR_FAULT_MAX], text[64];
    struct calendar *calendar = calendar_new();
    size_t most = 0;
    for (unsigned i = 0; i < MANY; i++) {
        int len = snprintf(text, sizeof(text), "%u %u %u * *", i % 60, i / 60 % 24, i / 1440 + 1);
        const struct schedule *schedule =
            calendar_find(calendar, bytes_of(text, (size_t)len), LIT("UTC"), fault);
        ck_assert_int_eq(calendar_next(schedule, 0) / 60000, i == 0 ? 31 * 1440 : i);
        if (mem_used() > most) most = mem_used();
    }
    ck_assert_uint_lt(most, 512 * 1024);
    calendar_free(calendar);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_gap_runs_once_and_an_overlap_once,
        an_instant_within_a_second_belongs_to_the_past_second,
        the_footer_holds_for_ever,
        the_rule_of_the_footer_begins_after_the_last_transition,
        footers_are_parsed_or_refused,
        daylight_saving_time_without_end_has_one_offset,
        every_cut_of_a_file_is_refused,
        random_zones_match_a_walk,
        a_zone_is_read_once_until_it_is_forgotten,
        many_schedules_take_bounded_memory,
        NULL,
    };
    return suite_of("schedule", tests);
}
