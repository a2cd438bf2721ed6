/* hyperloglog: see hyperloglog.h.
 *
 * The algorithm is that of Flajolet, Fusy, Gandouet, Meunier: "HyperLogLog" (2007), with the 64-bit
 * hash and the sparse representation of Heule, Nunkesser, Hall: "HyperLogLog in Practice" (2013).
 * The hash is Austin Appleby's MurmurHash64A, read little-endian.
 *
 * Different sparse bodies can stand for the same registers. To write the same bytes as Redis, this
 * file does what Redis does: it splits a run where a register rises, and then joins neighbours
 * within JOIN_STEPS runs. */
#include "store/type/hyperloglog.h"

#include <math.h>

#include "store/base/encoding_limits.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    DENSE = 0,
    SPARSE = 1,
    REPRESENTATION_AT = 4,
    OUTDATED_AT = HLL_COUNT_AT + HLL_COUNT_BYTES - 1,
    OUTDATED = 0x80,

    INDEX_BITS = 14,
    RANK_BITS = 64 - INDEX_BITS,
    REGISTER_BITS = 6,
    REGISTER_MASK = (1 << REGISTER_BITS) - 1,

    RUN_VALUE = 0x80, /* first bits of a run, see hyperloglog.h */
    RUN_LONG = 0x40,
    ZERO_RUN_MAX = 64,
    VALUE_RUN_MAX = 4,
    SPARSE_RANK_MAX = 32,
    SPLIT_MAX = 5, /* bytes: a long run, a value, a long run */
    JOIN_STEPS = 5,
};

static const char magic[] = { 'H', 'Y', 'L', 'L' };

static unsigned byte_at(struct bytes text, size_t at)
{
    return (unsigned char)text.data[at];
}

/* ---- the hash -------------------------------------------------------------------------------- */

static uint64_t load_little(const char *from, size_t len)
{
    uint64_t value = 0;
    for (size_t i = len; i-- > 0;)
        value = value << 8 | (unsigned char)from[i];
    return value;
}

static uint64_t murmur_hash(struct bytes text)
{
    const uint64_t m = UINT64_C(0xc6a4a7935bd1e995), seed = 0xadc83b19;
    const unsigned r = 47;
    uint64_t h = seed ^ text.len * m;
    size_t at = 0;
    for (; text.len - at >= 8; at += 8) {
        uint64_t k = load_little(text.data + at, 8) * m;
        h = (h ^ (k ^ k >> r) * m) * m;
    }
    if (at < text.len) h = (h ^ load_little(text.data + at, text.len - at)) * m;
    h = (h ^ h >> r) * m;
    return h ^ h >> r;
}

struct hll_register hll_register_of(struct bytes element)
{
    uint64_t hash = murmur_hash(element);
    /* A bit above the highest one stops the count of zeros if all others are zero. */
    uint64_t rest = hash >> INDEX_BITS | UINT64_C(1) << RANK_BITS;
    return (struct hll_register){ .index = (unsigned)(hash % HLL_REGISTERS),
                                  .rank = (unsigned)__builtin_ctzll(rest) + 1 };
}

/* ---- the header ------------------------------------------------------------------------------ */

bool hll_is_valid(struct bytes text)
{
    if (text.len < HLL_HEADER || memcmp(text.data, magic, sizeof(magic)) != 0) return false;
    unsigned representation = byte_at(text, REPRESENTATION_AT);
    return representation == SPARSE || (representation == DENSE && text.len == HLL_DENSE_BYTES);
}

bool hll_is_sparse(struct bytes text)
{
    return byte_at(text, REPRESENTATION_AT) == SPARSE;
}

bool hll_cached(struct bytes text, uint64_t *count)
{
    *count = load_little(text.data + HLL_COUNT_AT, HLL_COUNT_BYTES);
    return !(byte_at(text, OUTDATED_AT) & OUTDATED);
}

void hll_print_count(char to[HLL_COUNT_BYTES], uint64_t count)
{
    for (unsigned i = 0; i < HLL_COUNT_BYTES; i++)
        to[i] = (char)(count >> 8 * i & 0xff);
}

void hll_print_outdated(char to[HLL_COUNT_BYTES], struct bytes text)
{
    memcpy(to, text.data + HLL_COUNT_AT, HLL_COUNT_BYTES);
    to[HLL_COUNT_BYTES - 1] = (char)(byte_at(text, OUTDATED_AT) | OUTDATED);
}

void hll_outdate(struct hll *hll)
{
    hll_print_outdated(hll->data + HLL_COUNT_AT, hll_view(hll));
}

