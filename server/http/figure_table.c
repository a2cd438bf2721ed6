/* figure_table: the metrics that are one number each. A name says what is counted, then its unit;
 * counters end in _total (https://prometheus.io/docs/practices/naming/). doc/metrics.md lists
 * the same rows, and a test compares them. */
#include "server/http/figures.h"

#define GAUGE(member, metric, text)                                                                \
    {                                                                                              \
        .name = "expired_" metric, .type = PROM_GAUGE, .offset = offsetof(struct figures, member), \
        .help = (text)                                                                             \
    }
#define COUNTER(member, metric, text)                                                              \
    {                                                                                              \
        .name = "expired_" metric "_total", .type = PROM_COUNTER,                                  \
        .offset = offsetof(struct figures, member), .help = (text)                                 \
    }
/* The same, also while data are being loaded. */
#define ALWAYS_GAUGE(member, metric, text)                                                         \
    {                                                                                              \
        .name = "expired_" metric, .type = PROM_GAUGE, .while_loading = true,                      \
        .offset = offsetof(struct figures, member), .help = (text)                                 \
    }
#define ALWAYS_COUNTER(member, metric, text)                                                       \
    {                                                                                              \
        .name = "expired_" metric "_total", .type = PROM_COUNTER, .while_loading = true,           \
        .offset = offsetof(struct figures, member), .help = (text)                                 \
    }

