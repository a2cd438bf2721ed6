/* timeline: a queue ordered by instant that can also count, search and walk. Equal instants keep
 * the order of arrival. A dehydrator with many elements keeps them in a timeline
 * (store/type/elements.h).
 *
 * A counted B+ tree over instants (counted.h). The slots of a leaf (instant and pointer) are in
 * order; a new slot goes after its equals, so that no arrival number is needed. The owner's
 * embedded struct stores only the number of its leaf, and a search of the leaf finds the slot.
 * Moving slots within a leaf therefore does not touch the owners, and no operation moves more than
 * a few leaves of slots. An owner must lie below address 2^48.
 *
 * A slot takes 10 bytes; with unused slots and the tree it takes 11 to 13. It takes more after many
 * cancellations in the middle, and about 200 for each instant that is more than 49 days from its
 * neighbours.
 *
 * Compared with the agenda (a heap), draining takes a third of the time or less, counting up to an
 * instant and finding the next after one cost O(log n), and a timeline can be walked in order. But
 * adding, moving and cancelling cost 1.5 to 16 times as much. Keys and members, whose deadlines are
 * moved and cancelled, therefore use agendas; dehydrators, which are polled and queried, use
 * timelines. doc/deadlines.md has the figures. */
#pragma once

#include "store/base/instant.h"
#include "store/mem/relocate.h"
#include "store/struct/counted.h"

/* Embedded in the structure that falls due. */
struct timeline_node {
    uint32_t leaf; /* number of its leaf; TIMELINE_NODE_IDLE if not armed */
};

#define TIMELINE_NODE_IDLE UINT32_MAX

static inline void timeline_node_init(struct timeline_node *node)
{
    node->leaf = TIMELINE_NODE_IDLE;
}
static inline bool timeline_node_armed(const struct timeline_node *node)
{
    return node->leaf != TIMELINE_NODE_IDLE;
}

struct timeline_leaf;

struct timeline {
    struct timeline_leaf **leaves; /* by number, in segments */
    struct counted tree;           /* of the leaves */
    uint64_t cap;                  /* slots allocated in all leaves */
    uint32_t count;
    uint32_t first, last;         /* numbers of leaves; no leaf is empty */
    uint32_t numbers, number_cap; /* leaf numbers used so far; allocated */
    uint32_t free_number;         /* first of the list of free leaf numbers */
    uint32_t segment_cap;         /* size of the directory of segments */
};

void timeline_init(struct timeline *tl);
void timeline_drop(struct timeline *tl); /* frees the tree; does not touch the owners */
/* Drops the timeline in slices: frees about *work blocks and subtracts their number from *work.
 * Returns true when done. The timeline must not be used between slices. */
bool timeline_drop_some(struct timeline *tl, size_t *work);

void timeline_add(struct timeline *tl, struct timeline_node *node,
                  msec at); /* node must be idle. O(log n) */
/* Adds or moves node to `at`, after its equals. O(log n) */
void timeline_move(struct timeline *tl, struct timeline_node *node, msec at);
void timeline_cancel(struct timeline *tl,
                     struct timeline_node *node); /* node may be idle. O(log n) */
/* Removes and returns the first node with at <= now, or NULL. O(log n) */
struct timeline_node *timeline_pop_due(struct timeline *tl, msec now);
/* Makes the slot of an armed node point to `node`, after the owner moved in memory. `old`, in the
 * old copy, must still be readable. O(1) */
void timeline_moved(struct timeline *tl, const struct timeline_node *old,
                    struct timeline_node *node);

static inline uint32_t timeline_count(const struct timeline *tl)
{
    return tl->count;
}
msec timeline_next(const struct timeline *tl); /* the earliest instant; NEVER if empty. O(1) */
struct timeline_node *timeline_first(const struct timeline *tl); /* or NULL. O(1) */
/* Returns the i-th node in order, i < count. O(log n) */
struct timeline_node *timeline_nth(const struct timeline *tl, uint32_t i);
msec timeline_at(const struct timeline *tl,
                 const struct timeline_node *node);                 /* node must be armed. O(1) */
size_t timeline_count_until(const struct timeline *tl, msec until); /* at <= until. O(log n) */
/* Finds the first node later than `at`, and its instant; NULL if there is none. O(log n) */
struct timeline_node *timeline_after(const struct timeline *tl, msec at, msec *found);

/* Relocates some of the timeline's own blocks from `cursor` on, not the owners. A pass begins with
 * cursor 0. Returns the next cursor, or 0 when all blocks are done. */
uint32_t timeline_relocate(struct timeline *tl, uint32_t cursor, struct relocation *relocation);

/* Walks in order; the timeline must not change meanwhile. O(1) per step. */
struct timeline_walk {
    const struct timeline *tl;
    uint32_t leaf, slot;
};
void timeline_walk_begin(struct timeline_walk *walk, const struct timeline *tl);
/* Begins at the first node that is not before `at`. O(log n) */
void timeline_walk_from(struct timeline_walk *walk, const struct timeline *tl, msec at);
struct timeline_node *timeline_walk_next(struct timeline_walk *walk,
                                         msec *at); /* NULL at the end */
void timeline_walk_end(struct timeline_walk *walk);

size_t timeline_bytes(const struct timeline *tl); /* memory, without the struct itself */
void timeline_check(const struct timeline *tl);   /* order, bounds, links, counts, leaf numbers */
