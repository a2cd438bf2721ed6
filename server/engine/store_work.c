/* store_work: see store_work.h.
 *
 * The timer is absolute, on CLOCK_REALTIME: it never fires early, and TFD_TIMER_CANCEL_ON_SET wakes
 * the loop when the system clock is set. While the clock is held, the timer is not armed: the
 * command that moves the clock does the work that becomes due. */
#include "server/engine/store_work.h"
#include "server/disk/persist.h"
#include "server/engine/memory_limit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/engine/engine.h"
#include "server/engine/react/tracking.h"
#include "server/engine/settle.h"
#include "server/engine/unblock.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/reclaim.h"
#include "store/refreshers.h"
#include "store/sweep/expiry.h"
#include "store/sweep/policy_walk.h"
#include "store/txn/txn_lease.h"

#define UNKNOWN INT64_MIN /* the timer has to be armed again */

struct store_work {
    struct clock *clock;
    struct engine *engine;
    struct background *background;
    struct loop_io *io;
    struct loop_timer *at_once; /* starts a turn without touching `fd` */
    msec armed;
    int fd;
};

/* Called when the timer has fired, or (ECANCELED) when the system clock was set. In both cases the
 * end of this turn reads the clock, does the due work and arms the timer again. */
static void on_wake(void *ctx, unsigned what)
{
    (void)what;
    struct store_work *work = ctx;
    uint64_t fired;
    ssize_t got = read(work->fd, &fired, sizeof(fired));
    if (got < 0 && errno == EAGAIN) return;
    work->armed = UNKNOWN;
}

static void on_at_once(void *ctx)
{
    (void)ctx; /* the timer only starts a turn */
}

static void on_step(void *ctx)
{
    struct store_work *work = ctx;
    work->armed = UNKNOWN;
    /* All transactions of a record have one instant. */
    if (work->engine->persist != NULL) persist_end_record(work->engine->persist);
}

/* Called when the system clock was set. The deadlines of data are absolute and stay. Timeouts,
 * pauses, leases and rights to refresh are spans of time, so their ends move with the clock. */
static void on_set(void *ctx, msec by)
{
    struct store_work *work = ctx;
    struct engine *engine = work->engine;
    blocked_clock_set(engine->blocked, by);
    pace_clock_set(&engine->pace, by);
    pause_clock_set(&engine->pause, by);

    struct leases *leases = &engine->store->leases;
    msec now = clock_now(engine->clock);
    if (leases->quiet_until > 0) {
        leases->quiet_until += by;
        blocked_ready_type(engine->blocked, TYPE_LEASE); /* some wait for that instant */
    }
    /* A replica receives the ends of leases from its master. */
    if (!engine->loading && !engine->role.replica && leases->until >= now - by) {
        struct txn txn;
        txn_begin(&txn, engine->store, now, FROM_EXPIRY);
        txn_lease_shift(&txn, by);
        txn_commit(&txn);
    }

    refreshers_shift(engine->store, by);
    blocked_ready_type(engine->blocked, TYPE_STRING);     /* some wait for the end of a right */
    blocked_ready_type(engine->blocked, TYPE_DEHYDRATOR); /* some wait for the rate */
    work->armed = UNKNOWN;
    log_line(LOG_NOTICE, "The system clock was set by %+lld ms", (long long)by);
}

/* ---- background work ------------------------------------------------------------------------- */

static bool rewind_slice(void *ctx, size_t amount)
{
    struct store_work *work = ctx;
    if (work->engine->loading) return false;
    return rewind_run(&work->engine->store->rewind, clock_now(work->clock), (unsigned)amount);
}

static bool wait_slice(void *ctx, size_t amount)
{
    struct store_work *work = ctx;
    if (blocked_next_due(work->engine->blocked) > clock_now(work->clock)) return false;
    return unblock_due(work->engine, amount) > 0;
}

/* Serves the blocked clients whose keys a slice has made ready: expiry may add an entry to a
 * policy's log (EXPIRED TO), and eviction may delete a stream that clients read. Returns true if
 * there were any and all were served; during a pause their keys stay ready. */
static bool serve_woken(void *ctx)
{
    struct store_work *work = ctx;
    const struct blocked *blocked = work->engine->blocked;
    if (!blocked_pending(blocked)) return false;
    unblock_ready(work->engine);
    return !blocked_pending(blocked);
}

/* Must work that publishes events wait for slow subscribers? Not while memory use exceeds
 * maxmemory, because expiry frees memory. */
static bool is_paced(struct engine *engine, msec now)
{
    return pace_holds(&engine->pace, now) && !memory_limit_exceeded(engine);
}

