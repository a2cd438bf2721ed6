/* turn: see turn.h. The order of a turn is explained in doc/design.md, section 4. */
#include "server/daemon/turn.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/base/loop.h"
#include "server/daemon/lifecycle.h"
#include "server/daemon/parts.h"
#include "server/daemon/reload.h"
#include "server/daemon/status.h"
#include "server/daemon/supervisor.h"
#include "server/net/client.h"
#include "server/net/net.h"
#include "server/disk/persist.h"
#include "server/engine/react/tracking.h"
#include "server/replica/replication.h"
#include "server/engine/background.h"
#include "server/engine/defrag_timer.h"
#include "server/engine/store_work.h"
#include "server/net/tls/tls.h"
#include "store/mem/mem.h"

enum {
    HOUSEKEEPING_USEC = 1000 * 1000,
    STATUS_SECONDS = 5,
    LOADING_TURN_USEC = 20 * 1000,
};

/* --- a turn --- */

/* Changes are in the journal before any reply or message about them is sent. */
static void send_all(struct parts *parts)
{
    tracking_turn(parts->tracking);
    persist_turn(parts->persist);
    clients_turn(parts->clients);
}

/* Runs what arrived, sends, then works in the background: no reply waits for background work, whose
 * own messages are sent after it. Returns when the next turn has to begin. */
static msec run_turn(struct parts *parts)
{
    clients_run(parts->clients);
    bool more = replication_turn(parts->replication);
    send_all(parts);
    if (background_turn(parts->background)) {
        more |= replication_turn(parts->replication);
        send_all(parts);
    }
    more |= background_is_left(parts->background);
    return more ? AT_ONCE : store_work_next(parts->store_work);
}

/* A turn inside a request, whose transaction is open: see busy.h for what it leaves out. */
static void serve_inside(struct parts *parts)
{
    clients_run(parts->clients);
    persist_turn_inside(parts->persist);
    clients_turn(parts->clients);
}

/* Only deadlines of data and of blocked clients are instants of the wall clock, which may be set.
 * All other timers (the journal's syncs and retries, housekeeping, rests of defragmentation, limits
 * of connections) are spans of the monotonic clock. Their owners set them once, when they begin;
 * here each turn would have to ask for them again. */
void turn_end(void *ctx)
{
    struct parts *parts = ctx;
    if (parts->engine.busy) {
        serve_inside(parts);
        return;
    }
    store_work_wake_at(parts->store_work, run_turn(parts));
    if (parts->stops) lifecycle_stop(parts);
    if (parts->reload.wanted && !parts->engine.loading) reload_options(parts);
    if (!parts->engine.loading) replication_load(parts->replication);
}

static void look_at_memory(struct parts *parts)
{
    bool is_short = mem_is_short();
    if (parts->memory_short && !is_short)
        log_line(LOG_NOTICE, "Memory is available again: commands are no longer refused");
    parts->memory_short = is_short;
}

static void say_status(struct parts *parts)
{
    char text[SUPERVISOR_STATUS_MAX];
    if (!parts->supervisor.listens || ++parts->seconds % STATUS_SECONDS != 0) return;
    status_write(parts, text, sizeof(text));
    supervisor_say(&parts->supervisor, text);
}

void turn_second(void *ctx)
{
    struct parts *parts = ctx;
    look_at_memory(parts);
    clients_housekeeping(parts->clients);
    if (parts->tls != NULL) tls_remind(parts->tls, clock_wall_usec(&parts->clock) / 1000000);
    stats_sample(&parts->stats, clock_mono_usec());
    persist_second(parts->persist);
    replication_second(parts->replication);
    defrag_timer_second(parts->defrag_timer);
    expired_log_watch_second(&parts->expired_logs, parts->store);
    say_status(parts);
    loop_timer_set(parts->housekeeping, HOUSEKEEPING_USEC);
}

void turn_begin_seconds(struct parts *parts)
{
    parts->housekeeping = loop_timer_new(parts->loop, turn_second, parts);
    loop_timer_set(parts->housekeeping, HOUSEKEEPING_USEC);
}

/* --- while a script runs --- */

static void begin_busy(void *ctx)
{
    const struct parts *parts = ctx;
    log_line(LOG_WARNING,
             "A script has run for longer than busy-reply-threshold: other clients get BUSY errors "
             "until it ends. SCRIPT KILL or FUNCTION KILL stops it, unless it has written data");
    clients_set_aside(parts->clients);
}

/* To stop now means to leave the script's transaction unfinished: the journal has nothing of it. */
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
    clients_take_back(parts->clients);
}

static void live(void *ctx)
{
    struct parts *parts = ctx;
    supervisor_live(&parts->supervisor, clock_mono_usec());
}

struct busy_wiring turn_busy(struct parts *parts)
{
    return (struct busy_wiring){
        .begin = begin_busy, .turn = run_busy_turn, .end = end_busy, .lives = live, .ctx = parts
    };
}

/* --- while data are being loaded or saved --- */

/* Neither the loop nor its timers may run for long: the service manager must not take that for a
 * hang, nor lose patience with a start or a stop. */
void turn_working(void *ctx)
{
    struct parts *parts = ctx;
    char text[SUPERVISOR_STATUS_MAX];
    int64_t now = clock_mono_usec();
    if (!supervisor_wants_work(&parts->supervisor, now)) return;
    status_write(parts, text, sizeof(text));
    supervisor_work(&parts->supervisor, now, text);
}

/* Loading calls this often. Every 20 ms it runs a turn, so that connections get an answer (LOADING)
 * and a signal can stop the server. */
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
