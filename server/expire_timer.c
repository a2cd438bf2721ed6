/* expire_timer: a timerfd and slices of work per turn behind expire_timer.h.
 * Knows when the store and those who wait want to be woken; refuses to know what expires.
 *
 * CLOCK_REALTIME with an absolute time never fires early, and TFD_TIMER_CANCEL_ON_SET wakes the
 * loop when somebody sets the clock. While the clock is held nothing is armed: its owner says when
 * it moves. */
#include "server/expire_timer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "server/dispatch.h"
#include "server/log.h"
#include "server/serve.h"
#include "store/ensure.h"
#include "store/expiry.h"
#include "store/mem.h"
#include "store/policy_walk.h"
#include "store/reclaim.h"

enum {
    WAIT_SLICE_USEC = 500,
    WAIT_BATCH = 64,
    EXPIRY_SLICE_USEC = 500,
    EXPIRY_BATCH = 64,
    REWIND_SLICE_USEC = 200,
    REWIND_BATCH = 64,
    RECLAIM_SLICE_USEC = 200,
    RECLAIM_BATCH = 256,
    POLICY_SLICE_USEC = 100,
    POLICY_BATCH = 64,
};

#define UNKNOWN INT64_MIN /* what the timer is armed for has to be set again */

struct expire_timer {
    struct clock *clock;
    struct dispatch *dispatch;
    struct loop_io *io;
    struct loop_timer *again; /* work is left: the next turn comes without waiting */
    msec armed;
    int fd;
};

/* A read tells of the deadline, or ECANCELED that the clock was set: either way the end of this
 * turn looks at the clock, runs what is due and arms anew. */
static void on_wake(void *ctx, unsigned what)
{
    (void)what;
    struct expire_timer *timer = ctx;
    uint64_t fired;
    ssize_t got = read(timer->fd, &fired, sizeof(fired));
    if (got < 0 && errno == EAGAIN) return;
    timer->armed = UNKNOWN;
}

/* The turn by itself is all that is wanted. */
static void on_again(void *ctx)
{
    (void)ctx;
}

static void on_step(void *ctx)
{
    struct expire_timer *timer = ctx;
    timer->armed = UNKNOWN;
}

/* Deadlines of data are instants; how long somebody waits is a span. */
static void on_set(void *ctx, msec by)
{
    struct expire_timer *timer = ctx;
    waiters_clock_set(timer->dispatch->waiters, by);
    pause_clock_set(&timer->dispatch->pause, by);
    timer->armed = UNKNOWN;
    log_line(LOG_NOTICE, "The machine's clock was set by %lld ms", (long long)by);
}

struct expire_timer *expire_timer_new(struct loop *loop, struct clock *clock,
                                      struct dispatch *dispatch)
{
    int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd < 0) return NULL;
    struct expire_timer *timer = mem_zalloc(sizeof(*timer));
    timer->clock = clock;
    timer->dispatch = dispatch;
    timer->fd = fd;
    timer->armed = UNKNOWN;
    timer->io = loop_io_new(loop, fd, on_wake, timer);
    loop_io_want(timer->io, LOOP_READ);
    timer->again = loop_timer_new(loop, on_again, timer);
    clock->on_step = on_step;
    clock->on_set = on_set;
    clock->ctx = timer;
    /* What is in the store already is looked at in the first turn. */
    loop_timer_set(timer->again, 0);
    return timer;
}

void expire_timer_free(struct expire_timer *timer)
{
    if (timer == NULL) return;
    timer->clock->on_step = NULL;
    timer->clock->on_set = NULL;
    timer->clock->ctx = NULL;
    loop_timer_free(timer->again);
    loop_io_free(timer->io);
    close(timer->fd);
    mem_free(timer);
}

/* True while more have waited long enough. */
static bool wait_slice(struct expire_timer *timer)
{
    if (waiters_next_due(timer->dispatch->waiters) > clock_now(timer->clock)) return false;
    int64_t end = clock_mono_usec() + WAIT_SLICE_USEC;
    do {
        if (serve_due(timer->dispatch, WAIT_BATCH) < WAIT_BATCH) return false;
    } while (clock_mono_usec() < end);
    return true;
}