static const struct figure rows[] = {
    ALWAYS_GAUGE(loading, "loading", "1 while data are being loaded."),
    ALWAYS_GAUGE(loading_bytes, "loading_read_bytes", "Bytes loaded so far, while loading."),
    ALWAYS_GAUGE(loading_bytes_total, "loading_size_bytes", "Bytes to load, while loading."),
    ALWAYS_GAUGE(loading_left, "loading_left_seconds", "Estimated time until loading ends."),
    ALWAYS_GAUGE(uptime, "uptime_seconds", "Time since the start."),
    ALWAYS_COUNTER(cpu_user, "cpu_user_seconds", "CPU time used in user mode."),
    ALWAYS_COUNTER(cpu_system, "cpu_system_seconds", "CPU time used in system mode."),
    ALWAYS_GAUGE(memory, "memory_used_bytes", "Memory in use (used_memory)."),
    ALWAYS_GAUGE(memory_peak, "memory_peak_bytes", "The most memory that was in use."),
    ALWAYS_GAUGE(memory_resident, "memory_resident_bytes", "Resident memory of the process."),
    ALWAYS_GAUGE(memory_limit, "memory_limit_bytes", "maxmemory; 0 means no limit."),
    ALWAYS_GAUGE(memory_pool_unused, "memory_pool_unused_bytes",
                 "Memory that the allocator's pools hold and nothing uses."),
    ALWAYS_GAUGE(clients, "clients", "Connected clients."),
    ALWAYS_GAUGE(clients_limit, "clients_limit", "maxclients."),
    ALWAYS_COUNTER(connections, "connections", "Connections accepted."),
    ALWAYS_COUNTER(connections_rejected, "connections_rejected", "Connections refused."),
    ALWAYS_COUNTER(commands, "commands", "Commands processed."),
    ALWAYS_COUNTER(error_replies, "error_replies", "Error replies sent."),
    ALWAYS_COUNTER(bytes_in, "network_received_bytes", "Bytes received from clients."),
    ALWAYS_COUNTER(bytes_out, "network_sent_bytes", "Bytes sent to clients."),
    ALWAYS_GAUGE(slowlog, "slowlog_entries", "Entries of the slow log."),
    ALWAYS_COUNTER(http_requests, "http_requests", "Requests to the metrics port."),
    ALWAYS_COUNTER(http_failed_logins, "http_failed_logins",
                   "Requests to the metrics port with a wrong user or password."),
    GAUGE(busy, "busy", "1 while a script runs for longer than busy-reply-threshold."),
    GAUGE(clients_blocked, "clients_blocked", "Clients that wait for data, a pause or expiry."),
    GAUGE(clients_tracking, "clients_tracking", "Clients with client-side caching."),
    GAUGE(tracking_keys, "tracking_keys", "Keys remembered for client-side caching."),
    COUNTER(hits, "keyspace_hits", "Reads that found their key."),
    COUNTER(misses, "keyspace_misses", "Reads that did not find their key."),
    COUNTER(expired_keys, "keys_expired", "Keys that expired."),
    COUNTER(expired_members, "members_expired", "Members and fields that expired."),
    COUNTER(evicted_keys, "keys_evicted", "Keys evicted for lack of memory."),
    GAUGE(with_deadline, "keys_with_deadline", "Keys with a deadline of their own or inside."),
    GAUGE(overdue_keys, "keys_overdue", "Expired keys not removed yet; counted up to 10000."),
    GAUGE(overdue_members, "members_overdue",
          "Expired members not removed yet; counted up to 10000."),
    GAUGE(next_deadline, "next_deadline_seconds",
          "Time to the next deadline; +Inf: there is none."),
    GAUGE(policy_count, "policies", "Policies."),
    GAUGE(policies_pending, "policies_pending", "Policies not applied to all existing keys yet."),
    GAUGE(journal, "journal_enabled", "1 if the journal is on."),
    GAUGE(journal_bytes, "journal_size_bytes", "Size of the journal with its base."),
    GAUGE(journal_base_bytes, "journal_base_size_bytes",
          "Size of the base after the last rewrite."),
    GAUGE(journal_buffer, "journal_buffer_bytes", "Journal records not written yet."),
    GAUGE(journal_sync, "journal_last_sync_seconds", "How long the last sync took."),
    COUNTER(journal_syncs, "journal_syncs", "Syncs of the journal."),
    COUNTER(journal_syncs_late, "journal_syncs_delayed",
            "Syncs that were due while the one before still ran."),
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
    GAUGE(fork, "last_fork_seconds", "How long the last fork stopped the server."),
    GAUGE(memory_scripts, "memory_scripts_bytes", "Memory of scripts and functions."),
    GAUGE(scripts, "scripts", "Cached scripts."),
    GAUGE(functions, "functions", "Functions."),
    GAUGE(libraries, "function_libraries", "Libraries of functions."),
    GAUGE(channels, "pubsub_channels", "Channels with subscribers."),
    GAUGE(patterns, "pubsub_patterns", "Patterns with subscribers."),
    GAUGE(replica, "replica", "1 if this server follows a master."),
    GAUGE(link_up, "master_link_up", "1 while the stream of the master comes."),
    GAUGE(replicas, "connected_replicas", "Replicas that are connected."),
    GAUGE(replicas_online, "online_replicas", "Replicas that get the stream, after their copy."),
    GAUGE(lag_bytes, "replica_lag_bytes",
          "Bytes of the stream that the slowest replica has not acknowledged."),
    GAUGE(stream_offset, "replication_offset_bytes", "Offset of the replication stream's end."),
    GAUGE(backlog_bytes, "replication_backlog_bytes",
          "Memory of the backlog, with what replicas lag behind."),
    COUNTER(repl_bytes_in, "replication_received_bytes", "Bytes received from a master."),
    COUNTER(repl_bytes_out, "replication_sent_bytes", "Bytes of copies and stream for replicas."),
    COUNTER(full_syncs, "replica_syncs_full", "Full copies that replicas have got."),
    COUNTER(partial_syncs, "replica_syncs_partial",
            "Times that a replica went on from its offset."),
    COUNTER(refused_syncs, "replica_syncs_refused",
            "Times that a replica could not go on and got a full copy."),
    COUNTER(full_copies, "master_copies_loaded", "Full copies of a master that were loaded."),
};

size_t figure_count(void)
{
    return sizeof(rows) / sizeof(rows[0]);
}

const struct figure *figure_at(size_t index)
{
    return &rows[index];
}
