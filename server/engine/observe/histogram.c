/* histogram: see histogram.h. A bucket's number is computed from the highest bits of the value. */
#include "server/engine/observe/histogram.h"

enum { FIRST_OCTAVE = 4, STEP_BITS = 3 };

static unsigned histogram_bucket(uint64_t value)
{
    if (value < HISTOGRAM_EXACT) return (unsigned)value;
    unsigned octave = 63u - (unsigned)__builtin_clzll(value);
    unsigned step = (unsigned)(value >> (octave - STEP_BITS)) & (HISTOGRAM_STEPS - 1);
    unsigned bucket = HISTOGRAM_EXACT + (octave - FIRST_OCTAVE) * HISTOGRAM_STEPS + step;
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* The highest value in the bucket. */
static uint64_t histogram_bucket_top(unsigned bucket)
{
    if (bucket < HISTOGRAM_EXACT) return bucket;
    unsigned octave = FIRST_OCTAVE + (bucket - HISTOGRAM_EXACT) / HISTOGRAM_STEPS;
    uint64_t step = (bucket - HISTOGRAM_EXACT) % HISTOGRAM_STEPS;
    return ((HISTOGRAM_STEPS + step + 1) << (octave - STEP_BITS)) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
    histogram->count++;
    histogram->sum += value;
    histogram->seen[histogram_bucket(value)]++;
}

uint64_t histogram_at(const struct histogram *histogram, double share)
{
    if (histogram->count == 0) return 0;
    double wanted = share * (double)histogram->count;
    uint64_t passed = 0;
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        passed += histogram->seen[bucket];
        if (passed > 0 && (double)passed >= wanted) return histogram_bucket_top(bucket);
    }
    return histogram_bucket_top(HISTOGRAM_BUCKETS - 1);
}

uint64_t histogram_up_to(const struct histogram *histogram, uint64_t value)
{
    uint64_t passed = 0;
    for (unsigned bucket = 0, last = histogram_bucket(value); bucket <= last; bucket++)
        passed += histogram->seen[bucket];
    return passed;
}