static bool expire_slice(void *ctx, size_t amount)
{
    struct store_work *work = ctx;
    struct engine *engine = work->engine;
    struct stopwatch *pacing = &engine->stats->pacing;
    msec now = clock_now(work->clock);
    bool may =
        store_next_due(engine->store) <= now && !engine->loading && !engine_keeps_data(engine, now);
    bool paced = may && is_paced(engine, now);
    if (paced) stopwatch_begin(pacing, clock_quick_usec(work->clock));
    if (!paced && pacing->since_usec != 0) stopwatch_end(pacing, clock_quick_usec(work->clock));
    if (!may || paced) return false;
    engine->pace.publishes = true;
    return expiry_run(engine->store, now, amount) > 0;
}

/* Hides expired keys (keyspace_hide) where they must stay: on a replica and during a pause. Many
 * keys may become overdue while the link to the master is down, and hiding them early makes the
 * next count fast. A replica that keeps up with its master has nothing to hide. */
static bool hide_slice(void *ctx, size_t amount)
{
    enum { LATE = 1000 }; /* milliseconds */
    struct store_work *work = ctx;
    msec now = clock_now(work->clock);
    struct store *store = work->engine->store;
    if (store_next_due(store) > now || work->engine->loading) return false;
    if (!engine_keeps_data(work->engine, now)) return false;
    return store_next_to_hide(store) <= now - LATE && store_hide(store, now, amount) > 0;
}

static bool settling_slice(void *ctx, size_t amount)
{
    struct store_work *work = ctx;
    return settle_slice(work->engine->settle, amount);
}

static void expire_took(void *ctx, int64_t usec)
{
    struct store_work *work = ctx;
    struct stats *stats = work->engine->stats;
    stats->expiry_usec += (uint64_t)usec;
    stats->expiry_cut += store_next_due(work->engine->store) <= clock_now(work->clock);
    observe_expiry(work->engine->observer, usec);
}

static void settling_took(void *ctx, int64_t usec)
{
    struct store_work *work = ctx;
    work->engine->stats->expiry_usec += (uint64_t)usec;
    observe_expiry(work->engine->observer, usec);
}

static bool reclaim_slice(void *ctx, size_t amount)
{
    struct store_work *work = ctx;
    struct reclaim *reclaim = &work->engine->store->reclaim;
    if (!reclaim_pending(reclaim)) return false;
    reclaim_run(reclaim, amount);
    return true;
}

/* Applies new policies to existing keys, once no key is overdue. */
static bool policy_slice(void *ctx, size_t amount)
{
    struct store_work *work = ctx;
    msec now = clock_now(work->clock);
    struct store *store = work->engine->store;
    if (!policy_walk_pending(store) || work->engine->loading) return false;
    if (engine_keeps_data(work->engine, now)) return false;
    if (store_next_due(store) <= now || is_paced(work->engine, now)) return false;
    work->engine->pace.publishes = true;
    policy_walk_run(store, now, amount);
    return true;
}

static bool evict_slice(void *ctx, size_t amount)
{
    struct store_work *work = ctx;
    return memory_limit_evict(work->engine, amount);
}

static bool refresh_slice(void *ctx, size_t amount)
{
    struct store_work *work = ctx;
    return refreshers_run(work->engine->store, clock_now(work->clock), amount) > 0;
}

static bool fair_slice(void *ctx, size_t amount)
{
    struct store_work *work = ctx;
    return !work->engine->loading &&
           fair_run(&work->engine->store->fair, clock_now(work->clock), amount);
}

static bool tracking_slice(void *ctx, size_t amount)
{
    struct store_work *work = ctx;
    struct engine *engine = work->engine;
    return tracking_trim(engine->hooks->tracking, (size_t)engine->conf->tracking_table_max_keys,
                         amount);
}

/* ---- waking ---------------------------------------------------------------------------------- */

static msec earlier(msec a, msec b)
{
    return a < b ? a : b;
}

/* Returns when the next turn must start: for a change of data, for a key that becomes ready, for
 * the end of a right to refresh, or for the timeout of a blocked client. A pause delays only the
 * first two. */
static msec next_due(const struct store_work *work)
{
    const struct pause *pause = &work->engine->pause;
    const struct blocked *blocked = work->engine->blocked;
    const struct store *store = work->engine->store;
    msec change = blocked_next_wake(blocked);
    if (!work->engine->role.replica) {
        /* If due work waits for a subscriber (is_paced), it is done at the end of the wait; a
         * subscriber that reads enough before that starts a turn by itself. */
        msec due = store_next_due(store), paced = pace_until(&work->engine->pace);
        if (paced != INT64_MIN && !memory_limit_exceeded(work->engine)) {
            msec end = due_at_expiry(paced).at;
            if (due < end || policy_walk_pending(store)) due = end;
        }
        change = earlier(change, due);
    }
    /* A pause delays this work. Without one, background_is_left already starts the next turn. */
    if (pause_is_on(pause) && policy_walk_pending(store)) change = 0;
    /* Some keys became ready after the background's turn, or wait for the end of a pause. */
    if (blocked_pending(blocked)) change = 0;
    if (pause->failover) change = NEVER; /* the end of the failover starts a turn */
    if (pause->kind != PAUSE_NONE && !instant_expired(pause->until, change))
        change = due_at_expiry(pause->until).at;
    change = earlier(change, refreshers_next(store));
    return earlier(change, blocked_next_timeout(blocked));
}

