/* evict: chooses a key and drops it, to free memory. The caller decides when memory is short. */
#ifndef STORE_SWEEP_EVICT_H
#define STORE_SWEEP_EVICT_H

#include "store/txn/txn.h"

enum evict_policy {
    EVICT_NONE,
    EVICT_ALL_LRU,
    EVICT_ALL_LFU,
    EVICT_ALL_RANDOM,
    EVICT_VOLATILE_LRU,
    EVICT_VOLATILE_LFU,
    EVICT_VOLATILE_RANDOM,
    EVICT_VOLATILE_TTL, /* by the key's own deadline: see keyspace_first_volatile */
};

/* Does the policy need access counts (LFU)? Then set store->counts_access. */
bool evict_counts_access(enum evict_policy policy);

/* Drops the best candidate among `samples` keys drawn from each database, with the event "evicted",
 * as a call of its own in txn. False: the policy allows no key to be evicted, or so few that they
 * were not found among many leases, which are never evicted. O(samples); O(1000) for each database
 * if it has hardly anything but leases. */
bool evict_one(struct txn *txn, enum evict_policy policy, unsigned samples);

#endif
