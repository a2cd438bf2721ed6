/* agenda: things ordered by when they fall due; equal instants in the order of arrival.
 * Knows instants and positions; knows neither keys nor clocks.
 *
 * A 4-ary min-heap with back positions, in segments, so that growth never copies more than one
 * small block. Invariant: no slot is due before its parent, and slot i's deadline says i.
 *
 * A slot has 16 bytes: instant, arrival and pointer as one number. Its 46 bits of instant reach the
 * year 4199, as far as Redis lets a hash field live. But a key may have any int64 as its deadline,
 * and were those beyond 1970 and 4199 clamped, a clock that stands there would take a living key
 * for a dead one: so such a far instant is kept whole, in a block of 16 bytes of its own. The order
 * is exact for all. When the arrivals run out, after 2^35 in an agenda that was never empty, they
 * are counted anew from 0 once, in O(n log n).
 * A deadline is aligned to 4 bytes, and lies below 2^48. */
#ifndef STORE_STRUCT_AGENDA_H
#define STORE_STRUCT_AGENDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/instant.h"
#include "store/mem/relocate.h"

/* Embedded in the thing that has a deadline. */
struct deadline {
    uint32_t slot; /* in the heap; DEADLINE_IDLE when not armed */
};

#define DEADLINE_IDLE UINT32_MAX

static inline void deadline_init(struct deadline *d)
{
    d->slot = DEADLINE_IDLE;
}
static inline bool deadline_armed(const struct deadline *d)
{
    return d->slot != DEADLINE_IDLE;
}

struct agenda_slot;

struct agenda {
    struct agenda_slot **segments;
    uint32_t count;
    uint32_t segment_count, segment_cap; /* segments allocated; room in the directory */
    uint32_t last_missing;               /* places that the last segment doesn't have yet */
    uint32_t far_count;                  /* slots with a far instant */
    uint64_t arrivals;                   /* the next number */
};

void agenda_init(struct agenda *ag);
void agenda_drop(struct agenda *ag); /* the deadlines in it are left as they are */
/* The same in slices: frees at most *work segments and lowers *work; true when all is gone. Between
 * slices nothing else may be done with the agenda. */
bool agenda_drop_some(struct agenda *ag, size_t *work);

void agenda_add(struct agenda *ag, struct deadline *d, msec at); /* must be idle. O(log n) */
/* A new instant; among equals it counts as just arrived. Adds it if idle. O(log n) */
void agenda_move(struct agenda *ag, struct deadline *d, msec at);
void agenda_cancel(struct agenda *ag, struct deadline *d);    /* idle is fine. O(log n) */
struct deadline *agenda_pop_due(struct agenda *ag, msec now); /* at <= now, or NULL. O(log n) */
/* The owner moved in memory; `d` is the deadline at its new place (slot already copied). O(1) */
void agenda_moved(struct agenda *ag, struct deadline *d);

/* Its own blocks; the deadlines stay where they are. */
void agenda_relocate(struct agenda *ag, struct relocation_place *place,
                     struct relocation *relocation);

static inline uint32_t agenda_count(const struct agenda *ag)
{
    return ag->count;
}
msec agenda_next(const struct agenda *ag); /* NEVER when empty. O(1) */
struct deadline *agenda_first(const struct agenda *ag);
/* Any one by number, in no order: for drawing lots; i < count. O(1) */
struct deadline *agenda_nth(const struct agenda *ag, uint32_t i);
msec agenda_nth_at(const struct agenda *ag, uint32_t i);           /* its instant. O(1) */
msec agenda_at(const struct agenda *ag, const struct deadline *d); /* of an armed one. O(1) */
/* Is the deadline armed here, and not in another agenda or nowhere? O(1) */
bool agenda_has(const struct agenda *ag, const struct deadline *d);

/* Visits those with at <= until, in no order, without removing: O(visited). Return false to stop.
 */
void agenda_each_until(const struct agenda *ag, msec until,
                       bool (*visit)(void *ctx, struct deadline *d, msec at), void *ctx);

/* In order, without removing; the agenda must not change meanwhile. The k-th step costs O(log k).
 */
struct agenda_walk {
    const struct agenda *ag;
    uint32_t *frontier; /* owned */
    uint32_t count, cap;
};
void agenda_walk_begin(struct agenda_walk *walk, const struct agenda *ag);
struct deadline *agenda_walk_next(struct agenda_walk *walk, msec *at); /* NULL at the end */
void agenda_walk_end(struct agenda_walk *walk);

size_t agenda_bytes(const struct agenda *ag); /* without the struct itself */
void agenda_check(const struct agenda *ag);   /* heap order, back positions, counts */

#endif
