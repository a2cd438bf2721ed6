#include "tools/bench/load/histogram.h"

enum { STEPS = 1 << HISTOGRAM_BITS };

/* Durations below 2 * STEPS have a slot each; above, a slot is 2^shift wide. */
static unsigned slot_of(uint64_t nsec)
{
    if (nsec < 2 * STEPS) return (unsigned)nsec;
    unsigned shift = 63u - (unsigned)__builtin_clzll(nsec) - HISTOGRAM_BITS;
    return (shift << HISTOGRAM_BITS) + (unsigned)(nsec >> shift);
}

static int64_t slot_end(unsigned slot)
{
    if (slot < 2 * STEPS) return slot;
    unsigned shift = (slot >> HISTOGRAM_BITS) - 1;
    uint64_t step = (slot & (STEPS - 1)) + STEPS;
    return (int64_t)(((step + 1) << shift) - 1);
}

void histogram_add(struct histogram *histogram, int64_t nsec, uint64_t times)
{
    if (nsec < 0) nsec = 0;
    histogram->count[slot_of((uint64_t)nsec)] += times;
    histogram->total += times;
    if (nsec > histogram->max) histogram->max = nsec;
}

int64_t histogram_at(const struct histogram *histogram, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)histogram->total + 0.999999), seen = 0;
    for (unsigned slot = 0; slot < HISTOGRAM_SLOTS; slot++) {
        seen += histogram->count[slot];
        if (seen < wanted || seen == 0) continue;
        int64_t end = slot_end(slot);
        return end < histogram->max ? end : histogram->max;
    }
    return histogram->max;
}
