/* waits: the clients that WAIT and WAITAOF block until enough replicas have acknowledged the
 * clients' writes. Depends on blocked clients, replicas and the journal's position. */
#pragma once

#include "server/base/loop.h"
#include "server/cmd/call/call.h"
#include "server/disk/persist.h"
#include "server/engine/react/blocked.h"
#include "server/replica/replicas.h"

struct waits;

struct waits *waits_new(struct loop *loop, struct blocked *blocked, const struct replicas *replicas,
                        const struct persist *persist);
void waits_free(struct waits *waits); /* no client may be waiting */

struct wait_for {
    uint64_t offset;   /* of the stream: what the client wrote and read is before it */
    uint64_t position; /* of the journal: what the client wrote is before it */
    size_t replicas;   /* the number to wait for */
    bool local;        /* WAITAOF: our journal must be synced, too */
    bool synced;       /* WAITAOF: the replicas must have synced, not only applied */
    msec ttl;          /* 0 for no timeout */
};

/* WAIT and WAITAOF (what->synced). Replies with the numbers at once if the condition is met or the
 * call must not block. Otherwise blocks the session and returns true: waits_turn or a timer then
 * replies with the numbers as of that time, when the condition is met or the timeout has passed. */
bool waits_begin(struct waits *waits, struct call *call, const struct wait_for *what);
/* Replies to the blocked clients whose condition is met. Call in each turn, because
 * acknowledgements may have arrived. */
void waits_turn(struct waits *waits);
