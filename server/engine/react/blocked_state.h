/* blocked_state: the structs behind blocked.h. Only for blocked.c, which is about the clients, and
 * blocked_ready.c, which is about keys that become ready.
 *
 *     table of a database --> key_queue --> queued_client --> queued_client --> ...
 *                             (a key)             |
 *     session --> blocked_client -----------------+   one queued_client for each of its keys
 *
 * The queue of a key contains its clients in the order in which they blocked. Two agendas order the
 * timeouts of clients, and the instants at which keys become ready. Each database has a table for
 * each kind of queue; a queue is in its table exactly while a client waits:
 *
 *     kind              key       becomes ready                          ready queues
 *     BLOCK_FOR_KEY     a key     by an effect on the key, or at a time  `ready`
 *     BLOCK_FOR_TURN    a prefix  when a key under it does (fair.h)      `ready`
 *     BLOCK_FOR_SURVEY  a prefix  when its survey ends (fair.h)          `ready_surveys`
 *
 * The state of a queue says which clients, of those that arrived from `resumes_at` on, will be
 * tried:
 *
 *     NOT_READY          none; it is in no list of ready queues
 *     READY_FOR_CLAIMS   all but readers of streams without CLAIM
 *     READY              all
 *
 *     NOT_READY ---------> READY_FOR_CLAIMS ---------> READY
 *       ^   |                    |                     ^  |
 *       |   +--------------------|---------------------+  |
 *       +------------------------+------------------------+
 *
 * To the right: blocked_join_ready, for an effect or an instant (make_ready), for the end of a
 * survey, and for a client that defers (blocked_defers). To the left: blocked_leave_ready, before
 * the clients are tried (blocked_next_try), and when the last one has left.
 *
 * Prefixes. A client may wait for a prefix of keys (REDE.FAIRCLAIM). Like a key, a prefix has a
 * queue, and becomes ready when a key under it does, but after the clients of that key. An element
 * belongs to the client that blocked first, on the key or on a prefix of it. If A blocks on `q:*`,
 * then B on `q:1`, an element of q:1 goes to A. While a client waits for a prefix, two rules ensure
 * this:
 * - Before a client of a dehydrator or prefix is tried, the clients of overlapping prefixes are
 *   tried that blocked earlier.
 * - Ready queues with clients of dehydrators are served before all others, by the arrival of their
 *   first untried client (`turns`). If a client of a prefix is to be tried, but another of these
 *   queues has a client that arrived earlier, that queue goes first; the current queue becomes
 *   ready again, and later resumes where it was (blocked_defers). This ends, because the client
 *   that arrived first never defers.
 *
 * Clients that want figures of a prefix (REDE.FAIRINFO) compete with no one and are served even
 * while CLIENT PAUSE delays writes.
 *
 * A prefix that held nothing is not tried again before another queue becomes ready. A policy that
 * makes n keys ready therefore costs O(n log n), even if clients of prefixes arrived before those
 * of the keys. */
#pragma once

#include <sys/queue.h>

#include "server/engine/react/blocked.h"
#include "store/struct/agenda.h"
#include "store/struct/dict.h"

enum { SKIPPED_MAX = 4 };

TAILQ_HEAD(queued_clients, queued_client);

enum readiness { NOT_READY, READY_FOR_CLAIMS, READY };

struct key_queue {
    TAILQ_ENTRY(key_queue) by_readiness;
    struct queued_clients clients;
    struct deadline wake;      /* when time makes it ready; idle if only effects do */
    struct deadline turn;      /* its position in blocked.turns; idle unless ready */
    const struct command *row; /* the command of all its clients, or NULL if they differ */
    unsigned db;
    enum block_kind kind;
    enum readiness readiness;
    enum readiness wakes_to; /* the readiness that `wake` brings */
    uint64_t nothing_since;  /* value of blocked.changes when a client found nothing */
    uint64_t resumes_at;     /* clients that arrived before this have been tried */
    size_t key_len;
    char key[];
};

TAILQ_HEAD(key_queues, key_queue);

/* Links one client and one of its keys. */
struct queued_client {
    TAILQ_ENTRY(queued_client) of_key;
    struct key_queue *queue;
    struct blocked_client *client;
};

struct blocked_client {
    struct blocked *all;
    struct session *session;
    struct saved_call *call;
    struct deadline deadline; /* its timeout; idle without one */
    struct blocked_wait wait; /* used if it does not wait for a key */
    enum type type;
    struct call_time time;    /* time of the call so far */
    enum no_answer no_answer; /* this to looks_needed: as in struct block_request */
    bool or_gone, or_claims;
    enum block_kind kind;
    int group;
    uint64_t looks_needed;
    uint64_t arrival; /* number of this client in the order of blocking */
    size_t count;
    struct queued_client queued[]; /* one for each distinct key */
};

struct blocked {
    struct dict *tables[BLOCK_KINDS]; /* of struct key_queue, by database */
    unsigned table_count;             /* databases */
    struct key_queues ready, ready_surveys;
    /* The ready queues with clients of dehydrators, ordered by the arrival of their first untried
     * client, or by that of an earlier client who has left. */
    struct agenda turns;
    struct queued_client *next; /* the next to try; NULL for the first of the next ready key */
    enum readiness serves;      /* what the readiness of the key_queue of `next` was */
    /* Clients for which the current key holds nothing; others that want the same are skipped. */
    const struct blocked_client *skipped[SKIPPED_MAX];
    unsigned skipped_count;
    struct agenda wakes;     /* of key_queue.wake */
    struct agenda deadlines; /* of blocked_client.deadline */
    size_t count;
    size_t by_type[TYPE_COUNT]; /* number of clients that wait for a key of each type */
    size_t or_gone, or_claims;  /* clients with these flags */
    size_t of_prefix;           /* clients that wait for a prefix, to claim */
    uint64_t arrivals;
    uint64_t changes; /* how often an effect or an instant has made a queue ready, plus 1 */
};

static inline struct bytes blocked_queue_key(const void *element)
{
    const struct key_queue *queue = element;
    return bytes_of(queue->key, queue->key_len);
}

static inline struct dict *blocked_table_of(const struct blocked *blocked,
                                            const struct key_queue *queue)
{
    return &blocked->tables[queue->kind][queue->db];
}

/* blocked_ready.c */
/* Returns the clients of a key, or NULL if none waits for it. */
struct key_queue *blocked_find_queue(const struct blocked *blocked, int64_t db, struct bytes key);
/* Makes the queue ready for its clients from this arrival on. If it is ready already, it keeps the
 * higher readiness. */
void blocked_join_ready(struct blocked *blocked, struct key_queue *queue, enum readiness readiness,
                        uint64_t arrival);
void blocked_leave_ready(struct blocked *blocked, struct key_queue *queue);
/* Puts a ready queue at its place in `turns`, or removes it if none of its untried clients waits
 * for a dehydrator. Call when its clients have changed. */
void blocked_arm_turn(struct blocked *blocked, struct key_queue *queue);
/* Returns the ready queue to serve next, or NULL. Those of surveys come first. */
struct key_queue *blocked_first_ready(struct blocked *blocked, bool only_surveys);
/* Returns the first client of a ready queue that has not been tried, or NULL. */
struct queued_client *blocked_first_untried(const struct key_queue *queue);
/* Does a ready queue have an untried client of a dehydrator that arrived before this arrival? */
bool blocked_has_earlier(struct blocked *blocked, uint64_t arrival);
/* Makes the key ready at this time, or earlier. No effect for 0 and NEVER. */
void blocked_wake_queue(struct blocked *blocked, struct key_queue *queue, msec at);
