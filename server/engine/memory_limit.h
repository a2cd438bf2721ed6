/* memory_limit: applies maxmemory: evicts keys, before a call and in the background, and decides
 * which calls are refused. Depends on the engine and on store/sweep/evict. */
#pragma once

#include "server/engine/engine.h"

/* Returns the bytes in use that do not count towards maxmemory. */
size_t memory_limit_uncounted(const struct engine *engine);

/* Does memory use exceed maxmemory, or is the system short of memory? */
bool memory_limit_exceeded(const struct engine *engine);

/* Must the call be refused for lack of memory? Only calls that may need memory are: those with
 * GROWS, and those that MULTI queues; none while a script is busy. Evicts some keys first, where
 * eviction is not suspended and the system has memory. Nothing is evicted while a script
 * runs, so before a call that runs a script the answer is recorded for the script's commands
 * (script_lacks_memory). `flags` is what multi_flags returns for the call. */
bool memory_limit_refuses(struct engine *engine, const struct call *call, unsigned flags);

/* While engine->evicting is set, takes up to `most` steps, each of which evicts a key by
 * maxmemory-policy or frees deleted values, until memory use is within maxmemory. Returns false,
 * and clears engine->evicting, if it is or if no key may be evicted. Also returns false while
 * eviction is suspended: during a pause, on a replica, while data is loaded, and while a script is
 * busy. */
bool memory_limit_evict(struct engine *engine, size_t most);
