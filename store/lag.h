/* lag: how late things that expired were removed: a histogram of spans in milliseconds.
 * Knows spans; refuses to know what was late.
 *
 * Log-linear buckets, exact below 64 ms and within 1/32 above (as HdrHistogram's). */
#ifndef STORE_LAG_H
#define STORE_LAG_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/instant.h"

enum { LAG_BUCKETS = 64 + 26 * 32 }; /* up to 2^32 ms; later ones count as that */

struct lag {
    uint64_t counts[LAG_BUCKETS];
    uint64_t total;
    msec max;
};

void lag_add(struct lag *lag, msec late, uint64_t count); /* late < 0 counts as 0. O(1) */
/* The smallest span that at least this part of all stays within: 50, 99, 99.9 ... 0 without any. */
msec lag_percentile(const struct lag *lag, double percent);

/* The least span that shares a bucket with this one. */
msec lag_floor(msec span);
/* How many are less than a span that lag_floor gave. */
uint64_t lag_below(const struct lag *lag, msec span);

#endif
