/* resolver: finds the addresses of a host name in a thread, because getaddrinfo may wait for a name
 * server for many seconds. Depends on loop and pthreads.
 *
 * getaddrinfo can't be cancelled, so a search that was dropped runs to its end, and then its result
 * is freed. At most 8 searches of a resolver run at a time, dropped ones included. Call all
 * functions from the loop's thread. */
#pragma once

#include <netdb.h>

#include "server/base/loop.h"

/* Parses a numeric address ("127.0.0.1", "::1") into a list of one address. Returns NULL if the
 * text is a name. Never waits. The caller frees the list with freeaddrinfo. */
struct addrinfo *resolver_parse(const char *host, int64_t port);

struct resolver;

/* Makes a resolver, which passes each result to `found`: the addresses, borrowed, and 0; or NULL
 * and the error of getaddrinfo. `found` runs as a callback of the loop and may begin the next
 * search. */
struct resolver *resolver_new(struct loop *loop,
                              void (*found)(void *ctx, const struct addrinfo *list, int error),
                              void *ctx);
void resolver_free(struct resolver *resolver); /* does not wait for a running search */

/* Begins to search for the addresses of a name, and drops a previous search that still runs.
 * Returns 0; EAI_AGAIN if too many searches run; or EAI_MEMORY if no thread can be started. After
 * an error `found` is not called. */
int resolver_begin(struct resolver *resolver, const char *host, int64_t port);
/* Cancels the call of `found` for the search that runs, if any. */
void resolver_drop(struct resolver *resolver);
