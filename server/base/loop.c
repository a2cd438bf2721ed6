/* loop: see loop.h. A wrapper around libevent.
 *
 * Reading and writing are two events of one descriptor, so that turning one on or off does not
 * affect the other. libevent removes a deleted event from its queue of active events. A callback
 * may therefore free any event, even its own, provided that the code here does not use it after the
 * callback. */
#include "server/base/loop.h"

#include <event2/event.h>
#include <event2/event_struct.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { MAX_SIGNALS = 8, MAX_HOOKS = 8 };

struct callback {
    struct loop *loop;
    void (*run)(void *ctx);
    void *ctx;
};

struct loop {
    struct event_base *base;
    bool stopped;
    unsigned signal_count, hook_count;
    struct event signals[MAX_SIGNALS];
    struct callback signal_callbacks[MAX_SIGNALS];
    struct callback hooks[MAX_HOOKS];
    const struct clock *clock;
    struct loop_turns *turns; /* NULL if turns are not counted */
    int64_t woke_usec;        /* when the first callback of this turn began, or 0 */
};

struct loop_io {
    struct event readable, writable;
    struct loop *loop;
    unsigned want;
    void (*ready)(void *ctx, unsigned what);
    void *ctx;
};

struct loop_timer {
    struct event event;
    struct callback callback;
};

struct loop *loop_new(void)
{
    event_set_mem_functions(mem_alloc, mem_realloc, mem_free);
    struct event_config *config = event_config_new();
    if (config == NULL) return NULL;
    event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER | EVENT_BASE_FLAG_NOLOCK);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    if (base == NULL) return NULL;
    struct loop *loop = mem_zalloc(sizeof(*loop));
    loop->base = base;
    return loop;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL) return;
    for (unsigned i = 0; i < loop->signal_count; i++)
        event_del(&loop->signals[i]);
    event_base_free(loop->base);
    mem_free(loop);
}

void loop_count_turns(struct loop *loop, const struct clock *clock, struct loop_turns *turns)
{
    loop->clock = clock;
    loop->turns = turns;
}

/* libevent does not report when its wait ended, so the first callback of a turn notes the time. */
static void note_awake(struct loop *loop)
{
    if (loop->woke_usec == 0 && loop->turns != NULL)
        loop->woke_usec = clock_quick_usec(loop->clock);
}

/* Returns false if no event is registered, because a further turn would never end. */
static bool run_events(struct loop *loop, int flags)
{
    int64_t outer_usec = loop->woke_usec;
    int rc = event_base_loop(loop->base, flags);
    ensure(rc >= 0, "event_base_loop: %d", rc);
    for (unsigned i = 0; i < loop->hook_count; i++)
        loop->hooks[i].run(loop->hooks[i].ctx);
    struct loop_turns *turns = loop->turns;
    if (turns != NULL) turns->count++;
    if (turns != NULL && outer_usec == 0 && loop->woke_usec != 0) {
        int64_t usec = clock_quick_usec(loop->clock) - loop->woke_usec;
        if (usec < 0) usec = 0; /* the quick clock was corrected */
        turns->usec += (uint64_t)usec;
        if ((uint64_t)usec > turns->longest_usec) turns->longest_usec = (uint64_t)usec;
    }
    loop->woke_usec = outer_usec;
    return rc == 0;
}

void loop_run(struct loop *loop)
{
    loop->stopped = false;
    while (!loop->stopped && run_events(loop, EVLOOP_ONCE))
        continue;
}

