/* counted: the inner nodes of a counted B+ tree (an order-statistics tree, Cormen et al.).
 * timeline, stream and pending_tree use them above their leaves.
 *
 * Every node counts the items below it, so adding or removing an item costs one addition for each
 * node above. An inner node stores a branch for each child: the child, a key, and whatever else the
 * user records about the child.
 *
 *     items of child i - 1  <=  key of child i  <=  items of child i
 *
 * Removals do not change keys; the key of a node's first branch is unused. The user searches by
 * key, in a loop that compares without calls. counted splits and merges nodes, and finds items by
 * rank.
 *
 * Nodes merge late: when one is at most a quarter full, and only if the result is at most three
 * quarters full, so that the next insertion does not split it again. Appending a child to a full
 * node starts a new node after it, so that nodes stay full when keys rise. Otherwise a full node is
 * split in halves.
 *
 * ranked has inner nodes of its own. It keeps counts in an array, so that a search by rank reads
 * one node per level; counted reads each child that it passes. */
#pragma once

#include "store/mem/relocate.h"

struct counted_inner;

/* Leaves and inner nodes begin with this. */
struct counted_node {
    struct counted_inner *parent; /* NULL for the root, or outside a tree */
    size_t total;                 /* items below */
};

struct counted_inner {
    struct counted_node node;
    uint16_t count, cap; /* branches, and how many there is room for */
    uint16_t height;     /* 1: the children are leaves */
    uint16_t branch_size;
    char branches[]; /* each a struct counted_node *child, and its label: the key and more */
};

struct counted {
    struct counted_node *root; /* a leaf if height is 0, or NULL without a leaf */
    size_t bytes;              /* of inner nodes */
    const struct counted_kind *kind;
    uint32_t height;
};

struct counted_kind {
    size_t branch_size, key_size;
    /* Called after branches were moved to or from an inner node. Updates the node's own label,
     * except the key, and the labels above. NULL if a label is only a key. */
    void (*changed)(struct counted_inner *inner);
};

enum {
    COUNTED_BRANCH_MAX = 48,
    COUNTED_INNER_SIZE = 1024, /* of a full node: the pool's limit */
};

/* The most children of a node. */
#define COUNTED_INNER_MAX(branch_size)                                                             \
    ((COUNTED_INNER_SIZE - (unsigned)sizeof(struct counted_inner)) / (unsigned)(branch_size))

void counted_init(struct counted *tree, const struct counted_kind *kind);

/* Inserts a leaf after `prev`, which is the leaf that a search for the new leaf's key finds. If
 * `prev` is NULL, inserts the only leaf, which needs no label. O(log n) */
void counted_insert(struct counted *tree, struct counted_node *prev, struct counted_node *leaf,
                    const void *label);
/* Removes the leaf from the tree, but does not free it. O(log n) */
void counted_remove(struct counted *tree, struct counted_node *leaf);
/* Makes the tree point to the leaf, which has moved in memory from `old`; `old` is not read. */
void counted_moved(struct counted *tree, const struct counted_node *old, struct counted_node *leaf);

/* Adds `by`, modulo 2^64, to the totals of a node and of all above it. */
static inline void counted_change(struct counted_node *node, size_t by)
{
    for (; node != NULL; node = (struct counted_node *)node->parent)
        node->total += by;
}

/* Returns the leaf that contains the item of this rank, and sets *rank to the item's index in the
 * leaf. The item must exist. */
struct counted_node *counted_at(const struct counted *tree, size_t *rank);
size_t counted_before(const struct counted_node *leaf);  /* items of the leaves before it */
unsigned counted_index(const struct counted_node *node); /* of its branch; not for the root */

/* Relocates the inner nodes whose first leaf is this one. */
void counted_relocate(struct counted *tree, const struct counted_node *leaf,
                      struct relocation *relocation);

/* Checks links, totals, fill and bytes. Calls `leaf` for each leaf and `key` for the key between
 * two leaves, in order, so that the user can check the rest. */
struct counted_visitor {
    void (*leaf)(void *ctx, const struct counted_node *leaf);
    void (*key)(void *ctx, const void *key);
    void *ctx;
};
void counted_check(const struct counted *tree, const struct counted_visitor *visitor);
