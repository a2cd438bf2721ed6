/* canonical: writes effects as commands, for the host's replicas and its append-only file. The
 * commands are those of effect_text.h, without SELECT. CANONICAL_PREFIX precedes names without a
 * dot, except DEL. */
#pragma once

#include "server/module/api/redis_api.h"
#include "store/effect.h"

/* Because the host may have commands of these names. */
#define CANONICAL_PREFIX "E."

/* Adds an effect, in database 0, to those that the next of the following two calls writes. */
void canonical_put(const struct effect *effect);
/* Write the collected effects as commands and forget them: to the host's replicas and append-only
 * file, or to a rewrite of that file. */
void canonical_replicate(RedisModuleCtx *ctx);
void canonical_emit(RedisModuleIO *aof);
