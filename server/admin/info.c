/* info: INFO, with the sections and field names that monitoring tools expect from Redis. Most
 * fields of this server alone are in the sections Expired and Expiry. */
#include "server/admin/info.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "server/admin/admin.h"
#include "server/call/reply_text.h"
#include "server/call/args.h"
#include "server/base/version.h"
#include "server/persist/persist.h"
#include "store/mem/mem.h"
#include "store/sweep/outlook.h"

struct report {
    const struct server_context *context;
    msec now;
    struct outbuf text;
};

__attribute__((format(printf, 2, 3))) static void line(struct report *report, const char *format,
                                                       ...)
{
    char text[1024];
    va_list values;
    va_start(values, format);
    int len = vsnprintf(text, sizeof(text) - 2, format, values);
    va_end(values);
    if (len > (int)sizeof(text) - 3) len = (int)sizeof(text) - 3;
    memcpy(text + len, "\r\n", 2);
    outbuf_append(&report->text, text, (size_t)len + 2);
}

/* Sizes for people, as Redis formats them: 1.20M. */
static const char *human(uint64_t bytes, char *to, size_t size)
{
    static const char units[] = "BKMGTPE";
    double value = (double)bytes;
    unsigned unit = 0;
    while (value >= 1024 && unit + 2 < sizeof(units)) {
        value /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(to, size, "%" PRIu64 "B", bytes);
    else
        snprintf(to, size, "%.2f%c", value, units[unit]);
    return to;
}

static void bytes_line(struct report *report, const char *field, uint64_t bytes)
{
    char text[32];
    line(report, "%s:%" PRIu64, field, bytes);
    line(report, "%s_human:%s", field, human(bytes, text, sizeof(text)));
}

/* Fields of features that do not exist here, with the values of an idle Redis. Monitoring tools
 * expect them. */
static void idle_lines(struct report *report, const char *const *fields)
{
    for (; *fields != NULL; fields++)
        line(report, "%s", *fields);
}

static void section_server(struct report *report)
{
    const struct server_context *context = report->context;
    struct utsname os;
    uname(&os);
    int64_t uptime = (clock_mono_usec() - context->started_mono_usec) / 1000000;
    line(report, "redis_version:" REDIS_VERSION);
    line(report, "expired_version:" EXPIRED_VERSION);
    line(report, "redis_mode:standalone");
    line(report, "os:%s %s %s", os.sysname, os.release, os.machine);
    line(report, "arch_bits:%zu", sizeof(void *) * 8);
    line(report, "multiplexing_api:%s", loop_backend(context->loop));
    line(report, "gcc_version:%d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
    line(report, "process_id:%ld", (long)getpid());
    line(report, "run_id:%s", context->run_id);
    line(report, "tcp_port:%" PRId64,
         context->conf->port != 0 ? context->conf->port : context->conf->tls_port);
    line(report, "server_time_usec:%" PRId64, clock_wall_usec(context->clock));
    line(report, "uptime_in_seconds:%" PRId64, uptime);
    line(report, "uptime_in_days:%" PRId64, uptime / 86400);
    int64_t hz = context->conf->kept[conf_kept_index(conf_find("hz"))].number;
    line(report, "hz:%" PRId64, hz);
    line(report, "configured_hz:%" PRId64, hz);
    line(report, "config_file:%s", context->conf->file);
}

static void section_expired(struct report *report)
{
    const struct store *store = report->context->store;
    msec next = store_next_due(store);
    line(report, "clock:%s", report->context->clock->stepped ? "held" : "real");
    line(report, "next_due_msec:%" PRId64, next == NEVER ? (msec)-1 : next);
    line(report, "reclaim_pending:%d", reclaim_pending(&store->reclaim));
}

/* Counts expired keys only up to this number, which bounds the time. */
enum { OVERDUE_MOST = 10000 };

static void section_expiry(struct report *report)
{
    const struct store *store = report->context->store;
    const struct store_stats *stats = &store->stats;
    struct overdue overdue = { 0 };
    size_t with_deadline = 0;
    for (unsigned db = 0; db < store->database_count; db++) {
        const struct keyspace *ks = store_database(store, db);
        outlook_overdue(ks, report->now, OVERDUE_MOST, &overdue);
        with_deadline += keyspace_count_expiring(ks);
    }
    msec next = store_next_due(store);
    if (next != NEVER) next = next > report->now ? next - report->now : 0;
    line(report, "expired_keys:%" PRIu64, stats->expired_keys);
    line(report, "expired_members:%" PRIu64, stats->expired_members);
    line(report, "keys_with_deadlines:%zu", with_deadline); /* of their own or inside */
    line(report, "overdue_keys:%zu", overdue.keys);
    line(report, "overdue_members:%zu", overdue.members);
    line(report, "next_due_in_msec:%" PRId64, next == NEVER ? (msec)-1 : next);
    line(report,
         "lag_msec:p50=%" PRId64 ",p90=%" PRId64 ",p99=%" PRId64 ",p99.9=%" PRId64 ",max=%" PRId64,
         lag_percentile(&stats->lag, 50), lag_percentile(&stats->lag, 90),
         lag_percentile(&stats->lag, 99), lag_percentile(&stats->lag, 99.9), stats->lag.max);
    line(report, "lag_count:%" PRIu64, stats->lag.total);
    line(report, "policies:%zu", store->policies.count);
    line(report, "policies_pending:%zu", store->policies.pending);
}

static void section_clients(struct report *report)
{
    const struct server_context *context = report->context;
    line(report, "connected_clients:%zu", clients_count(context->clients));
    line(report, "cluster_connections:0");
    line(report, "maxclients:%" PRId64, context->conf->maxclients);
    line(report, "blocked_clients:%zu",
         blocked_count(context->blocked) + clients_paused(context->clients));
    line(report, "tracking_clients:%zu", tracking_totals(context->tracking).sessions);
}

static struct script_report scripts_of(const struct report *report)
{
    struct scripting *scripting = report->context->scripting;
    return scripting != NULL ? script_report(scripting) : (struct script_report){ 0 };
}

/* Scripts and functions share one interpreter, whose memory counts as that of scripts. */
static void script_lines(struct report *report)
{
    struct script_report scripts = scripts_of(report);
    bytes_line(report, "used_memory_lua", scripts.lua_bytes);
    line(report, "used_memory_vm_eval:%zu", scripts.lua_bytes);
    line(report, "used_memory_scripts_eval:%zu", scripts.script_bytes);
    line(report, "number_of_cached_scripts:%zu", scripts.scripts);
    line(report, "number_of_functions:%zu", scripts.functions);
    line(report, "number_of_libraries:%zu", scripts.libraries);
    line(report, "used_memory_vm_functions:0");
    bytes_line(report, "used_memory_vm_total", scripts.lua_bytes);
    line(report, "used_memory_functions:%zu", scripts.function_bytes);
    bytes_line(report, "used_memory_scripts", scripts.script_bytes + scripts.function_bytes);
}

static void section_memory(struct report *report)
{
    const struct conf *conf = report->context->conf;
    uint64_t used = mem_used(), resident = mem_resident(), peak = mem_peak();
    uint64_t total = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    bytes_line(report, "used_memory", used);
    bytes_line(report, "used_memory_rss", resident);
    bytes_line(report, "used_memory_peak", peak);
    line(report, "used_memory_peak_perc:%.2f%%", 100.0 * (double)used / (double)(peak ? peak : 1));
    bytes_line(report, "total_system_memory", total);
    script_lines(report);
    bytes_line(report, "maxmemory", (uint64_t)conf->maxmemory);
    char *policy = conf_get(conf, conf_find("maxmemory-policy"));
    line(report, "maxmemory_policy:%s", policy);
    free(policy);
    line(report, "mem_not_counted_for_evict:%zu", clients_uncounted(report->context->clients));
    line(report, "mem_fragmentation_ratio:%.2f", (double)resident / (double)(used ? used : 1));
    line(report, "mem_fragmentation_bytes:%" PRId64, (int64_t)(resident - used));
    line(report, "mem_pool_waste:%zu", mem_pool_waste());
    line(report, "mem_allocator:%s", mem_allocator_name());
    const struct defrag *defrag = report->context->defrag;
    line(report, "active_defrag_running:%d", defrag != NULL && defrag->running);
    line(report, "lazyfree_pending_objects:%d", reclaim_pending(&report->context->store->reclaim));
}

static const char *status(bool failed)
{
    return failed ? "err" : "ok";
}

static void loading_lines(struct report *report, const struct persist_report *persist)
{
    const struct progress_report *load = &persist->load;
    line(report, "loading_start_time:%" PRId64, persist->start_sec);
    line(report, "loading_total_bytes:%" PRIu64, load->total);
    line(report, "loading_loaded_bytes:%" PRIu64, load->done);
    line(report, "loading_loaded_perc:%.2f", load->percent);
    line(report, "loading_eta_seconds:%" PRId64, load->left_sec >= 0 ? load->left_sec : 1);
}

/* Of the child that writes a snapshot or a base; all 0 without one. */
static void child_lines(struct report *report, const struct persist_report *persist)
{
    line(report, "current_cow_peak:%zu", persist->copied_peak);
    line(report, "current_cow_size:%zu", persist->copied_now);
    line(report, "current_cow_size_age:%" PRId64, persist->copied_age_sec);
    line(report, "current_fork_perc:%.2f", persist->task.percent);
    line(report, "current_save_keys_processed:%" PRIu64, persist->task.done);
    line(report, "current_save_keys_total:%" PRIu64, persist->task.total);
}

static void snapshot_lines(struct report *report, const struct persist_report *persist)
{
    line(report, "rdb_changes_since_last_save:%" PRIu64, persist->changes_since_save);
    line(report, "rdb_bgsave_in_progress:%d", persist->saving);
    line(report, "rdb_last_save_time:%" PRId64, persist->last_save_sec);
    line(report, "rdb_last_bgsave_status:%s", status(persist->save_failed));
    line(report, "rdb_last_bgsave_time_sec:%" PRId64, persist->save_sec);
    line(report, "rdb_current_bgsave_time_sec:%" PRId64, persist->current_save_sec);
    line(report, "rdb_last_cow_size:%zu", persist->save_copied_bytes);
    line(report, "rdb_last_load_keys_loaded:%" PRIu64, persist->keys_loaded);
}

static void journal_lines(struct report *report, const struct persist_report *persist)
{
    line(report, "aof_enabled:%d", persist->journal);
    line(report, "aof_rewrite_in_progress:%d", persist->rewriting);
    line(report, "aof_rewrite_scheduled:%d", persist->rewrite_scheduled);
    line(report, "aof_last_rewrite_time_sec:%" PRId64, persist->rewrite_sec);
    line(report, "aof_current_rewrite_time_sec:%" PRId64, persist->current_rewrite_sec);
    line(report, "aof_last_bgrewrite_status:%s", status(persist->rewrite_failed));
    line(report, "aof_last_write_status:%s", status(persist->write_error != NULL));
    line(report, "aof_last_cow_size:%zu", persist->rewrite_copied_bytes);
    if (!persist->journal) return;
    line(report, "aof_current_size:%" PRIu64, persist->journal_bytes);
    line(report, "aof_base_size:%" PRIu64, persist->base_bytes);
    line(report, "aof_pending_rewrite:0");
    line(report, "aof_buffer_length:%" PRIu64, persist->journal_waiting);
    line(report, "aof_pending_bio_fsync:%d", persist->sync_running);
    line(report, "aof_delayed_fsync:%" PRIu64, persist->late_syncs);
}

static void section_persistence(struct report *report)
{
    struct persist_report persist = {
        .save_sec = -1, .rewrite_sec = -1, .current_save_sec = -1, .current_rewrite_sec = -1
    };
    if (report->context->persist != NULL) persist = persist_report(report->context->persist);
    line(report, "loading:%d", persist.loading);
    line(report, "async_loading:0");
    child_lines(report, &persist);
    snapshot_lines(report, &persist);
    journal_lines(report, &persist);
    if (persist.loading) loading_lines(report, &persist);
}

static void defrag_lines(struct report *report)
{
    static const struct defrag none;
    const struct defrag *defrag = report->context->defrag;
    if (defrag == NULL) defrag = &none;
    line(report, "active_defrag_hits:%" PRIu64, defrag->relocation.moved);
    line(report, "active_defrag_misses:%" PRIu64, defrag->relocation.kept);
    line(report, "active_defrag_key_hits:%" PRIu64, defrag->keys_moved);
    line(report, "active_defrag_key_misses:%" PRIu64, defrag->keys_kept);
}

static void section_stats(struct report *report)
{
    const struct server_context *context = report->context;
    const struct stats *stats = context->stats;
    const struct store_stats *store = &context->store->stats;
    static const char *const idle[] = {
        "expired_stale_perc:0.00", /* in Redis: an estimate by sampling */
        "expired_time_cap_reached_count:0",
        "sync_full:0",
        "sync_partial_ok:0",
        "sync_partial_err:0",
        "migrate_cached_sockets:0",
        "slave_expires_tracked_keys:0",
        NULL,
    };
    line(report, "total_connections_received:%" PRIu64, stats->connections);
    line(report, "total_commands_processed:%" PRIu64, stats->commands);
    line(report, "instantaneous_ops_per_sec:%.0f", stats->commands_per_sec);
    line(report, "instantaneous_input_kbps:%.2f", stats->in_per_sec / 1024);
    line(report, "instantaneous_output_kbps:%.2f", stats->out_per_sec / 1024);
    line(report, "total_net_input_bytes:%" PRIu64, stats->bytes_in);
    line(report, "total_net_output_bytes:%" PRIu64, stats->bytes_out);
    line(report, "rejected_connections:%" PRIu64, stats->rejected_connections);
    line(report, "expired_subkeys:%" PRIu64, store->expired_members);
    line(report, "expired_keys:%" PRIu64, store->expired_keys);
    line(report, "evicted_keys:%" PRIu64, store->evicted_keys);
    line(report, "evicted_clients:%" PRIu64, stats->evicted_clients);
    defrag_lines(report);
    idle_lines(report, idle);
    struct persist_report persist = { 0 };
    if (context->persist != NULL) persist = persist_report(context->persist);
    line(report, "latest_fork_usec:%" PRId64, persist.last_fork_usec);
    line(report, "total_forks:%" PRIu64, persist.forks);
    line(report, "keyspace_hits:%" PRIu64, store->hits);
    line(report, "keyspace_misses:%" PRIu64, store->misses);
    line(report, "pubsub_channels:%zu", pubsub_channel_count(context->pubsub));
    line(report, "pubsub_patterns:%zu", pubsub_pattern_count(context->pubsub));
    line(report, "pubsubshard_channels:%zu", pubsub_shard_count(context->pubsub));
    struct tracking_totals tracking = tracking_totals(context->tracking);
    line(report, "tracking_total_keys:%zu", tracking.keys);
    line(report, "tracking_total_items:%zu", tracking.items);
    line(report, "tracking_total_prefixes:%zu", tracking.prefixes);
    line(report, "total_error_replies:%" PRIu64, stats->errors);
    line(report, "acl_access_denied_tls_cert:%" PRIu64, stats->denied_tls_cert);
    line(report, "acl_access_denied_auth:%" PRIu64, stats->denied_auth);
    line(report, "acl_access_denied_cmd:%" PRIu64, stats->denied_command);
    line(report, "acl_access_denied_key:%" PRIu64, stats->denied_key);
    line(report, "acl_access_denied_channel:%" PRIu64, stats->denied_channel);
    line(report, "client_query_buffer_limit_disconnections:%" PRIu64, stats->closed_query_buffer);
    line(report, "client_output_buffer_limit_disconnections:%" PRIu64, stats->closed_output_buffer);
}

static void section_replication(struct report *report)
{
    line(report, "role:master");
    static const char *const idle[] = {
        "connected_slaves:0",
        "master_failover_state:no-failover",
        "master_repl_offset:0",
        "second_repl_offset:-1",
        "repl_backlog_active:0",
        "repl_backlog_size:0",
        "repl_backlog_first_byte_offset:0",
        "repl_backlog_histlen:0",
        NULL,
    };
    idle_lines(report, idle);
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void section_cpu(struct report *report)
{
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    line(report, "used_cpu_sys:%.6f", seconds(self.ru_stime));
    line(report, "used_cpu_user:%.6f", seconds(self.ru_utime));
    line(report, "used_cpu_sys_children:%.6f", seconds(children.ru_stime));
    line(report, "used_cpu_user_children:%.6f", seconds(children.ru_utime));
}

static void write_command_stats(void *ctx, struct command_ref ref)
{
    char name[128];
    const struct command_stats *stats = ref.stats;
    if (stats->calls == 0 && stats->rejected == 0) return;
    command_full_name(ref, name, sizeof(name));
    line(ctx,
         "cmdstat_%s:calls=%" PRIu64 ",usec=%" PRIu64 ",usec_per_call=%.2f,rejected_calls=%" PRIu64
         ",failed_calls=%" PRIu64,
         name, stats->calls, stats->usec,
         stats->calls > 0 ? (double)stats->usec / (double)stats->calls : 0.0, stats->rejected,
         stats->failed);
}

static void section_commandstats(struct report *report)
{
    commands_each_stats(report->context->commands, write_command_stats, report);
}

static void section_errorstats(struct report *report)
{
    struct dict_iter iter;
    const struct error_count *error;
    dict_iter_begin(&iter, &report->context->observer->errors);
    while ((error = dict_iter_next(&iter)) != NULL)
        line(report, "errorstat_%.*s:count=%" PRIu64, (int)error->code->len, error->code->data,
             error->count);
}

/* The percentiles are those of latency-tracking-info-percentiles, which conf has checked. */
static void write_latency_stats(void *ctx, struct command_ref ref)
{
    enum { ROOM = 64 }; /* for one percentile */
    const struct report *report = ctx;
    char name[128], text[768];
    const struct histogram *spans = ref.stats->spans;
    if (spans == NULL) return;
    command_full_name(ref, name, sizeof(name));
    size_t used = 0;
    text[0] = '\0';
    const char *at = report->context->conf->latency_percentiles;
    while (*at != '\0' && used + ROOM < sizeof(text)) {
        char *end;
        double percent = strtod(at, &end);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%sp%.10g=%" PRIu64 ".000",
                                 used > 0 ? "," : "", percent, histogram_at(spans, percent / 100));
        at = end + strspn(end, " ");
    }
    line(ctx, "latency_percentiles_usec_%s:%s", name, text);
}

static void section_latencystats(struct report *report)
{
    commands_each_stats(report->context->commands, write_latency_stats, report);
}

static void section_cluster(struct report *report)
{
    line(report, "cluster_enabled:0");
}

/* The mean of a random sample; Redis' value is an estimate, too. */
static msec mean_ttl(const struct keyspace *ks, struct random *random, msec now)
{
    enum { DRAWN = 16 };
    msec sum = 0;
    for (int i = 0; i < DRAWN; i++) {
        const struct entry *entry = keyspace_random_volatile(ks, random_next, random);
        if (entry == NULL) return 0;
        msec at = entry_expires_at(ks, entry);
        if (at > now) sum += (at - now) / DRAWN;
    }
    return sum;
}

/* Nothing expires while data are being loaded: count all keys, without looking at expired ones. */
static void section_keyspace(struct report *report)
{
    struct store *store = report->context->store;
    struct persist *persist = report->context->persist;
    bool loading = persist != NULL && persist_report(persist).loading;
    msec now = loading ? INT64_MIN : report->now;
    for (unsigned db = 0; db < store->database_count; db++) {
        const struct keyspace *ks = store_database(store, db);
        size_t keys = keyspace_count_alive(ks, now);
        if (keys == 0) continue;
        line(report, "db%u:keys=%zu,expires=%zu,avg_ttl=%" PRId64, db, keys,
             keyspace_count_volatile(ks, now), mean_ttl(ks, &store->random, report->now));
    }
}

/* Valkey has fields of the same names for the certificate. */
static void section_tls(struct report *report)
{
    const struct server_context *context = report->context;
    const struct tls *tls = clients_tls(context->clients);
    line(report, "tls_port:%" PRId64, context->conf->tls_port);
    if (tls == NULL) return;
    struct tls_report state = tls_report(tls);
    int64_t left = state.not_after - clock_wall_usec(context->clock) / 1000000;
    line(report, "tls_server_cert_serial:%s", state.serial);
    line(report, "tls_server_cert_not_after:%" PRId64, state.not_after);
    line(report, "tls_server_cert_expires_in_seconds:%" PRId64, left > 0 ? left : 0);
    line(report, "tls_handshakes:%" PRIu64, state.handshakes);
    line(report, "tls_handshakes_resumed:%" PRIu64, state.resumed);
    line(report, "tls_handshakes_failed:%" PRIu64, state.failed);
}

static const struct section {
    const char *name; /* upper case; matched in any case */
    const char *title;
    void (*write)(struct report *report);
    bool only_when_asked; /* by name, or by "all" */
} sections[] = {
    { "SERVER", "Server", section_server, false },
    { "EXPIRED", "Expired", section_expired, false },
    { "EXPIRY", "Expiry", section_expiry, false },
    { "CLIENTS", "Clients", section_clients, false },
    { "MEMORY", "Memory", section_memory, false },
    { "PERSISTENCE", "Persistence", section_persistence, false },
    { "STATS", "Stats", section_stats, false },
    { "TLS", "TLS", section_tls, false },
    { "REPLICATION", "Replication", section_replication, false },
    { "CPU", "CPU", section_cpu, false },
    { "COMMANDSTATS", "Commandstats", section_commandstats, true },
    { "ERRORSTATS", "Errorstats", section_errorstats, false },
    { "LATENCYSTATS", "Latencystats", section_latencystats, true },
    { "CLUSTER", "Cluster", section_cluster, false },
    { "KEYSPACE", "Keyspace", section_keyspace, false },
};

static bool is_asked_for(const struct call *call, const struct section *section)
{
    bool by_default = !section->only_when_asked;
    if (call->argc == 1) return by_default;
    for (int i = 1; i < call->argc; i++) {
        if (arg_is(call, i, "ALL") || arg_is(call, i, "EVERYTHING")) return true;
        if (arg_is(call, i, "DEFAULT") && by_default) return true;
        if (arg_is(call, i, section->name)) return true;
    }
    return false;
}

bool info_counts_keys(const struct call *call)
{
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        if (sections[i].write == section_keyspace) return is_asked_for(call, &sections[i]);
    return false;
}

void cmd_info(struct call *call)
{
    struct report report = { .context = call->context, .now = call->txn->now };
    outbuf_init(&report.text);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (!is_asked_for(call, &sections[i])) continue;
        if (report.text.len > 0) outbuf_append(&report.text, "\r\n", 2);
        line(&report, "# %s", sections[i].title);
        sections[i].write(&report);
    }
    reply_text(call, &report.text);
}
