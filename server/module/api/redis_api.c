/* redis_api: see redis_api.h. */
#include "server/module/api/redis_api.h"

#include <stdio.h>

struct redis_api redis;

static bool is_valkey;

/* The host passes its lookup function as the first word of the context. */
typedef int (*get_api)(const char *name, void *function);

struct wanted {
    const char *name;
    size_t offset; /* in struct redis_api */
    bool needed;
};

static const struct wanted wanted[] = {
#define NEEDED(result, name, arguments)                                                            \
    { "RedisModule_" #name, offsetof(struct redis_api, name), true },
#define OPTIONAL(result, name, arguments)                                                          \
    { "RedisModule_" #name, offsetof(struct redis_api, name), false },
    API_NEEDED(NEEDED) API_OPTIONAL(OPTIONAL)
#undef NEEDED
#undef OPTIONAL
};

enum { WANTED = sizeof(wanted) / sizeof(wanted[0]) };

/* The log function itself may be missing; then the message goes to stderr. */
static void log_warning(RedisModuleCtx *ctx, const char *what, const char *name)
{
    if (redis.Log != NULL)
        redis.Log(ctx, "warning", "expired: %s%s", what, name);
    else
        fprintf(stderr, "expired: %s%s\n", what, name);
}

bool api_load(RedisModuleCtx *ctx, const char *name, int version)
{
    get_api get;
    const char *missing = NULL;
    memcpy(&get, (const void *)ctx, sizeof(get));
    for (size_t i = 0; i < WANTED; i++) {
        char *address = (char *)&redis + wanted[i].offset;
        if (get(wanted[i].name, address) != API_OK && wanted[i].needed) missing = wanted[i].name;
    }
    /* Valkey also offers each function under a name of its own. */
    is_valkey = get("ValkeyModule_Log", &(void *){ NULL }) == API_OK;
    if (missing != NULL) {
        log_warning(ctx, "this server is too old for the module: it lacks ", missing);
        return false;
    }
    if (redis.IsModuleNameBusy(name)) {
        log_warning(ctx, "another module has the name ", name);
        return false;
    }
    redis.SetModuleAttribs(ctx, name, version, API_VERSION);
    for (size_t i = 0; i < WANTED; i++)
        if (!wanted[i].needed && get(wanted[i].name, &(void *){ NULL }) != API_OK)
            redis.Log(ctx, "notice", "this server lacks %s: keys may expire a few ms later",
                      wanted[i].name);
    return true;
}

bool api_host_is_valkey(void)
{
    return is_valkey;
}

/* During EXEC, GetSelectedDb of Valkey 9 returns the client's database, even for the events of MOVE
 * and COPY, which write to another one. A key that is opened during the event tells its
 * database. */
unsigned api_event_db(RedisModuleCtx *ctx, const char *event, RedisModuleString *name)
{
    bool elsewhere = strcmp(event, "move_to") == 0 || strcmp(event, "copy_to") == 0;
    if (!is_valkey || !elsewhere || !(redis.GetContextFlags(ctx) & CTX_MULTI))
        return (unsigned)redis.GetSelectedDb(ctx);
    RedisModuleKey *key = redis.OpenKey(ctx, name, KEY_WRITE | KEY_NOTOUCH);
    int db = redis.GetDbIdFromModuleKey(key);
    redis.CloseKey(key);
    return (unsigned)db;
}
