/* lag: percentiles against a sorted list of the same spans. */
#include <stdlib.h>
#include <string.h>

#include "store/lag.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { SPANS = 5000 };

static int by_size(const void *a, const void *b)
{
    msec left = *(const msec *)a, right = *(const msec *)b;
    return left < right ? -1 : left > right;
}

/* The percentile as it would be without buckets; percent in tenths. */
static msec exact(const msec *sorted, size_t count, unsigned tenths)
{
    size_t wanted = (count * tenths + 999) / 1000;
    return sorted[wanted > 0 ? wanted - 1 : 0];
}

START_TEST(percentiles_are_zero_without_spans)
{
    struct lag lag = { 0 };
    ck_assert_int_eq(lag_percentile(&lag, 50), 0);
    ck_assert_int_eq(lag_percentile(&lag, 100), 0);
    lag_add(&lag, 1000, 0);
    ck_assert_uint_eq(lag.total, 0);
    ck_assert_int_eq(lag.max, 0);
}
END_TEST

START_TEST(single_span_is_every_percentile)
{
    struct lag lag = { 0 };
    lag_add(&lag, 123456789, 1);
    ck_assert_int_eq(lag_percentile(&lag, 0), 123456789);
    ck_assert_int_eq(lag_percentile(&lag, 50), 123456789);
    ck_assert_int_eq(lag_percentile(&lag, 99.9), 123456789);
    ck_assert_int_eq(lag.max, 123456789);
}
END_TEST

START_TEST(spans_out_of_range_use_first_or_last_bucket)
{
    struct lag lag = { 0 };
    lag_add(&lag, -5, 1);
    lag_add(&lag, INT64_MIN, 1);
    lag_add(&lag, INT64_MAX, 1);
    lag_add(&lag, INT64_C(1) << 33, 1);
    ck_assert_uint_eq(lag.total, 4);
    ck_assert_int_eq(lag_percentile(&lag, 50), 0);
    ck_assert_int_eq(lag_percentile(&lag, 75), INT64_MAX);
    ck_assert_int_eq(lag.max, INT64_MAX);
    ck_assert_uint_eq(lag_below(&lag, INT64_C(1) << 31), 2);
}
END_TEST

START_TEST(spans_below_64_ms_are_exact)
{
    struct lag lag = { 0 };
    for (msec late = 0; late < 64; late++)
        lag_add(&lag, late, 1);
    lag_add(&lag, 100000, 36);
    for (int percent = 1; percent <= 64; percent++)
        ck_assert_int_eq(lag_percentile(&lag, percent), percent - 1);
    ck_assert_int_eq(lag_percentile(&lag, 65), 100000);
}
END_TEST

START_TEST(percentile_is_smallest_sufficient_span)
{
    struct lag lag = { 0 };
    lag_add(&lag, 1, 999);
    lag_add(&lag, 2, 1);
    ck_assert_int_eq(lag_percentile(&lag, 99.9), 1);
    ck_assert_int_eq(lag_percentile(&lag, 99.91), 2);
    ck_assert_int_eq(lag_percentile(&lag, 100), 2);
}
END_TEST

START_TEST(percentiles_exceed_exact_by_at_most_one_32nd)
{
    static const unsigned tenths[] = { 1, 100, 500, 900, 990, 999, 1000 };
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 20; round++) {
        struct lag lag = { 0 };
        msec *spans = malloc(SPANS * sizeof(*spans));
        size_t count = 1 + rng_below(&rng, SPANS);
        for (size_t i = 0; i < count; i++) {
            spans[i] = (msec)rng_below(&rng, UINT64_C(1) << (1 + rng_below(&rng, 32)));
            lag_add(&lag, spans[i], 1);
        }
        qsort(spans, count, sizeof(*spans), by_size);
        for (size_t i = 0; i < sizeof(tenths) / sizeof(tenths[0]); i++) {
            msec wanted = exact(spans, count, tenths[i]);
            msec got = lag_percentile(&lag, tenths[i] / 10.0);
            ck_assert_int_ge(got, wanted);
            ck_assert_int_le(got, wanted < 64 ? wanted : wanted + wanted / 32);
        }
        ck_assert_int_eq(lag.max, spans[count - 1]);
        free(spans);
    }
}
END_TEST

START_TEST(lag_below_counts_spans_under_bucket_floor)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 2000; round++) {
        msec span = (msec)rng_below(&rng, UINT64_C(1) << (1 + rng_below(&rng, 31)));
        msec least = lag_floor(span);
        ck_assert_int_le(least, span);
        ck_assert_int_le(span - least, span / 32);
        ck_assert_int_eq(lag_floor(least), least);
        struct lag lag = { 0 };
        lag_add(&lag, least - 1, 3);
        lag_add(&lag, least, 5);
        lag_add(&lag, span, 7);
        ck_assert_uint_eq(lag_below(&lag, least), least > 0 ? 3 : 0);
        ck_assert_uint_eq(lag_below(&lag, INT64_MAX), 15);
    }
}
END_TEST

START_TEST(spans_since_a_copy_are_those_added_later)
{
    struct lag lag = { 0 };
    lag_add(&lag, 5000, 2);
    struct lag before = lag;
    struct lag none = lag_since(&lag, &before);
    ck_assert_uint_eq(none.total, 0);
    ck_assert_int_eq(none.max, 0);
    lag_add(&lag, 3, 4);
    lag_add(&lag, 40, 1);
    struct lag since = lag_since(&lag, &before);
    ck_assert_uint_eq(since.total, 5);
    ck_assert_uint_eq(since.sum, 52);
    ck_assert_int_eq(since.max, 40);
    ck_assert_int_eq(lag_percentile(&since, 50), 3);
    struct lag reset = { 0 };
    lag_add(&reset, 7, 1);
    ck_assert_int_eq(lag_since(&reset, &before).max, 7);
    lag_add(&reset, 7, 5); /* more than before, and others */
    ck_assert_uint_eq(lag_since(&reset, &before).total, 6);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        percentiles_are_zero_without_spans,
        single_span_is_every_percentile,
        spans_out_of_range_use_first_or_last_bucket,
        spans_below_64_ms_are_exact,
        percentile_is_smallest_sufficient_span,
        percentiles_exceed_exact_by_at_most_one_32nd,
        lag_below_counts_spans_under_bucket_floor,
        spans_since_a_copy_are_those_added_later,
        NULL,
    };
    return suite_of("lag", tests);
}
