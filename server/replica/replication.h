/* replication: this server's role as master or replica. Owns the backlog, the feed, the replicas
 * and the link to a master; tells engine the role. Depends on all of replica/, on engine and net.
 *
 * A master makes the stream (feed). A replica passes its master's stream on to its own replicas
 * byte by byte, so that offsets mean the same everywhere. When promoted, it continues from there
 * under a new id.
 *
 * Folder server/replica: masters and replicas. replication owns the role and publishes what follows
 * from it (server/cmd/call/role.h). On a master, replicas sends the stream to those that follow,
 * replica_copies gives them full copies, which full_copy writes in a forked child. On a replica,
 * link is the connection to the master, follower applies its stream, replication_load receives a
 * full copy. history names the streams that the data belong to, waits has the clients of WAIT,
 * failover hands the role over. Depends on server/net, server/engine, server/disk and
 * server/replica/stream. Start here; doc/replication.md is the page for operators. */
#ifndef SERVER_REPLICA_REPLICATION_H
#define SERVER_REPLICA_REPLICATION_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/base/loop.h"
#include "server/net/client.h"
#include "server/replica/failover.h"
#include "server/replica/history.h"
#include "server/replica/link.h"
#include "server/replica/replicas.h"
#include "server/replica/waits.h"
#include "server/engine/engine.h"

struct replication;

struct replication_wiring {
    struct loop *loop;
    struct clock *clock;
    struct conf *conf;
    struct engine *engine;
    struct clients *clients;
};

struct replication *replication_new(const struct replication_wiring *wiring); /* NULL with errno */
void replication_free(struct replication *replication); /* after the connections */

/* Begins to follow the master of the option `replicaof`, if there is one. Call when data are
 * loaded. */
void replication_start(struct replication *replication);
/* Starts to follow this master; keeps its old data until a full copy has arrived. */
void replication_follow(struct replication *replication, const char *host, int64_t port);
/* Becomes a master with its current data. False: it was one. */
bool replication_promote(struct replication *replication);
/* The options of replication have changed. */
void replication_configure(struct replication *replication);

/* Call in each turn after requests have run and before output is sent: applies what the master
 * sent, passes it on. True: more has come than there was time for. */
bool replication_turn(struct replication *replication);
/* Call at the very end of a turn, outside of everything else: loads a full copy that has begun to
 * come, for which it runs turns of the loop. */
void replication_load(struct replication *replication);
void replication_second(struct replication *replication); /* about once a second */

/* ---- for commands, INFO and ROLE ---- */

struct link *replication_link(const struct replication *replication);
struct replicas *replication_replicas(const struct replication *replication);
const struct history *replication_history(const struct replication *replication);
const struct backlog *replication_backlog(const struct replication *replication);
/* The offset of the last byte of the stream, as Redis counts. */
uint64_t replication_offset(const struct replication *replication);
/* Effects are in the stream from this offset on; LINK_NO_EFFECTS: it has a Redis' commands. */
uint64_t replication_effects_from(const struct replication *replication);
/* A replica asks for the stream (PSYNC, SYNC): from now on there is one. */
void replication_begin_stream(struct replication *replication);
struct failover *replication_failover(const struct replication *replication);
struct waits *replication_waits(const struct replication *replication);
bool replication_has_journal(const struct replication *replication);
/* Asks the replicas for acknowledgements at the end of this turn. */
void replication_ask(struct replication *replication);

struct replication_report {
    bool follows;
    const char *host; /* of the master; "" for a master */
    int64_t port;
    enum link_state link;
    const char *step;
    int64_t silent_sec;       /* since the master was last heard of; -1: not connected */
    int64_t down_sec;         /* since the link went down; -1: it is up, or never was */
    uint64_t received_offset; /* of the last byte of the stream that has come */
    uint64_t copy_received, copy_total;
    uint64_t link_id; /* of the connection to the master, for CLIENT */
    int64_t link_sec; /* since it was begun */
    unsigned db;      /* that the master's stream has selected */
    bool loading;     /* a full copy is being loaded */
    bool active;      /* there is a backlog */
    uint64_t failed_commands, full_copies;
};
struct replication_report replication_report(const struct replication *replication);

#endif
