/* module: the entry point of expired.so. The host is Redis, from 7.0 on, or Valkey. A host does not
 * unload a module that has types, so nothing here is ever undone. */
#include <sys/random.h>

#include "server/base/version.h"
#include "server/module/api/redis_api.h"
#include "server/module/commands.h"
#include "server/module/policies/key_policies.h"
#include "server/module/policies/read_ahead.h"
#include "server/module/slices.h"
#include "server/module/values/due_values.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"

/* ---- EXPIRED.STATS and the module's section of INFO ------------------------------------------ */

enum { FIGURES = 14, NEVER_DUE = -1 };

struct figure {
    const char *name; /* in EXPIRED.STATS; INFO writes "_" for "-" and "." */
    long long value;
};

static void take_figures(struct figure figures[FIGURES])
{
    const struct volatile_keys *known = slices_volatile_keys();
    struct due_at next = due_keys_next(&known->keys);
    const struct histogram *lag = &known->lag;
    const struct figure taken[FIGURES] = {
        { "keys", (long long)(due_keys_count(&known->keys) + known->changes.count) },
        { "next-due", due_at_is_never(next) ? NEVER_DUE : due_at_deadline(next) },
        { "expired", (long long)known->expired },
        { "lag-p50", histogram_percentile(lag, 50) },
        { "lag-p99", histogram_percentile(lag, 99) },
        { "lag-p99.9", histogram_percentile(lag, 99.9) },
        { "lag-max", lag->max },
        { "stale-nodes", (long long)known->stale },
        { "queued", (long long)known->changes.count },
        { "policies-waiting", (long long)key_policies_waiting() },
        { "values", (long long)due_keys_count(due_values_keys()) },
        { "log-errors", (long long)key_policies_log_errors() },
        { "values-left-out", (long long)key_policies_values_left_out() },
        { "bytes", (long long)(due_keys_bytes(&known->keys) + key_changes_bytes(&known->changes) +
                               due_keys_bytes(due_values_keys()) + read_ahead_bytes()) },
    };
    memcpy(figures, taken, sizeof(taken));
}

static int cmd_stats(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct figure figures[FIGURES];
    (void)argv;
    if (argc != 1) return redis.WrongArity(ctx);
    take_figures(figures);
    redis.ReplyWithMap(ctx, FIGURES);
    for (int i = 0; i < FIGURES; i++) {
        redis.ReplyWithStringBuffer(ctx, figures[i].name, strlen(figures[i].name));
        if (figures[i].value == NEVER_DUE)
            redis.ReplyWithNull(ctx);
        else
            redis.ReplyWithLongLong(ctx, figures[i].value);
    }
    return API_OK;
}

/* The host adds the module's name and "_" in front of each field. */
static void add_info(RedisModuleInfoCtx *ctx, int for_crash_report)
{
    struct figure figures[FIGURES];
    char name[32];
    if (for_crash_report) return; /* the tables may be corrupt */
    take_figures(figures);
    redis.InfoAddSection(ctx, "keys");
    for (int i = 0; i < FIGURES; i++) {
        size_t len = strlen(figures[i].name) + 1;
        for (size_t c = 0; c < len; c++)
            name[c] =
                figures[i].name[c] == '-' || figures[i].name[c] == '.' ? '_' : figures[i].name[c];
        redis.InfoAddFieldLongLong(ctx, name, figures[i].value);
    }
}

/* ---- the entry point ------------------------------------------------------------------------- */

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
    if (redis.CreateCommand(ctx, "expired.stats", cmd_stats, "readonly fast", 0, 0, 0) != API_OK ||
        redis.RegisterInfoFunc(ctx, add_info) != API_OK || !commands_start(ctx) ||
        !slices_start(ctx))
        return API_ERR;
    redis.Log(ctx, "notice", "expired " EXPIRED_VERSION ": keys expire on time");
    return API_OK;
}
