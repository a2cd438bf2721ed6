/* timeline_tree: the nodes of a timeline, and how they are made, filled up, halved, joined and let
 * go. For timeline.c and its test alone.
 * Knows nodes, links and counts; refuses to know which instant goes where, and who asks.
 *
 * A leaf has the slots, an inner node the number of those below it; leaves are linked in order.
 * Leaves are known by number, so that a moment needs 4 bytes to say where it is; the numbers lead
 * to them through segments, so that growth never copies more than one small block. A leaf's number
 * stays its own, its place in memory only once there are as many as a segment has: a pointer to
 * a leaf is good until the next leaf is inserted.
 *
 * Bounds: what is in child i of an inner node is not before at[i] (i > 0), and what is in child
 * i - 1 not after it. Bounds may be loose: what leaves changes none.
 *
 * Memory: a full leaf in which something arrives at the end gets a leaf behind it and stays full,
 * any other is halved. Leaves have room in steps, so that one that is half full has half the
 * memory; only their slots move then, and no moment hears of it. */
#ifndef STORE_STRUCT_TIMELINE_TREE_H
#define STORE_STRUCT_TIMELINE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/struct/timeline.h"

enum {
    TIMELINE_LEAF_MIN = 4,   /* slots of the first leaf, while it is the only one */
    TIMELINE_LEAF_MAX = 64,  /* slots of a full one */
    TIMELINE_INNER_MAX = 63, /* children */
    TIMELINE_SEGMENT_SHIFT = 9,
    TIMELINE_SEGMENT = 1 << TIMELINE_SEGMENT_SHIFT, /* leaves */
};

#define TIMELINE_NONE UINT32_MAX /* no leaf */

struct timeline_slot {
    msec at;
    struct moment *what;
};

struct timeline_leaf {
    struct timeline_slot *slots;
    struct timeline_inner *parent;
    uint32_t next, prev;        /* in order; `next` links those whose number is free, too */
    uint16_t begin, count, cap; /* in use: slots[begin] to slots[begin + count - 1] */
};

struct timeline_inner {
    struct timeline_inner *parent;
    uint32_t total;                      /* slots below */
    uint16_t count;                      /* children */
    uint16_t level;                      /* 0: they are leaves */
    uintptr_t child[TIMELINE_INNER_MAX]; /* a leaf's number, or an inner node */
    msec at[TIMELINE_INNER_MAX];         /* bounds; the first is none */
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

/* Slots have come (by > 0) or gone below an inner node; NULL is fine. Modulo 2^32. */
static inline void timeline_total_change(struct timeline_inner *inner, uint32_t by)
{
    for (; inner != NULL; inner = inner->parent)
        inner->total += by;
}

/* An empty leaf behind another, or with TIMELINE_NONE the only one; nothing in it will be before
 * `at`. Something must go into it before anything else is done. */
uint32_t timeline_leaf_insert(struct timeline *tl, uint32_t prev, unsigned cap, msec at);
/* One that is empty, with others left. */
void timeline_leaf_remove(struct timeline *tl, uint32_t number);
/* Room for one more at *slot of a leaf; both may be others afterwards. */
void timeline_leaf_make_room(struct timeline *tl, uint32_t *number, unsigned *slot, msec at);
/* After a removal: lets go of what is unused, late enough that an add and a cancel in turn don't
 * pay for it. The first of several leaves is left alone: it will be empty soon. */
void timeline_leaf_thin(struct timeline *tl, uint32_t number);

/* For the end of all, after which only these two may be called: the first leaf, with the inner
 * nodes of which it was the last; then, without leaves, the last segment. */
void timeline_leaf_drop_first(struct timeline *tl);
void timeline_segment_drop_last(struct timeline *tl);

#endif
