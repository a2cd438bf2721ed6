/* net: opens listening sockets, accepts connections and passes them to client.h. Depends on sockets
 * and the loop. */
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
