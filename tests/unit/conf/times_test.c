/* Tests of the spans and instants of options. */
#include "conf/times.h"

#include "tests/support/suite.h"

START_TEST(a_span_has_a_unit_or_is_milliseconds)
{
    static const struct {
        const char *text;
        msec span;
    } good[] = { { "0", 0 },       { "250", 250 },    { "250ms", 250 },   { "90s", 90000 },
                 { "5m", 300000 }, { "1h", 3600000 }, { "7d", 604800000 } };
    static const char *const bad[] = {
        "",    "d",   "-1", "+1",   "1 d",    "1w",
        "1.5", "7dd", "01", "soon", "36526d", "99999999999999999999"
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        msec span;
        ck_assert_msg(conf_read_span(good[i].text, &span), "%s", good[i].text);
        ck_assert_int_eq(span, good[i].span);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        msec span;
        ck_assert_msg(!conf_read_span(bad[i], &span), "%s", bad[i]);
    }
}
END_TEST

START_TEST(an_instant_is_a_date_in_utc_or_milliseconds)
{
    static const struct {
        const char *text;
        msec at;
    } good[] = { { "0", 0 },
                 { "1795921200000", 1795921200000 },
                 { "2026-11-29T03:00:00Z", 1795921200000 },
                 { "2026-11-29T03:00:00.25Z", 1795921200250 },
                 { "2026-11-29T03:00:00.1239Z", 1795921200123 },
                 { "2028-02-29T23:59:59.999Z", 1835481599999 },
                 { "1970-01-01T00:00:00Z", 0 } };
    static const char *const bad[] = {
        "",
        "now",
        "-1",
        "2026-11-29",
        "2026-11-29T03:00:00",
        "2026-11-29T03:00:00+01:00",
        "2026-11-29 03:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-11-29T24:00:00Z",
        "2026-11-29T03:00:00.Z",
        "2026-11-29T03:00:00Zx",
        "2026-1-29T03:00:00Z",
        "1969-12-31T23:59:59Z",
        "9223372036854775807",
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char text[CONF_INSTANT_MAX];
        msec at, again;
        ck_assert_msg(conf_read_instant(good[i].text, &at), "%s", good[i].text);
        ck_assert_int_eq(at, good[i].at);
        ck_assert(conf_read_instant(conf_print_instant(at, text), &again));
        ck_assert_int_eq(again, at);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        msec at;
        ck_assert_msg(!conf_read_instant(bad[i], &at), "%s", bad[i]);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { a_span_has_a_unit_or_is_milliseconds,
                                   an_instant_is_a_date_in_utc_or_milliseconds, NULL };
    return suite_of("times", tests);
}
