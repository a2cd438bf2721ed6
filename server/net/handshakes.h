/* handshakes: the TLS handshakes of accepted connections, and the order in which they continue.
 * Depends on server/net/tls; knows neither clients nor the loop, and belongs to one thread.
 *
 * A handshake computes a signature, which takes longer than many requests, so a turn spends a
 * limited time on handshakes. A storm of connections from one address must not lock out other
 * addresses. Connections with input therefore wait in lanes, chosen by a keyed hash of the address,
 * and the lanes take turns ("Stochastic fairness queueing", McKenney 1990). A queue per address
 * would separate all addresses exactly, but an attacker with many addresses could create huge
 * numbers of queues.
 *
 * Because an unfinished handshake uses memory, each lane limits how many may be in progress; its
 * other connections wait before their first step. epoll does not watch the socket of a waiting
 * connection, so its input starts no turns. */
#pragma once

#include <sys/queue.h>

#include "server/net/tls/connection.h"

struct handshakes;
struct handshake_lane;

enum {
    HANDSHAKE_LANES = 256,
    HANDSHAKES_MOST = 64,       /* handshakes in progress per lane, of all threads together */
    HANDSHAKES_USEC = 500,      /* time per turn for handshakes */
    HANDSHAKE_WHY = 256,        /* bytes for the reason of a refusal */
    HANDSHAKE_SECONDS = 10,     /* a handshake that takes longer is aborted, */
    HANDSHAKE_LANE_SECONDS = 30 /* and so is one that waits longer in its lane */
};

/* Part of its connection; zeroed for a connection without TLS. */
struct handshake {
    unsigned lane_number; /* the lane of the peer's address */
    TAILQ_ENTRY(handshake) to_shake;
    struct handshake_lane *lane; /* NULL before its first bytes and after the handshake */
    bool waits;                  /* has input and waits in its lane */
    bool begun;                  /* it counts towards the lane's limit */
};

/* Initializes a handshake, and chooses its lane by the address of the peer, "ip:port" or
 * "[ip6]:port"; of an IPv6 address the first 64 bits count. For the main thread, which alone may
 * compute keyed hashes. */
void handshake_init(struct handshake *handshake, const char *peer);

/* Makes the lanes, each of which has at most `most` handshakes in progress. */
struct handshakes *handshakes_new(unsigned most);
void handshakes_free(struct handshakes *handshakes); /* after all connections */

/* Puts the connection, which has received input, at the end of its lane. No effect if it waits
 * already. O(1). */
void handshakes_wait(struct handshakes *handshakes, struct handshake *handshake);
/* Would handshakes_next return a handshake? */
bool handshakes_any(const struct handshakes *handshakes);
/* Returns the next handshake to continue with handshake_step, which then no longer waits. NULL if
 * none waits, or if all that wait must first see others of their lane end. O(1). */
struct handshake *handshakes_next(struct handshakes *handshakes);
/* Removes a handshake that has ended, or whose connection ends, from its lane and from the count of
 * those in progress, so that another one of the lane can begin. No effect if it is in no lane. */
void handshakes_end(struct handshakes *handshakes, struct handshake *handshake);

/* Does poll report this event, an error or a hang-up without waiting? POLLRDHUP means that the peer
 * has shut down its sending side. */
bool socket_polls(int fd, short event);

enum shaken { SHAKEN_DONE, SHAKEN_WAITS, SHAKEN_REFUSED, SHAKEN_CLOSED };
/* Continues a handshake that handshakes_next has returned, on this socket. *conn stays NULL until
 * the first TLS record has arrived whole, so that a peer that sends less costs no memory of
 * OpenSSL.
 *
 * SHAKEN_DONE: *conn is ready, and the handshake has left its lane. SHAKEN_WAITS: call
 * handshakes_wait once the socket is ready again, for writing if tls_wants_write. SHAKEN_REFUSED,
 * for the reason in `why`, or SHAKEN_CLOSED, if the connection was lost before its first byte: call
 * handshakes_end, and close the connection. */
enum shaken handshake_step(struct handshakes *handshakes, struct handshake *handshake,
                           struct tls *tls, int fd, struct tls_connection **conn,
                           char why[HANDSHAKE_WHY]);
