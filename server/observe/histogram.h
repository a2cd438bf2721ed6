/* histogram: how often which span was seen, within an eighth of it.
 * Log-linear buckets (after HdrHistogram): exact below 16, then eight to each power of two. */
#ifndef SERVER_OBSERVE_HISTOGRAM_H
#define SERVER_OBSERVE_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_EXACT = 16,
    HISTOGRAM_STEPS = 8, /* of a power of two */
    HISTOGRAM_OCTAVES = 36,
    HISTOGRAM_BUCKETS = HISTOGRAM_EXACT + HISTOGRAM_STEPS * HISTOGRAM_OCTAVES,
};

struct histogram {
    uint64_t count;
    uint32_t seen[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);
/* The value that this share (0 to 1) of all does not exceed; 0 when nothing was seen. */
uint64_t histogram_at(const struct histogram *histogram, double share);
/* How many did not exceed `value`, by the bucket it is in. */
uint64_t histogram_up_to(const struct histogram *histogram, uint64_t value);

#endif
