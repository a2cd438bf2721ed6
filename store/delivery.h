/* delivery: how many elements of a dehydrator may be delivered now, and when the next one may. An
 * element must be due, and a pause and the policies RATE and CLAIMED can hold it back. CLAIMED
 * limits the elements that consumers hold under a lease, so only functions with `claims` true obey
 * it; POLL removes what it delivers, and passes false.
 *
 * `entry` is a dehydrator; all functions but delivery_rate_after accept NULL for a missing key.
 * Cost: O(log n), plus the length of the key if there are such policies. */
#pragma once

#include "store/keyspace.h"
#include "store/policy/policies.h"

/* Counts the elements that may be delivered now, at most `limit`. */
size_t delivery_count(const struct policies *policies, const struct entry *entry, msec now,
                      int64_t limit, bool claims);
/* Returns the instant from which on an element may be delivered if nothing changes. The instant is
 * too early if `claims` is true and more elements are claimed than CLAIMED allows, as after the
 * limit was lowered.
 *
 *     now or earlier    one may be delivered already
 *     INSTANT_MAX       paused without an end
 *     NEVER             no elements */
msec delivery_next_at(const struct policies *policies, const struct entry *entry, msec now,
                      bool claims);
/* Sets *next to the earliest microsecond of the next delivery after `count` deliveries now, for a
 * dehydrator with a RATE. Returns false if there is no RATE. */
bool delivery_rate_after(const struct policies *policies, const struct entry *entry, msec now,
                         size_t count, int64_t *next);
/* Returns how many more elements may be claimed under the key's CLAIMED; UINT64_MAX without one. */
uint64_t delivery_claims_left(const struct policies *policies, const struct entry *entry, msec now);
