/* evict: see evict.h. Draws a few keys at random and drops the least valuable one. */
#include "store/sweep/evict.h"

#include "store/access.h"
#include "store/txn/txn_type.h"

enum {
    SPARED_DRAWS = 16,    /* at most this many random draws for each sample */
    SEARCHED_MOST = 1000, /* entries of a database that a search looks at */
};

struct candidate {
    struct keyspace *ks;
    struct entry *entry;
    uint64_t worth; /* the key of least worth is evicted */
};

bool evict_counts_access(enum evict_policy policy)
{
    return policy == EVICT_ALL_LFU || policy == EVICT_VOLATILE_LFU;
}

/* Makes the entry the candidate if it is worth less than the present one. Returns false if the
 * entry may not be evicted. */
static bool consider(const struct txn *txn, struct keyspace *ks, struct entry *entry,
                     const struct evict_how *how, struct candidate *best)
{
    enum evict_policy policy = how->policy;
    /* DIFFERS: Redis evicts any key that the policy covers. (doc/differs.md) */
    enum spared spared = txn_type_of(entry)->spared;
    if (spared == SPARED_NEVER && policies_write_to(&txn->store->policies, entry_key(entry)))
        spared = SPARED_AS_JOB;
    if (spared == SPARED_ALWAYS || (spared == SPARED_AS_JOB && !how->jobs_too)) return false;
    if (policy >= EVICT_VOLATILE_LRU && entry_expires_at(ks, entry) == NEVER) return false;
    uint64_t worth = 0;
    switch (policy) {
    case EVICT_ALL_LFU:
    case EVICT_VOLATILE_LFU: worth = access_frequency(txn->store, entry, txn->now); break;
    case EVICT_ALL_LRU:
    case EVICT_VOLATILE_LRU:
        worth = UINT32_MAX - (uint64_t)access_idle_seconds(entry, txn->now);
        break;
    case EVICT_VOLATILE_TTL: worth = (uint64_t)entry_expires_at(ks, entry); break;
    default: break;
    }
    if (best->entry == NULL || worth < best->worth) *best = (struct candidate){ ks, entry, worth };
    return true;
}

bool evict_one(struct txn *txn, const struct evict_how *how)
{
    if (how->policy == EVICT_NONE) return false;
    struct candidate best = { 0 };
    struct store *store = txn->store;

    /* Draw how->samples keys of each database at random. An entry that may not be evicted does not
     * count as a sample, but there are at most SPARED_DRAWS draws for each sample. For
     * EVICT_VOLATILE_TTL the index of deadlines replaces the draws, unless its first key may not be
     * evicted. */
    for (unsigned db = 0; db < store->database_count; db++) {
        struct keyspace *ks = &store->databases[db];
        struct entry *entry;
        if (how->policy == EVICT_VOLATILE_TTL) {
            entry = keyspace_first_volatile(ks);
            if (entry == NULL || consider(txn, ks, entry, how, &best)) continue;
        }
        unsigned draws = SPARED_DRAWS * how->samples;
        for (unsigned found = 0; found < how->samples && draws > 0; draws--) {
            entry = how->policy >= EVICT_VOLATILE_LRU
                        ? keyspace_random_volatile(ks, random_next, &store->random)
                        : keyspace_random(ks, random_next, &store->random);
            if (entry == NULL) break;
            found += consider(txn, ks, entry, how, &best);
        }
    }

    /* If nearly all entries are spared, draws may find no other: search. */
    for (unsigned db = 0; db < store->database_count && best.entry == NULL; db++) {
        struct keyspace *ks = &store->databases[db];
        struct dict_iter iter;
        size_t count = dict_count(&ks->dict), most = count < SEARCHED_MOST ? count : SEARCHED_MOST;
        if (count > 0) dict_iter_from(&iter, &ks->dict, random_next(&store->random));
        for (size_t i = 0; i < most && best.entry == NULL; i++) {
            struct entry *entry = dict_iter_next(&iter);
            if (entry == NULL) {
                dict_iter_begin(&iter, &ks->dict);
                entry = dict_iter_next(&iter);
            }
            consider(txn, ks, entry, how, &best);
        }
    }
    if (best.entry == NULL) return false;
    txn_call(txn, best.ks->db);
    txn_key_drop(txn, best.entry, EVENT_EVICTED);
    store->stats.evicted_keys++;
    return true;
}
