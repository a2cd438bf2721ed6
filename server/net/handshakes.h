/* handshakes: decides which connection of tls-port continues its handshake next. Depends on the
 * loop's timers; client_tls.c does the handshakes.
 *
 * A storm of connections from one address must not lock out the others. So connections with input
 * wait in lanes, chosen by a keyed hash of the address, and the lanes take turns ("Stochastic
 * fairness queueing", McKenney 1990). A queue per address would be exact, but an attacker with many
 * addresses could make it huge. A handshake costs memory, so each lane has only a limited number of
 * them in progress; its other connections wait before their first step. The loop does not watch a
 * waiting connection, so a turn costs the same however many wait. */
#ifndef SERVER_NET_HANDSHAKES_H
#define SERVER_NET_HANDSHAKES_H

#include <stdbool.h>

#include "server/base/loop.h"

struct client;
struct handshakes;
struct handshake_lane;

enum {
    HANDSHAKE_LANES = 256,
    HANDSHAKES_MOST = 64, /* handshakes in progress per lane */
};

/* While a connection can continue, a timer calls `work` in each turn, which calls handshakes_next
 * as often as it likes. */
struct handshakes *handshakes_new(struct loop *loop, void (*work)(void *ctx), void *ctx);
void handshakes_free(struct handshakes *handshakes); /* after all clients */

/* Queues a client that has input. No effect if it is queued already. O(1). */
void handshakes_wait(struct handshakes *handshakes, struct client *client);
/* Removes and returns the client to continue with; NULL: none. O(1). */
struct client *handshakes_next(struct handshakes *handshakes);
/* Call when the client's handshake begins: it counts for the lane's limit until it ends. */
void handshakes_begin(struct handshakes *handshakes, struct client *client);
/* Call when the handshake is complete or the client is freed. No effect for other clients. */
void handshakes_end(struct handshakes *handshakes, struct client *client);

#endif
