/* observe: see observe.h. Passes each call on to the histogram, slowlog, latency and monitor. */
#include "server/engine/observe/observe.h"

#include "server/cmd/call/session.h"
#include "store/mem/mem.h"

enum { ERRORS_MAX = 128 }; /* error codes; further ones are not counted */

static struct bytes code_of(const void *element)
{
    return blob_view(((const struct error_count *)element)->code);
}

static const struct dict_type error_table = { .key = code_of };

void observer_init(struct observer *observer, const struct conf *conf, const struct clock *clock)
{
    *observer = (struct observer){ .conf = conf, .clock = clock };
    observer->slowlog = slowlog_new();
    observer->monitor = monitor_new();
    dict_init(&observer->errors, &error_table);
}

static void forget_errors(struct observer *observer)
{
    struct error_count *error;
    while ((error = dict_take(&observer->errors)) != NULL) {
        blob_free(error->code);
        mem_free(error);
    }
}

void observer_drop(struct observer *observer)
{
    forget_errors(observer);
    dict_drop(&observer->errors);
    slowlog_free(observer->slowlog);
    monitor_free(observer->monitor);
}

static void reset_stats(void *ctx, struct command_ref ref)
{
    (void)ctx;
    mem_free(ref.stats->spans);
    *ref.stats = (struct command_stats){ .id = ref.stats->id };
}

void observer_reset(struct observer *observer, struct commands *commands)
{
    forget_errors(observer);
    observer->run_usec = 0;
    commands_each_stats(commands, reset_stats, NULL);
}

void observe_error(struct observer *observer, const struct call *call)
{
    if (!call->failed || call->error_code[0] == '\0') return;
    struct bytes code = bytes_of(call->error_code, strlen(call->error_code));
    struct error_count *error = dict_find(&observer->errors, code);
    if (error == NULL) {
        if (dict_count(&observer->errors) >= ERRORS_MAX) return;
        error = mem_zalloc(sizeof(*error));
        error->code = blob_new(code);
        dict_add(&observer->errors, error);
    }
    error->count++;
}

void observe_rejected(struct observer *observer, const struct call *call)
{
    if (call->command.stats != NULL) call->command.stats->rejected++;
    observe_error(observer, call);
}

void observe_turn(struct observer *observer, int64_t usec)
{
    observer->last_usec = usec;
}

int64_t observe_begin(const struct observer *observer)
{
    return observer->last_usec;
}

/* How long an answered call has run, and how long it was blocked between its runs. */
struct span {
    int64_t ran_usec, blocked_usec;
};

/* Returns call->argv, or a copy in which secrets are replaced. Free with free_visible_arguments. */
static const struct bytes *visible_arguments(const struct call *call)
{
    if (call->secrets == 0) return call->argv;
    struct bytes *copy = mem_alloc((size_t)call->argc * sizeof(*copy));
    for (int i = 0; i < call->argc; i++)
        copy[i] = call_redacts(call, i) ? LIT("(redacted)") : call->argv[i];
    return copy;
}

static void free_visible_arguments(const struct bytes *argv, const struct call *call)
{
    if (argv != call->argv) mem_free((void *)argv);
}

void observe_monitor(struct observer *observer, const struct call *call)
{
    if (!monitor_active(observer->monitor)) return;
    const struct bytes *argv = visible_arguments(call);
    monitor_send(observer->monitor, call, clock_wall_usec(observer->clock), argv);
    free_visible_arguments(argv, call);
}

/* A separate function, so that calls that are not slow need none of its stack. */
__attribute__((noinline)) static void note_slow(struct observer *observer, const struct call *call,
                                                const struct span *span)
{
    const struct bytes *argv = visible_arguments(call);
    const struct session *session = call->session;
    const char *peer = session->peer != NULL ? session->peer : "";
    struct slow slow = {
        .at_sec = observer->clock->now / 1000,
        .usec = span->ran_usec,
        .blocked_usec = span->blocked_usec,
        .argc = call->argc,
        .argv = argv,
        .peer = bytes_of(peer, strlen(peer)),
        .name = session->name != NULL ? blob_view(session->name) : LIT(""),
    };
    slowlog_note(observer->slowlog, &slow, (size_t)observer->conf->slowlog_max_len);
    free_visible_arguments(argv, call);
}

