/* lag: see lag.h. Bucket i < 64 counts spans of exactly i ms. Above, each power of two has 32
 * buckets: those of 2^k start at bucket 64 + 32 (k - 6) and are 2^(k - 5) ms wide. */
#include "store/lag.h"

enum { EXACT = 64, EXACT_SHIFT = 6, SHARE = 32, SHARE_SHIFT = 5 };

#define SPAN_MAX ((INT64_C(1) << 32) - 1) /* longer spans share its bucket */

_Static_assert(LAG_BUCKETS == EXACT + (32 - EXACT_SHIFT) * SHARE, "a bucket for each span");

static unsigned bucket_of(msec span)
{
    if (span < 0) return 0;
    if (span > SPAN_MAX) span = SPAN_MAX;
    if (span < EXACT) return (unsigned)span;
    unsigned doubling = 63 - (unsigned)__builtin_clzll((unsigned long long)span);
    unsigned within = (unsigned)(span >> (doubling - SHARE_SHIFT)) - SHARE;
    return EXACT + (doubling - EXACT_SHIFT) * SHARE + within;
}

static msec bucket_begin(unsigned bucket)
{
    if (bucket < EXACT) return bucket;
    unsigned doubling = (bucket - EXACT) / SHARE + EXACT_SHIFT;
    return (msec)(SHARE + (bucket - EXACT) % SHARE) << (doubling - SHARE_SHIFT);
}

void lag_add(struct lag *lag, msec late, uint64_t count)
{
    if (count == 0) return;
    lag->counts[bucket_of(late)] += count;
    lag->total += count;
    if (late > 0) lag->sum += (uint64_t)late * count;
    if (late > lag->max) lag->max = late;
}

msec lag_floor(msec span)
{
    return bucket_begin(bucket_of(span));
}

uint64_t lag_below(const struct lag *lag, msec span)
{
    uint64_t below = 0;
    if (span > SPAN_MAX) return lag->total;
    for (unsigned bucket = 0; bucket_begin(bucket + 1) <= span; bucket++)
        below += lag->counts[bucket];
    return below;
}

struct lag lag_since(const struct lag *lag, const struct lag *before)
{
    struct lag since = *lag;
    unsigned last = 0;
    for (unsigned bucket = 0; bucket < LAG_BUCKETS; bucket++) {
        if (lag->counts[bucket] < before->counts[bucket]) return *lag;
        since.counts[bucket] -= before->counts[bucket];
        if (since.counts[bucket] > 0) last = bucket;
    }
    since.total -= before->total;
    since.sum -= before->sum;
    msec most = since.total > 0 ? bucket_begin(last + 1) - 1 : 0;
    since.max = most < lag->max ? most : lag->max;
    return since;
}

/* `percent` of `total`, rounded up; at least 1. The factor cancels the rounding error of the
 * product: 99.9% of 1000 is 999. */
static uint64_t part_of(uint64_t total, double percent)
{
    double part = (double)total * percent / 100 * (1 - 1e-12);
    uint64_t whole = part > 0 ? (uint64_t)part : 0;
    if ((double)whole < part) whole++;
    if (whole == 0) return 1;
    return whole < total ? whole : total;
}

msec lag_percentile(const struct lag *lag, double percent)
{
    if (lag->total == 0) return 0;
    uint64_t wanted = part_of(lag->total, percent), seen = lag->counts[0];
    unsigned bucket = 0;
    while (seen < wanted)
        seen += lag->counts[++bucket];
    /* No span is above max, so it is exact for the last bucket in use. */
    return seen == lag->total ? lag->max : bucket_begin(bucket + 1) - 1;
}
