/* memory_limit: maxmemory: which calls are refused, and eviction, at a call and in the background.
 * Depends on the engine and on store/sweep/evict. */
#ifndef SERVER_ENGINE_MEMORY_LIMIT_H
#define SERVER_ENGINE_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "server/engine/engine.h"

/* Does the call need memory that is not there? Evicts some keys first. Before a script it notes
 * whether its commands will lack memory, because no key is evicted between them. */
bool memory_limit_refuses(struct engine *engine, const struct call *call);

/* While engine->evicting, evicts up to `most` keys by maxmemory-policy until memory use is below
 * maxmemory. False: there was nothing to do, no key may be evicted, or a pause forbids it. */
bool memory_limit_evict(struct engine *engine, size_t most);

#endif
