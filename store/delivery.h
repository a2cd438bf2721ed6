/* delivery: how many elements of a dehydrator may be delivered now, and when the next one may. An
 * element must be due, and a pause and the policies RATE and CLAIMED can hold it back. Functions
 * that take `claims` obey CLAIMED too, which does not bind deliveries for good (POLL).
 *
 * `entry` is a dehydrator, or NULL for a missing key. Cost: O(log n), plus the length of the key if
 * there are such policies. */
#ifndef STORE_DELIVERY_H
#define STORE_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* Counts the elements that may be delivered now, at most `limit`. */
size_t delivery_count(const struct store *store, const struct entry *entry, msec now, int64_t limit,
                      bool claims);
/* Returns the instant from which on an element may be delivered if nothing changes: `now` or
 * earlier if one may be delivered already, NEVER if there are no elements, INSTANT_MAX during a
 * pause without an end. */
msec delivery_next_at(const struct store *store, const struct entry *entry, msec now, bool claims);
/* Computes the earliest microsecond of the next delivery after `count` deliveries, for a dehydrator
 * with a RATE. Returns false if there is no RATE. */
bool delivery_rate_after(const struct store *store, const struct entry *entry, msec now,
                         size_t count, int64_t *next);
/* Returns how many more elements may be claimed under the key's CLAIMED. */
uint64_t delivery_claims_left(const struct store *store, const struct entry *entry, msec now);

#endif
