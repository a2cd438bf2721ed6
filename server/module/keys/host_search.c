/* host_search: see host_search.h. The host offers only one switch for its search, a subcommand of
 * DEBUG. A module may call it even if clients may not. */
#include "server/module/keys/host_search.h"

static bool is_suspended;

void host_search_suspend(RedisModuleCtx *ctx, bool suspended)
{
    if (suspended == is_suspended) return;
    is_suspended = suspended;
    RedisModuleCallReply *reply =
        redis.Call(ctx, "DEBUG", "cc", "SET-ACTIVE-EXPIRE", suspended ? "0" : "1");
    if (reply != NULL) redis.FreeCallReply(reply);
}
