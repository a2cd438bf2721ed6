/* hyperloglog: strings in Redis' "HYLL" format, byte for byte, for PFADD, PFCOUNT and PFMERGE:
 * sketches that estimate how many distinct elements were added, in at most 12 KiB + 16 bytes.
 *
 *     bytes    content
 *     4        "HYLL"
 *     1        representation: 0 dense, 1 sparse
 *     3        0
 *     8        count, little-endian: the last estimate; its highest bit marks it as out of date
 *     ...      body: 16384 registers
 *
 * A dense body stores each register in 6 bits, lowest bit first. A sparse body stores runs of equal
 * registers:
 *
 *     00nnnnnn             n + 1 registers are 0
 *     01nnnnnn nnnnnnnn    n + 1 registers are 0
 *     1vvvvvnn             n + 1 registers are v + 1
 *
 * A sparse body becomes dense, for good, when it would exceed encoding_limits.hll_sparse bytes
 * (header included) or a register exceeds 32. */
#pragma once

#include "store/base/bytes.h"

enum {
    HLL_REGISTERS = 1 << 14,
    HLL_COUNT_AT = 8, /* offset and length of the count */
    HLL_COUNT_BYTES = 8,
    HLL_HEADER = 16,
    HLL_DENSE_BYTES = HLL_HEADER + HLL_REGISTERS * 6 / 8,
};

/* The effect of adding an element: the register at index becomes at least rank. */
struct hll_register {
    unsigned index, rank;
};
struct hll_register hll_register_of(struct bytes element);

/* ---- reading a string ------------------------------------------------------------------------ */

/* Is the header valid, and the length of a dense body correct? The functions below require both. */
bool hll_is_valid(struct bytes text);
bool hll_is_sparse(struct bytes text);
bool hll_cached(struct bytes text, uint64_t *count); /* false if it is out of date */
/* Writes the count field: a new count, or the text's own marked as out of date. */
void hll_print_count(char to[HLL_COUNT_BYTES], uint64_t count);
void hll_print_outdated(char to[HLL_COUNT_BYTES], struct bytes text);
/* Estimates the number of elements. Returns false if the text is corrupt: a sparse body that does
 * not have 16384 registers. */
bool hll_count(struct bytes text, uint64_t *count);
/* Raises each of registers[HLL_REGISTERS] to the text's register if that is higher. Returns false
 * if the text is corrupt, as hll_count does. */
bool hll_merge(uint8_t *registers, struct bytes text);
/* Estimates the number of elements from registers[HLL_REGISTERS], as raised by hll_merge. */
uint64_t hll_count_registers(const uint8_t *registers);

/* Runs of a sparse body: start at HLL_HEADER and advance by `bytes` while at < text.len. */
struct hll_run {
    unsigned rank, len; /* `len` registers have this rank */
    size_t bytes;       /* of this run in the text */
};
struct hll_run hll_run_at(struct bytes text, size_t at);

/* Computes the change of a dense text that raises a register: the bytes to write and their offset.
 * Returns the number of these bytes; 0 if the register is already high enough. */
size_t hll_dense_patch(struct bytes text, struct hll_register reg, size_t *offset, char patch[2]);

/* ---- changing a copy ------------------------------------------------------------------------- */

struct hll {
    char *data;
    size_t len;
};

enum hll_change { HLL_SAME, HLL_RAISED, HLL_CORRUPT };

void hll_init(struct hll *hll, struct bytes text); /* copies; an empty text begins a new sketch */
void hll_drop(struct hll *hll);
static inline struct bytes hll_view(const struct hll *hll)
{
    return bytes_of(hll->data, hll->len);
}
/* Raises the register to reg.rank; a sparse body may become dense. Changes nothing, and returns
 * HLL_SAME if the register is not lower, or HLL_CORRUPT if it met a fault in a sparse body. */
enum hll_change hll_raise(struct hll *hll, struct hll_register reg);
bool hll_make_dense(struct hll *hll); /* false, and no change, if corrupt */
void hll_outdate(struct hll *hll);    /* marks the count as out of date */
