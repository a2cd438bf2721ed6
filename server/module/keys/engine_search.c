/* engine_search: see engine_search.h. The only switch is a subcommand of DEBUG; it works even if
 * clients may not use DEBUG. */
#include "server/module/keys/engine_search.h"

static bool is_held;

void engine_search_hold(RedisModuleCtx *ctx, bool held)
{
    if (held == is_held) return;
    is_held = held;
    RedisModuleCallReply *reply =
        redis.Call(ctx, "DEBUG", "cc", "SET-ACTIVE-EXPIRE", held ? "0" : "1");
    if (reply != NULL) redis.FreeCallReply(reply);
}
