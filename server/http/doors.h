/* doors: the listening sockets of the metrics port. Depends on libevent alone. Separate from
 * http.c, because libevent and the store each define a type "event". */
#ifndef SERVER_HTTP_DOORS_H
#define SERVER_HTTP_DOORS_H

#include <stdbool.h>
#include <stddef.h>

struct evhttp;

/* Has the HTTP server listen on the addresses of `bind`, as net.c does on those of the option bind.
 * False: not on all of them, or on none, and `why` has the reason. */
bool doors_open(struct evhttp *server, const char *bind, int port, char *why, size_t why_size);
void doors_close(struct evhttp *server); /* stops listening; connections stay */

#endif
