/* figures: see figures.h. */
#include "server/http/figures.h"

#include <math.h>
#include <sys/resource.h>

#include "server/net/client.h"
#include "server/disk/persist.h"
#include "server/engine/react/pubsub.h"
#include "server/engine/react/tracking.h"
#include "server/replica/replication.h"
#include "server/script/script.h"
#include "store/mem/mem.h"
#include "store/sweep/outlook.h"

enum {
    OVERDUE_MOST = 10000
}; /* overdue keys and members are counted up to this number, as in INFO */

static double of_usec(int64_t usec)
{
    return (double)usec / 1e6;
}

static double of_timeval(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void read_process(struct figures *figures, const struct server_context *context)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    figures->uptime = of_usec(clock_mono_usec() - context->started_mono_usec);
    figures->cpu_user = of_timeval(usage.ru_utime);
    figures->cpu_system = of_timeval(usage.ru_stime);
    figures->memory = (double)mem_used();
    figures->memory_peak = (double)mem_peak();
    figures->memory_resident = (double)mem_resident();
    figures->memory_limit = (double)context->conf->maxmemory;
    figures->memory_pool_unused = (double)mem_pool_waste();
    figures->slowlog = (double)slowlog_count(context->observer->slowlog);
}

static void read_traffic(struct figures *figures, const struct server_context *context)
{
    const struct stats *stats = context->stats;
    figures->clients = (double)clients_count(context->clients);
    figures->clients_limit = (double)context->conf->maxclients;
    figures->connections = (double)stats->connections;
    figures->connections_rejected = (double)stats->rejected_connections;
    figures->commands = (double)stats->commands;
    figures->error_replies = (double)stats->errors;
    figures->bytes_in = (double)stats->bytes_in;
    figures->bytes_out = (double)stats->bytes_out;
    figures->commands_rate = stats->commands_per_sec;
    figures->bytes_in_rate = stats->in_per_sec;
    figures->bytes_out_rate = stats->out_per_sec;
}

static void read_loading(struct figures *figures, const struct persist_report *report)
{
    figures->loading = report->loading;
    if (!report->loading) return;
    figures->loading_bytes = (double)report->load.done;
    figures->loading_bytes_total = (double)report->load.total;
    figures->loading_left = report->load.left_sec > 0 ? (double)report->load.left_sec : 0;
}

static void read_journal(struct figures *figures, const struct persist_report *report)
{
    figures->journal = report->journal;
    figures->journal_bytes = (double)report->journal_bytes;
    figures->journal_base_bytes = (double)report->base_bytes;
    figures->journal_buffer = (double)report->journal_waiting;
    figures->journal_sync = of_usec(report->last_sync_usec);
    figures->journal_syncs = (double)report->syncs;
    figures->journal_syncs_late = (double)report->late_syncs;
    figures->journal_failures = (double)report->journal_failures;
    figures->journal_failing = report->write_error != NULL;
    figures->rewriting = report->rewriting;
    figures->rewrites = (double)report->rewrites;
    figures->rewrites_failed = (double)report->rewrites_failed;
}

static void read_snapshots(struct figures *figures, const struct persist_report *report)
{
    figures->saving = report->saving;
    figures->saves = (double)report->saves;
    figures->saves_failed = (double)report->saves_failed;
    figures->last_save = (double)report->last_save_sec;
    figures->changes = (double)report->changes_since_save;
}

static void read_expiry(struct figures *figures, const struct store *store, msec now)
{
    struct overdue overdue = { 0 };
    size_t with_deadline = 0;
    for (unsigned db = 0; db < store->database_count; db++) {
        outlook_overdue(store_database(store, db), now, OVERDUE_MOST, &overdue);
        with_deadline += keyspace_count_expiring(store_database(store, db));
    }
    msec next = store_next_due(store);
    figures->with_deadline = (double)with_deadline;
    figures->overdue_keys = (double)overdue.keys;
    figures->overdue_members = (double)overdue.members;
    figures->next_deadline = next == NEVER ? (double)INFINITY
                             : next > now  ? (double)(next - now) / 1e3
                                           : 0;
    figures->expired_keys = (double)store->stats.expired_keys;
    figures->expired_members = (double)store->stats.expired_members;
    figures->evicted_keys = (double)store->stats.evicted_keys;
    figures->hits = (double)store->stats.hits;
    figures->misses = (double)store->stats.misses;
    figures->policy_count = (double)store->policies.count;
    figures->policies_pending = (double)store->policies.pending;
}

