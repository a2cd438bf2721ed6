/* host_search: suspends the host's own search for expired keys while the module removes many.
 * Depends on the host.
 *
 * Ten times a second the host searches for expired keys. While it finds many it continues for up to
 * 25 ms, and serves no client meanwhile. During a burst the module finds all of these keys anyway,
 * in shorter slices. */
#ifndef SERVER_MODULE_KEYS_HOST_SEARCH_H
#define SERVER_MODULE_KEYS_HOST_SEARCH_H

#include <stdbool.h>

#include "server/module/api/redis_api.h"

/* Suspends or resumes the search; no effect if already in that state. If the host refuses, its
 * search continues. */
void host_search_suspend(RedisModuleCtx *ctx, bool suspended);

#endif
