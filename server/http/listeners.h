/* listeners: the listening sockets of the metrics port. A file of its own because libevent, which
 * it includes, and the store each define a type "event". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct evhttp;
struct host_names;

/* Makes the HTTP server listen on the addresses in `bind`, as listening_open does. Returns false,
 * with the reason in `why`, if it can't listen on one of the addresses, or if there is none; it
 * then listens on the addresses before that one. */
bool listeners_open(struct evhttp *server, const struct host_names *names, const char *bind,
                    int port, char *why, size_t why_size);
void listeners_close(struct evhttp *server); /* stops listening; connections stay */
