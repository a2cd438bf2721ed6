/* module: the entry point of expired.so. The host is Redis, from 7.0 on, or Valkey. A host does not
 * unload a module that has types, so nothing here is ever undone. */
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

static size_t host_size(const void *p)
{
    return redis.MallocSize((void *)(uintptr_t)p);
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    uint8_t key[16];
    (void)argv;
    if (!api_load(ctx, "expired", EXPIRED_VERSION_NUM)) return API_ERR;
    if (argc > 0) {
        redis.Log(ctx, "warning", "expired.so takes no arguments");
        return API_ERR;
    }
    /* The memory is the host's, so that maxmemory and INFO count it. */
    mem_use(&(struct mem_hooks){ redis.Realloc, redis.Free, host_size });
    redis.SetModuleOptions(ctx, OPTION_HANDLE_IO_ERRORS | OPTION_NO_IMPLICIT_SIGNAL |
                                    (api_host_is_valkey() ? OPTION_HANDLE_SLOT_MIGRATION : 0));
    if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key)) {
        redis.Log(ctx, "warning", "no random bytes from the system");
        return API_ERR;
    }
    siphash_seed(key);
    if (!stats_start(ctx) || !commands_start(ctx) || !slices_start(ctx)) return API_ERR;
    redis.Log(ctx, "notice", "expired " EXPIRED_VERSION ": keys expire on time");
    return API_OK;
}
