/* slices: runs the module's work between two commands of the host, in slices before the host's loop
 * sleeps, at least in every second turn. A slice takes at most half a millisecond, or longer if
 * clients write faster than such slices can follow. Keeps one timer for the next deadline. Depends
 * on keys/, values/ and policies/. */
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
