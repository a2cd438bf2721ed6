/* store: the data set: databases, policies, libraries and counters. Does not depend on sockets,
 * RESP, files or clocks. How to use the library:
 *
 *     struct store *store = store_new(16);
 *     ... read and change it through txn/txn.h ...
 *     msec wake = store_next_due(store);      // when the loop must wake up
 *     expiry_run(store, now, 200);            // then: remove what has expired
 *
 * Folder store: the data set. Data changes only through store/txn. Start here, then keyspace.h and
 * effect.h.
 *
 *     the data:
 *       keyspace             one database: keys, values, deadlines, SCAN
 *       library              the texts of functions, which the server runs
 *       tokens               the counter of fencing tokens
 *       leases               what all leases share
 *     its changes:
 *       effect, event        the changes that can be recorded; the keyspace events
 *       brief                a short form of the most frequent changes, for the journal
 *       walk                 the effects that rebuild a value, or everything
 *       digest               compares stores
 *     beside the data:
 *       access               when a key was used
 *       refreshers           who may refresh a value
 *       policy_progress      how far new policies have been applied to existing keys
 *     dehydrators:
 *       delivery             when elements may be delivered
 *       fair                 whose turn it is among the dehydrators of a prefix
 *     work:
 *       lookahead            prefetches keys and members of the next requests or effects
 *       reclaim              frees large values in slices
 *       rewind               repairs what a clock that was set back has made wrong
 *       guest                lends one value that another program keeps
 *
 * May use: store/base store/calendar store/trail store/mem store/policy store/struct
 * store/type/. */
#pragma once

#include "store/base/histogram.h"
#include "store/base/random.h"
#include "store/effect.h"
#include "store/fair.h"
#include "store/keyspace.h"
#include "store/leases.h"
#include "store/library.h"
#include "store/policy/policies.h"
#include "store/reclaim.h"
#include "store/rewind.h"
#include "store/tokens.h"

struct store_stats {
    uint64_t hits, misses; /* reads by clients */
    /* Misses of keys that, according to the trail, have expired, been deleted or been evicted. */
    uint64_t expiration_misses, deletion_misses, eviction_misses;
    uint64_t expired_keys, expired_members, evicted_keys;
    /* Entries that could not be added to the target of EXPIRED TO or MAXDELIVERIES. */
    uint64_t expired_log_errors, dead_letter_errors;
    uint64_t payloads;    /* payloads of RESTORE, each checked as a whole */
    struct histogram lag; /* how late expired keys and members were removed */
};

struct calendar;
struct trail;
struct policy_progress;

/* How the expiry log writes values. A function may be NULL: without `dump` no payloads are written,
 * without `print_score` scores have 17 digits. */
struct value_format {
    /* Calls `take` with the payload that DUMP would reply; does not call it if memory runs out. */
    void (*dump)(const struct object *object, void (*take)(void *ctx, struct bytes payload),
                 void *ctx);
    size_t (*print_score)(char *to, double score); /* writes at most 40 bytes, returns how many */
};

struct store {
    struct keyspace *databases;
    unsigned database_count;
    unsigned event_mask; /* LISTEN_*: what the listener receives */
    struct effect_listener listener;
    struct reclaim reclaim;
    struct random random;
    struct policies policies;
    struct libraries libraries;
    struct tokens tokens;
    struct leases leases;
    struct policy_progress *policy_progress; /* how far pending policies have been applied; owned */
    struct calendar *calendar; /* zones and schedules of CRON, which are not data; owned */
    struct trail *trail;       /* record of deadlines and ends, or NULL (trail/trail.h); owned */
    struct rewind rewind;
    struct fair fair;   /* whose turn it is (REDE.FAIRCLAIM) */
    bool keeps_counts;  /* keeps counts of empty dehydrators (drained.h); true unless cleared */
    bool counts_access; /* entry->accessed counts uses (LFU) instead of the last use (LRU) */
    /* For LFU: how slowly the counter rises, and after how many minutes it falls by one (0:
     * never). */
    unsigned access_log_factor, access_decay_minutes;
    struct value_format value_format;
    struct store_stats stats;
    uint64_t changes;    /* effects that changed data, since start */
    uint64_t flushed_at; /* `changes` when FLUSHALL last emptied all databases */
};

struct store *store_new(unsigned databases);
void store_free(struct store *store);

/* Replaces the store's data, policies, libraries, tokens and the latest end of its leases with
 * those of `other`, without recording effects. The listener, the hooks of `fair`, the trail and the
 * statistics stay, and the next token leaps. Frees `other` at once, but the old keys in slices.
 * Both must have the same number of databases. O(databases + policies + libraries) */
void store_replace(struct store *store, struct store *other);
/* Frees `other`; its keys join the reclaim queue of `store`. O(databases + policies + libraries) */
void store_discard(struct store *store, struct store *other);

/* Sets the listener and its event mask (LISTEN_*), replacing the previous ones. NULL for no
 * listener. */
void store_listen(struct store *store, unsigned mask, const struct effect_listener *listener);

/* Returns a database, for reading. Changes go through txn.h. */
static inline const struct keyspace *store_database(const struct store *store, unsigned db)
{
    return &store->databases[db];
}
/* Enlarges a database's table for `count` keys in all, before they are added. O(count) */
void store_expect(struct store *store, unsigned db, size_t count);
/* Keys of all databases, expired or not. O(databases) */
size_t store_count(const struct store *store);
/* Counts keys with work due by now, in all databases, up to `most`. O(databases + found) */
size_t store_count_due(const struct store *store, msec now, size_t most);
/* Hides keys that have work due by now, in all databases (keyspace_hide). Moves at most `most`
 * nodes and returns how many; fewer than `most` means that all are hidden. O(databases + moved *
 * log n) */
size_t store_hide(struct store *store, msec now, size_t most);
/* Counts the nodes that store_hide would move, up to `most`. O(databases + found) */
size_t store_count_to_hide(const struct store *store, msec now, size_t most);
/* Returns the first instant at which store_hide has work, unless the clock is set back.
 * O(databases) */
msec store_next_to_hide(const struct store *store);

/* Returns the first instant at which expiry_run has work, or NEVER; if keys are hidden, perhaps an
 * earlier one. O(databases) */
msec store_next_due(const struct store *store);

/* Checks the invariants of the store's structures; aborts if one is broken. O(n) */
void store_check(const struct store *store);

/* A 128-bit hash of the data set: all keys that have not expired, their values and deadlines, the
 * policies, the libraries and the last token. Stores with equal data have equal digests, whatever
 * the order in their tables. O(n) */
struct digest {
    uint64_t high, low;
};
struct digest store_digest(const struct store *store, msec now);
