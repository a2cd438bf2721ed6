/* Tests of number: text as Redis 7.0.15 prints and accepts it. The tables are its replies. */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/number.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { ROUNDS = 20000 };

static void assert_prints_double(double value, const char *expected)
{
    char text[NUMBER_DOUBLE_MAX_CHARS + 1];
    text[number_print_double(text, value)] = '\0';
    ck_assert_str_eq(text, expected);
}

static void assert_prints_int64(int64_t value, const char *expected)
{
    char text[NUMBER_INT64_MAX_CHARS + 1];
    text[number_print_int64(text, value)] = '\0';
    ck_assert_str_eq(text, expected);
}

START_TEST(integers_are_printed_in_decimal)
{
    assert_prints_int64(0, "0");
    assert_prints_int64(9, "9");
    assert_prints_int64(10, "10");
    assert_prints_int64(99, "99");
    assert_prints_int64(100, "100");
    assert_prints_int64(-1, "-1");
    assert_prints_int64(INT64_MAX, "9223372036854775807");
    assert_prints_int64(INT64_MIN, "-9223372036854775808");
    char text[NUMBER_INT64_MAX_CHARS + 1];
    text[number_print_uint64(text, UINT64_MAX)] = '\0';
    ck_assert_str_eq(text, "18446744073709551615");
}
END_TEST

START_TEST(integers_of_each_length_are_printed_as_by_libc)
{
    char text[NUMBER_INT64_MAX_CHARS + 1], expected[NUMBER_INT64_MAX_CHARS + 2];
    uint64_t random = 1, power = 1;
    for (int digits = 1; digits <= 20; digits++, power *= 10) {
        for (int i = 0; i < 1000; i++) {
            random = random * 6364136223846793005 + 1442695040888963407;
            uint64_t above = digits == 20 ? UINT64_MAX - power : 9 * power - 1;
            uint64_t value = power + (i == 0 ? 0 : i == 1 ? above : (random >> 1) % above);
            memset(text, 'x', sizeof(text));
            size_t len = number_print_uint64(text, value);
            ck_assert_int_eq(text[len], 'x'); /* nothing behind the last digit */
            text[len] = '\0';
            snprintf(expected, sizeof(expected), "%" PRIu64, value);
            ck_assert_str_eq(text, expected);
        }
    }
}
END_TEST

START_TEST(integers_are_accepted_in_one_form_only)
{
    static const char *const bad[] = { "",
                                       "-",
                                       "+1",
                                       " 1",
                                       "1 ",
                                       "01",
                                       "-0",
                                       "-01",
                                       "00",
                                       "1a",
                                       "a",
                                       "--1",
                                       "0x1",
                                       "1.0",
                                       "9223372036854775808",
                                       "-9223372036854775809",
                                       "99999999999999999999",
                                       "100000000000000000000" };
    int64_t value = 7;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(!number_parse_int64(bad[i], strlen(bad[i]), &value), "%s", bad[i]);
    ck_assert_int_eq(value, 7);
    ck_assert(!number_parse_int64("1\0", 2, &value));
    ck_assert(number_parse_int64("0", 1, &value) && value == 0);
    ck_assert(number_parse_int64("12345", 3, &value) && value == 123);
    ck_assert(number_parse_int64("-9223372036854775808", 20, &value) && value == INT64_MIN);
    ck_assert(number_parse_int64("9223372036854775807", 19, &value) && value == INT64_MAX);
}
END_TEST

START_TEST(unsigned_integers_reach_64_bits)
{
    uint64_t value;
    ck_assert(number_parse_uint64("18446744073709551615", 20, &value) && value == UINT64_MAX);
    ck_assert(!number_parse_uint64("18446744073709551616", 20, &value));
    ck_assert(!number_parse_uint64("28446744073709551615", 20, &value));
    ck_assert(!number_parse_uint64("-1", 2, &value));
    ck_assert(number_parse_uint64("0", 1, &value) && value == 0);
}
END_TEST

/* A text of an integer, or one that nearly is. */
static size_t random_integer_text(char *text, size_t room, struct rng *rng)
{
    int64_t value = (int64_t)(rng_next(rng) >> rng_below(rng, 64));
    if (rng_chance(rng, 50)) value = (int64_t)(0 - (uint64_t)value);
    int len = snprintf(text, room, "%" PRId64, value);
    if (rng_chance(rng, 30))
        text[rng_below(rng, (uint64_t)len)] = "0123456789-+ .a/:?\xb5"[rng_below(rng, 19)];
    if (rng_chance(rng, 10))
        len += snprintf(text + len, room - (size_t)len, "%d", (int)rng_below(rng, 99));
    return (size_t)len;
}

START_TEST(only_canonical_random_integers_are_accepted)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int i = 0; i < ROUNDS; i++) {
        char text[64], again[64];
        size_t len = random_integer_text(text, sizeof(text), &rng);
        errno = 0;
        long long reference = strtoll(text, NULL, 10);
        bool fits = errno == 0;
        snprintf(again, sizeof(again), "%lld", reference);
        int64_t value = 0;
        bool good = number_parse_int64(text, len, &value);
        ck_assert_msg(good == (fits && strcmp(text, again) == 0), "%s", text);
        if (!good) continue;
        ck_assert_int_eq(value, reference);
        assert_prints_int64(value, text);
    }
}
END_TEST

