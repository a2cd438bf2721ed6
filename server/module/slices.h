/* slices: the module's work between two commands of the engine: a slice of at most half a
 * millisecond when the engine's loop is about to sleep, in this turn or the next, and one timer for
 * the next deadline. Depends on volatile_keys and scan_keys. */
#ifndef SERVER_MODULE_SLICES_H
#define SERVER_MODULE_SLICES_H

#include "server/module/api/redis_api.h"
#include "server/module/keys/volatile_keys.h"

/* Subscribes to events and begins to scan the keys that are there. False: the engine refused, and
 * the log says so. */
bool slices_start(RedisModuleCtx *ctx);

/* For figures. */
const struct volatile_keys *slices_volatile_keys(void);

#endif
