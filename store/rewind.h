/* rewind: what has to be done when the clock is set back.
 * Knows keyspaces and dehydrators; refuses to know timers.
 *
 * Deadlines are instants and need nothing: what was due waits again. But a dehydrator remembers
 * until when it has announced its elements ("rede.due"), and those that are not due any more have
 * to be announced again at their deadlines. All keys are walked in slices to find them. */
#ifndef STORE_REWIND_H
#define STORE_REWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/instant.h"

struct keyspace;
struct entry;
struct store;

/* All zero: nothing was announced. */
struct rewind {
    msec announced; /* the latest instant at which something was */
    msec since;     /* to where the clock was set back, while a walk runs */
    bool running;
    unsigned db; /* where the walk is */
    uint64_t cursor;
};

/* A dehydrator announces its elements. */
static inline void rewind_note(struct rewind *rewind, msec now)
{
    if (now > rewind->announced) rewind->announced = now;
}
/* Walks up to `budget` steps of a table, if the clock was set back since something was announced;
 * true while there is more to do. To be asked in every turn. */
bool rewind_run(struct store *store, msec now, unsigned budget);
/* Databases have changed places: a walk under way begins anew. */
void rewind_swapped(struct rewind *rewind);
/* One key, which is about to move to where a walk may have been already. */
void rewind_entry(const struct rewind *rewind, struct keyspace *ks, struct entry *entry);

#endif
