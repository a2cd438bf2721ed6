/* timeline_state: the leaves of a timeline. Private to timeline.c and its tests.
 *
 * A slot is an instant, counted in four bytes from the base of its leaf, and a pointer in six
 * bytes. Instants and pointers are two arrays. The instants of a leaf thus lie within 2^32 ms, or
 * 49 days; an instant farther away needs another leaf, even if this one has room.
 *
 * Leaves are linked in order. They are addressed by number, so that an owner needs only 4 bytes to
 * store its leaf. Numbers lead to leaves through segments, of which growth copies only the first. A
 * leaf keeps its number, but while there is only one segment and it grows, the leaf's address may
 * change: a pointer to a leaf is valid until the next leaf is inserted.
 *
 * The keys of the tree above are instants (counted.h).
 *
 * When a slot is appended to a full leaf, the leaf stays full and a new one follows it. Other full
 * leaves are split in halves. The slots of a leaf are allocated in steps, except that a leaf
 * appended behind all others is allocated whole. Reallocating moves only slots and does not touch
 * owners. */
#pragma once

#include <string.h>

#include "store/base/pointer48.h"
#include "store/struct/timeline.h"

enum {
    TIMELINE_LEAF_MIN = 4,  /* slots allocated for the first leaf, while it is the only one */
    TIMELINE_LEAF_MAX = 64, /* slots of a full leaf */
    TIMELINE_SEGMENT_SHIFT = 9,
    TIMELINE_SEGMENT = 1 << TIMELINE_SEGMENT_SHIFT, /* leaves per segment */
};

#define TIMELINE_NONE UINT32_MAX /* no leaf */

#define TIMELINE_SPAN UINT32_MAX /* the farthest instant of a leaf from its base */

struct timeline_leaf {
    struct counted_node node; /* first; node.total slots are used, from slot `begin` on */
    uint32_t *slots;          /* cap instants, minus the base, then cap pointers */
    msec base;
    uint32_t next, prev; /* in order; for a free number, `next` links the free list */
    uint32_t number;
    uint16_t begin, cap;
};

struct timeline_branch {
    struct counted_node *child;
    msec at; /* the key */
};

static inline struct timeline_leaf *timeline_leaf_of(const struct timeline *tl, uint32_t number)
{
    return &tl->leaves[number >> TIMELINE_SEGMENT_SHIFT][number & (TIMELINE_SEGMENT - 1)];
}

static inline size_t timeline_slots_size(size_t cap)
{
    return cap * (sizeof(uint32_t) + sizeof(struct pointer48));
}

static inline uint32_t *timeline_offsets(const struct timeline_leaf *leaf)
{
    return leaf->slots + leaf->begin;
}
static inline struct pointer48 *timeline_nodes(const struct timeline_leaf *leaf)
{
    return (struct pointer48 *)(leaf->slots + leaf->cap) + leaf->begin;
}

static inline msec timeline_slot_at(const struct timeline_leaf *leaf, size_t i)
{
    return leaf->base + timeline_offsets(leaf)[i];
}
static inline struct timeline_node *timeline_slot_node(const struct timeline_leaf *leaf, size_t i)
{
    return pointer48_load(&timeline_nodes(leaf)[i]);
}
/* `at` must be within the leaf's span. */
static inline void timeline_slot_set(struct timeline_leaf *leaf, size_t i, msec at,
                                     const struct timeline_node *node)
{
    timeline_offsets(leaf)[i] = (uint32_t)((uint64_t)at - (uint64_t)leaf->base);
    pointer48_store(&timeline_nodes(leaf)[i], node);
}

/* Moves n slots within a leaf. Positions count from `begin`, and may be negative. */
static inline void timeline_slots_move(struct timeline_leaf *leaf, ptrdiff_t to, ptrdiff_t from,
                                       size_t n)
{
    uint32_t *offsets = timeline_offsets(leaf);
    struct pointer48 *nodes = timeline_nodes(leaf);
    if (n == 0) return;
    memmove(offsets + to, offsets + from, n * sizeof(*offsets));
    memmove(nodes + to, nodes + from, n * sizeof(*nodes));
}

/* Moves the slots to the beginning of the leaf's memory. */
static inline void timeline_slots_to_begin(struct timeline_leaf *leaf)
{
    timeline_slots_move(leaf, -(ptrdiff_t)leaf->begin, 0, leaf->node.total);
    leaf->begin = 0;
}
