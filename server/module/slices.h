/* slices: runs the module's work between two commands of the host: a slice when the host's loop is
 * about to sleep, in this turn or the next. A slice takes at most half a millisecond, unless
 * clients write faster than that can follow. Keeps one timer for the next deadline. Depends on
 * keys/, values/ and policies/. */
#ifndef SERVER_MODULE_SLICES_H
#define SERVER_MODULE_SLICES_H

#include "server/module/api/redis_api.h"
#include "server/module/keys/volatile_keys.h"

/* Subscribes to events and begins to scan the existing keys. Returns false if the host refused,
 * which is logged. */
bool slices_start(RedisModuleCtx *ctx);

/* For EXPIRED.STATS and INFO. */
const struct volatile_keys *slices_volatile_keys(void);

#endif
