/* net: opens listening sockets, accepts connections and passes them to client.h. Depends on sockets
 * and the loop.
 *
 * Folder server/net: sockets and connections. net listens and accepts. client keeps the connected
 * clients and joins the three parts of each: transport moves bytes (plain, TLS, or through a
 * thread), requests parses and runs what was read, limits slows down or closes a client that uses
 * too much. None of the three looks inside another; client.c draws the states of a connection.
 *
 * Below them, input keeps the bytes of incomplete requests, handshakes schedules TLS handshakes,
 * protected_mode refuses clients from other machines, label names a client in the log. With
 * io-threads, io_threads (the main thread's side) and io_thread (theirs) read and send; byte_ring
 * is the queue between the two. Depends on server/engine, which runs requests, and on server/disk,
 * because replies wait for the journal. Start with client.h, then the head of client.c, then
 * requests.h.
 *
 * May use: conf proto/resp server/engine/acl server/base server/cmd/call server/engine/observe
 * server/disk server/engine/react server/engine server/net/tls store/. */
#ifndef SERVER_NET_NET_H
#define SERVER_NET_NET_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "server/base/host_names.h"
#include "server/base/loop.h"
#include "server/net/client.h"

struct net;

/* Listens on the addresses of `bind` at `port` and `tls-port`, and on the unix socket; or on the
 * sockets that the service manager has passed to the process. Returns NULL, with the reason in
 * `why`, if no socket could be opened, or none for one of the addresses without a leading '-'. */
struct net *net_open(struct loop *loop, const struct conf *conf, struct clients *clients, char *why,
                     size_t why_size);
/* Call when bind, port or tls-port have changed, with host names that were resolved ahead; others
 * are resolved at once. Closes the listeners that are no longer configured and opens the new ones;
 * connections stay. On failure, returns false with the reason in `why`: then restore the options
 * and call it again, because only addresses that are in both configurations may still have a
 * listener. */
bool net_update(struct net *net, const struct host_names *names, char *why, size_t why_size);
/* Stops listening and removes the unix socket, unless the service manager passed it. */
void net_close(struct net *net);

#endif
