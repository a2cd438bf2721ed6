/* memory_limit: see memory_limit.h. */
#include "server/engine/memory_limit.h"

#include "store/mem/mem.h"
#include "store/mem/shared.h"
#include "store/sweep/evict.h"

enum { EVICTIONS_PER_CALL = 64, RECLAIM_PER_EVICTION = 256 };

size_t memory_limit_uncounted(const struct engine *engine)
{
    size_t garbage = engine->garbage != NULL ? engine->garbage(engine->garbage_ctx) : 0;
    return engine->uncounted + garbage + mem_shared_apart();
}

static bool is_over_limit(const struct engine *engine)
{
    int64_t limit = engine->conf->maxmemory;
    return limit > 0 && mem_used() - memory_limit_uncounted(engine) > (uint64_t)limit;
}

bool memory_limit_exceeded(const struct engine *engine)
{
    return mem_is_short() || is_over_limit(engine);
}

/* For INFO: records for how long memory use has exceeded maxmemory in spite of eviction. */
static void note_limit(struct engine *engine)
{
    struct stopwatch *stopwatch = &engine->stats->over_memory;
    int64_t now = clock_quick_usec(engine->clock);
    if (is_over_limit(engine))
        stopwatch_begin(stopwatch, now);
    else
        stopwatch_end(stopwatch, now);
}

/* Takes up to `most` steps, each of which evicts a key or frees deleted values. Returns false if no
 * key may be evicted. */
static bool evict_keys(struct engine *engine, size_t most)
{
    const struct evict_how how = {
        .policy = (enum evict_policy)engine->conf->maxmemory_policy,
        .samples = (unsigned)engine->conf->maxmemory_samples,
        .jobs_too = engine->conf->maxmemory_evict_jobs,
    };
    struct txn txn;
    bool able = true;
    txn_begin(&txn, engine->store, clock_now(engine->clock), FROM_EVICTION);
    for (; able && most > 0 && is_over_limit(engine); most--) {
        if (reclaim_pending(&engine->store->reclaim))
            reclaim_run(&engine->store->reclaim, RECLAIM_PER_EVICTION);
        else
            able = evict_one(&txn, &how);
    }
    txn_commit(&txn);
    note_limit(engine);
    return able;
}

/* Must a call that needs memory be refused? Always while the system is short of memory. Otherwise
 * only above maxmemory, depending on the role:
 *
 *     master          evicts a few keys first, and refuses only if it finds no more that may be
 *                     evicted; the background evicts the rest, so that no client waits for it
 *     paused master   neither evicts nor refuses: the pause delays calls that need memory
 *     replica         refuses, unless replica-ignore-maxmemory is set; never evicts, because the
 *                     effects that its master sends need the master's data */
static bool out_of_memory(struct engine *engine)
{
    if (mem_is_short()) return true;
    if (engine->role.replica && engine->conf->replica_ignore_maxmemory) return false;
    if (!is_over_limit(engine)) return false;
    if (engine_keeps_data(engine, clock_now(engine->clock))) return engine->role.replica;
    engine->evicting = evict_keys(engine, EVICTIONS_PER_CALL);
    return !engine->evicting;
}

bool memory_limit_evict(struct engine *engine, size_t most)
{
    if (engine->stats->over_memory.since_usec != 0) note_limit(engine);
    if (!engine->evicting || engine->loading || engine->busy) return false;
    if (engine_keeps_data(engine, clock_now(engine->clock))) return false;
    if (is_over_limit(engine) && evict_keys(engine, most)) return true;
    engine->evicting = false;
    return false;
}

bool memory_limit_refuses(struct engine *engine, const struct call *call, unsigned flags)
{
    if (engine->busy) return false;
    /* Inside MULTI every command needs memory: the queue keeps a copy. */
    bool is_queued = call->session->multi != NULL && !(call->command.row->flags & NOT_QUEUED);
    if (((flags & GROWS) || is_queued) && out_of_memory(engine)) return true;
    if (flags & RUNS_SCRIPT) engine->script_lacks_memory = out_of_memory(engine);
    return false;
}
