/* stream_readers: see stream_readers.h. */
#include "server/module/api/stream_readers.h"

static enum { UNKNOWN, NOBODY, SOMEBODY } readers = SOMEBODY;

static bool is_any(RedisModuleCtx *ctx, const char *section, const char *const fields[])
{
    bool any = false;
    RedisModuleServerInfoData *info = redis.GetServerInfo(ctx, section);
    for (size_t i = 0; fields[i] != NULL; i++) {
        int error = API_ERR;
        unsigned long long value = redis.ServerInfoGetFieldUnsigned(info, fields[i], &error);
        any = any || value > 0 || error != API_OK;
    }
    redis.FreeServerInfo(ctx, info);
    return any;
}

/* A fork that does not write a snapshot may be for a reader that this module does not know. */
static void on_fork(RedisModuleCtx *ctx, struct api_event event, uint64_t what, void *data)
{
    static const char *const snapshot[] = { "rdb_bgsave_in_progress", NULL };
    (void)event;
    (void)data;
    if (what != FORK_CHILD_BORN || readers == SOMEBODY) return;
    readers = is_any(ctx, "persistence", snapshot) ? UNKNOWN : SOMEBODY;
}

/* A replica keeps a stream for its own replicas, even when it becomes a master. */
static void on_role(RedisModuleCtx *ctx, struct api_event event, uint64_t what, void *data)
{
    (void)ctx;
    (void)event;
    (void)what;
    (void)data;
    readers = SOMEBODY;
}

/* Leaves it to the first change to ask the host: after a start from a file, a replica may continue
 * with the stream from before the start, without a fork. */
void stream_readers_start(RedisModuleCtx *ctx)
{
    const struct api_event fork = { .id = EVENT_ID_FORK_CHILD, .data_version = 1 };
    const struct api_event role = { .id = EVENT_ID_ROLE_CHANGED, .data_version = 1 };
    bool subscribed = redis.SubscribeToServerEvent(ctx, fork, on_fork) == API_OK &&
                      redis.SubscribeToServerEvent(ctx, role, on_role) == API_OK;
    if (subscribed) readers = UNKNOWN;
}

bool stream_readers_exist(RedisModuleCtx *ctx)
{
    static const char *const replicas[] = { "connected_slaves", "repl_backlog_active", NULL };
    static const char *const file[] = { "aof_enabled", NULL };
    if (readers == UNKNOWN) {
        bool any = is_any(ctx, "replication", replicas) || is_any(ctx, "persistence", file);
        readers = any ? SOMEBODY : NOBODY;
    }
    return readers == SOMEBODY;
}
