/* module: loads expired.so into an engine, a Redis 7.0 or later or a Valkey. Engines do not unload
 * modules that have types. */
#include <sys/random.h>

#include "server/base/version.h"
#include "server/module/api/redis_api.h"
#include "server/module/commands.h"
#include "server/module/slices.h"
#include "server/module/stats.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

static size_t engine_size(const void *p)
{
    return redis.MallocSize((void *)(uintptr_t)p);
}

/* Memory is the engine's, so that maxmemory and INFO count it. */
static void use_engine_memory(void)
{
    const struct mem_hooks hooks = { redis.Realloc, redis.Free, engine_size };
    mem_use(&hooks);
}

static bool seed_hash(RedisModuleCtx *ctx)
{
    uint8_t key[16];
    if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key)) {
        redis.Log(ctx, "warning", "no random bytes from the system");
        return false;
    }
    siphash_seed(key);
    return true;
}

static bool start(RedisModuleCtx *ctx)
{
    use_engine_memory();
    redis.SetModuleOptions(ctx, OPTION_HANDLE_IO_ERRORS | OPTION_NO_IMPLICIT_SIGNAL);
    return seed_hash(ctx) && stats_start(ctx) && commands_start(ctx) && slices_start(ctx);
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    (void)argv;
    if (!api_load(ctx, "expired", EXPIRED_VERSION_NUM)) return API_ERR;
    if (argc > 0) {
        redis.Log(ctx, "warning", "expired.so takes no arguments");
        return API_ERR;
    }
    if (!start(ctx)) return API_ERR;
    redis.Log(ctx, "notice", "expired " EXPIRED_VERSION ": keys expire on time");
    return API_OK;
}
