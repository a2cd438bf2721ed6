/* client: the client connections. Reads bytes, runs requests and writes replies. Depends on
 * sockets, the RESP parser, engine_request and persist (replies wait for the journal).
 *
 * In each turn of the loop, each connection reads a bounded number of bytes, so that no client can
 * starve the others. The complete requests in these bytes run, and their replies are sent at the
 * end of the turn, with one system call per connection and one write to the journal for all. */
#pragma once

#include <sys/uio.h>

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/base/loop.h"
#include "server/cmd/call/session.h"
#include "server/engine/engine.h"
#include "server/engine/observe/stats.h"
#include "server/engine/react/pubsub.h"
#include "server/net/tls/tls.h"

struct clients; /* all connections */
struct client;  /* one connection; embeds a session */

/* A source of bytes other than replies. The link to a replica sends from one. */
struct client_source {
    /* Fills at most `max` iovecs with the next bytes and returns the number of iovecs, or 0 if
     * nothing is ready. The bytes must stay valid until `sent`. */
    int (*peek)(void *ctx, struct iovec *chunks, int max);
    void (*sent)(void *ctx, size_t len);
    void (*gone)(void *ctx); /* the connection has ended; this is the last call */
    void *ctx;
};

struct clients_wiring {
    struct loop *loop;
    struct clock *clock;
    const struct conf *conf;
    struct engine *engine;
    struct pubsub *pubsub;
    struct stats *stats;
    struct persist *persist; /* NULL if replies do not wait for the journal */
    struct tls *tls;         /* NULL while TLS is off */
};

enum client_port { PORT_TCP, PORT_UNIX, PORT_TLS };

struct clients *clients_new(const struct clients_wiring *wiring);
/* Starts the threads of the option io-threads: once, before the first connection and, since a fork
 * would lose them, after the process has gone to the background. Returns false with errno if a
 * thread can't be started. */
bool clients_start_threads(struct clients *clients);
/* Closes all connections, after one attempt to write the replies that need not wait for the
 * journal. */
void clients_free(struct clients *clients);
/* Takes ownership of a connected, non-blocking socket. If maxclients is reached or protected mode
 * refuses the peer, closes the socket after an error reply. TLS differs: over maxclients the socket
 * is closed without a reply, and protected mode refuses the client after its handshake. */
void clients_accept(struct clients *clients, int fd, const char *peer, const char *local,
                    enum client_port port);
/* Runs the requests that were read in this turn. The end of a turn begins with this. */
void clients_run(struct clients *clients);
/* Writes replies, frees closed connections, closes the largest clients if all together exceed
 * maxmemory-clients, and ends delays by a CLIENT PAUSE that is over. The end of a turn ends with
 * this. */
void clients_turn(struct clients *clients);
/* Does clients_turn have something to do: a reply or message to write, or a connection to close? */
bool clients_have_output(const struct clients *clients);
/* Let other clients be served during a long request, such as a script: between the two calls the
 * request may run turns of the loop inside its own turn. Requests that were read but have not run
 * are parsed again in those turns. Between the two calls
 * - the connection of the long request is not read, written or freed, and its arguments stay in
 *   place;
 * - output that the long request causes, such as messages, is held back;
 * - no pause ends, and the wall clock does not advance. */
void clients_suspend_turn(struct clients *clients);
void clients_resume_turn(struct clients *clients);
/* Closes connections that are idle, late in a TLS handshake or over an output limit. For a timer of
 * about a second: each call looks at the next 10,000 connections. */
void clients_housekeeping(struct clients *clients);

struct tls *clients_tls(const struct clients *clients);         /* NULL while TLS is off */
void clients_use_tls(struct clients *clients, struct tls *tls); /* when it was off */
/* Returns an id for a connection that is not a client, from the sequence of client ids. */
uint64_t clients_new_id(struct clients *clients);
size_t clients_count(const struct clients *clients);
/* Returns the number of clients whose next request is delayed: by a pause, settle or preparing. */
size_t clients_paused(const struct clients *clients);
size_t clients_bytes(struct clients *clients); /* memory of all connections. O(N) */

/* The state of a connection, as CLIENT LIST shows it. */
struct client_info {
    uint64_t id;
    const char *peer, *local;
    int fd;
    int64_t age_sec, idle_sec;
    bool unix_socket;
    bool is_master;     /* the link to the master; it does not belong to net/ */
    const char *events; /* socket events that the loop waits for: "r", "rw", "w" */
    size_t query_used, query_free;
    size_t arguments, multi;          /* bytes: of the running request; of MULTI and WATCH */
    size_t out_pending, out_chunks;   /* unsent bytes, and the blocks of memory that hold them */
    size_t out_first, out_first_size; /* the part in the first block, and that block's size */
    size_t out_peak;                  /* the most unsent bytes in the last second or so */
    size_t out_memory, memory;        /* bytes: for unsent replies; for the whole connection */
    struct session *session;
};
/* Visits the clients that are not about to be closed, the oldest connection first. */
void clients_each(struct clients *clients, void (*visit)(void *ctx, const struct client_info *info),
                  void *ctx);
/* Returns false if the session has no connection. */
bool clients_info(struct session *session, struct client_info *info);
struct session *clients_find(struct clients *clients, uint64_t id); /* or NULL. O(n) */
/* Is the client connected through a unix socket or from a loopback address? */
bool clients_is_local(const struct session *session);
/* Reports a failed login: delays its reply, and everything after that reply on this connection, by
 * 50 ms. Each further failure doubles the delay, up to 3.2 s; clients_login_done, for a successful
 * login, starts again with 50 ms. */
void clients_login_failed(struct session *session);
void clients_login_done(struct session *session);
/* Makes the connection send the bytes of a source in addition to replies. `source` is borrowed
 * until its function `gone` is called. A client with a source is never closed as idle or by
 * maxmemory-clients; the owner of the source must limit its output. */
void clients_attach(struct session *session, const struct client_source *source);
/* Tells that the source has bytes to send: the connection is written at the end of the turn. */
void clients_source_ready(struct session *session);
/* Asserts that the states, lists and deadlines of all connections agree and that complete requests
 * of serving clients are scheduled to run. O(connections) */
void clients_check(struct clients *clients);
/* Closes the victim's connection at the end of the turn or, if the victim is the caller `self`,
 * after the reply to its request. */
void clients_kill(struct clients *clients, struct session *victim, const struct session *self);
