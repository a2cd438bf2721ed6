/* deadlines: the deadlines of the members of one large collection. It is an agenda that exists only
 * while some member has a deadline: the collection holds a pointer, which is NULL otherwise, and
 * without deadlines pays only for this pointer.
 *
 * The collection embeds a struct deadline in each member that has one, and computes the member's
 * address from that of the deadline. */
#pragma once

#include "store/struct/agenda.h"

struct deadlines {
    struct agenda agenda;
    msec latest;           /* upper bound of all armed deadlines */
    struct deadline *last; /* a deadline at `latest`, or NULL if unknown: all may be earlier */
};

/* Sets the deadline of d to `at` (not NEVER); arms d if it is idle. Creates *deadlines if it is
 * NULL. O(log n) */
void deadlines_set(struct deadlines **deadlines, struct deadline *d, msec at);
/* Removes the deadline of d, which may be idle. Frees *deadlines, and sets it to NULL, with its
 * last deadline. O(log n) */
void deadlines_cancel(struct deadlines **deadlines, struct deadline *d);
/* As agenda_moved, after a member has moved in memory; does nothing if `d`, the new copy, is idle.
 * O(1) */
void deadlines_moved(struct deadlines *deadlines, struct deadline *d);

/* As agenda_relocate; *deadlines may be NULL. */
void deadlines_relocate(struct deadlines **deadlines, struct relocation_cursor *cursor,
                        struct relocation *relocation);

/* The functions from here on accept NULL, for a collection without deadlines. */
msec deadlines_at(const struct deadlines *deadlines, const struct deadline *d); /* NEVER if idle */
/* Prefetches what deadlines_at reads. O(1) */
void deadlines_hint(const struct deadlines *deadlines, const struct deadline *d);
struct deadline *deadlines_first(const struct deadlines *deadlines, msec *at); /* or NULL. O(1) */
size_t deadlines_count(const struct deadlines *deadlines);
/* Returns the latest deadline, or INT64_MIN if there is none. O(1); but O(n) for the first call
 * after the latest deadline was cancelled or set to an earlier instant. */
msec deadlines_last(struct deadlines *deadlines);
/* Have all deadlines passed by now? True if there is none. O(1); but O(n) for the first call after
 * the latest deadline was cancelled or set to an earlier instant, if at least 256 have passed. */
bool deadlines_all_expired(struct deadlines *deadlines, msec now);
/* Visits as agenda_each_until does. */
void deadlines_each_until(const struct deadlines *deadlines, msec until,
                          bool (*visit)(void *ctx, struct deadline *d, msec at), void *ctx);
/* Returns the agenda, for visiting in parts, or NULL. */
static inline const struct agenda *deadlines_agenda(const struct deadlines *deadlines)
{
    return deadlines == NULL ? NULL : &deadlines->agenda;
}
size_t deadlines_bytes(const struct deadlines *deadlines);
void deadlines_check(const struct deadlines *deadlines);

/* Frees about *work blocks, without touching members, and subtracts their number from *work.
 * Returns true when done; *deadlines is then NULL. */
bool deadlines_free_some(struct deadlines **deadlines, size_t *work);
