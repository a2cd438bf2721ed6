/* figures: see figures.h. */
#include "server/http/figures.h"

#include <math.h>
#include <sys/resource.h>

#include "server/replica/replication.h"
#include "store/mem/mem.h"
#include "store/sweep/outlook.h"

static double of_usec(int64_t usec)
{
    return (double)usec / 1e6;
}

static double of_timeval(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
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
    figures->expiration_misses = (double)store->stats.expiration_misses;
    figures->deletion_misses = (double)store->stats.deletion_misses;
    figures->eviction_misses = (double)store->stats.eviction_misses;
    figures->policy_count = (double)store->policies.count;
    figures->policies_pending = (double)store->policies.pending;
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

static void read_replication(struct figures *figures, const struct admin_parts *context)
{
    const struct replication *replication = context->replication;
    const struct stats *stats = context->engine->stats;
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

static void read_process(struct figures *figures, const struct admin_parts *context)
{
    const struct stats *stats = context->engine->stats;
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

void figures_read(struct figures *figures, const struct admin_parts *context,
                  const struct figures_http *http)
{
    struct persist_report persist = { 0 };
    if (context->engine->persist != NULL) persist = persist_report(context->engine->persist);
    *figures = (struct figures){ .http_requests = (double)http->requests,
                                 .http_failed_logins = (double)http->failed_logins };
    read_process(figures, context);
    figures->loading = persist.loading;
    if (persist.loading) {
        figures->loading_bytes = (double)persist.load.done;
        figures->loading_bytes_total = (double)persist.load.total;
        figures->loading_left = persist.load.left_sec > 0 ? (double)persist.load.left_sec : 0;
        return;
    }

    struct tracking_totals tracking = tracking_totals(context->engine->hooks->tracking);
    figures->busy = context->engine->busy != NOT_BUSY;
    figures->clients_blocked =
        (double)(blocked_count(context->engine->blocked) + clients_paused(context->clients));
    figures->clients_tracking = (double)tracking.sessions;
    figures->tracking_keys = (double)tracking.keys;
    figures->channels = (double)pubsub_count(context->pubsub, PUBSUB_CHANNEL);
    figures->patterns = (double)pubsub_count(context->pubsub, PUBSUB_PATTERN);
    read_expiry(figures, context->engine->store, clock_now(context->clock));
    figures->journal = persist.journal;
    figures->journal_bytes = (double)persist.journal_bytes;
    figures->journal_base_bytes = (double)persist.base_bytes;
    figures->journal_kept_files = (double)persist.kept_files;
    figures->journal_kept_bytes = (double)persist.kept_bytes;
    figures->journal_reachable_since = (double)persist.reachable_since / 1e3;
    figures->journal_buffer = (double)persist.journal_waiting;
    figures->journal_sync = of_usec(persist.last_sync_usec);
    figures->journal_syncs = (double)persist.syncs;
    figures->journal_syncs_late = (double)persist.late_syncs;
    figures->journal_failures = (double)persist.journal_failures;
    figures->journal_failing = persist.write_error != NULL;
    figures->rewriting = persist.rewriting;
    figures->rewrites = (double)persist.rewrites.done;
    figures->rewrites_failed = (double)persist.rewrites.failed;
    figures->saving = persist.saving;
    figures->saves = (double)persist.saves.done;
    figures->saves_failed = (double)persist.saves.failed;
    figures->last_save = (double)persist.last_save_sec;
    figures->changes = (double)persist.changes_since_save;
    figures->keeps = figures->journal != 0 || context->conf->save[0] != '\0';
    if (context->scripting != NULL) {
        struct script_report report = script_report(context->scripting);
        figures->memory_scripts =
            (double)(report.lua_bytes + report.script_bytes + report.function_bytes);
        figures->scripts = (double)report.scripts;
        figures->functions = (double)report.functions;
        figures->libraries = (double)report.libraries;
    }
    read_replication(figures, context);
    struct forks forks = { persist.forks, persist.last_fork_usec };
    if (context->replication != NULL)
        forks = replicas_forks(replication_replicas(context->replication), &persist);
    figures->forks = (double)forks.count;
    figures->fork = of_usec(forks.last_usec);
}

/* A metric's name consists of the thing counted and its unit; counters end in _total
 * (https://prometheus.io/docs/practices/naming/). doc/metrics.md lists the same rows, and a test
 * compares the two lists. */

/* Members before busy are those that are shown even while data is being loaded. */
#define FIGURE(member, metric, kind, text)                                                         \
    {                                                                                              \
        .name = "expired_" metric, .type = (kind), .offset = offsetof(struct figures, member),     \
        .while_loading = offsetof(struct figures, member) < offsetof(struct figures, busy),        \
        .help = (text)                                                                             \
    }
#define GAUGE(member, metric, text)   FIGURE(member, metric, PROM_GAUGE, text)
#define COUNTER(member, metric, text) FIGURE(member, metric "_total", PROM_COUNTER, text)

static const struct figure rows[] = {
    GAUGE(loading, "loading", "1 while data is being loaded."),
    GAUGE(loading_bytes, "loading_read_bytes", "Bytes loaded so far, while loading."),
    GAUGE(loading_bytes_total, "loading_size_bytes", "Bytes to load, while loading."),
    GAUGE(loading_left, "loading_left_seconds", "Estimated time until all data is loaded."),
    GAUGE(uptime, "uptime_seconds", "Time since the start."),
    COUNTER(cpu_user, "cpu_user_seconds", "CPU time used in user mode."),
    COUNTER(cpu_system, "cpu_system_seconds", "CPU time used in system mode."),
    GAUGE(memory, "memory_used_bytes", "Memory in use (used_memory)."),
    GAUGE(memory_peak, "memory_peak_bytes", "Peak memory use."),
    GAUGE(memory_resident, "memory_resident_bytes", "Resident memory of the process."),
    GAUGE(memory_limit, "memory_limit_bytes", "maxmemory; 0 means no limit."),
    GAUGE(memory_pool_unused, "memory_pool_unused_bytes",
          "Memory that the allocator's pools hold but do not use."),
    GAUGE(clients, "clients", "Connected clients."),
    GAUGE(clients_limit, "clients_limit", "maxclients."),
    COUNTER(connections, "connections", "Connections accepted."),
    COUNTER(connections_rejected, "connections_rejected", "Connections refused."),
    COUNTER(commands, "commands", "Commands processed."),
    COUNTER(error_replies, "error_replies", "Error replies sent."),
    COUNTER(bytes_in, "network_received_bytes", "Bytes received from clients."),
    COUNTER(bytes_out, "network_sent_bytes", "Bytes sent to clients."),
    GAUGE(slowlog, "slowlog_entries", "Entries of the slow log."),
    COUNTER(http_requests, "http_requests", "Requests to the metrics port."),
    COUNTER(http_failed_logins, "http_failed_logins",
            "Requests to the metrics port with a wrong user or password."),
    GAUGE(busy, "busy", "1 while a script has been running for longer than busy-reply-threshold."),
    GAUGE(clients_blocked, "clients_blocked",
          "Clients that wait for data, the end of a pause, or expiry."),
    GAUGE(clients_tracking, "clients_tracking", "Clients with client-side caching."),
    GAUGE(tracking_keys, "tracking_keys", "Keys remembered for client-side caching."),
    COUNTER(hits, "keyspace_hits", "Reads that found their key."),
    COUNTER(misses, "keyspace_misses", "Reads that did not find their key."),
    COUNTER(expiration_misses, "keyspace_expiration_misses",
            "Reads of keys that had recently expired."),
    COUNTER(deletion_misses, "keyspace_deletion_misses",
            "Reads of keys that were recently deleted, renamed, moved or flushed."),
    COUNTER(eviction_misses, "keyspace_eviction_misses",
            "Reads of keys that were recently evicted."),
    COUNTER(expired_keys, "keys_expired", "Keys that expired."),
    COUNTER(expired_members, "members_expired", "Members and fields that expired."),
    COUNTER(evicted_keys, "keys_evicted", "Keys evicted for lack of memory."),
    GAUGE(with_deadline, "keys_with_deadline",
          "Keys with a deadline, either of the key or of one of its members."),
    GAUGE(overdue_keys, "keys_overdue", "Expired keys not yet removed; counted up to 10000."),
    GAUGE(overdue_members, "members_overdue",
          "Expired members not yet removed; counted up to 10000."),
    GAUGE(next_deadline, "next_deadline_seconds",
          "Time until the next deadline; +Inf if there is none."),
    GAUGE(policy_count, "policies", "Policies."),
    GAUGE(policies_pending, "policies_pending", "Policies not yet applied to all existing keys."),
    GAUGE(journal, "journal_enabled", "1 if the journal is on."),
    GAUGE(journal_bytes, "journal_size_bytes", "Size of the journal including its base."),
    GAUGE(journal_base_bytes, "journal_base_size_bytes",
          "Size of the base after the last rewrite."),
    GAUGE(journal_kept_files, "journal_kept_files",
          "Replaced bases and journals that journal-keep keeps."),
    GAUGE(journal_kept_bytes, "journal_kept_size_bytes",
          "Size of the replaced bases and journals that journal-keep keeps."),
    GAUGE(journal_reachable_since, "journal_reachable_since_timestamp_seconds",
          "Unix time of the first instant that a start with until can reach."),
    GAUGE(journal_buffer, "journal_buffer_bytes", "Size of the journal records not yet written."),
    GAUGE(journal_sync, "journal_last_sync_seconds", "How long the last sync took."),
    COUNTER(journal_syncs, "journal_syncs", "Syncs of the journal."),
    COUNTER(journal_syncs_late, "journal_syncs_delayed",
            "Syncs that were due while the previous one was still running."),
    COUNTER(journal_failures, "journal_failures", "Writes and syncs of the journal that failed."),
    GAUGE(journal_failing, "journal_failing", "1 while writes are refused because of the journal."),
    GAUGE(rewriting, "journal_rewriting", "1 while the journal is being rewritten."),
    COUNTER(rewrites, "journal_rewrites", "Rewrites of the journal that succeeded."),
    COUNTER(rewrites_failed, "journal_rewrites_failed", "Rewrites of the journal that failed."),
    GAUGE(saving, "snapshot_saving", "1 while a snapshot is being written."),
    COUNTER(saves, "snapshots", "Snapshots written."),
    COUNTER(saves_failed, "snapshots_failed", "Snapshots that failed."),
    GAUGE(last_save, "snapshot_last_timestamp_seconds",
          "Unix time of the last snapshot, or of the start."),
    GAUGE(changes, "snapshot_unsaved_changes", "Changes since the last snapshot."),
    COUNTER(forks, "forks", "Child processes that wrote files or made copies for replicas."),
    GAUGE(fork, "last_fork_seconds", "How long the last fork blocked the server."),
    GAUGE(memory_scripts, "memory_scripts_bytes", "Memory of scripts and functions."),
    GAUGE(scripts, "scripts", "Cached scripts."),
    GAUGE(functions, "functions", "Functions."),
    GAUGE(libraries, "function_libraries", "Function libraries."),
    GAUGE(channels, "pubsub_channels", "Channels with subscribers."),
    GAUGE(patterns, "pubsub_patterns", "Patterns with subscribers."),
    GAUGE(replica, "replica", "1 if this server follows a master."),
    GAUGE(link_up, "master_link_up", "1 while the master's stream is being received."),
    GAUGE(replicas, "connected_replicas", "Connected replicas."),
    GAUGE(replicas_online, "online_replicas",
          "Replicas that have their full copy and receive the stream."),
    GAUGE(lag_bytes, "replica_lag_bytes",
          "Bytes of the stream that the slowest replica has not acknowledged."),
    GAUGE(stream_offset, "replication_offset_bytes", "Offset of the replication stream's end."),
    GAUGE(backlog_bytes, "replication_backlog_bytes",
          "Memory of the backlog, including what slow replicas still need."),
    COUNTER(repl_bytes_in, "replication_received_bytes", "Bytes received from a master."),
    COUNTER(repl_bytes_out, "replication_sent_bytes",
            "Bytes of full copies and of the stream sent to replicas."),
    COUNTER(full_syncs, "replica_syncs_full", "Full copies sent to replicas."),
    COUNTER(partial_syncs, "replica_syncs_partial",
            "Times that a replica continued from its offset."),
    COUNTER(refused_syncs, "replica_syncs_refused",
            "Times that a replica could not continue and needed a full copy."),
    COUNTER(full_copies, "master_copies_loaded", "Full copies from a master that were loaded."),
};

size_t figure_count(void)
{
    return sizeof(rows) / sizeof(rows[0]);
}

const struct figure *figure_at(size_t index)
{
    return &rows[index];
}
