/* expiry: removes expired keys and members, in order of deadlines. */
#pragma once

#include "store/base/instant.h"
#include "store/store.h"

/* Removes about `budget` expired keys and members, as one transaction. Returns the work done: one
 * for each of them, for each reference of a group to an expired entry, for each hidden key that is
 * revealed, for each dehydrator whose elements are announced, and for each of its pauses, rates and
 * remembered ids that ends. A collection that expires as a whole counts as all its members. Up to
 * 64 members with equal deadlines are removed together, whatever the budget. A result below
 * `budget` means that nothing is left to do. */
size_t expiry_run(struct store *store, msec now, size_t budget);

/* Handles the first due item of the transaction's database. There must be one. Depending on the
 * item it removes a key, removes up to `budget` members with equal deadlines, or announces a
 * dehydrator's elements. It does no more than that, because the next item in order may be in
 * another key. If keys are hidden, it reveals up to `budget` of them instead. Returns the work
 * done, at least 1. */
struct txn;
size_t expiry_first(struct txn *txn, size_t budget);
