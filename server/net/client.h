/* client: connections: reads bytes, runs requests, writes replies. Depends on sockets, the RESP
 * parser, engine_request and persist (replies wait for the journal).
 *
 * For each connection and turn: read a bounded number of bytes, run the complete requests in them,
 * and send the replies with one system call at the end of the turn. */
#ifndef SERVER_NET_CLIENT_H
#define SERVER_NET_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/engine/engine.h"
#include "server/base/loop.h"
#include "server/engine/react/pubsub.h"
#include "server/cmd/call/session.h"
#include "server/engine/observe/stats.h"
#include "server/net/tls/tls.h"

struct clients; /* all connections */
struct client;  /* one; embeds a session */

/* What a connection sends when it has no reply to send: for replicas. */
struct client_source {
    /* Fills at most `max` iovecs with the next bytes; returns how many, 0 if there are none now.
     * Their memory stays until `sent`. */
    int (*peek)(void *ctx, struct iovec *chunks, int max);
    void (*sent)(void *ctx, size_t len);
    void (*gone)(void *ctx); /* the connection ends: it calls nothing more */
    void *ctx;
};

struct clients_wiring {
    struct loop *loop;
    struct clock *clock;
    const struct conf *conf;
    struct engine *engine;
    struct pubsub *pubsub;
    struct stats *stats;
    struct persist *persist; /* NULL: replies do not wait for the journal */
    struct tls *tls;         /* NULL: no client comes over TLS */
};

/* What a client has connected to. */
enum client_port { PORT_TCP, PORT_UNIX, PORT_TLS };

struct clients *clients_new(const struct clients_wiring *wiring);
/* Closes all connections, after one attempt to write their pending replies. */
void clients_free(struct clients *clients);
/* Takes over a connected, non-blocking socket. Over maxclients it replies an error and closes. */
void clients_accept(struct clients *clients, int fd, const char *peer, const char *local,
                    enum client_port port);
/* End of turn, first hook: runs the requests that were read in this turn. */
void clients_run(void *clients);
/* End of turn, last hook: writes replies, frees closed connections. */
void clients_turn(void *clients);
/* For a request that takes long: between these two calls, from within it, turns of the loop may
 * serve all other clients. Their requests that are read but have not run are parsed again there.
 * Until the second call
 * - the caller is neither read nor written nor freed, and its arguments stay where they are;
 * - output that the request has caused, such as messages, is held;
 * - a pause does not end, and the wall clock stands still. */
void clients_set_aside(struct clients *clients);
void clients_take_back(struct clients *clients);
/* Call about once a second: closes idle connections and those over an output limit. */
void clients_housekeeping(struct clients *clients);

struct tls *clients_tls(const struct clients *clients);         /* NULL: TLS is off */
void clients_use_tls(struct clients *clients, struct tls *tls); /* when it was off */
/* A number for a connection that is no client, of the same sequence as clients' ids. */
uint64_t clients_new_id(struct clients *clients);
size_t clients_count(const struct clients *clients);
/* Number of clients whose next request is delayed, by a pause or by settle. */
size_t clients_paused(const struct clients *clients);
size_t clients_bytes(struct clients *clients); /* memory of all connections. O(N) */
/* The memory of unauthenticated connections, which does not count for eviction. */
size_t clients_uncounted(const struct clients *clients);

/* For CLIENT and INFO. */
struct client_info {
    uint64_t id;
    const char *peer, *local;
    int fd;
    int64_t age_sec, idle_sec;
    bool unix_socket;
    bool is_master;     /* the link to the master, which is no client of net/ */
    const char *events; /* of the socket, that the loop waits for: "r", "rw", "w" */
    size_t query_used, query_free;
    size_t arguments, multi;          /* of the request that runs; of MULTI and WATCH */
    size_t out_pending, out_chunks;   /* unsent bytes, and the blocks of memory that hold them */
    size_t out_first, out_first_size; /* the part in the first block, and that block's size */
    size_t out_peak;                  /* the most unsent bytes in the last second or so */
    size_t out_memory, memory;        /* of unsent bytes; of the whole connection */
    struct session *session;
};
void clients_each(struct clients *clients, void (*visit)(void *ctx, const struct client_info *info),
                  void *ctx);
/* False: the session has no connection. */
bool clients_info(struct clients *clients, struct session *session, struct client_info *info);
struct session *clients_find(struct clients *clients, uint64_t id); /* NULL: none. O(n) */
/* Is the client connected through a unix socket or from a loopback address? */
bool clients_is_local(struct clients *clients, const struct session *session);
/* A login of this session failed: its reply, and everything after it, waits for a while that grows
 * with each failure. Others are not delayed. The second call ends the growth. */
void clients_login_failed(struct clients *clients, struct session *session);
void clients_login_done(struct clients *clients, struct session *session);
/* From now on the session's connection sends what the source has; `source` is borrowed until
 * `gone`. Such a client is not closed for being idle or by maxmemory-clients, and has no output
 * limit but that of the source's owner. */
void clients_attach(struct session *session, const struct client_source *source);
/* The source has bytes: writes them at the end of the turn, before replies to clients. */
void clients_source_ready(struct session *session);
/* Asserts that the connections' states, lists and deadlines agree, and that no request of them is
 * forgotten. O(connections) */
void clients_check(struct clients *clients);
/* Closes a connection at the end of the turn; the caller's own (self) after its reply. */
void clients_kill(struct clients *clients, struct session *victim, const struct session *self);

#endif