static inline void note_span(struct observer *observer, const struct call *call, struct span span)
{
    struct command_stats *stats = call->command.stats;
    if (observer->conf->latency_tracking) {
        if (stats->spans == NULL) stats->spans = mem_zalloc(sizeof(*stats->spans));
        histogram_add(stats->spans, span.ran_usec, 1);
    }
    int64_t slow_usec = observer->conf->slowlog_log_slower_than;
    if (slow_usec < 0 || span.ran_usec < slow_usec) return;
    if (!(call->command.row->flags & SKIP_SLOWLOG)) note_slow(observer, call, &span);
}

static void note_latency(struct observer *observer, enum latency_event event, int64_t usec)
{
    int64_t threshold = observer->conf->latency_monitor_threshold;
    if (threshold > 0 && usec / USEC_PER_MSEC >= threshold)
        latency_note(&observer->latency, event, observer->clock->now / 1000, usec / USEC_PER_MSEC);
}

/* Call after a run; returns its duration. Inline, because every call passes through it. */
__attribute__((always_inline)) static inline int64_t
count_run(struct observer *observer, const struct call *call, int64_t began)
{
    observer->last_usec = clock_quick_usec(observer->clock);
    int64_t usec = observer->last_usec - began;
    if (usec < 0) usec = 0;
    call->command.stats->usec += (uint64_t)usec;
    if (call->block != NULL) observer->run_usec += (uint64_t)usec; /* not inside EXEC or a script */
    call->command.stats->failed += call->failed;
    observe_error(observer, call);
    return usec;
}

static bool is_waiting(const struct call *call)
{
    return call->block != NULL && call->block->count > 0;
}

void observe_end(struct observer *observer, const struct call *call, int64_t began)
{
    int64_t usec = count_run(observer, call, began);
    call->command.stats->calls++;
    if (is_waiting(call))
        call->block->usec = usec;
    else
        note_span(observer, call, (struct span){ .ran_usec = usec });
    /* Show the call to monitors after it has run, so that EXEC comes after its commands. */
    if (monitor_active(observer->monitor) && !(call->command.row->flags & (SKIP_MONITOR | ADMIN)))
        observe_monitor(observer, call);
    bool fast = call->command.row->flags & FAST;
    note_latency(observer, fast ? LATENCY_FAST_COMMAND : LATENCY_COMMAND, usec);
}

int64_t observe_now(const struct observer *observer)
{
    return clock_quick_usec(observer->clock);
}

static struct span span_until(const struct call_time *time, int64_t now)
{
    struct span span = { time->ran_usec, now - time->began_usec - time->ran_usec };
    if (span.blocked_usec < 0) span.blocked_usec = 0;
    return span;
}

void observe_again(struct observer *observer, const struct call *call, int64_t began,
                   struct call_time *time)
{
    int64_t taken = count_run(observer, call, began);
    time->ran_usec += taken;
    struct span span = span_until(time, observer->last_usec);
    if (!is_waiting(call)) note_span(observer, call, span);
    note_latency(observer, LATENCY_UNBLOCKING, taken);
}

/* DIFFERS: here, CLIENT UNBLOCK with ERROR counts a failed call of the blocked command, and without
 * ERROR counts none. Redis also counts a failed call of CLIENT UNBLOCK itself, or one call of the
 * blocked command. (doc/differs.md) */
void observe_ended(struct observer *observer, const struct call *call, const struct call_time *time)
{
    observe_error(observer, call);
    if (call->command.stats == NULL) return;
    call->command.stats->failed += call->failed;
    struct span span = span_until(time, observe_now(observer));
    note_span(observer, call, span);
}

void observe_expiry(struct observer *observer, int64_t usec)
{
    note_latency(observer, LATENCY_EXPIRY, usec);
}
