/* replay: applies effects that arrive as commands, from a master or from the append-only file.
 * Depends on lent_keys, due_values and the journal's text format of effects (effect_text.h). */
#pragma once

#include "server/module/api/redis_api.h"

/* Does a call with these flags (GetContextFlags) come from a master or a file? */
bool replay_is_replicated(int flags);
/* Applies the call's effects and replies. */
int replay_run(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

/* Registers the commands of effects, which only a master or a file may send. Returns false if the
 * host refused. */
bool replay_start(RedisModuleCtx *ctx);
