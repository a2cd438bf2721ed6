/* reply: see reply.h. */
#include "server/module/reply.h"

#include <string.h>

#include "proto/resp/resp_reply.h"
#include "store/mem/mem.h"

/* The engine takes a text that ends in NUL. */
static void put_line(RedisModuleCtx *ctx, const struct resp_node *node,
                     int (*put)(RedisModuleCtx *ctx, const char *text))
{
    char *text = mem_alloc(node->len + 1);
    memcpy(text, node->text, node->len);
    text[node->len] = '\0';
    put(ctx, text);
    mem_free(text);
}

static void put_node(struct resp_sink *sink, const struct resp_node *node)
{
    struct reply *reply = (struct reply *)sink;
    RedisModuleCtx *ctx = reply->ctx;
    reply->nodes++;
    switch (node->type) {
    case REPLY_STATUS: put_line(ctx, node, redis.ReplyWithSimpleString); break;
    case REPLY_ERROR: put_line(ctx, node, redis.ReplyWithError); break;
    case REPLY_BOOL:
    case REPLY_INTEGER: redis.ReplyWithLongLong(ctx, node->number); break;
    case REPLY_NULL:
        (reply->null_is_array ? redis.ReplyWithNullArray : redis.ReplyWithNull)(ctx);
        break;
    case REPLY_MAP: redis.ReplyWithMap(ctx, (long)(node->number / 2)); break;
    case REPLY_ARRAY:
    case REPLY_SET:
    case REPLY_PUSH: redis.ReplyWithArray(ctx, (long)node->number); break;
    case REPLY_ATTRIBUTE: break;
    case REPLY_BULK:
    case REPLY_DOUBLE:
    case REPLY_VERBATIM:
    case REPLY_BIGNUM: redis.ReplyWithStringBuffer(ctx, node->text, node->len); break;
    }
}

struct resp_writer reply_begin(struct reply *reply, RedisModuleCtx *ctx)
{
    *reply = (struct reply){ .sink = { put_node }, .ctx = ctx };
    return (struct resp_writer){ .sink = &reply->sink, .version = 3 };
}
