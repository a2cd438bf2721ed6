/* engine_search: suspends the engine's own search for expired keys while the module removes many.
 * Depends on the engine.
 *
 * Ten times a second the engine searches for expired keys, and while it finds many it continues for
 * 25 ms, in which no client is served. During a burst the module finds all of them anyway, in
 * shorter slices. */
#ifndef SERVER_MODULE_KEYS_ENGINE_SEARCH_H
#define SERVER_MODULE_KEYS_ENGINE_SEARCH_H

#include <stdbool.h>

#include "server/module/api/redis_api.h"

/* Suspends or resumes the search; no effect if already in that state. If the engine refuses, its
 * search simply continues. */
void engine_search_hold(RedisModuleCtx *ctx, bool held);

#endif
