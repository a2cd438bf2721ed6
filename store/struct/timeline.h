/* timeline: things ordered by when they fall due, for who asks about the order; equal instants in
 * the order of arrival. Knows instants and positions; knows neither ids nor clocks.
 *
 * A counted B+ tree over instants. A slot of a leaf is an instant and a pointer, in order, and what
 * arrives goes behind its equals, so that no arrival number is kept. A moment holds the number of
 * its leaf alone; its slot is found by looking through that leaf. Slots that change places within a
 * leaf touch no moment, and no operation moves more than a few leaves' worth of them. 16 bytes for
 * each, 17 to 19 with what is unused and the tree above, more once many in between are cancelled.
 *
 * Next to the agenda (a heap): all are drained in a third of the time or less, how many lie before
 * an instant and what comes after it is known in O(log n), and things are walked in order; but
 * arming, moving and cancelling cost several times as much. So keys and members, which are moved
 * and cancelled, have agendas; dehydrators, which are polled and asked, have timelines.
 * doc/deadlines.md has the figures. */
#ifndef STORE_STRUCT_TIMELINE_H
#define STORE_STRUCT_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/instant.h"
#include "store/mem/relocate.h"

/* Embedded in the thing that falls due. */
struct moment {
    uint32_t leaf; /* its number; MOMENT_IDLE when not armed */
};

#define MOMENT_IDLE UINT32_MAX

static inline void moment_init(struct moment *m)
{
    m->leaf = MOMENT_IDLE;
}
static inline bool moment_armed(const struct moment *m)
{
    return m->leaf != MOMENT_IDLE;
}

struct timeline_leaf;
struct timeline_inner;

struct timeline {
    struct timeline_leaf **leaves; /* by number, in segments */
    struct timeline_inner *root;   /* NULL while one leaf is enough */
    uint64_t room;                 /* slots in all leaves */
    uint32_t count;
    uint32_t first, last;         /* leaves, by number; none is empty */
    uint32_t numbers, number_cap; /* ever given out; with memory for them */
    uint32_t free_number;         /* the first to be given out again */
    uint32_t segment_cap;         /* room in the directory */
    uint32_t inner_count;
};

void timeline_init(struct timeline *tl);
void timeline_drop(struct timeline *tl); /* the moments in it are left as they are */
/* The same in slices: frees at most *work leaves and lowers *work; true when all is gone. Between
 * slices nothing else may be done with the timeline. */
bool timeline_drop_some(struct timeline *tl, size_t *work);

void timeline_add(struct timeline *tl, struct moment *m, msec at); /* must be idle. O(log n) */
/* A new instant; among equals it counts as just arrived. Adds it if idle. O(log n) */
void timeline_move(struct timeline *tl, struct moment *m, msec at);
void timeline_cancel(struct timeline *tl, struct moment *m);    /* idle is fine. O(log n) */
struct moment *timeline_pop_due(struct timeline *tl, msec now); /* at <= now, or NULL. O(log n) */
/* What `old` was in is now at another place in memory, where `m` is a copy of it. O(1) */
void timeline_moved(struct timeline *tl, const struct moment *old, struct moment *m);

static inline uint32_t timeline_count(const struct timeline *tl)
{
    return tl->count;
}
msec timeline_next(const struct timeline *tl); /* NEVER when empty. O(1) */
struct moment *timeline_first(const struct timeline *tl);
/* The i-th in order; i < count. O(log n) */
struct moment *timeline_nth(const struct timeline *tl, uint32_t i);
msec timeline_at(const struct timeline *tl, const struct moment *m); /* of an armed one. O(1) */
size_t timeline_count_until(const struct timeline *tl, msec until);  /* at <= until. O(log n) */
/* The first that is later than an instant; NULL if there is none. O(log n) */
struct moment *timeline_after(const struct timeline *tl, msec at, msec *found);

/* Visits those with at <= until in order, without removing: O(visited). Return false to stop. */
void timeline_each_until(const struct timeline *tl, msec until,
                         bool (*visit)(void *ctx, struct moment *m, msec at), void *ctx);

/* The next one of its own blocks, from a place on (0: the first), with what hangs on it; the
 * moments stay. Returns the place behind it; 0: it was the last. */
uint32_t timeline_relocate(struct timeline *tl, uint32_t place, struct relocation *relocation);

/* In order, without removing; the timeline must not change meanwhile. Each step is O(1). */
struct timeline_walk {
    const struct timeline *tl;
    uint32_t leaf, slot;
};
void timeline_walk_begin(struct timeline_walk *walk, const struct timeline *tl);
/* Begins with the first that is not before an instant. O(log n) */
void timeline_walk_from(struct timeline_walk *walk, const struct timeline *tl, msec at);
struct moment *timeline_walk_next(struct timeline_walk *walk, msec *at); /* NULL at the end */
void timeline_walk_end(struct timeline_walk *walk);

size_t timeline_bytes(const struct timeline *tl); /* without the struct itself */
void timeline_check(const struct timeline *tl);   /* order, bounds, links, counts, leaf numbers */

#endif
