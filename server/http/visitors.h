/* visitors: the connections of the metrics port: limits their number, their duration, and the bytes
 * read from each. Depends on libevent's bufferevents and the settings of TLS; knows nothing of
 * HTTP. */
#pragma once

#include "server/base/loop.h"

struct visitors;
struct bufferevent;
struct evhttp;
struct tls;

struct visitors *visitors_new(struct loop *loop, struct tls *tls); /* plain HTTP if tls is NULL */
void visitors_free(struct visitors *visitors); /* after the HTTP server is freed */

/* Makes the HTTP server obtain its bufferevents from `visitors`. A new connection beyond
 * VISITORS_MAX closes the oldest one. */
void visitors_serve(struct visitors *visitors, struct evhttp *server);

enum {
    VISITORS_MAX = 32,
    VISITORS_SEC = 10,               /* a connection is closed after this time, */
    VISITORS_SILENT_SEC = 5,         /* and after this long without traffic */
    VISITORS_SHAKE_USEC = 20 * 1000, /* at least, between two connections that begin TLS */
    VISITORS_HEADER_MAX = 8192,      /* bytes of a request's first line and headers */
    VISITORS_BODY_MAX = 1024,        /* bytes of a body, which no request needs */
    VISITORS_READ_MAX = 16384,       /* bytes read but not parsed */
};

/* ---- delayed replies ---- */

/* Replies to failed logins are delayed by a second, to slow down guessing. */
struct delayed;
struct evhttp_request;

struct delayed *delayed_new(struct loop *loop);
/* Sends all delayed replies at once. Must precede the freeing of the HTTP server, to which the
 * requests belong. */
void delayed_free(struct delayed *delayed);
/* Are as many replies delayed as `delayed` has room for? */
bool delayed_full(const struct delayed *delayed);
/* Takes over a request whose reply already has headers and body, and sends the reply a second
 * later. `delayed` must not be full; `reason` must be a constant. */
void delayed_add(struct delayed *delayed, struct evhttp_request *request, int status,
                 const char *reason);