/* ---- dense ----------------------------------------------------------------------------------- */

/* The address of a register in a dense body. */
struct register_address {
    size_t at;      /* the byte in which it begins */
    unsigned shift; /* the bit in that byte */
    bool spills;    /* the register ends in the next byte */
};

static struct register_address register_at(unsigned index)
{
    unsigned bit = index * REGISTER_BITS;
    return (struct register_address){ .at = HLL_HEADER + bit / 8,
                                      .shift = bit % 8,
                                      .spills = bit % 8 + REGISTER_BITS > 8 };
}

static unsigned load_register(struct bytes text, struct register_address addr)
{
    return byte_at(text, addr.at) | (addr.spills ? byte_at(text, addr.at + 1) << 8 : 0);
}

size_t hll_dense_patch(struct bytes text, struct hll_register reg, size_t *offset, char patch[2])
{
    ensure(text.len == HLL_DENSE_BYTES && reg.index < HLL_REGISTERS,
           "register %u of a dense text of %zu bytes", reg.index, text.len);
    struct register_address addr = register_at(reg.index);
    unsigned around = load_register(text, addr);
    if ((around >> addr.shift & REGISTER_MASK) >= reg.rank) return 0;
    around &= ~((unsigned)REGISTER_MASK << addr.shift);
    around |= reg.rank << addr.shift;
    patch[0] = (char)(around & 0xff);
    patch[1] = (char)(around >> 8 & 0xff);
    *offset = addr.at;
    return addr.spills ? 2 : 1;
}

static enum hll_change raise_dense(struct hll *hll, struct hll_register reg)
{
    size_t offset;
    char patch[2];
    size_t len = hll_dense_patch(hll_view(hll), reg, &offset, patch);
    if (len == 0) return HLL_SAME;
    memcpy(hll->data + offset, patch, len);
    return HLL_RAISED;
}

/* ---- sparse ---------------------------------------------------------------------------------- */

struct hll_run hll_run_at(struct bytes text, size_t at)
{
    unsigned head = byte_at(text, at);
    if (head & RUN_VALUE)
        return (struct hll_run){ .rank = (head >> 2 & 31) + 1, .len = (head & 3) + 1, .bytes = 1 };
    if (!(head & RUN_LONG)) return (struct hll_run){ .len = (head & 63) + 1, .bytes = 1 };
    /* At the end of the text Redis reads the NUL that terminates its strings. */
    unsigned low = at + 1 < text.len ? byte_at(text, at + 1) : 0;
    return (struct hll_run){ .len = ((head & 63) << 8 | low) + 1, .bytes = 2 };
}

/* Returns the number of bytes written. */
static size_t put_run(char *to, unsigned rank, unsigned len)
{
    unsigned less = len - 1;
    if (rank > 0) {
        to[0] = (char)(RUN_VALUE | (rank - 1) << 2 | less);
        return 1;
    }
    if (len <= ZERO_RUN_MAX) {
        to[0] = (char)less;
        return 1;
    }
    to[0] = (char)(RUN_LONG | less >> 8);
    to[1] = (char)(less & 0xff);
    return 2;
}

static bool merge_sparse(uint8_t *registers, struct bytes text)
{
    size_t index = 0;
    struct hll_run run;
    for (size_t at = HLL_HEADER; at < text.len; at += run.bytes, index += run.len) {
        run = hll_run_at(text, at);
        if (index + run.len > HLL_REGISTERS) return false;
        for (size_t i = index; run.rank > 0 && i < index + run.len; i++)
            if (run.rank > registers[i]) registers[i] = (uint8_t)run.rank;
    }
    return index == HLL_REGISTERS;
}

bool hll_merge(uint8_t *registers, struct bytes text)
{
    if (hll_is_sparse(text)) return merge_sparse(registers, text);
    for (unsigned i = 0; i < HLL_REGISTERS; i++) {
        struct register_address addr = register_at(i);
        unsigned rank = load_register(text, addr) >> addr.shift & REGISTER_MASK;
        if (rank > registers[i]) registers[i] = (uint8_t)rank;
    }
    return true;
}

/* Replaces the `old` bytes of the run at `at`. */
static void replace_run(struct hll *hll, size_t at, size_t old, const char *bytes, size_t len)
{
    memmove(hll->data + at + len, hll->data + at + old, hll->len - at - old);
    memcpy(hll->data + at, bytes, len);
    hll->len = hll->len + len - old;
}

static enum hll_change raise_after_promotion(struct hll *hll, struct hll_register reg)
{
    if (!hll_make_dense(hll)) return HLL_CORRUPT;
    return raise_dense(hll, reg);
}

