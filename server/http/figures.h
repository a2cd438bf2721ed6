/* figures: the numbers that the metrics port shows, and the table of their names. All are read at
 * one instant, from the reports that INFO also reads; this file counts nothing itself. */
#pragma once

#include "server/admin/admin.h"
#include "server/http/prom.h"

/* Spans are in seconds, sizes in bytes, instants in Unix time; a bool is 0 or 1. */
struct figures {
    /* Valid even while data is being loaded, and shown then. */
    double uptime, cpu_user, cpu_system;
    double loading, loading_bytes, loading_bytes_total, loading_left;
    double memory, memory_peak, memory_resident, memory_limit, memory_pool_unused;
    double clients, clients_limit, connections, connections_rejected;
    double commands, error_replies, bytes_in, bytes_out;
    double commands_rate, bytes_in_rate, bytes_out_rate; /* of the last second */
    double slowlog;
    double http_requests, http_failed_logins;
    /* 0 while data is being loaded, and not shown then. */
    double busy, clients_blocked, clients_tracking, tracking_keys;
    double hits, misses, expired_keys, expired_members, evicted_keys;
    double expiration_misses, deletion_misses, eviction_misses;
    double with_deadline, overdue_keys, overdue_members;
    double next_deadline; /* infinite: no deadline */
    double policy_count, policies_pending;
    double journal_kept_files, journal_kept_bytes, journal_reachable_since;
    double journal, journal_bytes, journal_base_bytes, journal_buffer, journal_sync, journal_syncs;
    double journal_syncs_late, journal_failures, journal_failing;
    double rewriting, rewrites, rewrites_failed;
    double keeps; /* 1 if data survives a restart, by a journal or save points */
    double saving, saves, saves_failed, last_save, changes, forks, fork;
    double memory_scripts, scripts, functions, libraries, channels, patterns;
    double replica, link_up, replicas, replicas_online, lag_bytes, stream_offset, backlog_bytes;
    double repl_bytes_in, repl_bytes_out, full_syncs, partial_syncs, refused_syncs, full_copies;
};

/* Counters of the port itself. */
struct figures_http {
    uint64_t requests, failed_logins;
};

/* Reads the figures. While data is being loaded, those of the second part are 0. O(databases), plus
 * up to 10000 steps each for overdue keys and overdue members. */
void figures_read(struct figures *figures, const struct admin_parts *context,
                  const struct figures_http *http);

struct figure {
    const char *name;
    enum prom_type type;
    bool while_loading;
    size_t offset; /* of a double in struct figures */
    const char *help;
};
size_t figure_count(void);
const struct figure *figure_at(size_t index);
