/* http: the metrics port: libevent's HTTP server on the daemon's loop, read-only. Depends on
 * libevent for HTTP and on site.h for the answers.
 *
 * A request has at most VISITORS_HEADER_MAX bytes, not counting its body, which is ignored. A
 * connection serves one request and lives at most VISITORS_SEC.
 *
 * Folder server/http: the metrics port. http and listeners handle HTTP and sockets, visitors bounds
 * connections, login checks users. site, which knows of none of these, replies to a request with
 * metrics (Prometheus), state (JSON for the page in page/) or why (the page's question about a
 * key). Metrics and state read figures, which reads the reports that INFO reads. history keeps the
 * last five minutes, survey counts keys in background slices on demand. Requests change nothing, so
 * they are answered inside the loop's callbacks, even while data is being loaded or a script runs
 * long. Start with site.h; doc/metrics.md is the page for users.
 *
 * May use: conf server/engine/acl server/admin server/admin/client server/base server/cmd/call
 * server/net server/engine/observe server/disk server/engine/react server/replica
 * server/replica/stream server/engine server/script server/net/tls store/. */
#ifndef SERVER_HTTP_HTTP_H
#define SERVER_HTTP_HTTP_H

#include <stddef.h>

#include "server/admin/admin.h"
#include "server/base/loop.h"
#include "server/engine/background.h"

struct host_names;
struct http;
struct tls;

/* Listens on metrics-port; with `tls`, for HTTPS only. On failure, returns NULL with the reason in
 * `why`. Context and tls must outlive it. For `names` see listeners.h. */
struct http *http_open(struct loop *loop, const struct server_context *context, struct tls *tls,
                       const struct host_names *names, char *why, size_t why_size);
/* Call when metrics-port (0 disables it) or metrics-bind has changed. Returns false, with the
 * reason in `why`, if it can't listen on all addresses. */
bool http_update(struct http *http, const struct host_names *names, char *why, size_t why_size);
void http_close(struct http *http);
/* Returns the background work that counts keys for the port. */
struct background_work http_work(struct http *http);

#endif
