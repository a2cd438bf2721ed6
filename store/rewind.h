/* rewind: background work after the clock is set back.
 *
 * The deadlines of keys and members are instants and stay valid. But a dehydrator stores the
 * instant up to which it has sent "rede.due" for its elements. Elements that are no longer due must
 * be announced again at their deadlines, so a walk over all keys, in slices, sets this instant
 * back. */
#pragma once

#include "store/base/instant.h"

struct keyspace;
struct entry;

/* The state of a walk, and what it needs to know. */
struct rewind {
    struct keyspace *databases; /* of the store */
    unsigned database_count;
    msec announced; /* the latest instant at which a dehydrator announced elements */
    msec since;     /* during a walk: the instant to which the clock was set back */
    bool running;
    unsigned db; /* position of the walk: database, and cursor in it */
    uint64_t cursor;
};

/* Begins without a walk, for the databases of a store. */
void rewind_init(struct rewind *rewind, struct keyspace *databases, unsigned count);
/* Notes that a dehydrator announces elements, so that rewind_run can tell whether any announcement
 * lies in the future after the clock was set back. */
static inline void rewind_note(struct rewind *rewind, msec now)
{
    if (now > rewind->announced) rewind->announced = now;
}
/* Starts a walk if the clock was set back to before the last announcement, and makes up to `budget`
 * steps of dict_scan. Returns true if there is more to do. Call it in every turn of the loop; O(1)
 * without a walk. */
bool rewind_run(struct rewind *rewind, msec now, unsigned budget);
/* Restarts a running walk after two databases were exchanged, because it would miss keys that are
 * now in a database it has passed. */
void rewind_swapped(struct rewind *rewind);
/* If a walk is running, does its work on this key at once. Call before the key moves to a database
 * or bucket that the walk may have passed, or it might never reach the key. */
void rewind_entry(const struct rewind *rewind, struct keyspace *ks, struct entry *entry);
