/* memory_limit: applies maxmemory: evicts keys, before a call and in the background, and decides
 * which calls to refuse. Depends on the engine and on store/sweep/evict. */
#ifndef SERVER_ENGINE_MEMORY_LIMIT_H
#define SERVER_ENGINE_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "server/engine/engine.h"

/* Returns the bytes in use that do not count towards maxmemory. */
size_t memory_limit_uncounted(const struct engine *engine);

/* Does memory use exceed maxmemory, or lack the system memory? */
bool memory_limit_exceeded(const struct engine *engine);

/* Must the call be refused for lack of memory? Evicts some keys first. While a script runs nothing
 * is evicted, so before a script it records whether the script's commands will lack memory. `flags`
 * are those that multi_flags returns for the call. */
bool memory_limit_refuses(struct engine *engine, const struct call *call, unsigned flags);

/* While engine->evicting, evicts up to `most` keys by maxmemory-policy until memory use is below
 * maxmemory. Returns false if there is nothing to do, no key can be evicted, or eviction is
 * suspended: during a pause, on a replica, while data is loaded, and while a script is busy. */
bool memory_limit_evict(struct engine *engine, size_t most);

#endif
