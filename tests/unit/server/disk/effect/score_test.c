/* Tests of score: printed numbers are read back exactly, by score_parse and by libc. */
#include "server/disk/effect/score.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/rng.h"
#include "tests/support/suite.h"

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void assert_returns(double value)
{
    char text[SCORE_MAX_CHARS + 1];
    size_t len = score_print(text, value);
    ck_assert_uint_le(len, SCORE_MAX_CHARS);
    text[len] = '\0';
    double parsed;
    ck_assert_msg(score_parse(text, len, &parsed), "%s", text);
    ck_assert_msg(bits_of(parsed) == bits_of(value), "%.17g is %s and then %.17g", value, text,
                  parsed);
    ck_assert_msg(bits_of(strtod(text, NULL)) == bits_of(value), "%.17g: strtod of %s", value,
                  text);
}

static void assert_prints(double value, const char *expected)
{
    char text[SCORE_MAX_CHARS + 1];
    text[score_print(text, value)] = '\0';
    ck_assert_str_eq(text, expected);
    assert_returns(value);
}

START_TEST(numbers_with_few_digits_are_printed_short)
{
    assert_prints(0, "0");
    assert_prints(-0.0, "-0");
    assert_prints(1, "1");
    assert_prints(-17, "-17");
    assert_prints(1.5, "1.5");
    assert_prints(-0.001, "-0.001");
    assert_prints(0.1, "0.1");
    assert_prints(0.00025, "0.00025");
    assert_prints(1700000000.123, "1700000000.123");
    assert_prints(1700000000.123456, "1700000000.123456");
    assert_prints(0x1p-30, "9.3132257461547852e-10");
    assert_prints(9007199254740993.0, "9007199254740992");
    assert_prints(INFINITY, "inf");
    assert_prints(-INFINITY, "-inf");
}
END_TEST

START_TEST(the_ends_of_the_range_return_to_the_bit)
{
    const double ends[] = { DBL_MIN,
                            DBL_MAX,
                            -DBL_MAX,
                            DBL_TRUE_MIN,
                            1e-6,
                            0.9999999999999999e-6,
                            1.0000000000000002e-6,
                            9007199254740991.0,
                            4503599627370495.5,
                            2251799813685247.75,
                            0.3,
                            1.0 / 3,
                            0.1 + 0.2,
                            1e15 + 0.5,
                            999999999999999.9,
                            99999999999999.99,
                            1e16,
                            1e17,
                            1e22,
                            1e-5,
                            9.999999999999999e-6,
                            DBL_EPSILON };
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        assert_returns(ends[i]);
        assert_returns(nextafter(ends[i], 0));
        assert_returns(-nextafter(ends[i], INFINITY));
    }
}
END_TEST

START_TEST(random_scores_return_to_the_bit)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int i = 0; i < 200000; i++) {
        double any = of_bits(rng_next(&rng));
        if (!isnan(any)) assert_returns(any);
        double record = (double)(rng_next(&rng) >> 11) * 0x1p-53;
        assert_returns(record);
        assert_returns(ldexp(record, (int)rng_between(&rng, -30, 60)));
        assert_returns((double)rng_between(&rng, -1000000000000, 1000000000000) /
                       (double)rng_between(&rng, 1, 1000000));
    }
}
END_TEST

/* Numbers as people and other programs write them. */
START_TEST(any_decimal_is_read_as_strtod_reads_it)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int i = 0; i < 200000; i++) {
        char text[64];
        size_t len = 1 + rng_below(&rng, 24), dot = rng_below(&rng, len + 4);
        for (size_t j = 0; j < len; j++)
            text[j] = (char)('0' + rng_below(&rng, rng_chance(&rng, 20) ? 1 : 10));
        if (dot > 0 && dot + 1 < len) text[dot] = '.';
        text[len] = '\0';
        double parsed, expected = strtod(text, NULL);
        ck_assert(score_parse(text, len, &parsed));
        ck_assert_msg(bits_of(parsed) == bits_of(expected), "%s: %.17g and %.17g", text, parsed,
                      expected);
    }
    double score;
    const char *const bad[] = { "",      "-",  "nan", "1e",  " 1",
                                "1..12", "1 ", "x",   "--1", "12345678901234567890x" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert(!score_parse(bad[i], strlen(bad[i]), &score));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        numbers_with_few_digits_are_printed_short,
        the_ends_of_the_range_return_to_the_bit,
        random_scores_return_to_the_bit,
        any_decimal_is_read_as_strtod_reads_it,
        NULL,
    };
    return suite_of("score", tests);
}