START_TEST(doubles_print_as_integers_or_with_17_digits)
{
    assert_prints_double(3.0, "3");
    assert_prints_double(0.0, "0");
    assert_prints_double(-0.0, "-0");
    assert_prints_double(0.1, "0.10000000000000001");
    assert_prints_double(-0.5, "-0.5");
    assert_prints_double(1e-5, "1.0000000000000001e-05");
    assert_prints_double(0.0001, "0.0001");
    assert_prints_double(1e5, "100000");
    assert_prints_double(1e16, "10000000000000000");
    assert_prints_double(99999999999999984.0, "99999999999999984");
    assert_prints_double(-99999999999999984.0, "-99999999999999984");
    assert_prints_double(1e17, "1e+17");
    assert_prints_double(-1e17, "-1e+17");
    assert_prints_double(123456789012345678.0, "1.2345678901234568e+17");
    assert_prints_double(4611686018427387904.0, "4.6116860184273879e+18");
    assert_prints_double(1e20, "1e+20");
    assert_prints_double(1.5e300, "1.5000000000000001e+300");
    assert_prints_double(4.9e-324, "4.9406564584124654e-324");
}
END_TEST

START_TEST(infinities_and_nan_are_printed_as_words)
{
    assert_prints_double(INFINITY, "inf");
    assert_prints_double(-INFINITY, "-inf");
    assert_prints_double(NAN, "nan");
    assert_prints_double(-NAN, "nan");
}
END_TEST

static double random_double(struct rng *rng)
{
    uint64_t bits = rng_next(rng);
    double value;
    switch (rng_below(rng, 5)) {
    case 0: return (double)(int64_t)(bits >> rng_below(rng, 64));
    case 1: return -(double)(int64_t)(bits >> rng_below(rng, 64));
    case 2: return (double)rng_between(rng, -100000, 100000) / 100;
    case 3: return 1e17 + (double)rng_between(rng, -100, 100) * 8;
    default: memcpy(&value, &bits, sizeof(value)); return value;
    }
}

START_TEST(random_doubles_print_as_printf_and_round_trip)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int i = 0; i < ROUNDS; i++) {
        double value = random_double(&rng), back;
        if (isnan(value)) continue;
        char expected[64], text[NUMBER_DOUBLE_MAX_CHARS];
        int len = snprintf(expected, sizeof(expected), "%.17g", value);
        ck_assert_uint_eq(number_print_double(text, value), (size_t)len);
        ck_assert_msg(memcmp(text, expected, (size_t)len) == 0, "%s", expected);
        ck_assert_msg(number_parse_double(text, (size_t)len, &back), "%s", expected);
        ck_assert_msg(memcmp(&back, &value, sizeof(value)) == 0, "%s", expected);
    }
}
END_TEST

START_TEST(doubles_are_accepted_in_every_form_that_strtod_accepts)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        { "inf", INFINITY },
        { "+inf", INFINITY },
        { "-inf", -INFINITY },
        { "infinity", INFINITY },
        { "INF", INFINITY },
        { "Infinity", INFINITY },
        { "0x10", 16 },
        { "0x1p3", 8 },
        { "+5", 5 },
        { "5.", 5 },
        { ".5", 0.5 },
        { "-.5", -0.5 },
        { "1e5", 1e5 },
        { "007", 7 },
        { "1e-310", 1e-310 },
        { "4.9e-324", 4.9e-324 },
        { "0e-999", 0 },
        { "3.0", 3 },
        { "0.1", 0.1 },
        { "9007199254740993", 9007199254740992.0 },
        { "123456789012345678", 123456789012345678.0 },
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        double value = 0;
        ck_assert_msg(number_parse_double(good[i].text, strlen(good[i].text), &value), "%s",
                      good[i].text);
        ck_assert_msg(value == good[i].value, "%s", good[i].text);
    }
    double zero;
    ck_assert(number_parse_double("-0", 2, &zero) && zero == 0 && signbit(zero));
}
END_TEST

START_TEST(malformed_doubles_are_refused)
{
    static const char *const bad[] = { "",       "nan",    "-nan",   "nan(1)", "1e309",
                                       "-1e309", "1e-400", "2e-324", ".",      "-",
                                       "+",      "-.",     "1e",     "1e+",    " 1",
                                       "\t1",    "1 ",     "0x",     "1_0",    "1..2",
                                       "--1",    "1-",     "1,5",    "\v1",    "infi" };
    double value = 7;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(!number_parse_double(bad[i], strlen(bad[i]), &value), "%s", bad[i]);
    ck_assert(!number_parse_double("1\0", 2, &value));
    ck_assert(value == 7);
}
END_TEST

