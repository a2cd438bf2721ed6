/* turn: see turn.h. Section 4 of doc/design.md explains the order of a turn. */
#include "server/daemon/turn.h"

#include <stdlib.h>
#include <unistd.h>

#include "server/base/host_names.h"
#include "server/base/log.h"
#include "server/daemon/lifecycle.h"
#include "server/daemon/parts.h"
#include "server/daemon/reload.h"
#include "server/daemon/status.h"
#include "server/daemon/supervisor.h"
#include "server/engine/background.h"
#include "server/engine/defrag_timer.h"
#include "server/engine/store_work.h"
#include "server/net/client.h"
#include "server/net/net.h"
#include "server/net/tls/tls.h"
#include "server/replica/replication.h"
#include "store/mem/mem.h"

enum {
    HOUSEKEEPING_USEC = 1000 * 1000,
    STATUS_SECONDS = 5,
    LOADING_TURN_USEC = 20 * 1000,
};

/* Writes the journal, then sends replies and messages, in this order: no reply may reveal a change
 * that the journal does not contain. */
static void send_all(struct parts *parts)
{
    parts->hooks.changed = false;
    tracking_turn(parts->tracking);
    persist_turn(parts->persist);
    clients_turn(parts->clients);
}

/* Runs the requests that have arrived and sends their replies, and only then works in the
 * background: a reply that is ready never waits for this work. What the work has caused, such as
 * replies to blocked clients, is sent at the end. Returns the instant at which the next turn must
 * begin. */
static msec run_turn(struct parts *parts)
{
    clients_run(parts->clients);
    bool more = replication_turn(parts->replication);
    send_all(parts);
    background_turn(parts->background);
    /* Is there anything to send? Background work does not report what it has caused, because the
     * hooks and the list of clients answer the question completely: every change of data is
     * committed through the hooks, which feed the journal, the replicas and the caches, and every
     * reply or message lists its client. */
    if (parts->hooks.changed || clients_have_output(parts->clients)) {
        more |= replication_turn(parts->replication);
        send_all(parts);
    }
    parts->engine.pace.publishes = false;
    more |= background_is_left(parts->background);
    return more ? AT_ONCE : store_work_next(parts->store_work);
}

/* The end of each turn arms only one timer: for deadlines of data and of blocked clients, which are
 * instants of the wall clock and move when that clock is set. All other timers (the journal's syncs
 * and retries, housekeeping, pauses of defragmentation, limits of connections) measure spans of the
 * monotonic clock, so their owners arm them once. Asking all of them here would cost time in each
 * turn. */
void turn_end(void *ctx)
{
    struct parts *parts = ctx;
    if (parts->engine.busy) { /* inside a script, whose transaction is open: see busy.h */
        clients_run(parts->clients);
        persist_turn_inside(parts->persist);
        clients_turn(parts->clients);
        return;
    }
    store_work_wake_at(parts->store_work, run_turn(parts));
    if (parts->stops) lifecycle_stop(parts);
    bool again = parts->reload.wanted && !parts->engine.loading && !reload_waits(parts);
    if (again) reload_options(parts);
    if (!parts->engine.loading) again |= replication_load(parts->replication);
    /* The options or the data have changed: start another turn, which may serve waiting clients. */
    if (again) store_work_wake_at(parts->store_work, AT_ONCE);
}

static void turn_second(void *ctx)
{
    struct parts *parts = ctx;
    bool was_short = parts->memory_short;
    parts->memory_short = mem_is_short();
    if (was_short && !parts->memory_short)
        log_line(LOG_NOTICE, "Memory is available again: commands are no longer refused");
    clients_housekeeping(parts->clients);
    if (parts->engine.preparing.count == 0 && !parts->reload.waits) host_names_forget(parts->names);
    if (parts->tls != NULL) {
        int64_t now_sec = clock_wall_usec(&parts->clock) / 1000000;
        tls_refresh(parts->tls, now_sec);
        tls_remind(parts->tls, now_sec);
    }
    stats_sample(&parts->stats, clock_mono_usec());
    persist_second(parts->persist);
    replication_second(parts->replication);
    defrag_timer_second(parts->defrag_timer);
    expired_log_watch_second(&parts->expired_logs, parts->store);
    if (parts->supervisor.listens && ++parts->seconds % STATUS_SECONDS == 0) {
        char text[SUPERVISOR_STATUS_MAX];
        status_write(parts, text, sizeof(text));
        supervisor_say(&parts->supervisor, text);
    }
    loop_timer_set(parts->housekeeping, HOUSEKEEPING_USEC);
}

void turn_begin_seconds(struct parts *parts)
{
    parts->housekeeping = loop_timer_new(parts->loop, turn_second, parts);
    loop_timer_set(parts->housekeeping, HOUSEKEEPING_USEC);
}

static void begin_busy(void *ctx)
{
    const struct parts *parts = ctx;
    log_line(LOG_WARNING,
             "A script has run for longer than busy-reply-threshold: other clients get BUSY errors "
             "until it ends. SCRIPT KILL or FUNCTION KILL stops it, unless it has written data");
    clients_suspend_turn(parts->clients);
}

/* Runs a turn of the loop inside a script. If the server must stop, ends the process at once: the
 * script's transaction stays open, and the journal contains none of its changes. */
static void run_busy_turn(void *ctx)
{
    struct parts *parts = ctx;
    loop_poll(parts->loop);
    if (!loop_stopped(parts->loop)) return;
    log_line(LOG_WARNING, "Stopping while a script runs: its changes are discarded");
    bool good = lifecycle_end(parts);
    net_close(parts->net);
    clients_free(parts->clients);
    if (good) log_line(LOG_NOTICE, "Stopped");
    fflush(NULL);
    _exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void end_busy(void *ctx)
{
    const struct parts *parts = ctx;
    clients_resume_turn(parts->clients);
}

static void live(void *ctx)
{
    struct parts *parts = ctx;
    supervisor_live(&parts->supervisor, clock_mono_usec());
}

struct busy_wiring turn_busy(struct parts *parts)
{
    return (struct busy_wiring){
        .begin = begin_busy, .turn = run_busy_turn, .end = end_busy, .alive = live, .ctx = parts
    };
}

/* Reports to the service manager during work in which the loop and its timers do not run, so that
 * the manager neither assumes a hang nor ends a long start or stop. */
void turn_working(void *ctx)
{
    struct parts *parts = ctx;
    char text[SUPERVISOR_STATUS_MAX];
    int64_t now = clock_mono_usec();
    if (!supervisor_wants_work(&parts->supervisor, now)) return;
    status_write(parts, text, sizeof(text));
    supervisor_work(&parts->supervisor, now, text);
}

/* Runs turns so that connections receive a reply (LOADING), and a signal can stop the server. */
void turn_loading(void *ctx)
{
    struct parts *parts = ctx;
    int64_t now = clock_mono_usec();
    if (now < parts->loading_turn_usec + LOADING_TURN_USEC) return;
    parts->loading_turn_usec = now;
    turn_working(parts);
    loop_poll(parts->loop);
    if (!loop_stopped(parts->loop)) return;
    supervisor_stopping(&parts->supervisor, "Stopping");
    log_line(LOG_NOTICE, "Stopped while loading: the data files are unchanged");
    fflush(NULL);
    _exit(EXIT_SUCCESS);
}
