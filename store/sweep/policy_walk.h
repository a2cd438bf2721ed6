/* policy_walk: applies new and changed policies to existing keys, in slices.
 *
 * A pass visits all keys of all databases and applies every policy that was pending when it began;
 * a policy set meanwhile waits for the next pass. Each key is changed by the policy that applies to
 * it when the pass reaches the key:
 *
 *     TTL, MAXTTL    sets the deadline of the key
 *     MEMBERTTL      sets the deadlines of members that have none
 *     MAXLEN         cuts a sorted set or stream
 *     RETAIN         sets the retention of a stream
 *
 * MAXLEN does not cut a list, because only the next push shows at which end new elements arrive.
 *
 * Changes are recorded as ordinary effects. A policy stays recorded as pending until its pass has
 * ended, so after a crash in the middle of a pass the server starts another one. */
#pragma once

#include "store/base/instant.h"
#include "store/store.h"

/* Is there a policy that has not yet been applied to all keys? O(1) */
static inline bool policy_walk_pending(const struct store *store)
{
    return store->policies.pending > 0;
}
/* Visits about `budget` keys and members, as one transaction. Returns true if there is more to do.
 * Does nothing while anything is overdue, and then returns true: call expiry_run first. */
bool policy_walk_run(struct store *store, msec now, size_t budget);
