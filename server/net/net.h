/* net: listening sockets: opens them and accepts connections. */
#ifndef SERVER_NET_NET_H
#define SERVER_NET_NET_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "server/net/client.h"
#include "server/base/loop.h"

struct net;

/* Opens what conf says: bind addresses with port (a leading '-' may fail), the unix socket. NULL
 * with the reason in `why` when none opens or one that must does not. */
struct net *net_open(struct loop *loop, const struct conf *conf, struct clients *clients, char *why,
                     size_t why_size);
void net_close(struct net *net); /* stops listening, removes the unix socket */

#endif