static enum hll_change raise_sparse(struct hll *hll, struct hll_register reg)
{
    if (reg.rank > SPARSE_RANK_MAX) return raise_after_promotion(hll, reg);

    struct bytes text = hll_view(hll);
    size_t at = HLL_HEADER, before = HLL_HEADER;
    unsigned first = 0; /* the first register of the run at `at` */
    struct hll_run run = { 0 };
    for (; at < text.len; before = at, at += run.bytes, first += run.len) {
        run = hll_run_at(text, at);
        if (reg.index < first + run.len) break;
    }
    if (at >= text.len || at + run.bytes > text.len) return HLL_CORRUPT;
    if (run.rank >= reg.rank) return HLL_SAME;

    char split[SPLIT_MAX];
    size_t len = 0;
    unsigned behind = first + run.len - 1 - reg.index;
    if (reg.index > first) len += put_run(split, run.rank, reg.index - first);
    len += put_run(split + len, reg.rank, 1);
    if (behind > 0) len += put_run(split + len, run.rank, behind);
    size_t most =
        encoding_limits.hll_sparse < HLL_DENSE_BYTES ? encoding_limits.hll_sparse : HLL_DENSE_BYTES;
    if (len > run.bytes && text.len + len - run.bytes > most)
        return raise_after_promotion(hll, reg);
    replace_run(hll, at, run.bytes, split, len);

    /* Join neighbours of equal rank above 0, if the format allows runs to be that long. */
    at = before;
    for (int steps = JOIN_STEPS; at < hll->len && steps > 0; steps--) {
        run = hll_run_at(hll_view(hll), at);
        size_t next_at = at + run.bytes;
        if (run.rank > 0 && next_at < hll->len) {
            struct hll_run next = hll_run_at(hll_view(hll), next_at);
            if (next.rank == run.rank && run.len + next.len <= VALUE_RUN_MAX) {
                char joined[1];
                put_run(joined, run.rank, run.len + next.len);
                replace_run(hll, at, run.bytes + next.bytes, joined, sizeof(joined));
                continue;
            }
        }
        at = next_at;
    }
    return HLL_RAISED;
}

/* ---- changing a copy ------------------------------------------------------------------------- */

void hll_init(struct hll *hll, struct bytes text)
{
    /* Enough for any later size: raise_sparse lets a text grow to at most HLL_DENSE_BYTES. */
    hll->data = mem_alloc(text.len > HLL_DENSE_BYTES ? text.len : HLL_DENSE_BYTES);
    hll->len = text.len;
    if (text.len > 0) {
        memcpy(hll->data, text.data, text.len);
        return;
    }
    memset(hll->data, 0, HLL_HEADER);
    memcpy(hll->data, magic, sizeof(magic));
    hll->data[REPRESENTATION_AT] = SPARSE;
    hll->len = HLL_HEADER + put_run(hll->data + HLL_HEADER, 0, HLL_REGISTERS);
}

void hll_drop(struct hll *hll)
{
    mem_free(hll->data);
}

bool hll_make_dense(struct hll *hll)
{
    uint8_t registers[HLL_REGISTERS] = { 0 };
    if (!hll_is_sparse(hll_view(hll))) return true;
    if (!merge_sparse(registers, hll_view(hll))) return false;
    hll->data[REPRESENTATION_AT] = DENSE;
    hll->len = HLL_DENSE_BYTES;
    memset(hll->data + HLL_HEADER, 0, HLL_DENSE_BYTES - HLL_HEADER);
    for (unsigned i = 0; i < HLL_REGISTERS; i++)
        raise_dense(hll, (struct hll_register){ i, registers[i] });
    return true;
}

enum hll_change hll_raise(struct hll *hll, struct hll_register reg)
{
    return hll_is_sparse(hll_view(hll)) ? raise_sparse(hll, reg) : raise_dense(hll, reg);
}

/* ---- the estimate ---------------------------------------------------------------------------- */

/* Computed from the number of registers of each rank (the histogram). The formula is algorithm 6 of
 * Otmar Ertl: "New cardinality estimation algorithms for HyperLogLog sketches" (2017,
 * arXiv:1702.01284). The sums end when they no longer change in double arithmetic, so that
 * estimates equal those of Redis exactly. */
enum {
    RANK_MAX = 51, /* the rank of 50 zeros */
    RANKS = 64,    /* values of six bits, although no element has a rank above RANK_MAX */
    GROUP = 4,     /* registers that together fill whole bytes */
    GROUP_BYTES = 3,
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
