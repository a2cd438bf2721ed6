/* blocked_state: the structs behind blocked.h. Only for blocked.c, which is about the clients, and
 * blocked_ready.c, which is about keys that become ready.
 *
 *     table of a database --> key_queue --> queued_client --> queued_client --> ...
 *                             (a key)             |
 *     session --> blocked_client -----------------+   one queued_client for each of its keys
 *
 * The queue of a key contains its clients in the order in which they blocked. Two agendas order the
 * timeouts of clients, and the instants at which keys become ready.
 *
 * Invariants: a key is in its table exactly while a client waits for it, and in the ready queue
 * exactly while `ready` is set.
 *
 * Prefixes. A client may wait for a prefix of keys (REDE.FAIRCLAIM). Like a key, a prefix has a
 * queue, in a table for prefixes, and becomes ready when a key under it does (store/fair.h), but
 * after the clients of that key. An element belongs to the client that blocked first, on the key or
 * on a prefix of it. If A blocks on `q:*`, then B on `q:1`, an element of q:1 goes to A. While a
 * client waits for a prefix, two rules ensure this:
 * - Before a client of a dehydrator or prefix is tried, the clients of overlapping prefixes are
 *   tried that blocked earlier.
 * - Ready queues with clients of dehydrators are served before all others, by the arrival of their
 *   first untried client (`turns`). If a client of a prefix is to be tried, but another of these
 *   queues has a client that arrived earlier, that queue goes first; the current queue becomes
 *   ready again, and later resumes where it was (blocked_defers). This ends, because the client
 *   that arrived first never defers.
 *
 * Clients that want figures of a prefix (REDE.FAIRINFO) have queues of their own, because they
 * compete with no one and are served even while CLIENT PAUSE delays writes.
 *
 * A prefix that held nothing is not tried again before another queue becomes ready. A policy that
 * makes n keys ready therefore costs O(n log n), even if clients of prefixes arrived before those
 * of the keys. */
#ifndef SERVER_ENGINE_REACT_BLOCKED_STATE_H
#define SERVER_ENGINE_REACT_BLOCKED_STATE_H

#include <sys/queue.h>

#include "server/engine/react/blocked.h"
#include "store/struct/agenda.h"
#include "store/struct/dict.h"

enum { SKIPPED_MAX = 4 };

TAILQ_HEAD(queued_clients, queued_client);

struct key_queue {
    TAILQ_ENTRY(key_queue) by_readiness;
    struct queued_clients clients;
    struct deadline wake;      /* when time makes it ready; idle if only effects do */
    struct deadline turn;      /* its position in blocked.turns; idle unless ready */
    const struct command *row; /* the command of all its clients, or NULL if they differ */
    unsigned db;
    bool is_prefix;         /* `key` is a prefix of keys, */
    bool is_survey;         /* and the clients only read (REDE.FAIRINFO) */
    uint64_t nothing_since; /* value of blocked.changes when a client found nothing */
    uint64_t resumes_at;    /* clients that arrived before this have been tried */
    bool ready;
    bool for_claims; /* ready, but only for readers of streams with CLAIM */
    bool wakes_all;  /* `wake` makes it ready for all its clients */
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
    bool or_gone, or_claims, is_prefix, is_survey;
    int group;
    uint64_t looks_needed;
    uint64_t arrival; /* number of this client in the order of blocking */
    size_t count;
    struct queued_client queued[]; /* one for each distinct key */
};

struct blocked {
    struct dict *tables;   /* by database, of struct key_queue */
    struct dict *prefixes; /* the same for prefixes of keys, */
    struct dict *surveys;  /* and for prefixes whose clients only read */
    unsigned table_count;
    struct key_queues ready, ready_surveys;
    /* The ready queues with clients of dehydrators, ordered by the arrival of their first untried
     * client, or by that of an earlier client who has left. */
    struct agenda turns;
    struct queued_client *next; /* the next to try; NULL for the first of the next ready key */
    bool for_claims;            /* as in the key_queue of `next` */
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
    struct dict *tables = queue->is_survey   ? blocked->surveys
                          : queue->is_prefix ? blocked->prefixes
                                             : blocked->tables;
    return &tables[queue->db];
}

/* blocked_ready.c */
/* Returns the clients of a key, or NULL if none waits for it. */
struct key_queue *blocked_find_queue(const struct blocked *blocked, int64_t db, struct bytes key);
/* Makes the queue ready for its clients from this arrival on. */
void blocked_join_ready(struct blocked *blocked, struct key_queue *queue, uint64_t arrival);
void blocked_leave_ready(struct blocked *blocked, struct key_queue *queue);
/* Call when a client has joined a ready queue. */
void blocked_arm_turn(struct blocked *blocked, struct key_queue *queue);
/* Returns the ready queue to serve next, or NULL. Those of surveys come first. */
struct key_queue *blocked_first_ready(struct blocked *blocked, bool only_surveys);
/* Returns the first client of a ready queue that has not been tried, or NULL. */
struct queued_client *blocked_first_untried(const struct key_queue *queue);
/* Does a ready queue have an untried client of a dehydrator that arrived before this arrival? */
bool blocked_has_earlier(struct blocked *blocked, uint64_t arrival);
/* Makes the key ready at this time, or earlier. No effect for 0 and NEVER. */
void blocked_wake_queue(struct blocked *blocked, struct key_queue *queue, msec at);

#endif
