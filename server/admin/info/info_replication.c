/* info_replication: INFO's section Replication: the role, the link to the master, the replicas, the
 * stream and its backlog. The fields are those of Redis, because Sentinel and clients read them. */
#include "server/admin/info/report.h"

#include <inttypes.h>
#include <string.h>

#include "server/replica/replication.h"

static const char NO_ID[] = "0000000000000000000000000000000000000000";

static void write_link(struct report *report, const struct replication_report *state)
{
    bool up = state->link == LINK_STREAM;
    uint64_t total = state->copy_total, received = state->copy_received;
    double percent = total > 0 ? 100 * (double)received / (double)total : 0;
    const struct info_row copy[] = {
        COUNT("master_sync_total_bytes", total), /* 0 if the master has not sent it */
        COUNT("master_sync_read_bytes", received),
        NUMBER("master_sync_left_bytes", (int64_t)total - (int64_t)received),
        RATIO("master_sync_perc", percent),
        NUMBER("master_sync_last_io_seconds_ago", state->silent_sec),
    };
    const struct info_row rows[] = {
        TEXT("master_host", state->host),
        NUMBER("master_port", state->port),
        TEXT("master_link_status", up ? "up" : "down"),
        NUMBER("master_last_io_seconds_ago", up ? state->silent_sec : -1),
        COUNT("master_sync_in_progress", state->link == LINK_COPY),
        COUNT("slave_read_repl_offset", state->received_offset),
        COUNT("slave_repl_offset", replication_offset(report->context->replication)),
    };
    REPORT_ROWS(report, rows);
    if (state->link == LINK_COPY) REPORT_ROWS(report, copy);
    if (up) return;
    const struct info_row down[] = { NUMBER("master_link_down_since_seconds", state->down_sec) };
    REPORT_ROWS(report, down);
}

struct listing {
    struct report *report;
    unsigned count;
};

static void write_replica(void *ctx, const struct replica_info *info)
{
    struct listing *listing = ctx;
    report_line(listing->report,
                "slave%u:ip=%s,port=%" PRId64 ",state=%s,offset=%" PRIu64 ",lag=%" PRId64,
                listing->count++, info->address, info->port, info->state,
                info->applied > 0 ? info->applied - 1 : 0, info->is_online ? info->lag_sec : 0);
}

void info_replication(struct report *report)
{
    const struct replication *replication = report->context->replication;
    if (replication == NULL) return; /* in a test without it */
    struct replication_report state = replication_report(replication);
    const struct conf *conf = report->context->conf;
    const struct info_row role[] = { TEXT("role", state.follows ? "slave" : "master") };
    const struct info_row options[] = {
        NUMBER("slave_priority", conf->replica_priority),
        COUNT("slave_read_only", conf->replica_read_only),
        COUNT("replica_announced", conf->replica_announced),
    };
    REPORT_ROWS(report, role);
    if (state.follows) {
        write_link(report, &state);
        REPORT_ROWS(report, options);
    }

    const struct replicas *replicas = replication_replicas(replication);
    const struct info_row connected[] = { COUNT("connected_slaves", replicas_count(replicas)) };
    REPORT_ROWS(report, connected);
    if (conf->min_replicas_to_write > 0 && conf->min_replicas_max_lag > 0) {
        const struct info_row good[] = { COUNT(
            "min_slaves_good_slaves", replicas_good(replicas, conf->min_replicas_max_lag)) };
        REPORT_ROWS(report, good);
    }
    struct listing listing = { report, 0 };
    replicas_each(replicas, write_replica, &listing);
    const struct history *history = replication_history(replication);
    const struct backlog *backlog = replication_backlog(replication);
    const struct failover *failover = replication_failover(replication);
    bool has_old = strcmp(history->old_id, NO_ID) != 0;
    uint64_t begin = backlog_begin(backlog), end = backlog_end(backlog);
    const struct info_row stream[] = {
        TEXT("master_failover_state", failover_name(failover_state(failover))),
        TEXT("master_replid", history->id),
        TEXT("master_replid2", has_old ? history->old_id : NO_ID),
        COUNT("master_repl_offset", replication_offset(replication)),
        NUMBER("second_repl_offset", has_old ? (int64_t)history->old_end : -1),
        COUNT("repl_backlog_active", state.active),
        NUMBER("repl_backlog_size", conf->repl_backlog_size),
        COUNT("repl_backlog_first_byte_offset", state.active ? begin : 0),
        COUNT("repl_backlog_histlen", state.active ? end - begin : 0),
    };
    REPORT_ROWS(report, stream);
}
