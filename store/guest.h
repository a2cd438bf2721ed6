/* guest: lends a value to a store for one transaction. The module needs this: there the host owns
 * the keys, but commands run on our value through the same write path as in the daemon.
 *
 *     guest_lend(store, key, object);
 *     ... a transaction that touches this key only ...
 *     if (!guest_take(store, key, &object, &next)) ... the transaction removed the key ... */
#pragma once

#include "store/store.h"

/* Makes lending faster; optional. Adds `never`, which must outlive the store, to an agenda. Without
 * it the agenda would become empty after each guest, and free its memory. */
void guest_prepare(struct store *store, struct deadline *never);

/* Adds the value at a key of database 0 that must be absent. Ownership passes to the store. Returns
 * the first instant at which something inside the value is due, or DUE_AT_NEVER. O(log n) */
struct due_at guest_lend(struct store *store, struct bytes key, struct object object);
/* Takes the value back after the transaction, and sets *next to the first instant at which
 * something inside is due. Returns false if the transaction removed the key. */
bool guest_take(struct store *store, struct bytes key, struct object *object, struct due_at *next);

/* Replaces the store's policies with these, reduced to the options that apply inside values
 * (`inside` in policy_rows.h, such as MEMBERTTL and MAXLEN). The others are left out, because the
 * owner of a key also owns its deadline. O(policies) */
void guest_use_policies(struct store *store, const struct policies *policies);
