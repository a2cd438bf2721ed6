/* policy_walk: applies a new or changed policy to the keys that are there already, in slices.
 * Depends on the keyspace's scan and the mutators; refuses to know when there is time for it.
 *
 * A pass goes over all keys of all databases and serves every policy that was pending when it
 * began; a policy that is set meanwhile waits for the next pass. A key is looked at under the
 * policy that holds for it at that moment: it gets the deadline of TTL or MAXTTL, its members that
 * of MEMBERTTL where they have none, and a sorted set is cut to MAXLEN. A list is not cut: which of
 * its ends is the new one shows only at its next push.
 *
 * What it does is recorded as plain effects. A policy is recorded as pending until its pass has
 * ended, so that a store that was loaded in the middle of a pass begins another one. */
#ifndef STORE_SWEEP_POLICY_WALK_H
#define STORE_SWEEP_POLICY_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/instant.h"
#include "store/store.h"

/* Is there a policy that has not been applied to all keys? O(1) */
static inline bool policy_walk_pending(const struct store *store)
{
    return store->policies.pending > 0;
}
/* Looks at about `budget` keys and members, as one transaction; true while there is more to do.
 * Does nothing while something is overdue: expiry_run goes first. */
bool policy_walk_run(struct store *store, msec now, size_t budget);

#endif
