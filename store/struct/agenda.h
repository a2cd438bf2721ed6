/* agenda: a priority queue of deadlines; equal deadlines keep the order of arrival. Keys and
 * members of large collections have their deadlines in agendas.
 *
 * The queue is a 4-ary min-heap with back positions: each deadline stores its slot, so that it can
 * be moved and cancelled in O(log n). The heap is stored in segments, so that growth copies at most
 * 8 KB of slots. Invariants: no slot is due before its parent; the deadline of slot i stores i. A
 * deadline must be aligned to 4 bytes and lie below address 2^48.
 *
 * A slot packs instant (46 bits), arrival number (35 bits) and pointer into 16 bytes. Two cases
 * exceed these widths:
 *
 * - 46 bits reach from 1970 to the year 4199. Later deadlines, and earlier ones, which only keys of
 *   the module's host have, are too rare to justify wider slots for all. Such a far instant is
 *   stored in an extra block of 16 bytes, and the order stays exact.
 * - When arrival numbers run out (2^35 since the agenda was last empty), all slots are renumbered
 *   from 0, in O(n log n). */
#pragma once

#include "store/base/instant.h"
#include "store/mem/relocate.h"

/* Embedded in the structure that has the deadline. */
struct deadline {
    uint32_t slot; /* index in the heap; DEADLINE_IDLE if not armed */
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
    uint32_t last_missing;               /* slots by which the last segment has yet to grow */
    uint32_t far_count;                  /* slots with a far instant */
    uint32_t generation; /* new when `arrivals` restarts; no two agendas have the same one */
    uint64_t arrivals;   /* the next arrival number */
};

void agenda_init(struct agenda *ag);
void agenda_drop(struct agenda *ag); /* frees the slots; does not touch the deadlines */
/* Drops the agenda in slices: frees about *work blocks and subtracts their number from *work.
 * Returns true when done. The agenda must not be used between slices. */
bool agenda_drop_some(struct agenda *ag, size_t *work);

void agenda_add(struct agenda *ag, struct deadline *d, msec at); /* d must be idle. O(log n) */
/* Adds or moves d to `at`, behind equal deadlines. O(log n) */
void agenda_move(struct agenda *ag, struct deadline *d, msec at);
void agenda_cancel(struct agenda *ag, struct deadline *d); /* d may be idle. O(log n) */
/* Removes and returns the first deadline with at <= now, or NULL. O(log n) */
struct deadline *agenda_pop_due(struct agenda *ag, msec now);
/* Makes the slot of an armed deadline point to `d`, its new copy, after the owner moved. O(1) */
void agenda_moved(struct agenda *ag, struct deadline *d);

/* Relocates some of the agenda's own blocks, not the owners of deadlines. Done when cursor->at is 0
 * again. */
void agenda_relocate(struct agenda *ag, struct relocation_cursor *cursor,
                     struct relocation *relocation);

static inline uint32_t agenda_count(const struct agenda *ag)
{
    return ag->count;
}
msec agenda_next(const struct agenda *ag); /* the earliest deadline; NEVER if empty. O(1) */
struct deadline *agenda_first(const struct agenda *ag); /* or NULL. O(1) */
/* Returns the deadline in slot i < count, for a random choice. Slots are in heap order. O(1) */
struct deadline *agenda_nth(const struct agenda *ag, uint32_t i);
msec agenda_nth_at(const struct agenda *ag, uint32_t i);           /* the instant of slot i. O(1) */
msec agenda_at(const struct agenda *ag, const struct deadline *d); /* d must be armed. O(1) */
/* Prefetches what agenda_at of d reads; d may be idle. O(1) */
void agenda_hint(const struct agenda *ag, const struct deadline *d);
/* Prefetches what the first steps of agenda_move or agenda_cancel read. O(1) */
void agenda_hint_move(const struct agenda *ag, const struct deadline *d);
/* Is d armed in this agenda? d may be idle, or armed in another one. O(1) */
bool agenda_has(const struct agenda *ag, const struct deadline *d);

/* Visits the deadlines with at <= until, in no particular order. The visitor returns false to stop.
 * O(visited) */
void agenda_each_until(const struct agenda *ag, msec until,
                       bool (*visit)(void *ctx, struct deadline *d, msec at), void *ctx);

/* A search in steps for the earliest deadline later than `after`; begin with {0}. For d deadlines
 * up to `after` it looks at no more than 1 + 4 * d slots: at those deadlines and their children. A
 * step begins anew if the agenda has changed since the last one, or is another one. */
struct agenda_search {
    uint32_t slot; /* the next one to look at */
    msec first;    /* the earliest found so far, or NEVER */
    /* The agenda's fields at the beginning. Each change alters one of them: additions and moves
     * raise `arrivals`, removals lower `count`, and whatever resets them ends the generation. */
    uint64_t arrivals;
    uint32_t generation, count;
    uint32_t changes; /* times that the search has begun anew */
    bool begun;
};
/* Makes a step of about `budget` slots, and adds their number to *steps. The budget doubles with
 * each change of the agenda, so that the search ends however often it begins anew. Returns true
 * when search->first is the result. */
bool agenda_search_after(const struct agenda *ag, msec after, struct agenda_search *search,
                         size_t budget, size_t *steps);

/* Walks the deadlines in order. The agenda must not change meanwhile. Step k costs O(log k). */
struct agenda_walk {
    const struct agenda *ag;
    uint32_t *frontier; /* owned; a binary heap of slot indexes, see agenda.c */
    uint32_t count, cap;
};
void agenda_walk_begin(struct agenda_walk *walk, const struct agenda *ag);
struct deadline *agenda_walk_next(struct agenda_walk *walk, msec *at); /* NULL at the end */
void agenda_walk_end(struct agenda_walk *walk);

size_t agenda_bytes(const struct agenda *ag); /* memory, without the struct itself */
void agenda_check(const struct agenda *ag);   /* heap order, back positions, counts. O(n) */
