/* host_search: suspends the host's own search for expired keys while the module removes many.
 * Depends on the host.
 *
 * The host searches ten times a second. While it finds many expired keys, it goes on for up to 25
 * ms, and serves no client meanwhile. During a burst the module removes all these keys anyway, in
 * shorter slices. */
#pragma once

#include "server/module/api/redis_api.h"

/* Suspends or resumes the search; no effect if it is in that state already, or if the host
 * refuses. */
void host_search_suspend(RedisModuleCtx *ctx, bool suspended);
