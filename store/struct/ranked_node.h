/* ranked_node: the nodes of a ranked tree, and moving items between neighbours. Private to
 * ranked.c and the test. ranked.c decides when nodes are split, merged or balanced.
 *
 * An item of an inner node is a branch: the first score and member of its subtree, the child, and
 * the number of members in the subtree. An item of a leaf is a member and a key of four bytes: its
 * score minus the leaf's base, rounded to a float. Each part of the items is an array of its own,
 * so that a search reads mainly scores or keys.
 *
 * Subtracting and rounding keep the order of scores, but different scores may have equal keys. A
 * search then compares the members themselves, which costs cache misses, so ranked.c chooses
 * another base. In an exact leaf, base plus key is the score of each member, so equal keys mean
 * equal scores. Integers within 2^24 of the base, for example, have exact keys. */
#pragma once

#include "store/base/pointer48.h"
#include "store/struct/ranked_member.h"

struct ranked_node {
    uint16_t count, cap; /* items in use, room */
    uint16_t height;     /* 0 for a leaf */
    bool is_exact;       /* leaf: keys are exact; may be false though they are */
    /* The arrays:
     *
     *     leaf          base, keys[cap], members[cap]
     *     inner node    scores[cap], members[cap], children[cap], counts[cap] */
    double numbers[];
};

/* Full nodes take at most 1024 bytes, the pool's limit. */
enum {
    RANKED_LEAF_MAX = 96,
    RANKED_INNER_MAX = 40,
    RANKED_STEP = 2,  /* cap is a multiple of this */
    RANKED_SPARE = 6, /* shrink a node with this many unused items */
    RANKED_ITEM_SIZE = sizeof(float) + sizeof(struct pointer48),
    RANKED_BRANCH_SIZE = sizeof(double) + 2 * sizeof(struct pointer48) + sizeof(uint32_t),
};

static inline unsigned ranked_node_max(const struct ranked_node *node)
{
    return node->height == 0 ? RANKED_LEAF_MAX : RANKED_INNER_MAX;
}

/* Returns the fewest items of a node; those on the right edge may have fewer. */
static inline unsigned ranked_node_min(const struct ranked_node *node)
{
    return ranked_node_max(node) / 4;
}

/* Returns the most items of a merged node: few enough to leave room for insertions. A full node
 * gives items to a neighbour only if that has at most this many. */
static inline unsigned ranked_node_merge_max(const struct ranked_node *node)
{
    return ranked_node_max(node) / 4 * 3;
}

static inline size_t ranked_node_size(unsigned height, unsigned cap)
{
    return sizeof(struct ranked_node) + (height == 0
                                             ? sizeof(double) + cap * (size_t)RANKED_ITEM_SIZE
                                             : cap * (size_t)RANKED_BRANCH_SIZE);
}

/* ---- items ---------------------------------------------------------------------------------- */

static inline double *ranked_node_base(const struct ranked_node *leaf)
{
    return (double *)(uintptr_t)leaf->numbers;
}
static inline float *ranked_node_keys(const struct ranked_node *leaf)
{
    return (float *)(uintptr_t)(leaf->numbers + 1);
}
/* Computes a key; a difference that is too large becomes infinity, which keeps the order too. */
static inline float ranked_node_key(const struct ranked_node *leaf, double score)
{
    return (float)(score - *leaf->numbers);
}

static inline struct pointer48 *ranked_node_members(const struct ranked_node *node)
{
    return node->height == 0 ? (struct pointer48 *)(uintptr_t)(ranked_node_keys(node) + node->cap)
                             : (struct pointer48 *)(uintptr_t)(node->numbers + node->cap);
}

static inline double *ranked_node_scores(const struct ranked_node *inner)
{
    return (double *)(uintptr_t)inner->numbers;
}
static inline struct pointer48 *ranked_node_children(const struct ranked_node *inner)
{
    return (struct pointer48 *)(uintptr_t)(inner->numbers + inner->cap) + inner->cap;
}
static inline uint32_t *ranked_node_counts(const struct ranked_node *inner)
{
    return (uint32_t *)(void *)(ranked_node_children(inner) + inner->cap);
}

static inline struct ranked_member *ranked_node_member(const struct ranked_node *node, unsigned i)
{
    return pointer48_load(&ranked_node_members(node)[i]);
}

static inline struct ranked_node *ranked_node_child(const struct ranked_node *inner, unsigned i)
{
    return pointer48_load(&ranked_node_children(inner)[i]);
}

/* Returns the score of all members with this key, if the leaf is exact. */
static inline double ranked_node_score(const struct ranked_node *leaf, float key)
{
    return *leaf->numbers + (double)key;
}

static inline void ranked_node_set_key(struct ranked_node *leaf, unsigned i, double score)
{
    float key = ranked_node_key(leaf, score);
    ranked_node_keys(leaf)[i] = key;
    leaf->is_exact &= ranked_node_score(leaf, key) == score;
}

static inline void ranked_node_set(struct ranked_node *node, unsigned i,
                                   const struct ranked_member *m)
{
    if (node->height == 0)
        ranked_node_set_key(node, i, m->score);
    else
        ranked_node_scores(node)[i] = m->score;
    pointer48_store(&ranked_node_members(node)[i], m);
}

static inline void ranked_node_set_child(struct ranked_node *inner, unsigned i,
                                         const struct ranked_node *child)
{
    pointer48_store(&ranked_node_children(inner)[i], child);
}

/* Makes the first finite score of a leaf its base, and computes all keys, which reads all
 * members. */
void ranked_node_rebase(struct ranked_node *leaf);

/* Copies the first item of child i into its branch. */
void ranked_node_set_first(struct ranked_node *parent, unsigned i);

/* Copies n items within a node, or between nodes of equal height. Does not change the base. */
void ranked_node_copy(struct ranked_node *to, unsigned at, const struct ranked_node *from,
                      unsigned i, unsigned n);
void ranked_node_open_gap(struct ranked_node *node, unsigned i); /* needs room; sets no item */
void ranked_node_close_gap(struct ranked_node *node, unsigned i);

/* ---- nodes; *bytes is the memory of all nodes of a tree -------------------------------------- */

/* Returns an empty node with room for `count` items; the caller sets a leaf's base. */
struct ranked_node *ranked_node_new(size_t *bytes, unsigned height, unsigned count);
void ranked_node_free(size_t *bytes, struct ranked_node *node);
/* Reallocates the node with room for `count` items if needed; returns its address. */
struct ranked_node *ranked_node_fit(size_t *bytes, struct ranked_node *node, unsigned count);
/* As ranked_node_fit, for child i; updates the parent's pointer. */
struct ranked_node *ranked_node_fit_child(size_t *bytes, struct ranked_node *parent, unsigned i,
                                          unsigned count);

/* ---- neighbours: children i and i + 1 of a parent -------------------------------------------- */

/* Moves items between the two children so that both have about equally many. */
void ranked_node_balance(size_t *bytes, struct ranked_node *parent, unsigned i);
/* Splits child i: it keeps `keep` items, and the rest move to a new child after it. The parent must
 * have room. */
void ranked_node_split(size_t *bytes, struct ranked_node *parent, unsigned i, unsigned keep);
/* Moves all items to child i, which must be able to hold them, and frees child i + 1. */
void ranked_node_merge(size_t *bytes, struct ranked_node *parent, unsigned i);