START_TEST(long_texts_of_doubles_are_read_completely)
{
    char text[6000];
    double value;
    memset(text, '1', sizeof(text));
    ck_assert(!number_parse_double(text, 400, &value));
    ck_assert(number_parse_double(text, 300, &value) && value > 1e299 && value < 1.2e299);
    memcpy(text, "0.", 2);
    ck_assert(number_parse_double(text, 5119, &value) && value == 1.0 / 9);
    ck_assert(!number_parse_double(text, 5120, &value));
    for (size_t len = 250; len < 260; len++)
        ck_assert(number_parse_double(text, len, &value) && value == 1.0 / 9);
}
END_TEST

static bool reference_parse(const char *text, size_t len, double *value)
{
    char copy[64], *end;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (len == 0 || strchr(" \t\n\v\f\r", copy[0]) != NULL) return false;
    errno = 0;
    *value = strtod(copy, &end);
    bool out_of_range = errno == ERANGE && (isinf(*value) || *value == 0);
    return end == copy + len && !out_of_range && !isnan(*value);
}

START_TEST(random_texts_of_doubles_are_read_as_strtod_does)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int i = 0; i < ROUNDS; i++) {
        char text[24];
        size_t len = rng_below(&rng, sizeof(text));
        bool odd = rng_chance(&rng, 30);
        for (size_t j = 0; j < len; j++)
            text[j] =
                odd ? "0123456789..-+exE "[rng_below(&rng, 18)] : "0123456789"[rng_below(&rng, 10)];
        if (len > 0 && rng_chance(&rng, 60)) text[rng_below(&rng, len)] = '.';
        if (len > 0 && rng_chance(&rng, 20)) text[0] = '-';
        double value = 0, expected = 0;
        bool good = number_parse_double(text, len, &value);
        ck_assert_msg(good == reference_parse(text, len, &expected), "%.*s", (int)len, text);
        ck_assert_msg(!good || memcmp(&value, &expected, sizeof(value)) == 0, "%.*s", (int)len,
                      text);
    }
}
END_TEST

static void assert_increments_to(const char *from, const char *expected)
{
    long double value;
    static char text[NUMBER_FIXED_MAX_CHARS + 1];
    ck_assert_msg(number_parse_long_double(from, strlen(from), &value), "%s", from);
    text[number_print_long_double(text, value)] = '\0';
    ck_assert_str_eq(text, expected);
}

START_TEST(long_doubles_are_printed_as_incrbyfloat_does)
{
    assert_increments_to("1e17", "100000000000000000");
    assert_increments_to("1e20", "100000000000000000000");
    assert_increments_to("0.1", "0.1");
    assert_increments_to("3.0", "3");
    assert_increments_to("100", "100");
    assert_increments_to("0", "0");
    assert_increments_to("-0", "0");
    assert_increments_to("1e-5", "0.00001");
    assert_increments_to("1e-17", "0.00000000000000001");
    assert_increments_to("1e-18", "0");
    assert_increments_to("-1e-18", "0");
    assert_increments_to("6e-18", "0.00000000000000001");
    assert_increments_to("3.14159265358979323846", "3.14159265358979324");
    /* 64 bits of x86, 113 of arm64; on each Redis prints the same. */
    assert_increments_to("12345678901234567890123456789", LDBL_MANT_DIG == 64
                                                              ? "12345678901234567890421678080"
                                                              : "12345678901234567890123456789");
    assert_increments_to("0x1p3", "8");
    assert_increments_to("inf", "inf");
    assert_increments_to("-inf", "-inf");
}
END_TEST

START_TEST(the_longest_long_double_fits_its_room)
{
    static char text[NUMBER_FIXED_MAX_CHARS];
    long double value;
    ck_assert(number_parse_long_double("-1.1e4932", 9, &value));
    ck_assert_uint_eq(number_print_long_double(text, value), 4934);
}
END_TEST

START_TEST(long_doubles_out_of_range_or_too_long_are_refused)
{
    static const char *const bad[] = { "",  "nan", "1e5000", "-1e5000", "1e-5000",
                                       ".", " 1",  "1 ",     "1a" };
    long double value;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(!number_parse_long_double(bad[i], strlen(bad[i]), &value), "%s", bad[i]);
    ck_assert(!number_parse_long_double("1\0", 2, &value));
    static char zeros[5120];
    memset(zeros, '0', sizeof(zeros));
    zeros[5118] = '1';
    ck_assert(number_parse_long_double(zeros, 5119, &value) && value == 1);
    ck_assert(!number_parse_long_double(zeros, 5120, &value));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        integers_are_printed_in_decimal,
        integers_of_each_length_are_printed_as_by_libc,
        integers_are_accepted_in_one_form_only,
        unsigned_integers_reach_64_bits,
        only_canonical_random_integers_are_accepted,
        doubles_print_as_integers_or_with_17_digits,
        infinities_and_nan_are_printed_as_words,
        random_doubles_print_as_printf_and_round_trip,
        doubles_are_accepted_in_every_form_that_strtod_accepts,
        malformed_doubles_are_refused,
        long_texts_of_doubles_are_read_completely,
        random_texts_of_doubles_are_read_as_strtod_does,
        long_doubles_are_printed_as_incrbyfloat_does,
        the_longest_long_double_fits_its_room,
        long_doubles_out_of_range_or_too_long_are_refused,
        NULL,
    };
    return suite_of("number", tests);
}
