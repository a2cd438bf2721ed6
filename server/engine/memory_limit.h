/* memory_limit: applies maxmemory: evicts keys, before a call and in the background, and decides
 * which calls are refused. Depends on the engine and on store/sweep/evict. */
#pragma once

#include "server/engine/engine.h"

/* Returns the bytes in use that do not count towards maxmemory. */
size_t memory_limit_uncounted(const struct engine *engine);

/* Does memory use exceed maxmemory, or lack the system memory? */
bool memory_limit_exceeded(const struct engine *engine);

/* Must the call be refused for lack of memory? Only calls that may need memory are: those with
 * GROWS, and those that MULTI queues. Evicts some keys first. Nothing is evicted while a script
 * runs, so before a call that runs a script the answer is recorded for the script's commands
 * (script_lacks_memory). `flags` is what multi_flags returns for the call. */
bool memory_limit_refuses(struct engine *engine, const struct call *call, unsigned flags);

/* While engine->evicting is set, evicts up to `most` keys by maxmemory-policy until memory use is
 * below maxmemory. Returns false if nothing is left to evict, or if eviction is suspended: during a
 * pause, on a replica, while data is loaded, and while a script is busy. */
bool memory_limit_evict(struct engine *engine, size_t most);
