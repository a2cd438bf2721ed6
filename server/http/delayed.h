/* delayed: replies to failed logins, which are sent a second later, so that passwords can't be
 * tried fast. Depends on libevent's HTTP server. */
#ifndef SERVER_HTTP_DELAYED_H
#define SERVER_HTTP_DELAYED_H

#include <stdbool.h>

#include "server/base/loop.h"

struct delayed;
struct evhttp_request;

struct delayed *delayed_new(struct loop *loop);
/* Sends all replies; before the HTTP server is freed. */
void delayed_free(struct delayed *delayed);
bool delayed_full(const struct delayed *delayed);
/* Takes over a request whose headers and body are ready; it must not be full. `reason` is a
 * constant. */
void delayed_add(struct delayed *delayed, struct evhttp_request *request, int status,
                 const char *reason);

#endif
