/* stream_packed: the entries of a whole block in their packed form (stream_block.h). Snapshots and
 * copies use this form, and so need not take the block apart. */
#pragma once

#include "store/base/bytes.h"
#include "store/type/stream/stream_id.h"

enum { STREAM_PACKED_MAX = 32 * 1024 }; /* bytes of names and entries */

struct stream_packed {
    struct bytes names; /* names of the first entry; empty if it has its own */
    struct bytes entries;
    uint32_t count;
    struct stream_id first, last;
    uint32_t own_names; /* where the last entry's names are, in `names` and `entries` in a row */
};

/* Checks names, entries, count and first, which may come from a damaged file or a hostile server,
 * and computes the other fields. Returns false unless a block could contain exactly these bytes.
 * Reads nothing outside them. O(bytes) */
bool stream_packed_check(struct stream_packed *packed);
