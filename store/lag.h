/* lag: a histogram of how many milliseconds after its deadline each expired key or member was
 * removed.
 *
 * Log-linear buckets as in HdrHistogram: exact below 64 ms, else within 1/32. */
#ifndef STORE_LAG_H
#define STORE_LAG_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/instant.h"

enum { LAG_BUCKETS = 64 + 26 * 32 }; /* the last bucket also counts spans of 2^32 ms and more */

struct lag {
    uint64_t counts[LAG_BUCKETS];
    uint64_t total;
    uint64_t sum; /* of all spans, in milliseconds; wraps around */
    msec max;
};

void lag_add(struct lag *lag, msec late, uint64_t count); /* late < 0 counts as 0. O(1) */
/* The smallest span that is not below `percent` (50, 99, 99.9, ...) of all spans; 0 if there are
 * none. O(LAG_BUCKETS) */
msec lag_percentile(const struct lag *lag, double percent);

/* The spans that were added after `before`, an earlier copy; all of them if the counts began anew
 * meanwhile. Their max is that of their last bucket. */
struct lag lag_since(const struct lag *lag, const struct lag *before);

/* The smallest span in the bucket of this span. */
msec lag_floor(msec span);
/* The number of spans below `span`, which must come from lag_floor. O(LAG_BUCKETS) */
uint64_t lag_below(const struct lag *lag, msec span);

#endif
