/* net: opens listening sockets, accepts connections and passes them to client.h. Depends on sockets
 * and the loop.
 *
 * Folder server/net: sockets and connections. Start with client.h, then the head of client.c, which
 * draws the states of a connection, then requests.h.
 *
 *     net              listens and accepts
 *     listening        opens listening sockets, for the metrics port too
 *     client           keeps the connected clients and joins the three parts of each:
 *         transport    moves bytes: plain, TLS, or through a thread
 *         requests     parses and runs what was read
 *         limits       slows down or closes a client that uses too much
 *     input            keeps the bytes of incomplete requests
 *     handshakes       schedules TLS handshakes
 *     protected_mode   refuses clients from other machines
 *     label            names a client in the log
 *     io_threads       read and send in threads: the main thread's side,
 *     io_thread        and the side of each thread
 *     byte_ring        the queue between io_threads and io_thread
 *
 * No part of a client looks inside another. The folder depends on server/engine, which runs
 * requests, and on server/disk, because replies wait for the journal.
 *
 * May use: conf proto/resp server/engine/acl server/base server/cmd/call server/engine/observe
 * server/disk server/engine/react server/engine server/net/tls store/. */
#pragma once

#include "conf/conf.h"
#include "server/base/host_names.h"
#include "server/base/loop.h"
#include "server/net/client.h"

struct net;

/* Listens on the addresses of `bind` at `port` and `tls-port`, and on the unix socket, unless the
 * service manager has passed sockets to the process: then listens on those. Returns NULL with the
 * reason in `why` on failure. A word of `bind` with a leading '-' may name an address that this
 * machine does not have. */
struct net *net_open(struct loop *loop, const struct conf *conf, struct clients *clients, char *why,
                     size_t why_size);
/* Applies changed options bind, port and tls-port: closes the listeners that are no longer
 * configured, then opens the new ones. Connections stay. `names` holds host names that were
 * resolved ahead; the call resolves other names itself, which blocks.
 *
 * Returns false with the reason in `why` on failure. Then only addresses that are in both
 * configurations may still have a listener: restore the options and call net_update again. Sockets
 * of the service manager can't be changed: net_update then fails and leaves them. */
bool net_update(struct net *net, const struct host_names *names, char *why, size_t why_size);
/* Stops listening and removes the unix socket, unless the service manager passed it. */
void net_close(struct net *net);
