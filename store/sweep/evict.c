/* evict: see evict.h. Draws a few keys at random and drops the least valuable one. */
#include "store/sweep/evict.h"

#include "store/access.h"
#include "store/txn/txn_type.h"

struct candidate {
    struct keyspace *ks;
    struct entry *entry;
    uint64_t worth; /* the key with the lowest is evicted */
};

bool evict_counts_access(enum evict_policy policy)
{
    return policy == EVICT_ALL_LFU || policy == EVICT_VOLATILE_LFU;
}

static uint64_t worth_of(const struct txn *txn, const struct keyspace *ks,
                         const struct entry *entry, enum evict_policy policy)
{
    switch (policy) {
    case EVICT_ALL_LFU:
    case EVICT_VOLATILE_LFU: return access_frequency(txn->store, entry, txn->now);
    case EVICT_ALL_LRU:
    case EVICT_VOLATILE_LRU: return UINT32_MAX - (uint64_t)access_idle_seconds(entry, txn->now);
    case EVICT_VOLATILE_TTL: return (uint64_t)entry_expires_at(ks, entry);
    default: return 0;
    }
}

static struct entry *draw_entry(struct txn *txn, const struct keyspace *ks,
                                enum evict_policy policy)
{
    struct random *random = &txn->store->random;
    if (policy == EVICT_VOLATILE_TTL) return keyspace_first_volatile(ks);
    if (policy >= EVICT_VOLATILE_LRU) return keyspace_random_volatile(ks, random_next, random);
    return keyspace_random(ks, random_next, random);
}

bool evict_one(struct txn *txn, enum evict_policy policy, unsigned samples)
{
    if (policy == EVICT_NONE) return false;
    if (policy == EVICT_VOLATILE_TTL) samples = 1;
    struct candidate best = { 0 };
    for (unsigned db = 0; db < txn->store->database_count; db++) {
        struct keyspace *ks = &txn->store->databases[db];
        for (unsigned i = 0; i < samples; i++) {
            struct entry *entry = draw_entry(txn, ks, policy);
            if (entry == NULL) break;
            if (txn_type_of(entry)->is_spared) continue;
            uint64_t worth = worth_of(txn, ks, entry, policy);
            if (best.entry == NULL || worth < best.worth)
                best = (struct candidate){ ks, entry, worth };
        }
    }
    if (best.entry == NULL) return false;
    txn_call(txn, best.ks->db);
    txn_key_drop(txn, best.entry, EVENT_EVICTED);
    txn->store->stats.evicted_keys++;
    return true;
}
