/* defrag_timer: see defrag_timer.h. */
#include "server/engine/defrag_timer.h"

#include "server/disk/child.h"
#include "store/mem/mem.h"
#include "store/sweep/defrag.h"

enum {
    SLICE_USEC = 100,      /* a slice of work ends after this time */
    BATCH = 128,           /* blocks per call: about 20 us */
    BUSY_REST = 19,        /* a rest lasts this many times the slice before it, */
    IDLE_REST = 4,         /* or this many times if no command came since the last slice */
    WAIT_USEC = 20 * 1000, /* between checks for other background work */
};

struct defrag_timer {
    struct defrag defrag;
    const struct clock *clock;
    const struct engine *engine;
    struct loop_timer *rest;
    uint64_t commands; /* total number at the end of the last slice */
    int64_t used;      /* microseconds spent in this slice */
    bool due;
};

static void on_rested(void *ctx)
{
    struct defrag_timer *timer = ctx;
    timer->due = true;
}

struct defrag_timer *defrag_timer_new(struct loop *loop, const struct clock *clock,
                                      const struct engine *engine)
{
    struct defrag_timer *timer = mem_zalloc(sizeof(*timer));
    defrag_init(&timer->defrag, engine->store);
    timer->clock = clock;
    timer->engine = engine;
    timer->rest = loop_timer_new(loop, on_rested, timer);
    return timer;
}

void defrag_timer_free(struct defrag_timer *timer)
{
    if (timer == NULL) return;
    defrag_drop(&timer->defrag);
    loop_timer_free(timer->rest);
    mem_free(timer);
}

const struct defrag *defrag_timer_state(const struct defrag_timer *timer)
{
    return &timer->defrag;
}

static void rest_for(struct defrag_timer *timer, int64_t usec)
{
    timer->due = false;
    loop_timer_set(timer->rest, usec);
}

/* Updates INFO's record of runs: at the end of a run, and within a second of its start. */
static void note_running(struct defrag_timer *timer, int64_t mono_usec)
{
    struct stopwatch *stopwatch = &timer->engine->stats->defragging;
    if (timer->defrag.running)
        stopwatch_begin(stopwatch, mono_usec);
    else
        stopwatch_end(stopwatch, mono_usec);
}

void defrag_timer_second(struct defrag_timer *timer)
{
    bool wanted = timer->engine->conf->activedefrag && !timer->engine->loading;
    if (wanted && !timer->defrag.running && defrag_begin(&timer->defrag)) rest_for(timer, 0);
    note_running(timer, clock_mono_usec());
}

static bool defrag_slice(void *ctx, size_t amount)
{
    struct defrag_timer *timer = ctx;
    if (!timer->due) return false;
    if (!timer->engine->conf->activedefrag) {
        timer->due = false;
        defrag_stop(&timer->defrag);
        return false;
    }
    const struct engine *engine = timer->engine;
    if (engine->loading || children_run() || reclaim_pending(&engine->store->reclaim) ||
        store_next_due(engine->store) <= clock_now(timer->clock)) {
        rest_for(timer, WAIT_USEC);
        return false;
    }
    if (!defrag_run(&timer->defrag, amount)) timer->due = false;
    return true;
}

static void defrag_took(void *ctx, int64_t usec)
{
    struct defrag_timer *timer = ctx;
    timer->used += usec;
    if (timer->due && timer->used < SLICE_USEC) return;
    uint64_t commands = timer->engine->stats->commands;
    bool idle = commands == timer->commands;
    timer->commands = commands;
    if (timer->defrag.running) rest_for(timer, timer->used * (idle ? IDLE_REST : BUSY_REST));
    timer->used = 0;
    note_running(timer, clock_quick_usec(timer->clock));
}

struct background_work defrag_timer_work(struct defrag_timer *timer)
{
    return (struct background_work){
        .run = defrag_slice, .took = defrag_took, .ctx = timer, .most = BATCH
    };
}
