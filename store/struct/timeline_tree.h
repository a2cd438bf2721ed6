/* timeline_tree: the nodes of a timeline: allocating, splitting, merging and freeing them. For
 * timeline.c, which finds the place of an instant, and the test only.
 *
 * A leaf holds slots; an inner node holds the number of slots below it; leaves are linked in order.
 * Leaves are addressed by number, so that an owner needs only 4 bytes to store its leaf. Numbers
 * lead to leaves through segments, so that growth never copies more than one small block. A leaf
 * keeps its number; while there is only one, still growing segment, its address may change. So a
 * pointer to a leaf is valid until the next leaf is inserted.
 *
 * Bounds: no instant in child i of an inner node is before at[i] (i > 0), and none in child i - 1
 * is after it. Bounds may be loose: removals do not change them.
 *
 * Memory: when a slot is appended to a full leaf, the leaf stays full and gets a new one after it;
 * other full leaves are split in halves. Leaves are allocated in steps, so that a half-full one
 * takes half the memory; reallocating moves only slots and does not touch owners. */
#ifndef STORE_STRUCT_TIMELINE_TREE_H
#define STORE_STRUCT_TIMELINE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/struct/timeline.h"

enum {
    TIMELINE_LEAF_MIN = 4,   /* slots allocated for the first leaf, while it is the only one */
    TIMELINE_LEAF_MAX = 64,  /* slots of a full leaf */
    TIMELINE_INNER_MAX = 63, /* children of a full inner node */
    TIMELINE_SEGMENT_SHIFT = 9,
    TIMELINE_SEGMENT = 1 << TIMELINE_SEGMENT_SHIFT, /* leaves per segment */
};

#define TIMELINE_NONE UINT32_MAX /* no leaf */

struct timeline_slot {
    msec at;
    struct timeline_node *node;
};

struct timeline_leaf {
    struct timeline_slot *slots;
    struct timeline_inner *parent;
    uint32_t next, prev;        /* in order; for a free number, `next` links the free list */
    uint16_t begin, count, cap; /* in use: slots[begin] to slots[begin + count - 1] */
};

struct timeline_inner {
    struct timeline_inner *parent;
    uint32_t total;                      /* slots below this node */
    uint16_t count;                      /* children */
    uint16_t level;                      /* 0: the children are leaves */
    uintptr_t child[TIMELINE_INNER_MAX]; /* a leaf's number, or an address of an inner node */
    msec at[TIMELINE_INNER_MAX];         /* bounds; at[0] is unused */
};

static inline struct timeline_leaf *timeline_leaf_of(const struct timeline *tl, uint32_t number)
{
    return &tl->leaves[number >> TIMELINE_SEGMENT_SHIFT][number & (TIMELINE_SEGMENT - 1)];
}

static inline struct timeline_slot *timeline_slots(const struct timeline_leaf *leaf)
{
    return leaf->slots + leaf->begin;
}

static inline struct timeline_inner *timeline_inner_at(const struct timeline_inner *inner,
                                                       unsigned i)
{
    return (struct timeline_inner *)inner->child[i];
}

/* Slots below child i. */
static inline uint32_t timeline_child_total(const struct timeline *tl,
                                            const struct timeline_inner *inner, unsigned i)
{
    if (inner->level > 0) return timeline_inner_at(inner, i)->total;
    return timeline_leaf_of(tl, (uint32_t)inner->child[i])->count;
}

/* Adds `by`, modulo 2^32, to the totals of a node and all above it. NULL: does nothing. */
static inline void timeline_total_change(struct timeline_inner *inner, uint32_t by)
{
    for (; inner != NULL; inner = inner->parent)
        inner->total += by;
}

/* Inserts an empty leaf after `prev`, or as the only one if TIMELINE_NONE; its instants must not be
 * before `at`. The caller must put a slot into it before anything else. */
uint32_t timeline_leaf_insert(struct timeline *tl, uint32_t prev, unsigned cap, msec at);
/* Removes an empty leaf that is not the only one. */
void timeline_leaf_remove(struct timeline *tl, uint32_t number);
/* Makes room for one more slot at *slot of a leaf. *number and *slot may change. */
void timeline_leaf_make_room(struct timeline *tl, uint32_t *number, unsigned *slot, msec at);
/* Call after a removal: frees unused memory, with hysteresis, so that a sequence of add, cancel,
 * add ... does not reallocate each time. Leaves the first of several leaves alone, because draining
 * will soon empty it. */
void timeline_leaf_shrink(struct timeline *tl, uint32_t number);

/* For dropping in slices; afterwards only these two may be called. Frees the first leaf, and inner
 * nodes that it leaves empty; then, when no leaf is left, the last segment. */
void timeline_leaf_drop_first(struct timeline *tl);
void timeline_segment_drop_last(struct timeline *tl);

#endif
