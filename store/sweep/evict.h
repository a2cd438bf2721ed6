/* evict: which key gives way when memory is short.
 * Knows entries, their deadlines and accesses; refuses to know how much memory there is. */
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
    EVICT_VOLATILE_TTL, /* the first by its own deadline: see keyspace_first_volatile */
};

/* Does the policy go by how often keys are used? Then the store has to count it. */
bool evict_counts_access(enum evict_policy policy);

/* Drops the best of `samples` keys drawn from each database, with the event "evicted". False: there
 * is none that may go. A call of its own in txn. */
bool evict_one(struct txn *txn, enum evict_policy policy, unsigned samples);

#endif
