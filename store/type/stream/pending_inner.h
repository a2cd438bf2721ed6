/* pending_inner: the inner nodes of a pending_tree, for pending_tree*.c only. */
#ifndef STORE_TYPE_STREAM_PENDING_INNER_H
#define STORE_TYPE_STREAM_PENDING_INNER_H

#include <stddef.h>

#include "store/type/stream/pending_leaf.h"

enum {
    PENDING_INNER_MAX = 18, /* a node takes 1016 bytes; the pool's limit is 1024 */
    PENDING_INNER_MERGED = PENDING_INNER_MAX / 2, /* the most children of a merged node */
};

struct pending_branch {
    struct stream_id from; /* its records are at or after this ID, those of earlier branches before;
                              unused in a node's first branch */
    void *child;
    size_t count; /* records below */
    struct pending_summary below;
};

struct pending_inner {
    size_t count; /* children */
    struct pending_branch branch[PENDING_INNER_MAX];
};

static inline void pending_summary_join(struct pending_summary *to,
                                        const struct pending_summary *from)
{
    for (unsigned kind = 0; kind < PENDING_KINDS; kind++)
        if (from->first[kind] < to->first[kind]) to->first[kind] = from->first[kind];
    to->consumers |= from->consumers;
}

/* The last branch that begins at or before the ID. The ends are tried first: entries are delivered
 * and acknowledged nearly in order. */
static inline unsigned pending_branch_for(const struct pending_inner *inner, struct stream_id id)
{
    unsigned low = 0, high = (unsigned)inner->count;
    if (high > 1 && stream_id_before(id, inner->branch[1].from)) return 0;
    if (!stream_id_before(id, inner->branch[high - 1].from)) return high - 1;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (stream_id_before(id, inner->branch[middle].from))
            high = middle;
        else
            low = middle;
    }
    return low;
}

#endif
