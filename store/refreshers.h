/* refreshers: the rights to refresh a key's value (GETFRESH). A right belongs to a key of a
 * database, whether the key exists or not. At most one client holds it, until an instant, or until
 * the value is set or deleted.
 *
 * Rights are not data: no effect, snapshot or digest contains them, and after a restart or a
 * promotion there are none. Reads create them, so their number is limited, or a reader could fill
 * the memory. A right that has ended stays in the table until refreshers_run removes it. Cost: O(1)
 * unless stated. */
#pragma once

#include "store/store.h"

enum { REFRESHERS_MOST = 100000 }; /* rights per database */

/* Returns the end of the right to refresh this key's value, or 0 if no client holds it by now. */
msec refresher_until(const struct keyspace *ks, struct bytes key, msec now);
/* Grants the right until this instant, or moves its end. No effect if the database has
 * REFRESHERS_MOST rights of other keys. */
void refresher_begin(struct keyspace *ks, struct bytes key, msec until);
/* Removes the right, over or not. Returns false if the table has none for the key. */
bool refresher_end(struct keyspace *ks, struct bytes key);

/* Returns the first end of a right in any database, or NEVER. O(databases) */
msec refreshers_next(const struct store *store);
/* Removes at most `most` rights that have ended by now; returns how many. O(databases + removed) */
size_t refreshers_run(struct store *store, msec now, size_t most);
/* Moves all ends, because the clock was set. O(rights) */
void refreshers_shift(struct store *store, msec by);
