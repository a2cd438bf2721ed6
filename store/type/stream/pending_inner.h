/* pending_inner: the branches of the inner nodes of a pending_tree. Private to pending_tree*.c. */
#pragma once

#include "store/type/stream/pending_leaf.h"

struct pending_branch {
    struct counted_node *child;
    struct stream_id from; /* the key */
    struct pending_summary below;
};

static inline struct pending_branch *pending_branches(const struct counted_node *inner)
{
    return (struct pending_branch *)(uintptr_t)((const struct counted_inner *)inner)->branches;
}

static inline unsigned pending_branch_count(const struct counted_node *inner)
{
    return ((const struct counted_inner *)inner)->count;
}

static inline void pending_summary_join(struct pending_summary *to,
                                        const struct pending_summary *from)
{
    for (unsigned kind = 0; kind < PENDING_KINDS; kind++)
        if (from->first[kind] < to->first[kind]) to->first[kind] = from->first[kind];
    to->consumers |= from->consumers;
}

/* Returns the last branch that begins at or before the ID. Tries both ends first, because entries
 * are delivered and acknowledged nearly in order. */
static inline unsigned pending_branch_for(const struct counted_node *inner, struct stream_id id)
{
    const struct pending_branch *branches = pending_branches(inner);
    unsigned low = 0, high = pending_branch_count(inner);
    if (high > 1 && stream_id_before(id, branches[1].from)) return 0;
    if (!stream_id_before(id, branches[high - 1].from)) return high - 1;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (stream_id_before(id, branches[middle].from))
            high = middle;
        else
            low = middle;
    }
    return low;
}
