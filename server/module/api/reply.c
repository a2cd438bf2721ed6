/* reply: see reply.h. */
#include "server/module/api/reply.h"

#include "proto/resp/resp_reply.h"
#include "store/base/number.h"
#include "store/mem/mem.h"

enum { LINE_FEW = 64 }; /* bytes on the stack */

/* The host's functions expect a text that ends in NUL. */
static void put_line(RedisModuleCtx *ctx, const struct resp_node *node,
                     int (*put)(RedisModuleCtx *ctx, const char *text))
{
    char few[LINE_FEW], *text = node->len < LINE_FEW ? few : mem_alloc(node->len + 1);
    memcpy(text, node->text, node->len);
    text[node->len] = '\0';
    put(ctx, text);
    if (text != few) mem_free(text);
}

static void put_node(struct resp_sink *sink, const struct resp_node *node)
{
    struct reply *reply = (struct reply *)sink;
    RedisModuleCtx *ctx = reply->ctx;
    switch (node->type) {
    case REPLY_STATUS: put_line(ctx, node, redis.ReplyWithSimpleString); break;
    case REPLY_ERROR: put_line(ctx, node, redis.ReplyWithError); break;
    case REPLY_BOOL:
    case REPLY_INTEGER: redis.ReplyWithLongLong(ctx, node->number); break;
    case REPLY_NULL:
        (node->number == NULL_OF_ARRAY ? redis.ReplyWithNullArray : redis.ReplyWithNull)(ctx);
        break;
    case REPLY_MAP: redis.ReplyWithMap(ctx, (long)(node->number / 2)); break;
    case REPLY_SET: redis.ReplyWithSet(ctx, (long)node->number); break;
    case REPLY_DOUBLE: {
        /* Choose the function that prints the same digits as our writer. The host prints a double
         * as our writer prints doubles, and a long double as our writer prints coordinates. */
        char text[NUMBER_DOUBLE_MAX_CHARS];
        size_t len = number_print_double(text, node->real);
        long double value;
        if (bytes_equal(bytes_of(node->text, node->len), bytes_of(text, len)) ||
            !number_parse_long_double(node->text, node->len, &value))
            redis.ReplyWithDouble(ctx, node->real);
        else
            redis.ReplyWithLongDouble(ctx, value);
        break;
    }
    case REPLY_ARRAY:
    case REPLY_PUSH: redis.ReplyWithArray(ctx, (long)node->number); break;
    case REPLY_ATTRIBUTE: break;
    case REPLY_BULK:
    case REPLY_VERBATIM:
    case REPLY_BIGNUM: redis.ReplyWithStringBuffer(ctx, node->text, node->len); break;
    }
}

struct resp_writer reply_begin(struct reply *reply, RedisModuleCtx *ctx, int flags)
{
    *reply = (struct reply){ .sink = { put_node }, .ctx = ctx };
    return (struct resp_writer){ .sink = &reply->sink, .version = flags & CTX_RESP3 ? 3 : 2 };
}
