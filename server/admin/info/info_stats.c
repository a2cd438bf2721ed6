/* info_stats: INFO's section Stats: counters since the start or CONFIG RESETSTAT. */
#include "server/admin/info/report.h"

#include "server/replica/replication.h"

static void write_traffic_and_expiry(struct report *report)
{
    const struct stats *stats = report->context->engine->stats;
    const struct store_stats *store = &report->context->engine->store->stats;
    const struct stopwatch *over = &stats->over_memory;
    int64_t now = report->mono_usec;
    /* The share of overdue keys among all keys with deadlines. Redis estimates it. */
    const struct store *data = report->context->engine->store;
    size_t overdue = store_count_due(data, report->now, OVERDUE_MOST), all = 0;
    for (unsigned db = 0; db < data->database_count; db++)
        all += keyspace_count_expiring(store_database(data, db));
    const struct info_row rows[] = {
        COUNT("total_connections_received", stats->connections),
        COUNT("total_commands_processed", stats->commands),
        NUMBER("instantaneous_ops_per_sec", (int64_t)(stats->commands_per_sec + 0.5)),
        COUNT("total_net_input_bytes", stats->bytes_in + stats->repl_bytes_in),
        COUNT("total_net_output_bytes", stats->bytes_out + stats->repl_bytes_out),
        COUNT("total_net_repl_input_bytes", stats->repl_bytes_in),
        COUNT("total_net_repl_output_bytes", stats->repl_bytes_out),
        RATIO("instantaneous_input_kbps", stats->in_per_sec / 1024),
        RATIO("instantaneous_output_kbps", stats->out_per_sec / 1024),
        RATIO("instantaneous_input_repl_kbps", stats->repl_in_per_sec / 1024),
        RATIO("instantaneous_output_repl_kbps", stats->repl_out_per_sec / 1024),
        COUNT("rejected_connections", stats->rejected_connections),
        COUNT("sync_full", stats->full_syncs),
        COUNT("sync_partial_ok", stats->partial_syncs),
        COUNT("sync_partial_err", stats->refused_partial_syncs),
        COUNT("expired_subkeys", store->expired_members),
        COUNT("expired_keys", store->expired_keys),
        RATIO("expired_stale_perc", all > 0 ? 100 * (double)overdue / (double)all : 0),
        COUNT("expired_time_cap_reached_count", stats->expiry_cut),
        COUNT("expire_cycle_cpu_milliseconds", stats->expiry_usec / USEC_PER_MSEC),
        COUNT("evicted_keys", store->evicted_keys),
        COUNT("evicted_clients", stats->evicted_clients),
        NUMBER("total_eviction_exceeded_time", stopwatch_total(over, now) / USEC_PER_MSEC),
        NUMBER("current_eviction_exceeded_time", stopwatch_current(over, now) / USEC_PER_MSEC),
        COUNT("keyspace_hits", store->hits),
        COUNT("keyspace_misses", store->misses),
        COUNT("keyspace_expiration_misses", store->expiration_misses),
        COUNT("keyspace_deletion_misses", store->deletion_misses),
        COUNT("keyspace_eviction_misses", store->eviction_misses),
    };
    REPORT_ROWS(report, rows);
}

void info_stats(struct report *report)
{
    static const struct defrag none;
    const struct admin_parts *context = report->context;
    const struct replication *replication = context->replication;
    const struct persist_report *persist = &report->persist;
    const struct stats *stats = context->engine->stats;
    const struct defrag *defrag = context->defrag != NULL ? context->defrag : &none;
    const struct stopwatch *defragging = &stats->defragging;
    struct tracking_totals tracking = tracking_totals(context->engine->hooks->tracking);
    int64_t now = report->mono_usec;
    struct forks forks = { persist->forks, persist->last_fork_usec };
    uint64_t evicted = 0, failed = 0;
    if (context->scripting != NULL) evicted = script_report(context->scripting).scripts_evicted;
    if (replication != NULL) {
        failed = replication_report(replication).failed_commands;
        forks = replicas_forks(replication_replicas(replication), persist);
    }
    write_traffic_and_expiry(report);
    const struct info_row rows[] = {
        COUNT("pubsub_channels", pubsub_count(context->pubsub, PUBSUB_CHANNEL)),
        COUNT("pubsub_patterns", pubsub_count(context->pubsub, PUBSUB_PATTERN)),
        COUNT("pubsubshard_channels", pubsub_count(context->pubsub, PUBSUB_SHARD)),
        NUMBER("latest_fork_usec", forks.last_usec),
        COUNT("total_forks", forks.count),
        NEVER_ANY("migrate_cached_sockets"),
        NEVER_ANY("slave_expires_tracked_keys"), /* a replica leaves expiry to its master */
        COUNT("active_defrag_hits", defrag->relocation.moved),
        COUNT("active_defrag_misses", defrag->relocation.kept),
        COUNT("active_defrag_key_hits", defrag->keys_moved),
        COUNT("active_defrag_key_misses", defrag->keys_kept),
        NUMBER("total_active_defrag_time", stopwatch_total(defragging, now) / USEC_PER_MSEC),
        NUMBER("current_active_defrag_time", stopwatch_current(defragging, now) / USEC_PER_MSEC),
        COUNT("tracking_total_keys", tracking.keys),
        COUNT("tracking_total_items", tracking.items),
        COUNT("tracking_total_prefixes", tracking.prefixes),
        /* Commands from a master that is a Redis or Valkey server. */
        COUNT("unexpected_error_replies", failed),
        COUNT("total_error_replies", stats->errors),
        COUNT("acl_access_denied_auth", stats->denied_auth),
        COUNT("acl_access_denied_cmd", stats->denied_command),
        COUNT("acl_access_denied_key", stats->denied_key),
        COUNT("acl_access_denied_channel", stats->denied_channel),
        COUNT("acl_access_denied_tls_cert", stats->denied_tls_cert),
        COUNT("dump_payload_sanitizations", context->engine->store->stats.payloads),
        COUNT("total_reads_processed", stats->reads),
        COUNT("total_writes_processed", stats->writes),
        NEVER_ANY("io_threaded_reads_processed"),
        NEVER_ANY("io_threaded_writes_processed"),
        NEVER_ANY("reply_buffer_shrinks"), /* replies have no buffer of a fixed size */
        NEVER_ANY("reply_buffer_expands"),
        COUNT("client_query_buffer_limit_disconnections", stats->closed_query_buffer),
        COUNT("client_output_buffer_limit_disconnections", stats->closed_output_buffer),
        COUNT("evicted_scripts", evicted),
        COUNT("eventloop_cycles", stats->turns.count),
        COUNT("eventloop_duration_sum", stats->turns.usec),
        COUNT("eventloop_duration_cmd_sum", context->observer->run_usec),
        COUNT("eventloop_duration_max", stats->turns.longest_usec),
        NUMBER("instantaneous_eventloop_cycles_per_sec", (int64_t)(stats->turns_per_sec + 0.5)),
        NUMBER("instantaneous_eventloop_duration_usec", (int64_t)(stats->usec_per_turn + 0.5)),
    };
    REPORT_ROWS(report, rows);
}
