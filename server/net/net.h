/* net: opens listening sockets, accepts connections and passes them to client.h. Depends on sockets
 * and the loop.
 *
 * Folder server/net: sockets and connections. net listens and accepts; client has the connected
 * clients, client_io reads and writes their bytes, client_run runs the requests that a turn has
 * read, client_output limits unread replies, client_memory counts what a connection uses,
 * client_tls decides when clients may shake hands, client_penalty slows failed logins down,
 * client_aside serves others while a script runs long. lookahead fetches what the requests of a
 * turn will need into the CPU's caches.
 * Depends on server/engine, which runs requests, and server/disk, because replies wait for the
 * journal. Start with client.h, then client_run.c. */
#ifndef SERVER_NET_NET_H
#define SERVER_NET_NET_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "server/net/client.h"
#include "server/base/loop.h"

struct net;

/* Listens on the addresses of `bind`, at `port` and `tls-port`, and on the unix socket, or in their
 * place on the sockets that the service manager has passed to the process. NULL, with the reason in
 * `why`: none could be opened, or one without a leading '-' could not. */
struct net *net_open(struct loop *loop, const struct conf *conf, struct clients *clients, char *why,
                     size_t why_size);
/* Call when bind, port or tls-port have changed: stops listening where they say nothing more, and
 * listens where they say it now; connections stay. False: the reason is in `why`, and listening
 * goes on at most at the addresses that stay: set the options back and call it again. */
bool net_update(struct net *net, char *why, size_t why_size);
/* Stops listening, and removes the unix socket unless it was passed. */
void net_close(struct net *net);

#endif
