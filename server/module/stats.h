/* stats: the command EXPIRED.STATS and the module's section of INFO. Depends on slices. */
#pragma once

#include "server/module/api/redis_api.h"

/* Registers both. Returns false if the host refused. */
bool stats_start(RedisModuleCtx *ctx);
