/* replicas: the replicas that follow this server, whether this server is a master or a replica
 * itself. Depends on full copies, the backlog and connections.
 *
 * A replica asks for a stream from an offset on. If that stream is part of this server's history up
 * to the offset, and the backlog has the bytes from there on, the replica continues from there.
 * Otherwise it first receives a full copy, and then the stream from the offset at which the copy
 * was begun. One child at a time makes one copy, for all replicas that wait for a copy of the same
 * form (full_copy.h).
 *
 * Bytes are sent directly from the backlog, so a replica costs no memory except for the bytes by
 * which it lags. A replica that lags by more than client-output-buffer-limit allows is closed; but
 * the hard limit is at least repl-backlog-size, and does not count a single turn's bytes if these
 * alone exceed it. */
#pragma once

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/base/loop.h"
#include "server/cmd/call/session.h"
#include "server/disk/persist.h"
#include "server/engine/observe/stats.h"
#include "server/net/client.h"
#include "server/replica/history.h"
#include "server/replica/stream/feed.h"
#include "store/store.h"

struct replicas;
struct replica;

struct replicas_wiring {
    struct loop *loop;
    const struct conf *conf;
    const struct store *store;
    struct clients *clients;
    struct backlog *backlog;
    struct feed *feed;
    struct stats *stats;
    const struct history *history;
    /* The database that the stream has selected now. */
    unsigned (*stream_db)(void *ctx);
    void *ctx;
};

struct replicas *replicas_new(const struct replicas_wiring *wiring); /* NULL with errno */
/* Frees it. All connections must be closed, because those of replicas refer to it. */
void replicas_free(struct replicas *replicas);

/* ---- what a replica reports ---- */

/* Returns the replica of this session, created at its first REPLCONF, PSYNC or SYNC. */
struct replica *replicas_of(struct replicas *replicas, struct session *session);

enum replica_can {
    REPLICA_TAKES_MARK = 1,
    REPLICA_CONTINUES = 2,
    REPLICA_IS_OURS = 4,        /* a server like this one */
    REPLICA_READS_VALKEY = 8,   /* RDB 80, with deadlines of hash fields */
    REPLICA_READS_REDIS_8 = 16, /* the same, but RDB 12 */
};
/* The options of REPLCONF, which its caller sets. The last two must stay as they are once the
 * replica has asked for the stream. */
struct replica_options {
    unsigned abilities; /* enum replica_can */
    int64_t port;
    uint64_t effects_from; /* the offset that it was sent as the one at which effects begin */
    bool copy_only;        /* send only the copy, not the stream (redis-cli --rdb) */
    bool functions_only;   /* the copy contains only the functions (redis-cli --functions-rdb) */
};
struct replica_options *replica_options(struct replica *replica);
/* Returns false if the address is empty or too long, or contains a byte that occurs in no address
 * or host name. */
bool replica_set_address(struct replica *replica, struct bytes address);
bool replica_has_asked(const struct replica *replica); /* did it ask for the stream? */
/* Notes that the replica has applied, and synced, all bytes before these offsets. Ignores offsets
 * that are lower than before or beyond the stream. Begins the stream after a copy that was sent
 * completely. */
void replica_acknowledge(struct replica *replica, uint64_t applied, uint64_t synced);

/* Replies to PSYNC. `offset` is that of the first byte that the replica needs. The reply is
 * +CONTINUE and the stream from there on, or a full copy. */
void replica_sync(struct replica *replica, const char *id, uint64_t offset);
/* Replies to SYNC: a full copy without the line +FULLRESYNC before it. */
void replica_sync_old(struct replica *replica);

/* ---- at work ---- */

/* Passes on what the turn has added to the stream. Call at the end of each turn, before output is
 * sent: begins full copies, lists replicas for sending the stream, closes those that lag too far
 * behind, and trims the backlog. */
void replicas_turn(struct replicas *replicas);
/* Returns the memory that is used only because replicas are slow: full copies that are being sent,
 * and the part of the backlog that replicas still need but that exceeds repl-backlog-size. */
size_t replicas_lag_bytes(const struct replicas *replicas);
/* Call about once a second: closes replicas that have been silent for longer than repl-timeout
 * (except those online by SYNC, which report nothing), and sends an empty line to those that wait
 * for a copy. Unless `silent`, adds a PING to the stream each repl-ping-replica-period. */
void replicas_second(struct replicas *replicas, bool silent);
/* Closes all replicas that have asked for the stream, and cancels the full copy that is being made.
 * Call when the stream has ended or continues under another id. replicas_gone_sec counts from this
 * call, even if no replica was closed, because replicas may reconnect later. */
void replicas_close_all(struct replicas *replicas, const char *why);

/* Counts the replicas that have asked for the stream. */
size_t replicas_count(const struct replicas *replicas);
/* Counts the replicas that are online and have sent something within the last `seconds`, for
 * min-replicas-to-write. */
size_t replicas_good(const struct replicas *replicas, int64_t seconds);
/* Counts the online replicas that have applied all bytes of the stream before `offset` or, if
 * `synced`, that have synced them to disk. */
size_t replicas_that_have(const struct replicas *replicas, uint64_t offset, bool synced);
/* Returns for how many seconds no replica has been connected, for repl-backlog-ttl: since the last
 * one left or since replicas_close_all, whichever is later. Returns -1 while any is connected, and
 * if neither has ever happened. */
int64_t replicas_gone_sec(const struct replicas *replicas);

/* The state of one replica, for reports (INFO, ROLE, the metrics port) and for FAILOVER. */
struct replica_info {
    const char *address; /* as announced, or that of the connection; without the port */
    int64_t port, lag_sec;
    const char *state; /* "wait_bgsave", "send_bulk", "online" */
    bool is_online;
    uint64_t applied; /* it applied all bytes before this offset; 0 if it acknowledged none */
    uint64_t synced;  /* the same for synced bytes; also 0 without a journal */
    uint64_t sent;
    struct session *session;
};
void replicas_each(const struct replicas *replicas,
                   void (*visit)(void *ctx, const struct replica_info *info), void *ctx);

struct replicas_report {
    uint64_t copies_begun;
    size_t copied_memory;   /* bytes that the last child no longer shared with this process */
    int64_t last_fork_usec; /* the time that the last fork blocked the loop */
    int64_t forked_usec;    /* monotonic: when the last fork was; 0 before the first */
    size_t bytes;           /* memory of copies that are being sent */
};
struct replicas_report replicas_report(const struct replicas *replicas);

/* Forks of all children, both those that write files and those that make full copies. */
struct forks {
    uint64_t count;
    int64_t last_usec; /* the time that the last one blocked the loop */
};
struct forks replicas_forks(const struct replicas *replicas, const struct persist_report *persist);
