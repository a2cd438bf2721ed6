/* ranked_node: the nodes of a ranked tree, and moving items between neighbours. For ranked*.c and
 * the test only; ranked.c decides when nodes are split, merged or balanced.
 *
 * A leaf's item is a score and a member. An inner node's item is a branch: the first score and
 * member of its subtree, the child, and the number of members in the subtree. Each part has an
 * array of its own, so that a search reads only scores. A node has room for few more items than it
 * holds. */
#ifndef STORE_STRUCT_RANKED_NODE_H
#define STORE_STRUCT_RANKED_NODE_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/pointer48.h"
#include "store/base/prefetch.h"
#include "store/struct/ranked.h"

struct ranked_node {
    uint16_t count, cap; /* items in use, room */
    uint16_t height;     /* 0 for a leaf */
    uint16_t unused;
    double scores[]; /* followed by cap members, and in an inner node cap children and cap counts */
};

/* Full nodes take at most 1024 bytes, the pool's limit. */
enum {
    RANKED_LEAF_MAX = 72,
    RANKED_INNER_MAX = 40,
    RANKED_STEP = 2,  /* cap is a multiple of this */
    RANKED_SPARE = 6, /* shrink a node that has this many unused items */
    RANKED_ITEM_SIZE = sizeof(double) + sizeof(struct pointer48),
    RANKED_BRANCH_SIZE = RANKED_ITEM_SIZE + sizeof(struct pointer48) + sizeof(uint32_t),
};
_Static_assert(RANKED_STEP % 2 == 0, "counts are aligned: they follow 20 bytes per item of cap");

static inline unsigned ranked_node_max(const struct ranked_node *node)
{
    return node->height == 0 ? RANKED_LEAF_MAX : RANKED_INNER_MAX;
}

/* The fewest items, except on the right edge. */
static inline unsigned ranked_node_min(const struct ranked_node *node)
{
    return ranked_node_max(node) / 4;
}

/* The most items of a merged node, so that it has room for more. A node with at most this many can
 * take items from a full neighbour. */
static inline unsigned ranked_node_merge_max(const struct ranked_node *node)
{
    return ranked_node_max(node) / 4 * 3;
}

static inline size_t ranked_node_size(unsigned height, unsigned cap)
{
    return sizeof(struct ranked_node) +
           cap * (size_t)(height == 0 ? RANKED_ITEM_SIZE : RANKED_BRANCH_SIZE);
}

/* ---- items ---------------------------------------------------------------------------------- */

static inline struct pointer48 *ranked_node_members(const struct ranked_node *node)
{
    return (struct pointer48 *)(uintptr_t)(node->scores + node->cap);
}

static inline struct pointer48 *ranked_node_children(const struct ranked_node *node)
{
    return ranked_node_members(node) + node->cap;
}

/* Members in each subtree. */
static inline uint32_t *ranked_node_counts(const struct ranked_node *node)
{
    return (uint32_t *)(void *)(ranked_node_children(node) + node->cap);
}

static inline struct ranked_member *ranked_node_member(const struct ranked_node *node, unsigned i)
{
    return pointer48_load(&ranked_node_members(node)[i]);
}

static inline struct ranked_node *ranked_node_child(const struct ranked_node *node, unsigned i)
{
    return pointer48_load(&ranked_node_children(node)[i]);
}

static inline void ranked_node_set(struct ranked_node *node, unsigned i, double score,
                                   const struct ranked_member *m)
{
    node->scores[i] = score;
    pointer48_store(&ranked_node_members(node)[i], m);
}

static inline void ranked_node_set_child(struct ranked_node *node, unsigned i,
                                         const struct ranked_node *child)
{
    pointer48_store(&ranked_node_children(node)[i], child);
}

/* Copies the first item of child i into its branch. */
void ranked_node_set_first(struct ranked_node *parent, unsigned i);

/* Copies n items within a node, or between nodes of equal height. */
void ranked_node_copy(struct ranked_node *to, unsigned at, const struct ranked_node *from,
                      unsigned i, unsigned n);
void ranked_node_open_gap(struct ranked_node *node, unsigned i); /* needs room; sets no item */
void ranked_node_close_gap(struct ranked_node *node, unsigned i);

/* ---- nodes; the tree counts their bytes ------------------------------------------------------ */

/* An empty node with room for `count` items. */
struct ranked_node *ranked_node_new(struct ranked *ranked, unsigned height, unsigned count);
void ranked_node_free(struct ranked *ranked, struct ranked_node *node);
/* Reallocates the node with room for `count` items, if needed; returns its address. */
struct ranked_node *ranked_node_fit(struct ranked *ranked, struct ranked_node *node,
                                    unsigned count);
/* The same for child i, and updates the parent's pointer. */
struct ranked_node *ranked_node_fit_child(struct ranked *ranked, struct ranked_node *parent,
                                          unsigned i, unsigned count);

/* Prefetches a node. */
static inline void ranked_node_prefetch(const struct ranked_node *node, size_t size)
{
    enum { LINE = 64 };
    for (size_t at = 0; at < size; at += LINE)
        prefetch((const char *)node + at);
    prefetch((const char *)node + size - 1);
}

/* ---- neighbours: children i and i + 1 of a parent -------------------------------------------- */

/* Moves items so that both have about equally many. */
void ranked_node_balance(struct ranked *ranked, struct ranked_node *parent, unsigned i);
/* Child i keeps `keep` items; the rest go to a new child after it. The parent has room for it. */
void ranked_node_split(struct ranked *ranked, struct ranked_node *parent, unsigned i,
                       unsigned keep);
/* Moves all items to child i, which must be able to hold them, and frees child i + 1. */
void ranked_node_merge(struct ranked *ranked, struct ranked_node *parent, unsigned i);

#endif
