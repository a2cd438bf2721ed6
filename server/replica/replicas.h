/* replicas: the replicas that follow this server, whether it is a master or a replica itself.
 * Depends on full copies, the backlog and connections.
 *
 * A replica asks for the stream from an offset. If the backlog has it, it goes on from there; else
 * it gets a full copy first, made by one child for all that wait, and then the stream from the
 * offset at which the child was forked. Bytes go from the backlog straight to the sockets: a
 * replica uses no memory except for the bytes that it lags behind, and is closed when these exceed
 * its output limit. */
#ifndef SERVER_REPLICA_REPLICAS_H
#define SERVER_REPLICA_REPLICAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/base/loop.h"
#include "server/cmd/call/session.h"
#include "server/net/client.h"
#include "server/engine/observe/stats.h"
#include "server/disk/persist.h"
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
void replicas_free(struct replicas *replicas);                       /* after the connections */

/* ---- what a replica says ---- */

/* The replica that this session is, or becomes by saying so (REPLCONF, PSYNC). */
struct replica *replicas_of(struct replicas *replicas, struct session *session);

enum replica_can { REPLICA_TAKES_MARK = 1, REPLICA_GOES_ON = 2, REPLICA_IS_OURS = 4 };
void replica_set_port(struct replica *replica, int64_t port);
/* False: it is empty, too long, or has a byte that no address and no host name has. */
bool replica_set_address(struct replica *replica, struct bytes address);
void replica_add_ability(struct replica *replica, enum replica_can can);
/* Has the replica been told that effects begin at this offset? Always true for replicas that are
 * not servers like this one. */
void replica_told_effects(struct replica *replica, uint64_t from);
bool replica_knows_effects(const struct replica *replica, uint64_t from);
/* Only the copy is wanted, not the stream (redis-cli --rdb). */
void replica_set_copy_only(struct replica *replica, bool on);
/* Of the data, only the functions (redis-cli --functions-rdb). */
void replica_set_functions_only(struct replica *replica, bool on);
bool replica_has_asked(const struct replica *replica); /* for the stream */
void replica_acknowledge(struct replica *replica, uint64_t applied, uint64_t synced);

/* Answers PSYNC id offset (the first byte that the replica needs): +CONTINUE and the stream, or a
 * full copy. */
void replica_sync(struct replica *replica, const char *id, uint64_t offset);
/* Answers SYNC: a full copy without a line before it. */
void replica_sync_old(struct replica *replica);

/* ---- at work ---- */

/* Call at the end of each turn, before output is sent: begins full copies, passes on the stream,
 * closes replicas that lag too far behind, and trims the backlog. */
void replicas_turn(struct replicas *replicas);
/* Memory that is needed only because replicas are slow: what they lag behind more than
 * repl-backlog-size, and copies on their way. */
size_t replicas_lag_bytes(const struct replicas *replicas);
/* About once a second: timeouts; and PING, unless `silent`. */
void replicas_second(struct replicas *replicas, bool silent);
/* Closes all replicas that have asked for the stream, because it has ended or continues under
 * another id. They may come later than this call, so replicas_gone_sec counts from here, even if
 * none is closed. */
void replicas_close_all(struct replicas *replicas, const char *why);

size_t replicas_count(const struct replicas *replicas); /* that have asked for the stream */
/* Those in the stream that were heard of within `seconds`. */
size_t replicas_good(const struct replicas *replicas, int64_t seconds);
/* Those that have applied (or synced to their disk) all bytes before `offset`. */
size_t replicas_that_have(const struct replicas *replicas, uint64_t offset, bool synced);
/* Seconds since the last one left, or since replicas_close_all; -1: there are some, or neither
 * happened. */
int64_t replicas_gone_sec(const struct replicas *replicas);

/* For INFO and ROLE. */
struct replica_info {
    const char *address; /* as announced, or of the connection, without the port */
    int64_t port, lag_sec;
    const char *state; /* "wait_bgsave", "send_bulk", "online" */
    bool is_online;
    uint64_t applied; /* all bytes before it; 0: it has acknowledged nothing */
    uint64_t sent;
    struct session *session;
};
void replicas_each(const struct replicas *replicas,
                   void (*visit)(void *ctx, const struct replica_info *info), void *ctx);

struct replicas_report {
    uint64_t copies_begun, copies_failed, closed_for_lag;
    bool copying;
    uint64_t copy_bytes, copy_keys;
    size_t copied_memory;   /* by the last child */
    int64_t last_fork_usec; /* how long it blocked the loop */
    int64_t forked_usec;    /* when; monotonic, 0: never */
    size_t bytes;           /* memory of copies on their way */
};
struct replicas_report replicas_report(const struct replicas *replicas);

/* Of all children, those that write files and those that make full copies. */
struct forks {
    uint64_t count;
    int64_t last_usec; /* how long the last one blocked the loop */
};
struct forks replicas_forks(const struct replicas *replicas, const struct persist_report *persist);

#endif
