/* handshakes: which connection of tls-port goes on with its handshake next. Depends on the loop's
 * timers; client_tls.c does what a handshake needs.
 *
 * A storm of connections from one address must not keep others out. So the connections that have
 * input wait in lanes, chosen by a keyed hash of their address, and lanes take turns ("Stochastic
 * fairness queueing", McKenney 1990). Only a limited number of each lane's connections are in a
 * handshake, which costs memory; the others wait without. A connection that waits is not watched:
 * a turn of the loop costs the same however many wait. */
#ifndef SERVER_NET_HANDSHAKES_H
#define SERVER_NET_HANDSHAKES_H

#include <stdbool.h>

#include "server/base/loop.h"

struct client;
struct handshakes;
struct handshake_lane;

enum {
    HANDSHAKE_LANES = 256,
    HANDSHAKES_MOST = 64, /* begun ones of a lane */
};

/* `go_on` is called once, soon, after a connection may go on; it calls handshakes_next. */
struct handshakes *handshakes_new(struct loop *loop, void (*go_on)(void *ctx), void *ctx);
void handshakes_free(struct handshakes *handshakes); /* after all clients */

/* A client that has input waits from now on. Does nothing if it does already. O(1). */
void handshakes_wait(struct handshakes *handshakes, struct client *client);
/* The client that may go on, which waits no longer; NULL: none. O(1). */
struct client *handshakes_next(struct handshakes *handshakes);
/* The client's handshake begins, and counts until it ends. */
void handshakes_begin(struct handshakes *handshakes, struct client *client);
/* It is complete, or the client is freed; does nothing for a client that is not in here. */
void handshakes_end(struct handshakes *handshakes, struct client *client);

#endif
