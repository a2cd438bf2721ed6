/* http: the metrics port: a read-only HTTP server, which libevent provides, on the daemon's loop.
 * site.h produces the answers.
 *
 * A request has at most VISITORS_HEADER_MAX bytes without its body, which is ignored. A connection
 * serves one request and lives at most VISITORS_SEC.
 *
 * Folder server/http: the metrics port. Start with site.h; doc/metrics.md is the page for users.
 *
 *     http, listeners   HTTP and sockets
 *     visitors          limits connections
 *     login             checks users
 *     site              replies to a request, itself with /why.json; knows nothing of the above
 *     metrics, prom     /metrics, in the format of Prometheus
 *     state, json       /state.json, which the page draws
 *     page_files        the page, from page/
 *     figures           the numbers of metrics and state
 *     history           the last five minutes of a few rates
 *     survey            counts keys by their deadlines, in slices, when a client asks
 *
 * Requests change no data, so they are answered inside the loop's callbacks, even while data is
 * being loaded or a script runs for long.
 *
 * May use: conf server/engine/acl server/admin server/admin/client server/base server/cmd/call
 * server/net server/engine/observe server/disk server/engine/react server/replica
 * server/replica/stream server/engine server/script server/net/tls store/. */
#pragma once

#include "server/admin/admin.h"
#include "server/base/loop.h"
#include "server/engine/background.h"

struct host_names;
struct http;
struct tls;

/* Listens on metrics-port: for HTTPS if `tls` is not NULL, otherwise for HTTP. On failure returns
 * NULL, with the reason in `why`. Context and tls must outlive the result. For `names` see
 * listeners.h. */
struct http *http_open(struct loop *loop, const struct admin_parts *context, struct tls *tls,
                       const struct host_names *names, char *why, size_t why_size);
/* Applies a changed metrics-port or metrics-bind: stops listening and, unless the port is 0,
 * listens on the new addresses. On failure returns false, with the reason in `why`: see
 * listeners_open. */
bool http_update(struct http *http, const struct host_names *names, char *why, size_t why_size);
void http_close(struct http *http);
/* Returns the background work that counts keys for the port. */
struct background_work http_work(struct http *http);
