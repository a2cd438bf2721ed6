/* fair: whose turn it is among the dehydrators whose names begin with a prefix (REDE.FAIRCLAIM).
 *
 * An index belongs to a prefix and a database. It has one node (store/struct/turns.h) for each
 * dehydrator with elements under the prefix. If an element of a key may be claimed now
 * (delivery.h), the node is in the ring of turns; otherwise it is in the agenda, at the instant at
 * which an element may be claimed. It moves when its instant comes, when the key changes, and after
 * its turn. A push to a key in the ring does not move it.
 *
 * Nodes follow the effects of all mutators: fair_note marks the keys that changed, and fair_settle
 * looks at these keys when the call ends. An index is not part of the data: files, replicas and
 * digests leave it out.
 *
 * POLICY SET with FAIR creates an index, and so does the first REDE.FAIRCLAIM that needs one. Its
 * nodes come from a scan of all keys in slices, made by fair_run and by the calls that wait for the
 * scan. The figures of REDE.FAIRINFO are counted in the same way, but they need no nodes.
 *
 * Each state of an index (enum fair_state) says which keys have a node, and whether an element of
 * one may be claimable before the instant of its node:
 *
 *     state                   keys with a node           claimable earlier   calls
 *     FAIR_NO_NODES           none                       -                   begin a scan
 *     FAIR_SCANNING           those that the scan found  no                  wait
 *     FAIR_SCANNING_CHANGED   those that the scan found  perhaps             wait
 *     FAIR_CHECKING           all                        perhaps             see below
 *     FAIR_CHECKING_CHANGED   all                        perhaps             see below
 *     FAIR_COMPLETE           all                        no                  take turns
 *
 *     FAIR_NO_NODES
 *          | begin_scan
 *          v               begin_check
 *     FAIR_SCANNING -----------------------> FAIR_SCANNING_CHANGED
 *          | end_look                             | end_look
 *          v               begin_check            v
 *     FAIR_COMPLETE -----------------------> FAIR_CHECKING <---------+
 *          ^                                 |    | begin_check      | end_look
 *          |        end_look                 |    v                  |
 *          +---------------------------------+   FAIR_CHECKING_CHANGED
 *
 * A scan visits all keys of the database, a check the nodes in the agenda; both are looks. A policy
 * that changes, or a clock that is set back, calls begin_check: during a look it is noted by the
 * state, and a check follows, because a look that began anew might not end while a client keeps
 * setting policies. `looks` counts the looks begun. While the state is one of scanning or checking,
 * the last of them is running.
 *
 * A call takes turns in all states in which all keys have nodes. If it finds nothing and has BLOCK,
 * it waits. Without BLOCK it waits only for the first look that takes the policies at its start
 * into account: the running one, or in a state ..._CHANGED the next. In code: fair_use, fair_build,
 * then fair_next and fair_turned for each turn; if no element was claimed, fair_next_at, and
 * fair_begin_wait once the client waits.
 *
 * FLUSHDB, FLUSHALL and a reload replace each index of their databases (index_restart). The new one
 * has FAIR_NO_NODES if the old one had it; otherwise it begins in FAIR_SCANNING, or in
 * FAIR_COMPLETE if the database is empty, and `looks` continues.
 *
 * An index is in fair.working from the start of a look or survey, or from fair_continue, until
 * fair_run finds nothing left to do for it. fair_run finishes these indexes one after the other. Of
 * all indexes it looks at a few, to drop those that are old and not needed. So a slice costs the
 * same with thousands of policies, unless the clock was set back.
 *
 * Each end of a look or survey calls hooks.done, so that waiting calls run again. So does each
 * change that replaces an index or its data: FLUSHDB, SWAPDB, a reload.
 *
 * The index is kept while a policy of the same name has FAIR or a client waits for the prefix.
 * Otherwise it is kept for at least FAIR_KEEP after its last use, so that workers that poll without
 * BLOCK need no scan each time; but of more than FAIR_MOST such indexes the one that was used least
 * recently is dropped.
 *
 * Cost: O(log n) for each change of a dehydrator under the prefix; for SET, DROP, RENAME, COPY and
 * MOVE of any key one look-up for each distinct length of the prefixes. Nothing without an index.
 */
#pragma once

#include <sys/queue.h>

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/struct/dict.h"

struct effect;
struct keyspace;
struct policies;

struct fair_index; /* the index of one prefix in one database */

/* Drawn above. The states from FAIR_CHECKING on have nodes for all keys. */
enum fair_state {
    FAIR_NO_NODES,
    FAIR_SCANNING,
    FAIR_SCANNING_CHANGED,
    FAIR_CHECKING,
    FAIR_CHECKING_CHANGED,
    FAIR_COMPLETE,
};

enum {
    FAIR_KEEP = 60 * 1000, /* milliseconds without a use after which an index may be dropped */
    FAIR_MOST = 64,        /* the most indexes kept only because of FAIR_KEEP */
    FAIR_AT_ONCE = 125,    /* buckets that a call visits before it waits for slices */
};

/* Hooks of the server; each may be NULL. A hook must only note what to do when the transaction has
 * ended. */
struct fair_hooks {
    /* An element of this key may be claimed now. */
    void (*ready)(void *ctx, unsigned db, struct bytes prefix, struct bytes key);
    /* An element of some key may be claimed at this instant, or earlier. */
    void (*ready_at)(void *ctx, unsigned db, struct bytes prefix, msec at);
    /* Does a client wait for the prefix? */
    bool (*waits)(void *ctx, unsigned db, struct bytes prefix);
    /* Calls that wait for the prefix should run again. */
    void (*done)(void *ctx, unsigned db, struct bytes prefix);
    void *ctx;
};

