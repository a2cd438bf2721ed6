/* listeners: the listening sockets of the metrics port. Depends on libevent and host_names.
 * Separate from http.c, because libevent and the store each define a type "event". */
#ifndef SERVER_HTTP_LISTENERS_H
#define SERVER_HTTP_LISTENERS_H

#include <stdbool.h>
#include <stddef.h>

struct evhttp;
struct host_names;

/* Makes the HTTP server listen on the addresses of `bind`, as net.c does for the option bind.
 * `names` contains host names that were resolved ahead; others are resolved at once. Returns false,
 * with the reason in `why`, if it can't listen on all of them, or there are none. */
bool listeners_open(struct evhttp *server, const struct host_names *names, const char *bind,
                    int port, char *why, size_t why_size);
void listeners_close(struct evhttp *server); /* stops listening; connections stay */

#endif
