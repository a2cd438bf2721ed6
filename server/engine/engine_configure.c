/* engine_configure: applies the options of the store. */
#include "server/base/log.h"
#include "server/engine/author.h"
#include "store/base/encoding_limits.h"
#include "store/sweep/evict.h"

static size_t count_waiting(void *ctx, unsigned db, struct bytes key, size_t most)
{
    return blocked_waiting(ctx, db, key, TYPE_LEASE, most);
}

static void make_fair_ready(void *ctx, unsigned db, struct bytes prefix, struct bytes key)
{
    blocked_ready_under(ctx, db, prefix, key);
}

static void wake_prefix_at(void *ctx, unsigned db, struct bytes prefix, msec at)
{
    blocked_wake_prefix_at(ctx, db, prefix, at);
}

static bool waits_for_prefix(void *ctx, unsigned db, struct bytes prefix)
{
    return blocked_waits_for_prefix(ctx, db, prefix);
}

static void make_prefix_ready(void *ctx, unsigned db, struct bytes prefix)
{
    blocked_ready_prefix(ctx, db, prefix);
}

void engine_configure(struct engine *engine)
{
    const struct conf *conf = engine->conf;
    struct store *store = engine->store;
    store->counts_access = evict_counts_access((enum evict_policy)conf->maxmemory_policy);
    store->access_log_factor = (unsigned)conf->lfu_log_factor;
    store->access_decay_minutes = (unsigned)conf->lfu_decay_time;
    store->leases.max_ttl = conf->lease_max_ttl;
    store->leases.waiting = count_waiting;
    store->leases.ctx = engine->blocked;
    store->fair.hooks = (struct fair_hooks){ .ready = make_fair_ready,
                                             .ready_at = wake_prefix_at,
                                             .waits = waits_for_prefix,
                                             .done = make_prefix_ready,
                                             .ctx = engine->blocked };
    encoding_limits = (struct encoding_limits){
        .hash_fields = (size_t)conf->hash_max_entries,
        .hash_len = (size_t)conf->hash_max_value,
        .zset_members = (size_t)conf->zset_max_entries,
        .zset_len = (size_t)conf->zset_max_value,
        .intset_members = (size_t)conf->set_max_intset,
        .hll_sparse = (size_t)conf->hll_sparse_max,
        .stream_bytes = (size_t)conf->stream_max_bytes,
        .stream_entries = (size_t)conf->stream_max_entries,
    };
    if (!author_configure(engine))
        log_line(LOG_WARNING,
                 "Can't allocate %lld bytes: EXPIRY WHY records nothing. Lower why-memory",
                 (long long)engine->conf->why_memory);
    engine->evicting = true; /* in case maxmemory was lowered */
}