TAILQ_HEAD(fair_indexes, fair_index);

/* The indexes of a store. */
struct fair {
    const struct keyspace *databases; /* of the store */
    unsigned database_count;
    const struct policies *policies;
    struct fair_hooks hooks;
    struct fair_indexes indexes;
    struct fair_indexes dropped; /* indexes whose nodes are still to be freed */
    struct fair_indexes working; /* those that fair_run continues, one after the other */
    size_t count;                /* of indexes; with 0, no change need be noted */
    /* The prefixes of a key are found by one look-up for each length that some prefix has. A write
     * thus costs the same with one prefix as with a thousand of the same length. */
    struct dict prefixes;
    struct fair_length *lengths;
    size_t length_count, length_cap;
    struct fair_change *changed; /* the nodes that fair_settle looks at */
    size_t changed_count, changed_cap;
    msec latest; /* the latest instant so far, to notice that the clock was set back */
};

/* Begins without indexes, for the databases and policies of a store. */
void fair_init(struct fair *fair, const struct keyspace *databases, unsigned count,
               const struct policies *policies);
void fair_drop(struct fair *fair); /* frees all indexes at once */

/* Is the policy's name a prefix followed by '*'? */
bool fair_prefix_ok(struct bytes name);

/* Returns the index of this prefix (without '*'), and creates it if there is none. Counts as a use
 * (FAIR_KEEP). Borrowed until the next fair_run or fair_use, which may drop it, or until the data
 * is replaced. */
struct fair_index *fair_use(struct fair *fair, unsigned db, struct bytes prefix, msec now);
/* Continues the scan or check of the index for about `budget` buckets, and begins a scan if the
 * index has no nodes. Returns the new state. */
enum fair_state fair_build(struct fair_index *index, msec now, size_t budget);
/* Begins to build the index of a policy with FAIR, in this database and in all others with keys;
 * fair_run continues. Has no effect on an index that has nodes, and none for a policy of a single
 * key. */
void fair_keep(struct fair *fair, unsigned db, struct bytes policy, msec now);
/* Does what fair_keep does for all policies with FAIR, in all databases with keys: for the policies
 * that a start has loaded. */
void fair_keep_all(struct fair *fair, msec now);
/* Returns the number of the first look that takes all policies set so far into account. */
uint64_t fair_looks_needed(const struct fair_index *index);
/* Has the look of this number ended? */
bool fair_has_looked(const struct fair_index *index, uint64_t number);
/* Puts at most `most` keys whose instants have come into the ring. */
void fair_catch_up(struct fair *fair, unsigned db, struct bytes prefix, msec now, size_t most);

/* Puts at most 16 keys whose instants have come into the ring, and finds the key whose turn it is.
 * Returns false if the ring is empty. The key may turn out to be unable to deliver, because only
 * its node is looked at. End its turn with fair_turned; until then `key` is valid. */
bool fair_next(struct fair_index *index, msec now, struct bytes *key);
/* Ends the turn of the key of the last fair_next: it goes to the end of the ring, or leaves it. */
void fair_turned(struct fair_index *index, msec now);
/* Returns the instant at which a key may have the next turn if nothing changes: now if the ring is
 * not empty, otherwise the first instant in the agenda, or NEVER if that is empty. Call it only
 * when all keys have nodes. */
msec fair_next_at(const struct fair_index *index, msec now);
/* Makes fair_run call hooks.done for the prefix, for a call that stops before it knows whether an
 * element may be claimed. */
void fair_continue(struct fair_index *index);
/* For a client that has begun to wait for the prefix: keys may have become claimable after its call
 * had looked. Calls hooks.done if the ring is not empty, otherwise hooks.ready_at with the next
 * instant, if there is one. No effect unless all keys have nodes: the end of a scan calls
 * hooks.done. */
void fair_begin_wait(struct fair *fair, unsigned db, struct bytes prefix, msec now);

/* ---- changes (for store/txn) ---- */

/* Note what an effect, or a change of one key, means for the indexes. fair_settle looks at the
 * nodes of changed keys; a flush, SWAPDB or a policy changes the indexes at once. */
void fair_note(struct fair *fair, const struct effect *effect);
void fair_note_key(struct fair *fair, unsigned db, struct bytes key);
/* Moves the keys that have changed into the ring or out of it, and calls the hooks for them. For
 * the end of each call; fair_use does it, too. */
void fair_settle(struct fair *fair, msec now);

/* ---- a survey: figures of a prefix, made in slices ---- */

struct fair_figures {
    size_t keys;         /* dehydrators */
    size_t due;          /* dehydrators with an element that may be claimed */
    size_t claimed;      /* elements claimed by consumers */
    size_t due_elements; /* elements due, even if a policy or pause holds them back */
    size_t other_types;  /* keys under the prefix that are no dehydrators */
    msec oldest;         /* the earliest deadline of a due element, or NEVER */
};

/* Begins a survey unless one is running, and visits about `budget` buckets. Returns true with the
 * figures if the survey is complete; otherwise hooks.done is called when it is. A call that waited
 * passes `again`: it accepts the figures of the last survey, unless all data was replaced since. */
bool fair_survey(struct fair_index *index, bool again, msec now, size_t budget,
                 struct fair_figures *figures);

/* ---- background work ---- */

/* Visits about `budget` buckets for scans, checks and surveys, frees nodes of dropped indexes, and
 * drops indexes that are no longer needed. Returns true if there is more to do. */
bool fair_run(struct fair *fair, msec now, size_t budget);
/* Makes all indexes anew, because the data was replaced. */
void fair_replaced(struct fair *fair);
size_t fair_bytes(const struct fair *fair); /* memory of all indexes. O(indexes) */
void fair_check(const struct fair *fair);
