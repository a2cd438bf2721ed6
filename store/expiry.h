/* expiry: the dead leave, in deadline order.
 * Knows keyspaces' agendas; refuses to know timers. */
#ifndef STORE_EXPIRY_H
#define STORE_EXPIRY_H

#include <stddef.h>

#include "store/instant.h"
#include "store/store.h"

/* Drops about `budget` keys and members that are dead by now, as one transaction; returns how many
 * (a collection that goes as a whole counts all its members). Fewer than budget: none is left. */
size_t expiry_run(struct store *store, msec now, size_t budget);

#endif
