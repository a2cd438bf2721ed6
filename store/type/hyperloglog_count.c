/* hyperloglog_count: the estimate of hyperloglog.h, computed from the number of registers of each
 * rank (the histogram).
 *
 * The formula is algorithm 6 of Otmar Ertl: "New cardinality estimation algorithms for HyperLogLog
 * sketches" (2017, arXiv:1702.01284). The sums end when they no longer change in double arithmetic,
 * so that estimates equal those of Redis exactly. */
#include <math.h>

#include "store/type/hyperloglog.h"

enum {
    RANK_MAX = 51,   /* the rank of 50 zeros */
    RANKS = 64,      /* values of six bits, although no element has a rank above RANK_MAX */
    GROUP = 4,       /* registers ... */
    GROUP_BYTES = 3, /* ... that take this many bytes */
};

/* 1 / (2 ln 2) */
static const double alpha = 0.721347520444481703680;

static double sigma(double x)
{
    if (x == 1.0) return INFINITY;
    double y = 1, z = x, before;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (before != z);
    return z;
}

static double tau(double x)
{
    if (x == 0.0 || x == 1.0) return 0;
    double y = 1, z = 1 - x, before;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (before != z);
    return z / 3;
}

static uint64_t estimate(const unsigned *histogram)
{
    const double m = HLL_REGISTERS;
    double z = m * tau((m - histogram[RANK_MAX]) / m);
    for (unsigned rank = RANK_MAX - 1; rank >= 1; rank--) {
        z += histogram[rank];
        z *= 0.5;
    }
    z += m * sigma(histogram[0] / m);
    return (uint64_t)llroundl(alpha * m * m / z);
}

uint64_t hll_count_registers(const uint8_t *registers)
{
    unsigned histogram[RANKS] = { 0 };
    for (unsigned i = 0; i < HLL_REGISTERS; i++)
        histogram[registers[i] % RANKS]++;
    return estimate(histogram);
}

bool hll_count(struct bytes text, uint64_t *count)
{
    unsigned histogram[RANKS] = { 0 };
    if (hll_is_sparse(text)) {
        size_t registers = 0;
        struct hll_run run;
        for (size_t at = HLL_HEADER; at < text.len; at += run.bytes, registers += run.len) {
            run = hll_run_at(text, at);
            histogram[run.rank] += run.len;
        }
        if (registers != HLL_REGISTERS) return false;
    } else {
        for (size_t at = HLL_HEADER; at < text.len; at += GROUP_BYTES) {
            const unsigned char *three = (const unsigned char *)text.data + at;
            unsigned group = three[0] | (unsigned)three[1] << 8 | (unsigned)three[2] << 16;
            for (int i = 0; i < GROUP; i++, group >>= 6)
                histogram[group % RANKS]++;
        }
    }
    *count = estimate(histogram);
    return true;
}
