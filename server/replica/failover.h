/* failover: makes one of the replicas the master, and this server its replica (FAILOVER). Depends
 * on replicas, the backlog and the pause; the owner of this struct changes roles and connects.
 *
 * Writes are paused until a replica has applied the whole stream or the timeout has passed, which
 * aborts the failover unless it is forced. With `appendfsync always` the replica's journal, if it
 * has one, must be synced as well, because clients were promised that their writes are on disk.
 * Then this server follows that replica, and asks it to become the master (PSYNC ... FAILOVER). The
 * reply, or an abort, ends the pause: paused writes run if the failover was aborted, or else fail
 * because this server is now a replica. */
#pragma once

#include "conf/conf.h"
#include "server/base/loop.h"
#include "server/cmd/call/pause.h"
#include "server/replica/replicas.h"
#include "server/replica/stream/backlog.h"

struct failover;

enum { FAILOVER_HOST_MAX = 256 };

struct failover_wiring {
    struct loop *loop;
    const struct replicas *replicas;
    const struct backlog *backlog;
    const struct conf *conf;
    struct pause *pause;
    /* Follows this replica and asks it to become the master. */
    void (*hand_over)(void *ctx, const char *host, int64_t port);
    /* Becomes a master again. */
    void (*take_back)(void *ctx);
    void *ctx;
};

struct failover *failover_new(const struct failover_wiring *wiring);
void failover_free(struct failover *failover);

enum failover_state {
    FAILOVER_NONE,
    FAILOVER_WAITS, /* waits for a replica to apply the whole stream */
    FAILOVER_RUNS,  /* this server follows the replica, which has not replied yet */
};
enum failover_state failover_state(const struct failover *failover);
const char *failover_name(enum failover_state state); /* as in INFO */

struct failover_goal {
    char host[FAILOVER_HOST_MAX]; /* "" for any replica that has applied the whole stream */
    int64_t port;
    msec ttl;   /* 0 to wait without a limit */
    bool force; /* hand over even after the timeout */
};
enum failover_target {
    TARGET_UNKNOWN,
    TARGET_MAYBE_NAMED, /* unknown, but the host is a name, and a replica uses the port */
    TARGET_NOT_ONLINE,
    TARGET_ONLINE,
};
/* Looks up the replica at goal->host and goal->port. If goal->host is the replica's address in
 * another notation, replaces it by the replica's own notation. */
enum failover_target failover_target(const struct failover *failover, struct failover_goal *goal);
/* For TARGET_MAYBE_NAMED: resolves goal->host, then calls `found` from the loop with the target,
 * and with a goal whose host is the address of that replica; with TARGET_UNKNOWN and the goal as it
 * was if no replica has such an address. The caller must then call failover_stop_resolving. Returns
 * false, and calls nothing, if another name is being resolved or resolving can't begin now. */
bool failover_resolve(struct failover *failover, const struct failover_goal *goal,
                      void (*found)(void *ctx, enum failover_target target,
                                    const struct failover_goal *goal),
                      void *ctx);
void failover_stop_resolving(struct failover *failover); /* drops `found` */
/* Pauses writes and begins to wait for the replica: state FAILOVER_WAITS. Only allowed in
 * FAILOVER_NONE. */
void failover_begin(struct failover *failover, const struct failover_goal *goal);
/* Ends the failover, logs the reason, and ends the pause; in FAILOVER_RUNS this server becomes the
 * master again. No effect in FAILOVER_NONE. */
void failover_abort(struct failover *failover, const char *why);
/* Hands over if the replica has applied the whole stream. After the timeout, hands over anyway if
 * the failover is forced, and aborts it otherwise. No effect unless in FAILOVER_WAITS. Call in each
 * turn, because replicas may have caught up. */
void failover_turn(struct failover *failover);
/* Ends the failover when the replica has replied to the request to become the master; if it has
 * refused, this server becomes the master again. */
void failover_answered(struct failover *failover, bool accepted);
/* Must the stream stay without PINGs, because a replica has limited time to catch up? */
bool failover_wants_silence(const struct failover *failover);