msec store_work_next(const struct store_work *work)
{
    return work->clock->stepped ? NEVER : next_due(work);
}

static void work_at(struct store_work *work, msec at)
{
    work->clock->now = at;
    work->clock->finish = true;
    background_turn(work->background);
}

/* Looks for the next due instant only after each step, because work that is due at one instant may
 * make more work due, at the same instant or later. If the work of an instant could not be done, as
 * on a replica, moves the clock directly to its goal. */
void store_work_advance(struct store_work *work)
{
    struct clock *clock = work->clock;
    msec done = NEVER, to = clock->goal, at;
    clock->moves = false;
    while ((at = next_due(work)) <= to) {
        if (at < clock->now) at = clock->now;
        if (at == done) break;
        work_at(work, at);
        done = at;
    }
    work_at(work, to);
    on_step(work);
}

void store_work_wake_at(struct store_work *work, msec due)
{
    if (due == AT_ONCE) {
        loop_timer_set(work->at_once, 0); /* cheaper than the timerfd and its interrupt */
        return;
    }
    if (due == work->armed) return;
    struct itimerspec when = { 0 };
    if (due != NEVER) {
        /* The kernel's time differs from the clock's after CLOCK RUN. The kernel refuses negative
         * times, and zero disarms the timer, so an instant that old becomes the first nanosecond,
         * which is due at once. */
        msec at = due > 0 ? due : 1;
        int64_t ahead = work->clock->ahead_of_real_usec;
        int64_t seconds = at / 1000 - ahead / 1000000, usec = at % 1000 * 1000 - ahead % 1000000;
        seconds += usec < 0 ? -1 : usec / 1000000;
        usec += usec < 0 ? 1000000 : -(usec / 1000000 * 1000000);
        bool is_old = seconds < 0 || seconds + usec == 0;
        when.it_value.tv_sec = is_old ? 0 : (time_t)seconds;
        when.it_value.tv_nsec = is_old ? 1 : (long)(usec * 1000);
    }
    int rc;
    do {
        rc = timerfd_settime(work->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL);
    } while (rc < 0 && errno == ECANCELED); /* ECANCELED, once: the system clock was set */
    ensure(rc == 0, "timerfd for %lld: %s", (long long)due, strerror(errno));
    work->armed = due;
}

/* ---- creating and freeing -------------------------------------------------------------------- */

struct store_work *store_work_new(struct loop *loop, struct clock *clock, struct engine *engine,
                                  struct background *background)
{
    static const struct background_work slices[] = {
        { .run = rewind_slice, .most = 64 },
        { .run = wait_slice, .most = 64 },
        { .run = expire_slice, .took = expire_took, .most = 64 },
        { .run = hide_slice, .most = 256 },
        { .run = settling_slice, .took = settling_took, .most = 64 },
        { .run = reclaim_slice, .most = 256 },
        { .run = policy_slice, .most = 64 },
        { .run = evict_slice, .most = 64 },
        { .run = tracking_slice, .most = 64 },
        { .run = refresh_slice, .most = 64 },
        { .run = fair_slice, .most = 64 },
    };
    int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd < 0) return NULL;
    struct store_work *work = mem_zalloc(sizeof(*work));
    work->clock = clock;
    work->engine = engine;
    work->background = background;
    work->fd = fd;
    work->armed = UNKNOWN;
    work->io = loop_io_new(loop, fd, on_wake, work);
    loop_io_want(work->io, LOOP_READ);
    work->at_once = loop_timer_new(loop, on_at_once, work);
    store_work_wake_at(work, AT_ONCE); /* the store may contain overdue data */
    clock->on_step = on_step;
    clock->on_set = on_set;
    clock->ctx = work;
    background_serve_with(background, serve_woken, work);
    for (size_t i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
        struct background_work slice = slices[i];
        slice.ctx = work;
        background_add(background, &slice);
    }
    return work;
}

void store_work_free(struct store_work *work)
{
    if (work == NULL) return;
    work->clock->on_step = NULL;
    work->clock->on_set = NULL;
    work->clock->ctx = NULL;
    loop_io_free(work->io);
    loop_timer_free(work->at_once);
    close(work->fd);
    mem_free(work);
}
