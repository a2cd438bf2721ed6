/* histogram: counts values, mostly spans of time: how late expired keys were removed, how long
 * commands took. Values are rounded to log-linear buckets, as in HdrHistogram: exact below 64, and
 * within 1/32 from there to 2^32. */
#pragma once

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 64 + 26 * 32 }; /* the last one also counts values of 2^32 and more */

/* All zero: empty. */
struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total;
    uint64_t sum; /* of all values; wraps around */
    int64_t max;
};

void histogram_add(struct histogram *histogram, int64_t value,
                   uint64_t count); /* < 0 counts as 0 */
/* Returns the smallest value that is not below `percent` (50, 99, 99.9, ...) of all values, rounded
 * up to the end of its bucket but not above max. Returns 0 if the histogram is empty.
 * O(HISTOGRAM_BUCKETS) */
int64_t histogram_percentile(const struct histogram *histogram, double percent);

/* Returns the values that were added after `before`, which is an earlier copy. If a bucket contains
 * fewer values than then, the histogram was reset in between: returns all values. The max of the
 * result is the end of its highest bucket, or the histogram's own max if that is lower. */
struct histogram histogram_since(const struct histogram *histogram, const struct histogram *before);

/* Return the smallest and the largest value that share a bucket with this value. The last bucket
 * ends at INT64_MAX. */
int64_t histogram_floor(int64_t value);
int64_t histogram_ceiling(int64_t value);
/* Return how many values are below `value`, which must come from histogram_floor; _up_to includes
 * the values in the bucket of `value`. O(HISTOGRAM_BUCKETS) */
uint64_t histogram_below(const struct histogram *histogram, int64_t value);
uint64_t histogram_up_to(const struct histogram *histogram, int64_t value);
