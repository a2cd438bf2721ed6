/* histogram: percentiles against a sorted list of the same spans. */
#include <stdlib.h>

#include "store/base/histogram.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { SPANS = 5000 };

static int by_size(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

/* The percentile as it would be without buckets; percent in tenths. */
static int64_t exact(const int64_t *sorted, size_t count, unsigned tenths)
{
    size_t wanted = (count * tenths + 999) / 1000;
    return sorted[wanted > 0 ? wanted - 1 : 0];
}

START_TEST(percentiles_are_zero_without_spans)
{
    struct histogram histogram = { 0 };
    ck_assert_int_eq(histogram_percentile(&histogram, 50), 0);
    ck_assert_int_eq(histogram_percentile(&histogram, 100), 0);
    histogram_add(&histogram, 1000, 0);
    ck_assert_uint_eq(histogram.total, 0);
    ck_assert_int_eq(histogram.max, 0);
}
END_TEST

START_TEST(single_span_is_every_percentile)
{
    struct histogram histogram = { 0 };
    histogram_add(&histogram, 123456789, 1);
    ck_assert_int_eq(histogram_percentile(&histogram, 0), 123456789);
    ck_assert_int_eq(histogram_percentile(&histogram, 50), 123456789);
    ck_assert_int_eq(histogram_percentile(&histogram, 99.9), 123456789);
    ck_assert_int_eq(histogram.max, 123456789);
}
END_TEST

START_TEST(spans_out_of_range_use_first_or_last_bucket)
{
    struct histogram histogram = { 0 };
    histogram_add(&histogram, -5, 1);
    histogram_add(&histogram, INT64_MIN, 1);
    histogram_add(&histogram, INT64_MAX, 1);
    histogram_add(&histogram, INT64_C(1) << 33, 1);
    ck_assert_uint_eq(histogram.total, 4);
    ck_assert_int_eq(histogram_percentile(&histogram, 50), 0);
    ck_assert_int_eq(histogram_percentile(&histogram, 75), INT64_MAX);
    ck_assert_int_eq(histogram.max, INT64_MAX);
    ck_assert_uint_eq(histogram_below(&histogram, INT64_C(1) << 31), 2);
}
END_TEST

START_TEST(spans_below_64_ms_are_exact)
{
    struct histogram histogram = { 0 };
    for (int64_t late = 0; late < 64; late++)
        histogram_add(&histogram, late, 1);
    histogram_add(&histogram, 100000, 36);
    for (int percent = 1; percent <= 64; percent++)
        ck_assert_int_eq(histogram_percentile(&histogram, percent), percent - 1);
    ck_assert_int_eq(histogram_percentile(&histogram, 65), 100000);
}
END_TEST

START_TEST(percentile_is_smallest_sufficient_span)
{
    struct histogram histogram = { 0 };
    histogram_add(&histogram, 1, 999);
    histogram_add(&histogram, 2, 1);
    ck_assert_int_eq(histogram_percentile(&histogram, 99.9), 1);
    ck_assert_int_eq(histogram_percentile(&histogram, 99.91), 2);
    ck_assert_int_eq(histogram_percentile(&histogram, 100), 2);
}
END_TEST

START_TEST(percentiles_exceed_exact_by_at_most_one_32nd)
{
    static const unsigned tenths[] = { 1, 100, 500, 900, 990, 999, 1000 };
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 20; round++) {
        struct histogram histogram = { 0 };
        int64_t *spans = malloc(SPANS * sizeof(*spans));
        size_t count = 1 + rng_below(&rng, SPANS);
        for (size_t i = 0; i < count; i++) {
            spans[i] = (int64_t)rng_below(&rng, UINT64_C(1) << (1 + rng_below(&rng, 32)));
            histogram_add(&histogram, spans[i], 1);
        }
        qsort(spans, count, sizeof(*spans), by_size);
        for (size_t i = 0; i < sizeof(tenths) / sizeof(tenths[0]); i++) {
            int64_t wanted = exact(spans, count, tenths[i]);
            int64_t got = histogram_percentile(&histogram, tenths[i] / 10.0);
            ck_assert_int_ge(got, wanted);
            ck_assert_int_le(got, wanted < 64 ? wanted : wanted + wanted / 32);
        }
        ck_assert_int_eq(histogram.max, spans[count - 1]);
        free(spans);
    }
}
END_TEST

START_TEST(below_counts_spans_under_bucket_floor)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 2000; round++) {
        int64_t span = (int64_t)rng_below(&rng, UINT64_C(1) << (1 + rng_below(&rng, 31)));
        int64_t least = histogram_floor(span);
        ck_assert_int_le(least, span);
        ck_assert_int_le(span - least, span / 32);
        ck_assert_int_eq(histogram_floor(least), least);
        int64_t most = histogram_ceiling(span);
        ck_assert_int_ge(most, span);
        ck_assert_int_eq(histogram_floor(most), least);
        ck_assert_int_eq(histogram_floor(most + 1), most + 1);
        struct histogram histogram = { 0 };
        histogram_add(&histogram, least - 1, 3);
        histogram_add(&histogram, least, 5);
        histogram_add(&histogram, span, 7);
        ck_assert_uint_eq(histogram_below(&histogram, least), least > 0 ? 3 : 0);
        ck_assert_uint_eq(histogram_below(&histogram, INT64_MAX), 15);
        ck_assert_uint_eq(histogram_up_to(&histogram, span), 15);
        ck_assert_uint_eq(histogram_up_to(&histogram, least - 1), least > 0 ? 3 : 15);
    }
    ck_assert_int_eq(histogram_ceiling(INT64_C(1) << 40), INT64_MAX);
}
END_TEST

START_TEST(spans_since_a_copy_are_those_added_later)
{
    struct histogram histogram = { 0 };
    histogram_add(&histogram, 5000, 2);
    struct histogram before = histogram;
    struct histogram none = histogram_since(&histogram, &before);
    ck_assert_uint_eq(none.total, 0);
    ck_assert_int_eq(none.max, 0);
    histogram_add(&histogram, 3, 4);
    histogram_add(&histogram, 40, 1);
    struct histogram since = histogram_since(&histogram, &before);
    ck_assert_uint_eq(since.total, 5);
    ck_assert_uint_eq(since.sum, 52);
    ck_assert_int_eq(since.max, 40);
    ck_assert_int_eq(histogram_percentile(&since, 50), 3);
    struct histogram reset = { 0 };
    histogram_add(&reset, 7, 1);
    ck_assert_int_eq(histogram_since(&reset, &before).max, 7);
    histogram_add(&reset, 7, 5); /* more than before, and others */
    ck_assert_uint_eq(histogram_since(&reset, &before).total, 6);
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
        below_counts_spans_under_bucket_floor,
        spans_since_a_copy_are_those_added_later,
        NULL,
    };
    return suite_of("histogram", tests);
}
