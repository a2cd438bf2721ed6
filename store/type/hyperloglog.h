/* hyperloglog: strings of Redis' "HYLL" format, byte for byte: about how many distinct elements
 * were added, in at most 12 KiB.
 * Knows registers and both representations; refuses to know keys and how a string is kept.
 *
 *     "HYLL"  representation (0 dense, 1 sparse)  3 bytes 0  count, 8 bytes little-endian  body
 *
 * The count is the last estimate; its highest bit says that it is out of date. There are 16384
 * registers. Dense: 6 bits each, from the lowest bit on. Sparse: runs of equal registers,
 *
 *     00nnnnnn           n + 1 registers are 0
 *     01nnnnnn nnnnnnnn  n + 1 registers are 0
 *     1vvvvvnn           n + 1 registers are v + 1
 *
 * up to HLL_SPARSE_MAX bytes in all or a register above 32; then it becomes dense for good. */
#ifndef STORE_TYPE_HYPERLOGLOG_H
#define STORE_TYPE_HYPERLOGLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/bytes.h"

enum {
    HLL_REGISTERS = 1 << 14,
    HLL_COUNT_AT = 8, /* where the count stands, and how long it is */
    HLL_COUNT_BYTES = 8,
    HLL_HEADER = 16,
    HLL_DENSE_BYTES = HLL_HEADER + HLL_REGISTERS * 6 / 8,
    HLL_SPARSE_MAX = 3000,
};

/* What an element does: the register at index becomes at least rank. */
struct hll_place {
    unsigned index, rank;
};
struct hll_place hll_place(struct bytes element);

/* ---- a string, as it is ---------------------------------------------------------------------- */

/* Is the header one of ours, and a dense body of the right length? The others want such a text. */
bool hll_is_valid(struct bytes text);
bool hll_is_sparse(struct bytes text);
bool hll_cached(struct bytes text, uint64_t *count); /* false: the count is out of date */
/* The count as it stands in a header: a fresh one, or the text's own, out of date. */
void hll_print_count(char to[HLL_COUNT_BYTES], uint64_t count);
void hll_print_outdated(char to[HLL_COUNT_BYTES], struct bytes text);
/* False: a sparse body has not the right number of registers. */
bool hll_count(struct bytes text, uint64_t *count);
/* Raises registers[HLL_REGISTERS] to those of the text. False as above. */
bool hll_merge(uint8_t *registers, struct bytes text);
uint64_t hll_count_registers(const uint8_t *registers);

/* The runs of a sparse body, from at = HLL_HEADER on while at < text.len. */
struct hll_run {
    unsigned rank, len; /* so many registers are rank */
    size_t bytes;       /* of this run, in the text */
};
struct hll_run hll_run_at(struct bytes text, size_t at);

/* A dense text and a place: the bytes to write into it and where; returns how many, 0 if the
 * register is as high already. */
size_t hll_dense_patch(struct bytes text, struct hll_place place, size_t *offset, char patch[2]);

/* ---- a copy, being changed ------------------------------------------------------------------- */

struct hll {
    char *data;
    size_t len;
};

enum hll_change { HLL_SAME, HLL_RAISED, HLL_CORRUPT };

void hll_init(struct hll *hll, struct bytes text); /* an empty text: a new, sparse one */
void hll_drop(struct hll *hll);
static inline struct bytes hll_view(const struct hll *hll)
{
    return bytes_of(hll->data, hll->len);
}
enum hll_change hll_raise(struct hll *hll, struct hll_place place);
bool hll_make_dense(struct hll *hll); /* false: corrupt, nothing changed */
void hll_outdate(struct hll *hll);    /* the count is out of date */

#endif
