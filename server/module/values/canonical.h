/* canonical: effects as commands for replicas and the append-only file of the engine. Depends on
 * the journal's commands (effect_text.h). */
#ifndef SERVER_MODULE_VALUES_CANONICAL_H
#define SERVER_MODULE_VALUES_CANONICAL_H

#include "server/module/api/redis_api.h"
#include "store/effect.h"

/* Before the names of commands that the engine has for types of its own. */
#define CANONICAL_PREFIX "E."

/* Collects an effect in database 0. */
void canonical_put(const struct effect *effect);
/* Writes what was collected. */
void canonical_replicate(RedisModuleCtx *ctx);
void canonical_emit(RedisModuleIO *aof);

#endif
