/* replication: this server's role as master or replica. Owns the backlog, the feed, the replicas
 * and the link to a master; sets the engine's role. Depends on all of replica/, on engine and net.
 *
 * A master makes the stream (feed). A replica passes its master's stream on to its own replicas
 * byte by byte, so that an offset means the same on all servers. A replica that is promoted
 * continues the stream from its current offset under a new id (history). */
#pragma once

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/base/loop.h"
#include "server/cmd/call/command.h"
#include "server/engine/engine.h"
#include "server/net/client.h"
#include "server/replica/failover.h"
#include "server/replica/history.h"
#include "server/replica/link.h"
#include "server/replica/replicas.h"
#include "server/replica/waits.h"

struct replication;

struct replication_wiring {
    struct loop *loop;
    struct clock *clock;
    struct conf *conf;
    struct engine *engine;
    struct clients *clients;
};

struct replication *replication_new(const struct replication_wiring *wiring); /* NULL with errno */
/* Frees it. All connections must be closed, because those of replicas refer to it. */
void replication_free(struct replication *replication);

/* Begins replication after the data is loaded and before it changes: continues the stream that the
 * loaded data belongs to, and follows the master of the option `replicaof`, if that is set. */
void replication_start(struct replication *replication);
/* Saves the backlog at a clean stop, after the last change of data, for replicas that have not
 * received all of it. No effect if the data is not kept (no journal and no save points), or if its
 * position is unknown. */
void replication_stop(struct replication *replication);
/* Returns the position of the data in its stream, after all transactions so far. NULL if unknown.
 * Valid until the next call. */
const struct stream_position *replication_position(struct replication *replication);
/* Follows this master from now on, and remembers it in the option `replicaof`. Serves the old data
 * until a full copy has arrived. If it was a master, blocked clients get an error and are closed.
 * No effect if it follows this master already. */
void replication_follow(struct replication *replication, const char *host, int64_t port);
/* Becomes a master with its current data, under a new id of the stream, and closes its replicas,
 * which must learn the id. Returns false, without any effect, if it is a master already. */
bool replication_promote(struct replication *replication);

/* Does a turn's replication, after requests have run and before output is sent: applies bytes of
 * the master's stream, and passes the stream on to the replicas. Returns true if some bytes are
 * left because the time for this turn is used up: then the next turn must start at once. */
bool replication_turn(struct replication *replication);
/* Call last in a turn, with nothing else in progress. If a full copy has begun to arrive, loads it,
 * and runs turns of the loop meanwhile; if that fails, the old data is kept. Returns true if it has
 * tried: data and role may then have changed. Returns false if no copy arrives. */
bool replication_load(struct replication *replication);
void replication_second(struct replication *replication); /* about once a second */

/* ---- for commands, INFO and ROLE ---- */

struct link *replication_link(const struct replication *replication);
struct replicas *replication_replicas(const struct replication *replication);
const struct history *replication_history(const struct replication *replication);
/* Was `id` up to `offset` this server's stream when it became a master? The answer survives the
 * next restart, which changes the server's own id again. */
bool replication_took_over(const struct replication *replication, const char *id, uint64_t offset);
const struct backlog *replication_backlog(const struct replication *replication);
/* Returns the offset of the last byte of the stream, as Redis counts. */
uint64_t replication_offset(const struct replication *replication);
/* Returns the offset from which the stream consists of effects, or LINK_NO_EFFECTS if all of it
 * consists of the commands of a Redis server. */
uint64_t replication_effects_from(const struct replication *replication);
/* Begins to keep the stream in the backlog, if that is not done yet. Call when a replica asks for
 * the stream (PSYNC, SYNC). */
void replication_begin_stream(struct replication *replication);
struct engine *replication_engine(const struct replication *replication);
struct failover *replication_failover(const struct replication *replication);
struct waits *replication_waits(const struct replication *replication);
bool replication_has_journal(const struct replication *replication);
/* Asks the replicas for acknowledgements (REPLCONF GETACK) at the end of this turn, for clients
 * that WAIT. On a replica, sends one to the master instead. */
void replication_ask(struct replication *replication);

struct replication_report {
    bool follows;
    const char *host; /* the host of the master; "" if this server is one */
    int64_t port;
    enum link_state link;
    const char *step;
    int64_t silent_sec;       /* since the master's last byte; -1 if not connected */
    int64_t down_sec;         /* since the stream was lost: see link_down_usec; or -1 */
    uint64_t received_offset; /* offset of the last byte of the stream that has arrived */
    uint64_t copy_received, copy_total;
    uint64_t link_id; /* id of the connection to the master, for CLIENT */
    int64_t link_sec; /* age of that connection */
    unsigned db;      /* the database that the master's stream has selected */
    bool loading;     /* a full copy is being loaded */
    bool active;      /* the backlog is in use */
    uint64_t failed_commands, full_copies;
};
struct replication_report replication_report(const struct replication *replication);

/* The commands for replicas and operators, and for clients. Their context is struct replication. */
extern const struct command_group replica_commands, wait_commands;
