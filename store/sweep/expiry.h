/* expiry: the dead leave, in deadline order.
 * Knows keyspaces' agendas; refuses to know timers. */
#ifndef STORE_SWEEP_EXPIRY_H
#define STORE_SWEEP_EXPIRY_H

#include <stddef.h>

#include "store/base/instant.h"
#include "store/store.h"

/* Drops about `budget` keys and members that are dead by now, as one transaction; returns how many
 * (a collection that goes as a whole counts all its members). Up to 64 members that share their
 * deadline stay together, whatever the budget. Fewer than budget: none is left. */
size_t expiry_run(struct store *store, msec now, size_t budget);

/* What falls due first in the call's database, where something is due: a key, a dehydrator's
 * elements, or up to `budget` members that share their deadline; not more at once, since members of
 * other keys may be due before this one's next. Returns how much work it was, at least 1. */
struct txn;
size_t expiry_first(struct txn *txn, size_t budget);

#endif
