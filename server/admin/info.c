/* info: INFO: what the server says about itself, in the sections and field names that monitoring
 * reads. Fields of our own stand in sections of our own. */
#include "server/admin/info.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "server/admin/admin.h"
#include "server/args.h"
#include "server/version.h"
#include "store/mem.h"

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

/* As Redis shows sizes to people: 1.20M. */
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

static void section_server(struct report *report)
{
    const struct server_context *context = report->context;
    struct utsname os;
    uname(&os);
    int64_t uptime = (clock_mono_usec() - context->started_mono_usec) / 1000000;
    line(report, "redis_version:" REDIS_VERSION);
    line(report, "redis_mode:standalone");
    line(report, "os:%s %s %s", os.sysname, os.release, os.machine);
    line(report, "arch_bits:%zu", sizeof(void *) * 8);
    line(report, "multiplexing_api:%s", loop_backend(context->loop));
    line(report, "gcc_version:%d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
    line(report, "process_id:%ld", (long)getpid());
    line(report, "run_id:%s", context->run_id);
    line(report, "tcp_port:%" PRId64, context->conf->port);
    line(report, "server_time_usec:%" PRId64, clock_wall_usec(context->clock));
    line(report, "uptime_in_seconds:%" PRId64, uptime);
    line(report, "uptime_in_days:%" PRId64, uptime / 86400);
    line(report, "hz:%" PRId64, context->conf->hz);
    line(report, "configured_hz:%" PRId64, context->conf->hz);
    line(report, "config_file:%s", context->conf->file);
}

static void section_expired(struct report *report)
{
    const struct store *store = report->context->store;
    msec next = store_next_due(store);
    line(report, "expired_version:" EXPIRED_VERSION);
    line(report, "clock:%s", report->context->clock->stepped ? "held" : "real");
    line(report, "next_due_msec:%" PRId64, next == NEVER ? (msec)-1 : next);
    line(report, "reclaim_pending:%d", reclaim_pending(&store->reclaim));
}

static void section_clients(struct report *report)
{
    const struct server_context *context = report->context;
    line(report, "connected_clients:%zu", clients_count(context->clients));
    line(report, "cluster_connections:0");
    line(report, "maxclients:%" PRId64, context->conf->maxclients);
    line(report, "blocked_clients:0");
    line(report, "tracking_clients:0");
}

static uint64_t resident_bytes(void)
{
    unsigned long total, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL) return 0;
    if (fscanf(statm, "%lu %lu", &total, &resident) != 2) resident = 0;
    fclose(statm);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void section_memory(struct report *report)
{
    const struct conf *conf = report->context->conf;
    uint64_t used = mem_used(), resident = resident_bytes(), peak = mem_peak();
    uint64_t total = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const struct conf_option *policy = conf_find("maxmemory-policy");
    bytes_line(report, "used_memory", used);
    bytes_line(report, "used_memory_rss", resident);
    bytes_line(report, "used_memory_peak", peak);
    line(report, "used_memory_peak_perc:%.2f%%", 100.0 * (double)used / (double)(peak ? peak : 1));
    bytes_line(report, "total_system_memory", total);
    bytes_line(report, "maxmemory", (uint64_t)conf->maxmemory);
    line(report, "maxmemory_policy:%s",
         policy->choices[conf->maxmemory_policy - policy->choices[0].value].name);
    line(report, "mem_fragmentation_ratio:%.2f", (double)resident / (double)(used ? used : 1));
    line(report, "mem_fragmentation_bytes:%" PRId64, (int64_t)(resident - used));
    line(report, "mem_allocator:%s", mem_allocator_name());
    line(report, "active_defrag_running:0");
    line(report, "lazyfree_pending_objects:%d", reclaim_pending(&report->context->store->reclaim));
}

static void section_persistence(struct report *report)
{
    line(report, "loading:0");
    line(report, "async_loading:0");
    line(report, "rdb_changes_since_last_save:%" PRIu64, report->context->store->changes);
    line(report, "rdb_bgsave_in_progress:0");
    line(report, "aof_enabled:0");
}

static void section_stats(struct report *report)
{
    const struct server_context *context = report->context;
    const struct stats *stats = context->stats;
    const struct store_stats *store = &context->store->stats;
    line(report, "total_connections_received:%" PRIu64, stats->connections);
    line(report, "total_commands_processed:%" PRIu64, stats->commands);
    line(report, "total_net_input_bytes:%" PRIu64, stats->bytes_in);
    line(report, "total_net_output_bytes:%" PRIu64, stats->bytes_out);
    line(report, "rejected_connections:%" PRIu64, stats->rejected_connections);
    line(report, "expired_keys:%" PRIu64, store->expired_keys);
    line(report, "evicted_keys:0");
    line(report, "evicted_clients:0");
    line(report, "keyspace_hits:%" PRIu64, store->hits);
    line(report, "keyspace_misses:%" PRIu64, store->misses);
    line(report, "pubsub_channels:%zu", pubsub_channel_count(context->pubsub));
    line(report, "pubsub_patterns:%zu", pubsub_pattern_count(context->pubsub));
    line(report, "total_error_replies:%" PRIu64, stats->errors);
    line(report, "client_query_buffer_limit_disconnections:%" PRIu64, stats->closed_query_buffer);
    line(report, "client_output_buffer_limit_disconnections:%" PRIu64, stats->closed_output_buffer);
}

static void section_replication(struct report *report)
{
    line(report, "role:master");
    line(report, "connected_slaves:0");
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

static void section_cluster(struct report *report)
{
    line(report, "cluster_enabled:0");
}

static void section_keyspace(struct report *report)
{
    const struct store *store = report->context->store;
    for (unsigned db = 0; db < store->database_count; db++) {
        const struct keyspace *ks = &store->databases[db];
        size_t keys = keyspace_count_alive(ks, report->now);
        if (keys == 0) continue;
        line(report, "db%u:keys=%zu,expires=%zu,avg_ttl=0", db, keys,
             keyspace_count_volatile(ks, report->now));
    }
}

static const struct section {
    const char *name; /* upper case; asked for in any */
    const char *title;
    void (*write)(struct report *report);
} sections[] = {
    { "SERVER", "Server", section_server },
    { "EXPIRED", "Expired", section_expired },
    { "CLIENTS", "Clients", section_clients },
    { "MEMORY", "Memory", section_memory },
    { "PERSISTENCE", "Persistence", section_persistence },
    { "STATS", "Stats", section_stats },
    { "REPLICATION", "Replication", section_replication },
    { "CPU", "CPU", section_cpu },
    { "CLUSTER", "Cluster", section_cluster },
    { "KEYSPACE", "Keyspace", section_keyspace },
};

static bool is_asked_for(const struct call *call, const struct section *section)
{
    if (call->argc == 1) return true;
    for (int i = 1; i < call->argc; i++) {
        if (arg_is(call, i, "ALL") || arg_is(call, i, "DEFAULT") || arg_is(call, i, "EVERYTHING"))
            return true;
        if (arg_is(call, i, section->name)) return true;
    }
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
    char *text = mem_alloc(report.text.len + 1);
    outbuf_copy(&report.text, text);
    resp_verbatim(call->out, "txt", text, report.text.len);
    mem_free(text);
    outbuf_drop(&report.text);
}
