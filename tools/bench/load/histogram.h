/* histogram: how often each span of time was seen, to about one part in 64.
 * Knows nanoseconds and counts; refuses to know what took so long. */
#ifndef TOOLS_BENCH_LOAD_HISTOGRAM_H
#define TOOLS_BENCH_LOAD_HISTOGRAM_H

#include <stdint.h>

/* Linear within each power of two. */
enum { HISTOGRAM_BITS = 6, HISTOGRAM_SLOTS = (64 - HISTOGRAM_BITS) << HISTOGRAM_BITS };

/* Zeroed: empty. */
struct histogram {
    uint64_t count[HISTOGRAM_SLOTS];
    uint64_t total;
    int64_t max;
};

void histogram_add(struct histogram *histogram, int64_t nsec, uint64_t times);
/* The least span that this share of all does not exceed; 0 when there are none. */
int64_t histogram_at(const struct histogram *histogram, double share);

#endif
