/* deadlines: when the members of one large collection end.
 * Knows instants and positions; refuses to know members: their owner embeds a struct deadline in
 * each one that has a deadline, and finds it back by its address.
 *
 * A collection holds a pointer that is NULL until its first member gets a deadline, and again after
 * its last one lost it: without deadlines it pays for that pointer alone. */
#ifndef STORE_STRUCT_DEADLINES_H
#define STORE_STRUCT_DEADLINES_H

#include <stdbool.h>
#include <stddef.h>

#include "store/struct/agenda.h"

struct deadlines {
    struct agenda agenda;
    msec latest;           /* no armed deadline is later */
    struct deadline *last; /* the one that is at `latest`; NULL: perhaps none is any more */
};

/* The deadline of `d`'s member is `at` now (not NEVER); arms it if idle. O(log n) */
void deadlines_set(struct deadlines **deadlines, struct deadline *d, msec at);
/* The member has none any more, or leaves; idle is fine. O(log n) */
void deadlines_cancel(struct deadlines **deadlines, struct deadline *d);
/* Its member moved in memory, the slot copied already; idle is fine. O(1) */
void deadlines_moved(struct deadlines *deadlines, struct deadline *d);

/* As agenda_relocate; NULL has no blocks. */
void deadlines_relocate(struct deadlines **deadlines, struct relocation_place *place,
                        struct relocation *relocation);

/* All of these take NULL. */
msec deadlines_at(const struct deadlines *deadlines, const struct deadline *d); /* NEVER if idle */
struct deadline *deadlines_first(const struct deadlines *deadlines, msec *at);  /* or NULL. O(1) */
size_t deadlines_count(const struct deadlines *deadlines);
msec deadlines_latest(const struct deadlines *deadlines); /* INT64_MIN without any */
/* Have all passed by now? O(1), but O(n) once after the latest one was cancelled or moved. */
bool deadlines_all_dead(struct deadlines *deadlines, msec now);
void deadlines_each_until(const struct deadlines *deadlines, msec until,
                          bool (*visit)(void *ctx, struct deadline *d, msec at), void *ctx);
/* To look at in parts, or NULL. */
static inline const struct agenda *deadlines_agenda(const struct deadlines *deadlines)
{
    return deadlines == NULL ? NULL : &deadlines->agenda;
}
size_t deadlines_bytes(const struct deadlines *deadlines);
void deadlines_check(const struct deadlines *deadlines);

/* Forgets them all, members left as they are: frees about *work segments' worth and lowers *work;
 * true when all is gone and *deadlines is NULL. */
bool deadlines_free_some(struct deadlines **deadlines, size_t *work);

#endif
