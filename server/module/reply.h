/* reply: passes replies of commands to the engine. Depends on the writer's sink. */
#ifndef SERVER_MODULE_REPLY_H
#define SERVER_MODULE_REPLY_H

#include "proto/resp/resp_write.h"
#include "server/module/redis_api.h"

struct reply {
    struct resp_sink sink;
    RedisModuleCtx *ctx;
    bool null_is_array; /* the command's null is that of an array in RESP2 */
    size_t nodes;       /* given so far */
};

/* A writer whose replies go to this client. The engine makes RESP2 or RESP3 of them. */
struct resp_writer reply_begin(struct reply *reply, RedisModuleCtx *ctx);

#endif
