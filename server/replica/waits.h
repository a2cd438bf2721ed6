/* waits: the clients that WAIT and WAITAOF block until enough replicas have acknowledged the
 * clients' writes. Depends on blocked clients, replicas and the journal's position. */
#pragma once

#include "server/base/loop.h"
#include "server/cmd/call/session.h"
#include "server/disk/persist.h"
#include "server/engine/react/blocked.h"
#include "server/replica/replicas.h"

struct waits;

struct waits *waits_new(struct loop *loop, struct blocked *blocked, const struct replicas *replicas,
                        const struct persist *persist);
void waits_free(struct waits *waits); /* no client may be waiting */

struct wait_for {
    uint64_t offset;   /* of the stream: the client's last write is before it */
    uint64_t position; /* of the journal: the client's last write is before it */
    size_t replicas;   /* the number to wait for */
    bool local;        /* WAITAOF: our journal must be synced, too */
    bool synced;       /* WAITAOF: the replicas must have synced, not only applied */
    msec ttl;          /* 0 for no timeout */
};

/* The number of replicas that have the client's last write, and whether (0 or 1) our journal has it
 * on disk. */
struct waited {
    size_t replicas, local;
};
struct waited waits_progress(const struct waits *waits, const struct wait_for *what);
bool waits_is_met(const struct waits *waits, const struct wait_for *what);

/* Blocks the session until the condition is met or the timeout has passed; then replies with the
 * numbers as of that time, and unblocks it. */
void waits_block(struct waits *waits, struct session *session, const struct wait_for *what);
/* Replies to the blocked clients whose condition is met. Call in each turn, after acknowledgements
 * may have arrived. */
void waits_turn(struct waits *waits);
bool waits_any(const struct waits *waits);

/* Writes the reply of WAIT or, if what->synced, of WAITAOF. */
void waits_reply(struct resp_writer *out, const struct wait_for *what, const struct waited *waited);
