/* expiry: the dead leave, in deadline order.
 * Knows keyspaces' agendas; refuses to know timers. */
#ifndef STORE_EXPIRY_H
#define STORE_EXPIRY_H

#include <stddef.h>

#include "store/instant.h"
#include "store/store.h"

/* Drops at most `budget` keys that are dead by now, as one transaction; returns how many. Fewer
 * than budget: none is left. */
size_t expiry_run(struct store *store, msec now, size_t budget);

#endif