void loop_poll(struct loop *loop)
{
    /* ONCE: a condition that stays until the turn's end, like end of file, is reported once. */
    run_events(loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

void loop_wait(struct loop *loop)
{
    run_events(loop, EVLOOP_ONCE);
}

bool loop_stopped(const struct loop *loop)
{
    return loop->stopped;
}

void loop_stop(struct loop *loop)
{
    loop->stopped = true;
}

const char *loop_backend(const struct loop *loop)
{
    return event_base_get_method(loop->base);
}

struct event_base *loop_event_base(const struct loop *loop)
{
    return loop->base;
}

static void on_io(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    struct loop_io *io = ctx;
    note_awake(io->loop);
    io->ready(io->ctx, (what & EV_READ) != 0 ? LOOP_READ : LOOP_WRITE);
}

struct loop_io *loop_io_new(struct loop *loop, int fd, void (*ready)(void *ctx, unsigned what),
                            void *ctx)
{
    struct loop_io *io = mem_zalloc(sizeof(*io));
    io->loop = loop;
    io->ready = ready;
    io->ctx = ctx;
    event_assign(&io->readable, loop->base, fd, EV_READ | EV_PERSIST, on_io, io);
    event_assign(&io->writable, loop->base, fd, EV_WRITE | EV_PERSIST, on_io, io);
    return io;
}

static bool set_event(struct loop_io *io, struct event *event, unsigned what, unsigned want)
{
    if (((io->want ^ want) & what) == 0) return true;
    int rc = (want & what) != 0 ? event_add(event, NULL) : event_del(event);
    if (rc == 0) io->want ^= what;
    return rc == 0;
}

bool loop_io_try(struct loop_io *io, unsigned want)
{
    return set_event(io, &io->readable, LOOP_READ, want) &&
           set_event(io, &io->writable, LOOP_WRITE, want);
}

void loop_io_want(struct loop_io *io, unsigned want)
{
    bool done = loop_io_try(io, want);
    ensure(done, "descriptor %d, events %u", event_get_fd(&io->readable), want);
}

void loop_io_free(struct loop_io *io)
{
    if (io == NULL) return;
    loop_io_want(io, 0);
    mem_free(io);
}

static void on_callback(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    struct callback *callback = ctx;
    note_awake(callback->loop);
    callback->run(callback->ctx);
}

struct loop_timer *loop_timer_new(struct loop *loop, void (*fire)(void *ctx), void *ctx)
{
    struct loop_timer *timer = mem_zalloc(sizeof(*timer));
    timer->callback = (struct callback){ loop, fire, ctx };
    event_assign(&timer->event, loop->base, -1, 0, on_callback, &timer->callback);
    return timer;
}

void loop_timer_set(struct loop_timer *timer, int64_t usec)
{
    if (usec < 0) {
        event_del(&timer->event);
        return;
    }
    struct timeval after = { .tv_sec = usec / 1000000, .tv_usec = usec % 1000000 };
    int rc = event_add(&timer->event, &after);
    ensure(rc == 0, "timer of %lld us", (long long)usec);
}

void loop_timer_set_msec(struct loop_timer *timer, msec ttl)
{
    int64_t usec;
    if (__builtin_mul_overflow(ttl, (int64_t)1000, &usec)) usec = ttl < 0 ? -1 : INT64_MAX;
    loop_timer_set(timer, usec);
}

void loop_timer_free(struct loop_timer *timer)
{
    if (timer == NULL) return;
    event_del(&timer->event);
    mem_free(timer);
}

void loop_on_signal(struct loop *loop, int signal, void (*fire)(void *ctx), void *ctx)
{
    ensure(loop->signal_count < MAX_SIGNALS, "%u signals", loop->signal_count);
    struct event *event = &loop->signals[loop->signal_count];
    struct callback *callback = &loop->signal_callbacks[loop->signal_count];
    loop->signal_count++;
    *callback = (struct callback){ loop, fire, ctx };
    event_assign(event, loop->base, signal, EV_SIGNAL | EV_PERSIST, on_callback, callback);
    int rc = event_add(event, NULL);
    ensure(rc == 0, "signal %d", signal);
}

void loop_on_turn_end(struct loop *loop, void (*hook)(void *ctx), void *ctx)
{
    ensure(loop->hook_count < MAX_HOOKS, "%u hooks", loop->hook_count);
    loop->hooks[loop->hook_count++] = (struct callback){ loop, hook, ctx };
}
