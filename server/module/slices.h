/* slices: runs the module's work between two commands of the host, in slices, at the moment before
 * the host's loop sleeps. While there is work, at least every second turn of the loop has a slice.
 * A slice takes about half a millisecond, or longer if clients write faster than that can follow.
 * Between slices, one timer wakes the loop for the next deadline. Depends on keys/, values/ and
 * policies/. */
#pragma once

#include "server/module/api/redis_api.h"
#include "server/module/keys/volatile_keys.h"

/* Subscribes to events, begins to scan the existing keys, and starts node_policies. Returns false
 * if the host refused; a refused subscription is logged. */
bool slices_start(RedisModuleCtx *ctx);

/* Returns what the module knows of the deadlines of the host's keys, for EXPIRED.STATS and INFO. */
const struct volatile_keys *slices_volatile_keys(void);
