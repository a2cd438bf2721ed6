/* histogram: the buckets are log-linear:
 *
 *     bucket                 values
 *     i < 64                 exactly i
 *     64 + 32 (k - 6) + j    2^(k - 5) values from 2^k + j 2^(k - 5) on; k from 6, j from 0 to 31
 *     the last one           also everything beyond */
#include "store/base/histogram.h"

enum { EXACT = 64, EXACT_SHIFT = 6, SHARE = 32, SHARE_SHIFT = 5 };

#define VALUE_MAX ((INT64_C(1) << 32) - 1) /* larger values share its bucket */

_Static_assert(HISTOGRAM_BUCKETS == EXACT + (32 - EXACT_SHIFT) * SHARE, "a bucket for each value");

static unsigned bucket_of(int64_t value)
{
    if (value < 0) return 0;
    if (value > VALUE_MAX) value = VALUE_MAX;
    if (value < EXACT) return (unsigned)value;
    unsigned doubling = 63 - (unsigned)__builtin_clzll((unsigned long long)value);
    unsigned within = (unsigned)(value >> (doubling - SHARE_SHIFT)) - SHARE;
    return EXACT + (doubling - EXACT_SHIFT) * SHARE + within;
}

static int64_t bucket_begin(unsigned bucket)
{
    if (bucket < EXACT) return bucket;
    unsigned doubling = (bucket - EXACT) / SHARE + EXACT_SHIFT;
    return (int64_t)(SHARE + (bucket - EXACT) % SHARE) << (doubling - SHARE_SHIFT);
}

void histogram_add(struct histogram *histogram, int64_t value, uint64_t count)
{
    if (count == 0) return;
    histogram->counts[bucket_of(value)] += count;
    histogram->total += count;
    if (value > 0) histogram->sum += (uint64_t)value * count;
    if (value > histogram->max) histogram->max = value;
}

static uint64_t count_first(const struct histogram *histogram, unsigned buckets)
{
    uint64_t count = 0;
    for (unsigned bucket = 0; bucket < buckets; bucket++)
        count += histogram->counts[bucket];
    return count;
}

int64_t histogram_floor(int64_t value)
{
    return bucket_begin(bucket_of(value));
}

int64_t histogram_ceiling(int64_t value)
{
    unsigned bucket = bucket_of(value);
    return bucket + 1 < HISTOGRAM_BUCKETS ? bucket_begin(bucket + 1) - 1 : INT64_MAX;
}

uint64_t histogram_below(const struct histogram *histogram, int64_t value)
{
    return count_first(histogram, value > VALUE_MAX ? HISTOGRAM_BUCKETS : bucket_of(value));
}

uint64_t histogram_up_to(const struct histogram *histogram, int64_t value)
{
    return count_first(histogram, bucket_of(value) + 1);
}

struct histogram histogram_since(const struct histogram *histogram, const struct histogram *before)
{
    struct histogram since = *histogram;
    unsigned last = 0;
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        if (histogram->counts[bucket] < before->counts[bucket]) return *histogram;
        since.counts[bucket] -= before->counts[bucket];
        if (since.counts[bucket] > 0) last = bucket;
    }
    since.total -= before->total;
    since.sum -= before->sum;
    int64_t most = since.total > 0 ? bucket_begin(last + 1) - 1 : 0;
    since.max = most < histogram->max ? most : histogram->max;
    return since;
}

int64_t histogram_percentile(const struct histogram *histogram, double percent)
{
    if (histogram->total == 0) return 0;
    /* `wanted` is `percent` of the total, rounded up, at least 1. The factor 1 - 1e-12 cancels the
     * rounding error of the product, which would make 99.9% of 1000 one too many. */
    double share = (double)histogram->total * percent / 100 * (1 - 1e-12);
    uint64_t wanted = share > 0 ? (uint64_t)share : 0, seen = histogram->counts[0];
    if ((double)wanted < share) wanted++;
    if (wanted == 0) wanted = 1;
    if (wanted > histogram->total) wanted = histogram->total;
    unsigned bucket = 0;
    while (seen < wanted)
        seen += histogram->counts[++bucket];
    /* For the last bucket in use, max is nearer than the bucket's end. */
    return seen == histogram->total ? histogram->max : bucket_begin(bucket + 1) - 1;
}
