/* reply: passes replies of commands to the host. Depends on proto/resp. */
#pragma once

#include "proto/resp/resp_write.h"
#include "server/module/api/redis_api.h"

struct reply {
    struct resp_sink sink;
    RedisModuleCtx *ctx;
};

/* Returns a writer whose replies go to the client of the context, in the version of RESP that the
 * client uses. `flags` are those of the context. */
struct resp_writer reply_begin(struct reply *reply, RedisModuleCtx *ctx, int flags);