/* True while a walk after the clock was set back has more to do. */
static bool rewind_slice(struct expire_timer *timer)
{
    if (timer->dispatch->loading) return false;
    msec now = clock_now(timer->clock);
    if (!rewind_run(timer->dispatch->store, now, REWIND_BATCH)) return false;
    int64_t end = clock_mono_usec() + REWIND_SLICE_USEC;
    while (clock_mono_usec() < end)
        if (!rewind_run(timer->dispatch->store, now, REWIND_BATCH)) return false;
    return true;
}

/* True while more is due. */
static bool expire_slice(struct expire_timer *timer)
{
    msec now = clock_now(timer->clock);
    struct store *store = timer->dispatch->store;
    if (store_next_due(store) > now) return false;
    if (timer->dispatch->loading) return false;
    /* A pause keeps the data as they are. */
    if (pause_now(&timer->dispatch->pause, now) != PAUSE_NONE) return false;
    sinks_arm(timer->dispatch->sinks);
    int64_t began = clock_mono_usec(), at = began;
    bool more = true;
    while (more && at < began + EXPIRY_SLICE_USEC) {
        more = expiry_run(store, now, EXPIRY_BATCH) >= EXPIRY_BATCH;
        at = clock_mono_usec();
    }
    observe_expiry(timer->dispatch->observer, at - began);
    return more;
}

/* True while more is waiting. */
static bool reclaim_slice(struct expire_timer *timer)
{
    struct reclaim *reclaim = &timer->dispatch->store->reclaim;
    if (!reclaim_pending(reclaim)) return false;
    int64_t end = clock_mono_usec() + RECLAIM_SLICE_USEC;
    do {
        if (!reclaim_run(reclaim, RECLAIM_BATCH)) return false;
    } while (clock_mono_usec() < end);
    return true;
}

/* True while a policy is not applied to all keys. What is overdue goes first. */
static bool policy_slice(struct expire_timer *timer)
{
    msec now = clock_now(timer->clock);
    struct store *store = timer->dispatch->store;
    if (!policy_walk_pending(store) || timer->dispatch->loading) return false;
    if (pause_now(&timer->dispatch->pause, now) != PAUSE_NONE) return false;
    if (store_next_due(store) <= now) return false;
    sinks_arm(timer->dispatch->sinks);
    int64_t end = clock_mono_usec() + POLICY_SLICE_USEC;
    do {
        if (!policy_walk_run(store, now, POLICY_BATCH)) return false;
    } while (clock_mono_usec() < end);
    return true;
}

static msec earlier(msec a, msec b)
{
    return a < b ? a : b;
}

/* A pause puts off what would change data, not the end of a wait. */
static msec next_due(const struct expire_timer *timer)
{
    const struct pause *pause = &timer->dispatch->pause;
    const struct waiters *waiters = timer->dispatch->waiters;
    const struct store *store = timer->dispatch->store;
    msec change = earlier(store_next_due(store), waiters_next_wake(waiters));
    /* Without a pause the next turn comes by itself. */
    if (pause->kind != PAUSE_NONE && policy_walk_pending(store)) change = 0;
    if (pause->kind != PAUSE_NONE && change <= pause->until) change = pause->until + 1;
    return earlier(change, waiters_next_late(waiters));
}

static void arm(struct expire_timer *timer)
{
    msec due = timer->clock->stepped ? NEVER : next_due(timer);
    if (due == timer->armed) return;
    struct itimerspec when = { 0 };
    if (due != NEVER) {
        /* An instant of zero would disarm; what is so old is due at once all the same. */
        msec at = due > 0 ? due : 1;
        when.it_value.tv_sec = (time_t)(at / 1000);
        when.it_value.tv_nsec = (long)(at % 1000) * 1000000;
    }
    int rc;
    do {
        rc = timerfd_settime(timer->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL);
    } while (rc < 0 && errno == ECANCELED); /* the clock was set meanwhile; told once */
    ensure(rc == 0, "timerfd for %lld: %s", (long long)due, strerror(errno));
    timer->armed = due;
}

void expire_timer_turn(void *ctx)
{
    struct expire_timer *timer = ctx;
    clock_tick(timer->clock);
    bool more = rewind_slice(timer);
    more = wait_slice(timer) || more;
    more = expire_slice(timer) || more;
    more = reclaim_slice(timer) || more;
    more = policy_slice(timer) || more;
    if (more) loop_timer_set(timer->again, 0);
    arm(timer);
}
