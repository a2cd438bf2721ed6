/* Tests of the texts of the metrics port: UTF-8, Prometheus' format and JSON. */
#include <math.h>

#include "server/http/json.h"
#include "server/http/prom.h"
#include "store/base/utf8.h"
#include "tests/support/suite.h"

static struct outbuf out;
static char written[4096];

static void ck_written(const char *wanted)
{
    ck_assert_uint_lt(out.len, sizeof(written));
    outbuf_copy(&out, written);
    written[out.len] = '\0';
    outbuf_drop(&out);
    ck_assert_str_eq(written, wanted);
}

START_TEST(utf8_is_distinguished_from_other_bytes)
{
    static const struct {
        const char *text;
        size_t len;
    } cases[] = {
        { "a", 1 },
        { "\x7f", 1 },
        { "\xc2\x80", 2 },
        { "\xdf\xbf", 2 },
        { "\xe0\xa0\x80", 3 },
        { "\xed\x9f\xbf", 3 },
        { "\xef\xbf\xbf", 3 },
        { "\xf0\x90\x80\x80", 4 },
        { "\xf4\x8f\xbf\xbf", 4 },
        { "\x80", 0 },
        { "\xc1\xbf", 0 },         /* overlong */
        { "\xe0\x9f\xbf", 0 },     /* overlong */
        { "\xf0\x8f\xbf\xbf", 0 }, /* overlong */
        { "\xed\xa0\x80", 0 },     /* a surrogate */
        { "\xf4\x90\x80\x80", 0 }, /* above the last character */
        { "\xf5\x80\x80\x80", 0 },
        { "\xe2\x82", 0 }, /* cut */
        { "\xc3(", 0 },
        { "\xe2(\xa1", 0 },
        { "\xe2\x82(", 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bytes text = bytes_of(cases[i].text, strlen(cases[i].text));
        ck_assert_msg(utf8_length(text) == cases[i].len, "case %zu: %zu", i, utf8_length(text));
        ck_assert_int_eq(utf8_valid(text), cases[i].len > 0);
    }
    ck_assert_uint_eq(utf8_length(LIT("\0")), 1);
    ck_assert_uint_eq(utf8_length(LIT("")), 0);
    ck_assert(utf8_valid(LIT("")));
    ck_assert(!utf8_valid(LIT("abc\xff")));
}
END_TEST

START_TEST(prom_family_has_help_type_and_samples)
{
    struct prom prom = { .out = &out };
    struct prom_labels labels = { 0 };
    prom_family(&prom, "a_total", PROM_COUNTER, "Counts a.");
    prom_integer(&prom, NULL, UINT64_MAX);
    prom_label(&labels, "db", LIT("0"));
    prom_label(&labels, "key", LIT("k"));
    prom_real(&prom, &labels, 0.5);
    ck_written("# HELP a_total Counts a.\n# TYPE a_total counter\na_total 18446744073709551615\n"
               "a_total{db=\"0\",key=\"k\"} 0.5\n");
}
END_TEST

START_TEST(prom_label_escapes_quotes_backslashes_and_lines)
{
    struct prom prom = { .out = &out, .family = "a" };
    struct prom_labels labels = { 0 };
    prom_label(&labels, "key", LIT("\"\\\n\t\xc3\xa9{},="));
    prom_integer(&prom, &labels, 1);
    ck_written("a{key=\"\\\"\\\\\\n\t\xc3\xa9{},=\"} 1\n");
}
END_TEST

START_TEST(prom_real_is_an_integer_or_has_six_decimals)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        { 0, "0" },
        { -3, "-3" },
        { 1e15, "1000000000000000" },
        { 0.1, "0.1" },
        { 1.000001, "1.000001" },
        { 0.0000001, "0" },
        { 2.5000004, "2.5" },
        { 99.999999, "99.999999" },
        { 1e300, "1.0000000000000001e+300" },
        { INFINITY, "+Inf" },
        { -INFINITY, "-Inf" },
        { NAN, "NaN" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[PROM_REAL_MAX + 1];
        text[prom_print_real(text, cases[i].value)] = '\0';
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

START_TEST(prom_histogram_ends_with_infinity_sum_and_count)
{
    static const char *const bounds[] = { "0.001", "0.5" };
    static const uint64_t cumulative[] = { 3, 7 };
    struct prom prom = { .out = &out, .family = "h" };
    struct prom_labels labels = { 0 };
    struct prom_histogram histogram = { 2, bounds, cumulative, 9, 12.25 };
    prom_histogram(&prom, NULL, &histogram);
    ck_written("h_bucket{le=\"0.001\"} 3\nh_bucket{le=\"0.5\"} 7\nh_bucket{le=\"+Inf\"} 9\n"
               "h_sum 12.25\nh_count 9\n");
    prom_label(&labels, "c", LIT("get"));
    histogram.count = 1;
    prom_histogram(&prom, &labels, &histogram);
    ck_written("h_bucket{c=\"get\",le=\"0.001\"} 3\nh_bucket{c=\"get\",le=\"+Inf\"} 9\n"
               "h_sum{c=\"get\"} 12.25\nh_count{c=\"get\"} 9\n");
}
END_TEST

START_TEST(json_puts_commas_between_values)
{
    struct json json = { .out = &out };
    json_open(&json, NULL, '{');
    json_integer(&json, "a", -5);
    json_open(&json, "list", '[');
    json_real(&json, NULL, 0.25);
    json_real(&json, NULL, INFINITY);
    json_open(&json, NULL, '{');
    json_close(&json, '}');
    json_close(&json, ']');
    json_open(&json, "empty", '[');
    json_close(&json, ']');
    json_bool(&json, "yes", true);
    json_bool(&json, "no", false);
    json_null(&json, "none");
    json_close(&json, '}');
    ck_written("{\"a\":-5,\"list\":[0.25,null,{}],\"empty\":[],\"yes\":true,\"no\":false,"
               "\"none\":null}");
}
END_TEST

START_TEST(json_text_escapes_what_is_not_allowed)
{
    struct json json = { .out = &out };
    json_text(&json, NULL, LIT("a\"\\\n\x01\x7f\xc3\xa9\xff\xe2\x82</b>\0z"));
    ck_written("\"a\\\"\\\\\\u000a\\u0001\\u007f\xc3\xa9\\\\xff\\\\xe2\\\\x82</b>\\u0000z\"");
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { utf8_is_distinguished_from_other_bytes,
                                   prom_family_has_help_type_and_samples,
                                   prom_label_escapes_quotes_backslashes_and_lines,
                                   prom_real_is_an_integer_or_has_six_decimals,
                                   prom_histogram_ends_with_infinity_sum_and_count,
                                   json_puts_commas_between_values,
                                   json_text_escapes_what_is_not_allowed,
                                   NULL };
    outbuf_init(&out);
    return suite_of("text", tests);
}
