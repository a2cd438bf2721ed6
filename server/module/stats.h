/* stats: the command EXPIRED.STATS and the module's section of INFO. Depends on slices. */
#ifndef SERVER_MODULE_STATS_H
#define SERVER_MODULE_STATS_H

#include "server/module/api/redis_api.h"

/* Registers both. Returns false if the host refused. */
bool stats_start(RedisModuleCtx *ctx);

#endif
