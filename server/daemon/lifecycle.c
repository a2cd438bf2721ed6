/* lifecycle: see lifecycle.h. */
#include "server/daemon/lifecycle.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/base/loop.h"
#include "server/base/process.h"
#include "server/daemon/parts.h"
#include "server/daemon/status.h"
#include "server/daemon/supervisor.h"
#include "server/disk/persist.h"
#include "server/http/visitors.h"
#include "server/replica/replication.h"
#include "server/script/script.h"
#include "store/store.h"

bool lifecycle_fail(const struct parts *parts, const char *format, ...)
{
    char reason[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    bool to_program = log_is_read_by_program();
    if (!to_program) fprintf(stderr, "expired: %s\n", reason);
    if (to_program || parts->conf.logfile[0] != '\0' || parts->conf.syslog_enabled)
        log_line(LOG_WARNING, "Can't start: %s", reason);
    return false;
}

void lifecycle_report_ready(struct parts *parts)
{
    const struct conf *conf = &parts->conf;
    if (conf->pidfile[0] != '\0') {
        parts->wrote_pid = process_write_pid(conf->pidfile);
        if (!parts->wrote_pid)
            log_line(LOG_WARNING,
                     "Can't write pidfile %s: %s. The server runs without it. Correct the "
                     "permissions of its directory, or set pidfile to another path",
                     conf->pidfile, strerror(errno));
    }
    log_line(LOG_NOTICE, "Ready to accept connections");
    char text[SUPERVISOR_STATUS_MAX];
    status_write(parts, text, sizeof(text));
    if (!supervisor_ready(&parts->supervisor, text) && conf->supervised == CONF_SUPERVISED_SYSTEMD)
        log_line(LOG_WARNING,
                 "supervised is systemd, but systemd can't be notified that the server is ready: "
                 "NOTIFY_SOCKET is not set. Set Type=notify in the unit, or supervised to auto");
}

int64_t lifecycle_more_files(const struct conf *conf)
{
    enum { OF_THREAD = 2, OF_HTTP = VISITORS_MAX + 2 };
    return OF_THREAD * (conf->io_threads - 1) + (conf->metrics_port > 0 ? OF_HTTP : 0);
}

void lifecycle_fit_maxclients(struct conf *conf)
{
    int64_t possible = process_raise_files(conf->maxclients, lifecycle_more_files(conf));
    if (possible >= conf->maxclients) return;
    log_line(
        LOG_WARNING,
        "maxclients lowered to %lld from %lld: the limit of open files (ulimit -n) is too low. "
        "Raise that limit (LimitNOFILE in a unit), or set maxclients lower",
        (long long)possible, (long long)conf->maxclients);
    conf->maxclients = possible;
}

bool lifecycle_apply(void *ctx)
{
    struct parts *parts = ctx;
    log_set_level((enum log_level)parts->conf.loglevel);
    log_set_format((enum log_format)parts->conf.log_format);
    lifecycle_fit_maxclients(&parts->conf);
    engine_configure(&parts->engine);
    if (persist_configure(parts->persist)) return true;
    parts->conf.appendonly = false;
    return false;
}

bool lifecycle_end(struct parts *parts)
{
    static const char text[] = "Stopping: writing the end of the journal";
    char why[256];
    supervisor_stopping(&parts->supervisor, text);
    supervisor_work(&parts->supervisor, clock_mono_usec(), text);
    replication_stop(parts->replication);

    /* Record that the journal contains all leases: without this record, the next start would have
     * to wait until leases that it does not know have ended. Do not write it while this server
     * itself waits for that, nor while a script runs, whose changes would become part of the
     * record. The record is in this server's journal only, because the stream to replicas has
     * ended. */
    struct tokens *tokens = &parts->store->tokens;
    bool keeps =
        !parts->engine.role.replica && !parts->engine.busy && persist_listens(parts->persist);
    if (keeps && leases_quiet(&parts->store->leases, clock_now(&parts->clock)) <= 0 &&
        tokens_close(tokens)) {
        struct effect effect = { .kind = EFFECT_TOKEN, .from = tokens->last, .to = tokens->closed };
        persist_alone(parts->persist, &effect);
    }

    bool good = persist_stop(parts->persist, why, sizeof(why));
    if (!good) log_line(LOG_WARNING, "%s", why);
    if (parts->wrote_pid) unlink(parts->conf.pidfile);
    return good;
}

void lifecycle_stop(struct parts *parts)
{
    parts->stops = false;
    if (!parts->stop_how.saves || persist_save_at_end(parts->persist) == PERSIST_DONE) {
        loop_stop(parts->loop);
        return;
    }
    if (parts->stop_how.forced) {
        log_line(LOG_WARNING, "Stopping without a snapshot: can't write it, and `force` is set");
        loop_stop(parts->loop);
        return;
    }
    log_line(LOG_WARNING,
             "Not stopping: can't write the snapshot. Free space, or use SHUTDOWN NOSAVE "
             "to stop without saving");
    if (parts->interrupted) sigaction(SIGINT, &parts->interrupt, NULL);
    parts->interrupted = false;
}

/* Stops the server at the end of the turn; `how` is the option that says how to stop. What if a
 * script runs? If no snapshot is to be written, the server stops at once, and the journal contains
 * nothing of the script. If one is to be written, the script is stopped first, or has to end by
 * itself if it has changed data. DIFFERS: Redis waits for the script in any case, however long that
 * takes. (doc/differs.md) */
static void stop_by_signal(struct parts *parts, const char *how)
{
    parts->stop_how = conf_shutdown(&parts->conf, how);
    log_line(LOG_NOTICE, "Received a signal to stop");
    /* Stop at the end of the turn, so that the snapshot contains the changes of the requests that
     * run before that. */
    parts->stops = true;
    if (!parts->engine.busy) return;
    if (!parts->stop_how.saves)
        loop_stop(parts->loop);
    else if (!busy_stop(&parts->scripting->running))
        log_line(LOG_WARNING, "Stopping once the running script has ended. Use SHUTDOWN NOSAVE to "
                              "stop at once and discard its changes");
}

static void on_term(void *ctx)
{
    struct parts *parts = ctx;
    stop_by_signal(parts, parts->conf.shutdown_on_sigterm);
}

static void on_interrupt(void *ctx)
{
    struct parts *parts = ctx;
    /* A second SIGINT kills the process. */
    const struct sigaction kill = { .sa_handler = SIG_DFL };
    sigaction(SIGINT, &kill, &parts->interrupt);
    parts->interrupted = true;
    stop_by_signal(parts, parts->conf.shutdown_on_sigint);
}

/* SIGHUP: reloads the configuration at the end of the turn. Opens the log file again before that,
 * because log rotation may have renamed the old one. */
static void on_hangup(void *ctx)
{
    struct parts *parts = ctx;
    if (!log_open(parts->conf.logfile))
        log_line(LOG_WARNING,
                 "Can't open logfile %s: %s. Logging continues to the old file. Make the path "
                 "writable, then send SIGHUP again",
                 parts->conf.logfile, strerror(errno));
    parts->reload.wanted = true;
}

void lifecycle_on_signals(struct parts *parts)
{
    loop_on_signal(parts->loop, SIGTERM, on_term, parts);
    loop_on_signal(parts->loop, SIGINT, on_interrupt, parts);
    loop_on_signal(parts->loop, SIGHUP, on_hangup, parts);
}
