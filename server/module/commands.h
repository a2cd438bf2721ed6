/* commands: registers our commands in the host: those of dehydrators under their own names, and
 * those of sets, hashes and sorted sets with the prefix "E.". Depends on lent_keys and
 * due_values. */
#pragma once

#include "server/module/api/redis_api.h"

/* Registers the types and the commands. Returns false if the host refused. */
bool commands_start(RedisModuleCtx *ctx);
/* Registers the commands of limits.c, except those that another module (redis-cell) has
 * registered. commands_start calls it. */
void limits_start(RedisModuleCtx *ctx);
