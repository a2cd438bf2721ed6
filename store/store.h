/* store: the data set: databases, their deadlines, and what a user of the library begins with.
 * Knows keyspaces; refuses to know sockets, RESP, files and clocks.
 *
 *     struct store *store = store_new(16);
 *     ... txn.h ...
 *     msec wake = store_next_due(store);      // the one number a loop sleeps on
 *     expiry_run(store, now, 200);            // when it has come
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/effect.h"
#include "store/keyspace.h"
#include "store/lag.h"
#include "store/policy.h"
#include "store/base/random.h"
#include "store/reclaim.h"
#include "store/rewind.h"

struct store_stats {
    uint64_t hits, misses; /* reads by clients */
    uint64_t expired_keys, expired_members, evicted_keys;
    struct lag lag; /* how late those that expired went */
};

struct policy_walk;

struct store {
    struct keyspace *databases;
    unsigned database_count;
    unsigned listening; /* LISTEN_* */
    struct effect_listener listener;
    struct reclaim reclaim;
    struct random random;
    struct policies policies;
    struct policy_walk *policy_walk; /* applies those that are pending */
    struct rewind rewind;
    bool counts_access; /* entries know how often they are used (LFU), not when (LRU) */
    struct store_stats stats;
    uint64_t changes;    /* effects that changed data, ever */
    uint64_t flushed_at; /* `changes` when all databases were last emptied at once */
};

struct store *store_new(unsigned databases);
void store_free(struct store *store);

/* The data and policies of `other`, which is freed, take the place of the store's, and nobody is
 * told. What was there is freed in slices. O(databases) */
void store_replace(struct store *store, struct store *other);

/* Who is told of effects, and of which (LISTEN_*; 0: nobody). One at a time. */
void store_listen(struct store *store, unsigned mask, const struct effect_listener *listener);

/* A database, to look at: changes go through txn.h. */
static inline const struct keyspace *store_database(const struct store *store, unsigned db)
{
    return &store->databases[db];
}
/* Keys of all databases, expired or not. O(databases) */
size_t store_count(const struct store *store);
/* Keys with work due by now, in all databases; stops at `most`. O(databases + found) */
size_t store_count_due(const struct store *store, msec now, size_t most);

/* The first instant at which expiry_run has work; NEVER if there is none. O(databases) */
msec store_next_due(const struct store *store);

/* Verifies every invariant of every structure, or ends the process with the values. O(n) */
void store_check(const struct store *store);

/* 128 bits over all live keys, values and deadlines, and the policies, whatever their order. O(n)
 */
struct digest {
    uint64_t high, low;
};
struct digest store_digest(const struct store *store, msec now);

#endif
