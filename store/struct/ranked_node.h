/* ranked_node: the nodes of a ranked tree, and how items go from one to its neighbour. For ranked.c
 * alone.
 * Knows how items stand in a node and what a parent says of its children; refuses to know the
 * order of members and when a tree is to be reshaped.
 *
 * An item of a leaf is a score and a member; one of an inner node is a branch: the score and member
 * that its subtree begins with, the child, and how many members the subtree has. Each part stands
 * in an array of its own, so that a search reads scores and nothing else. A node has room for
 * little more than it holds. */
#ifndef STORE_STRUCT_RANKED_NODE_H
#define STORE_STRUCT_RANKED_NODE_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/pointer48.h"
#include "store/base/prefetch.h"
#include "store/struct/ranked.h"

struct ranked_node {
    uint16_t count, cap; /* items in use, room */
    uint16_t height;     /* 0: a leaf */
    uint16_t unused;
    double scores[]; /* behind these cap: the members, and in an inner node children and counts */
};

/* The sizes keep full nodes within 1024 bytes. */
enum {
    RANKED_LEAF_MAX = 72,
    RANKED_INNER_MAX = 40,
    RANKED_STEP = 2,  /* room is a multiple of so many items */
    RANKED_SPARE = 6, /* unused, of which a node lets go */
    RANKED_ITEM_SIZE = sizeof(double) + sizeof(struct pointer48),
    RANKED_BRANCH_SIZE = RANKED_ITEM_SIZE + sizeof(struct pointer48) + sizeof(uint32_t),
};
_Static_assert(RANKED_STEP % 2 == 0, "counts stand behind 20 bytes for each item of room");

static inline unsigned ranked_node_max(const struct ranked_node *node)
{
    return node->height == 0 ? RANKED_LEAF_MAX : RANKED_INNER_MAX;
}

/* What all nodes hold at least, but for those on the right edge. */
static inline unsigned ranked_node_min(const struct ranked_node *node)
{
    return ranked_node_max(node) / 4;
}

/* At most so many: worth sharing with, or merging into one. */
static inline unsigned ranked_node_roomy(const struct ranked_node *node)
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

/* Of the subtrees. */
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

/* The branch begins with what its child begins with. */
void ranked_node_set_first(struct ranked_node *parent, unsigned i);

/* Copies n items within a node, or between two of one height. */
void ranked_node_copy(struct ranked_node *to, unsigned at, const struct ranked_node *from,
                      unsigned i, unsigned n);
void ranked_node_open_gap(struct ranked_node *node, unsigned i); /* there is room; not filled in */
void ranked_node_close_gap(struct ranked_node *node, unsigned i);

/* ---- nodes; the tree counts their bytes ------------------------------------------------------ */

/* Empty, with room for so many. */
struct ranked_node *ranked_node_new(struct ranked *ranked, unsigned height, unsigned count);
void ranked_node_free(struct ranked *ranked, struct ranked_node *node);
/* The same node with room for so many, elsewhere; or itself, if that is what it has. */
struct ranked_node *ranked_node_fit(struct ranked *ranked, struct ranked_node *node,
                                    unsigned count);
/* ... of a child, which its parent knows again. */
struct ranked_node *ranked_node_fit_child(struct ranked *ranked, struct ranked_node *parent,
                                          unsigned i, unsigned count);

/* Asks for a node's memory. */
static inline void ranked_node_prefetch(const struct ranked_node *node, size_t size)
{
    enum { LINE = 64 };
    for (size_t at = 0; at < size; at += LINE)
        prefetch((const char *)node + at);
    prefetch((const char *)node + size - 1);
}

/* ---- neighbours: children i and i + 1 of a parent -------------------------------------------- */

void ranked_node_level_out(struct ranked *ranked, struct ranked_node *parent, unsigned i);
/* Child i keeps so many; the others go to a new child behind it, for which there is room. */
void ranked_node_split(struct ranked *ranked, struct ranked_node *parent, unsigned i,
                       unsigned keep);
/* All go to child i, for which they are not too many. */
void ranked_node_merge(struct ranked *ranked, struct ranked_node *parent, unsigned i);

#endif
