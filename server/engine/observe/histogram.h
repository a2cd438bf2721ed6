/* histogram: counts spans with an error of at most one eighth. Log-linear buckets (after
 * HdrHistogram): exact below 16, then eight for each power of two. */
#ifndef SERVER_ENGINE_OBSERVE_HISTOGRAM_H
#define SERVER_ENGINE_OBSERVE_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_EXACT = 16,
    HISTOGRAM_STEPS = 8, /* for each power of two */
    HISTOGRAM_OCTAVES = 36,
    HISTOGRAM_BUCKETS = HISTOGRAM_EXACT + HISTOGRAM_STEPS * HISTOGRAM_OCTAVES,
};

struct histogram {
    uint64_t count, sum; /* of all values */
    uint32_t seen[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);
/* The value at a percentile (0 to 1): this share of all values does not exceed it; 0 when empty. */
uint64_t histogram_at(const struct histogram *histogram, double share);
/* The number of values up to `value`, including all in its bucket. */
uint64_t histogram_up_to(const struct histogram *histogram, uint64_t value);

#endif
