/* engine_search: holds the engine's own search for expired keys while the module removes many.
 * Depends on the engine.
 *
 * Ten times a second the engine looks for expired keys. While it finds many it goes on for 25 ms,
 * in which no client is served. During a burst the module finds all of them in shorter slices. */
#ifndef SERVER_MODULE_KEYS_ENGINE_SEARCH_H
#define SERVER_MODULE_KEYS_ENGINE_SEARCH_H

#include <stdbool.h>

#include "server/module/api/redis_api.h"

/* Holds the search, or lets it run again; nothing happens if it is so. An engine that refuses goes
 * on searching. */
void engine_search_hold(RedisModuleCtx *ctx, bool held);

#endif
