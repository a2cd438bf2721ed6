/* info_persistence: INFO's section Persistence. Fields about snapshots begin with rdb_, those about
 * the journal with aof_, as in Redis. */
#include "server/admin/info/report.h"

#include "server/replica/replication.h"

static const char *outcome(bool failed)
{
    return failed ? "err" : "ok";
}

void info_persistence(struct report *report)
{
    const struct persist_report *persist = &report->persist;
    const struct progress_report *load = &persist->load;
    const struct info_row journal[] = {
        COUNT("aof_current_size", persist->journal_bytes),
        COUNT("aof_base_size", persist->base_bytes),
        COUNT("aof_kept_files", persist->kept_files),
        COUNT("aof_kept_size", persist->kept_bytes),
        NUMBER("aof_reachable_since", persist->reachable_since),
        NEVER_ANY("aof_pending_rewrite"),
        COUNT("aof_buffer_length", persist->journal_waiting),
        COUNT("aof_pending_bio_fsync", persist->sync_running),
        COUNT("aof_delayed_fsync", persist->late_syncs),
    };
    const struct info_row loading[] = {
        NUMBER("loading_start_time", persist->start_sec),
        COUNT("loading_total_bytes", load->total),
        COUNT("loading_loaded_bytes", load->done),
        RATIO("loading_loaded_perc", load->percent),
        NUMBER("loading_eta_seconds", load->left_sec >= 0 ? load->left_sec : 1),
    };
    /* A full copy is being loaded, while the old data is served. */
    const struct replication *replication = report->context->replication;
    bool loads_copy = replication != NULL && replication_report(replication).loading;
    /* current_... describe the child that writes a snapshot or a base; 0 without a child. */
    const struct info_row rows[] = {
        COUNT("loading", persist->loading),
        COUNT("async_loading", loads_copy),
        COUNT("current_cow_peak", persist->copied_peak),
        COUNT("current_cow_size", persist->copied_now),
        NUMBER("current_cow_size_age", persist->copied_age_sec),
        RATIO("current_fork_perc", persist->task.percent),
        COUNT("current_save_keys_processed", persist->task.done),
        COUNT("current_save_keys_total", persist->task.total),
        COUNT("rdb_changes_since_last_save", persist->changes_since_save),
        COUNT("rdb_bgsave_in_progress", persist->saving),
        NUMBER("rdb_last_save_time", persist->last_save_sec),
        TEXT("rdb_last_bgsave_status", outcome(persist->saves.has_failed)),
        NUMBER("rdb_last_bgsave_time_sec", persist->saves.sec),
        NUMBER("rdb_current_bgsave_time_sec", persist->current_save_sec),
        COUNT("rdb_saves", persist->saves.begun),
        COUNT("rdb_last_cow_size", persist->saves.copied_bytes),
        /* Expired keys are loaded, and expire afterwards. */
        NEVER_ANY("rdb_last_load_keys_expired"),
        COUNT("rdb_last_load_keys_loaded", persist->keys_loaded),
        COUNT("aof_enabled", persist->journal),
        COUNT("aof_rewrite_in_progress", persist->rewriting),
        COUNT("aof_rewrite_scheduled", persist->rewrite_scheduled),
        NUMBER("aof_last_rewrite_time_sec", persist->rewrites.sec),
        NUMBER("aof_current_rewrite_time_sec", persist->current_rewrite_sec),
        TEXT("aof_last_bgrewrite_status", outcome(persist->rewrites.has_failed)),
        COUNT("aof_rewrites", persist->rewrites.begun),
        COUNT("aof_rewrites_consecutive_failures", persist->rewrites.failures),
        TEXT("aof_last_write_status", outcome(persist->write_error != NULL)),
        COUNT("aof_last_cow_size", persist->rewrites.copied_bytes),
        NEVER_ANY("module_fork_in_progress"),
        NEVER_ANY("module_fork_last_cow_size"),
    };
    REPORT_ROWS(report, rows);
    if (persist->journal) REPORT_ROWS(report, journal);
    if (persist->loading) REPORT_ROWS(report, loading);
}
