/* histogram: counts of durations in nanoseconds, with a resolution of about 1/64 of the value. */
#ifndef TOOLS_BENCH_LOAD_HISTOGRAM_H
#define TOOLS_BENCH_LOAD_HISTOGRAM_H

#include <stdint.h>

/* Slots are linear within each power of two. */
enum { HISTOGRAM_BITS = 6, HISTOGRAM_SLOTS = (64 - HISTOGRAM_BITS) << HISTOGRAM_BITS };

/* All zero: empty. */
struct histogram {
    uint64_t count[HISTOGRAM_SLOTS];
    uint64_t total;
    int64_t max;
};

void histogram_add(struct histogram *histogram, int64_t nsec, uint64_t times);
/* The percentile `share` (0 to 1); 0 if empty. */
int64_t histogram_at(const struct histogram *histogram, double share);

#endif
