/* guest: a value that somebody else keeps, put into a store for one transaction. For front ends in
 * which another program owns the keys. Depends on the keyspace.
 *
 *     guest_lend(store, key, object);
 *     ... a transaction that touches this key only ...
 *     if (!guest_take(store, key, &object, &next)) ... the transaction removed the key ... */
#ifndef STORE_GUEST_H
#define STORE_GUEST_H

#include <stdbool.h>

#include "store/store.h"

/* Call once, if lending is to be fast: `never`, which lives as long as the store, is a node of an
 * agenda that would give its memory back after each guest. */
void guest_prepare(struct store *store, struct deadline *never);

/* Puts the value at an absent key of database 0. Ownership passes to the store. Returns when
 * something inside falls due next. O(log n) */
struct due_at guest_lend(struct store *store, struct bytes key, struct object object);
/* Takes the value back, as the transaction has left it, and when something inside falls due next.
 * False: there is none. */
bool guest_take(struct store *store, struct bytes key, struct object *object, struct due_at *next);

/* Replaces the store's policies by these, with the rules for what is inside values only: MEMBERTTL,
 * MAXLEN. Deadlines of keys are their owner's. O(policies) */
void guest_use_policies(struct store *store, const struct policies *policies);

#endif
