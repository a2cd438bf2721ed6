/* guest: lends a value to a store for one transaction. For the module, where the engine owns the
 * keys: commands run on the value through the same write path as in the daemon. Depends on the
 * keyspace.
 *
 *     guest_lend(store, key, object);
 *     ... a transaction that touches this key only ...
 *     if (!guest_take(store, key, &object, &next)) ... the transaction removed the key ... */
#ifndef STORE_GUEST_H
#define STORE_GUEST_H

#include <stdbool.h>

#include "store/store.h"

/* Optional, to make lending fast: adds `never`, which must outlive the store, to an agenda that
 * would otherwise become empty, and free its memory, after each guest. */
void guest_prepare(struct store *store, struct deadline *never);

/* Puts the value at an absent key of database 0. Ownership passes to the store. Returns when
 * something inside is next due. O(log n) */
struct due_at guest_lend(struct store *store, struct bytes key, struct object object);
/* Takes the value back after the transaction; *next is when something inside is next due. Returns
 * false if the transaction removed the key. */
bool guest_take(struct store *store, struct bytes key, struct object *object, struct due_at *next);

/* Replaces the store's policies with these, but only the rules for the inside of values (MEMBERTTL,
 * MAXLEN, BACKOFF, RATE, CLAIMED), because the owner of a key also owns its deadline.
 * O(policies) */
void guest_use_policies(struct store *store, const struct policies *policies);

#endif
