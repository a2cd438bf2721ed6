/* host_search: see host_search.h. The host's only switch for it is a subcommand of DEBUG, which a
 * module can call even if clients may not. */
#include "server/module/keys/host_search.h"

static bool is_held;

void host_search_hold(RedisModuleCtx *ctx, bool held)
{
    if (held == is_held) return;
    is_held = held;
    RedisModuleCallReply *reply =
        redis.Call(ctx, "DEBUG", "cc", "SET-ACTIVE-EXPIRE", held ? "0" : "1");
    if (reply != NULL) redis.FreeCallReply(reply);
}
