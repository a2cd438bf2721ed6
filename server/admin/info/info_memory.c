/* info_memory: INFO's section Memory. memory_figures.h makes the sums. */
#include "server/admin/info/report.h"

#include <stdlib.h>
#include <unistd.h>

#include "server/admin/memory_figures.h"
#include "server/engine/memory_limit.h"

static void write_use(struct report *report, const struct memory_figures *figures)
{
    const struct stats *stats = report->context->engine->stats;
    /* A peak that no sample has recorded yet was in this second. */
    int64_t peak_usec = report->mono_usec;
    if (stats->memory_peak == figures->peak) peak_usec = stats->memory_peak_usec;
    int64_t peak_age = (report->mono_usec - peak_usec) / 1000000;
    uint64_t system = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const struct info_row rows[] = {
        BYTES("used_memory", figures->used),
        BYTES("used_memory_rss", figures->resident),
        BYTES("used_memory_peak", figures->peak),
        NUMBER("used_memory_peak_time", report->now / 1000 - peak_age),
        PERCENT("used_memory_peak_perc", 100 * memory_ratio(figures->used, figures->peak)),
        COUNT("used_memory_overhead", figures->overhead),
        COUNT("used_memory_startup", figures->startup),
        COUNT("used_memory_dataset", figures->dataset),
        PERCENT("used_memory_dataset_perc", figures->dataset_percent),
        COUNT("allocator_allocated", figures->allocators.allocated),
        COUNT("allocator_active", figures->allocators.active),
        COUNT("allocator_resident", figures->allocators.resident),
        COUNT("allocator_muzzy", figures->allocators.muzzy),
        BYTES("total_system_memory", system),
    };
    REPORT_ROWS(report, rows);
}

/* Returns by how many bytes one figure exceeds another; negative if it is smaller. */
static int64_t excess(size_t value, size_t above)
{
    return (int64_t)value - (int64_t)above;
}

void info_memory(struct report *report)
{
    struct memory_figures figures;
    memory_figures(report->context, &figures);
    write_use(report, &figures);
    /* Scripts and functions share one interpreter, whose memory counts as that of scripts. */
    const struct script_report *scripts = &figures.scripts;
    const struct info_row of_scripts[] = {
        BYTES("used_memory_lua", scripts->lua_bytes),
        COUNT("used_memory_vm_eval", scripts->lua_bytes),
        COUNT("used_memory_scripts_eval", scripts->script_bytes),
        COUNT("number_of_cached_scripts", scripts->scripts),
        COUNT("number_of_functions", scripts->functions),
        COUNT("number_of_libraries", scripts->libraries),
        NEVER_ANY("used_memory_vm_functions"),
        BYTES("used_memory_vm_total", scripts->lua_bytes),
        COUNT("used_memory_functions", scripts->function_bytes),
        BYTES("used_memory_scripts", scripts->script_bytes + scripts->function_bytes),
    };
    REPORT_ROWS(report, of_scripts);
    const struct admin_parts *context = report->context;
    const struct reclaim *reclaim = &context->engine->store->reclaim;
    const struct mem_allocators *all = &figures.allocators;
    const struct conf *conf = context->conf;
    char *policy = conf_get(conf, conf_find("maxmemory-policy"));
    const struct info_row rows[] = {
        BYTES("maxmemory", conf->maxmemory),
        TEXT("maxmemory_policy", policy),
        RATIO("allocator_frag_ratio", memory_ratio(all->active, all->allocated)),
        NUMBER("allocator_frag_bytes", excess(all->active, all->allocated)),
        RATIO("allocator_rss_ratio", memory_ratio(all->resident, all->active)),
        NUMBER("allocator_rss_bytes", excess(all->resident, all->active)),
        RATIO("rss_overhead_ratio", memory_ratio(figures.resident, all->resident)),
        NUMBER("rss_overhead_bytes", excess(figures.resident, all->resident)),
        RATIO("mem_fragmentation_ratio", memory_ratio(figures.resident, figures.used)),
        NUMBER("mem_fragmentation_bytes", excess(figures.resident, figures.used)),
        COUNT("mem_not_counted_for_evict", memory_limit_uncounted(context->engine)),
        COUNT("mem_replication_backlog", figures.backlog),
        COUNT("mem_total_replication_buffers", figures.backlog + figures.copies),
        COUNT("mem_clients_slaves", figures.replicas),
        COUNT("mem_clients_normal", figures.clients),
        NEVER_ANY("mem_cluster_links"),
        COUNT("mem_aof_buffer", figures.journal),
        NEVER_ANY("mem_overhead_db_hashtable_rehashing"), /* tables grow in place */
        COUNT("mem_pool_waste", mem_pool_waste()),
        TEXT("mem_allocator", mem_allocator_name()),
        COUNT("active_defrag_running", context->defrag != NULL && context->defrag->running),
        COUNT("lazyfree_pending_objects", reclaim->left),
        COUNT("lazyfreed_objects", reclaim->freed),
    };
    REPORT_ROWS(report, rows);
    free(policy);
}
