/* limits: CL.THROTTLE, CL.THROTTLEMS and CL.WINDOW on strings of the host. Depends on server/cmd
 * and api/. */
#pragma once

#include "server/module/api/redis_api.h"

/* Registers the commands, except those that another module (redis-cell) has registered. */
void limits_start(RedisModuleCtx *ctx);
