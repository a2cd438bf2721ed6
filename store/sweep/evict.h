/* evict: chooses a key and drops it, to free memory. The caller decides when memory is short. */
#pragma once

#include "store/txn/txn.h"

enum evict_policy {
    EVICT_NONE,
    EVICT_ALL_LRU,
    EVICT_ALL_LFU,
    EVICT_ALL_RANDOM,
    EVICT_VOLATILE_LRU,
    EVICT_VOLATILE_LFU,
    EVICT_VOLATILE_RANDOM,
    EVICT_VOLATILE_TTL, /* the key with the earliest own deadline: keyspace_first_volatile */
};

/* Does the policy need access counts (LFU)? Then set store->counts_access. */
bool evict_counts_access(enum evict_policy policy);

struct evict_how {
    enum evict_policy policy;
    unsigned samples; /* keys to draw from each database */
    bool jobs_too;    /* evict dehydrators and the keys that policies write to */
};

/* Drops the best candidate among the samples, with the event "evicted", as a call of its own in
 * txn. Spares leases, and without jobs_too also dehydrators and the keys that policies write to,
 * because nobody can compute them again. Returns false if no key may be evicted, or if the few that
 * may were not found among many that are spared. O(samples); O(1000) for each database if nearly
 * all of its keys are spared. */
bool evict_one(struct txn *txn, const struct evict_how *how);