static void read_sessions(struct figures *figures, const struct server_context *context)
{
    struct tracking_totals tracking = tracking_totals(context->tracking);
    figures->busy = context->engine->busy != NOT_BUSY;
    figures->clients_blocked =
        (double)(blocked_count(context->blocked) + clients_paused(context->clients));
    figures->clients_tracking = (double)tracking.sessions;
    figures->tracking_keys = (double)tracking.keys;
    figures->channels = (double)pubsub_channel_count(context->pubsub);
    figures->patterns = (double)pubsub_pattern_count(context->pubsub);
}

static void read_scripts(struct figures *figures, struct scripting *scripting)
{
    if (scripting == NULL) return;
    struct script_report report = script_report(scripting);
    figures->memory_scripts =
        (double)(report.lua_bytes + report.script_bytes + report.function_bytes);
    figures->scripts = (double)report.scripts;
    figures->functions = (double)report.functions;
    figures->libraries = (double)report.libraries;
}

static void note_lag(void *ctx, const struct replica_info *replica)
{
    struct figures *figures = ctx;
    if (!replica->is_online) return;
    uint64_t has = replica->applied > 0 ? replica->applied : replica->sent;
    double behind = figures->stream_offset + 1 - (double)has;
    figures->replicas_online++;
    if (behind > figures->lag_bytes) figures->lag_bytes = behind;
}

static void read_replication(struct figures *figures, const struct server_context *context)
{
    const struct replication *replication = context->replication;
    const struct stats *stats = context->stats;
    if (replication == NULL) return;
    struct replication_report report = replication_report(replication);
    const struct replicas *replicas = replication_replicas(replication);
    figures->replica = report.follows;
    figures->link_up = report.follows && report.link == LINK_STREAM;
    figures->full_copies = (double)report.full_copies;
    figures->stream_offset = (double)replication_offset(replication);
    figures->backlog_bytes = (double)backlog_bytes(replication_backlog(replication));
    figures->replicas = (double)replicas_count(replicas);
    replicas_each(replicas, note_lag, figures);
    figures->repl_bytes_in = (double)stats->repl_bytes_in;
    figures->repl_bytes_out = (double)stats->repl_bytes_out;
    figures->full_syncs = (double)stats->full_syncs;
    figures->partial_syncs = (double)stats->partial_syncs;
    figures->refused_syncs = (double)stats->refused_partial_syncs;
}

static void read_forks(struct figures *figures, const struct server_context *context,
                       const struct persist_report *persist)
{
    struct forks forks = { persist->forks, persist->last_fork_usec };
    if (context->replication != NULL)
        forks = replicas_forks(replication_replicas(context->replication), persist);
    figures->forks = (double)forks.count;
    figures->fork = of_usec(forks.last_usec);
}

void figures_read(struct figures *figures, const struct server_context *context,
                  const struct figures_http *http)
{
    struct persist_report persist = { 0 };
    if (context->persist != NULL) persist = persist_report(context->persist);
    *figures = (struct figures){ .http_requests = (double)http->requests,
                                 .http_failed_logins = (double)http->failed_logins };
    read_process(figures, context);
    read_traffic(figures, context);
    read_loading(figures, &persist);
    if (persist.loading) return;
    read_sessions(figures, context);
    read_expiry(figures, context->store, clock_now(context->clock));
    read_journal(figures, &persist);
    figures->keeps = figures->journal != 0 || context->conf->save[0] != '\0';
    read_snapshots(figures, &persist);
    read_scripts(figures, context->scripting);
    read_replication(figures, context);
    read_forks(figures, context, &persist);
}
