/* memory_figures: see memory_figures.h. */
#include "server/admin/memory_figures.h"

#include "server/admin/admin_parts.h"
#include "server/replica/replication.h"

struct memory_of_keys memory_of_keys(const struct keyspace *ks)
{
    return (struct memory_of_keys){ keyspace_table_bytes(ks), keyspace_agenda_bytes(ks),
                                    keyspace_count(ks) };
}

static size_t parts_of(const struct memory_figures *figures)
{
    const struct script_report *scripts = &figures->scripts;
    return figures->keys.tables + figures->keys.deadlines + figures->clients + figures->journal +
           figures->replicas + figures->backlog + figures->copies + figures->fair +
           scripts->lua_bytes + scripts->script_bytes + scripts->function_bytes;
}

static void add_replica(void *ctx, const struct replica_info *replica)
{
    size_t *bytes = ctx;
    struct client_info client;
    if (clients_info(replica->session, &client)) *bytes += client.memory;
}

static void measure_parts(const struct admin_parts *context, struct memory_figures *figures)
{
    if (context->replication != NULL) {
        const struct replicas *replicas = replication_replicas(context->replication);
        figures->replicas = 0;
        replicas_each(replicas, add_replica, &figures->replicas);
        figures->backlog = backlog_bytes(replication_backlog(context->replication));
        figures->copies = replicas_report(replicas).bytes;
    }
    figures->clients = clients_bytes(context->clients);
    figures->clients -= figures->replicas < figures->clients ? figures->replicas : figures->clients;
    if (context->engine->persist != NULL)
        figures->journal = persist_report(context->engine->persist).buffer_bytes;
    if (context->scripting != NULL) figures->scripts = script_report(context->scripting);
    figures->fair = fair_bytes(&context->engine->store->fair);
    figures->keys = (struct memory_of_keys){ 0 };
    for (unsigned db = 0; db < context->engine->store->database_count; db++) {
        struct memory_of_keys one = memory_of_keys(store_database(context->engine->store, db));
        figures->keys.tables += one.tables;
        figures->keys.deadlines += one.deadlines;
        figures->keys.keys += one.keys;
    }
}

size_t memory_figures_at_start(const struct admin_parts *context)
{
    struct memory_figures figures = { 0 };
    measure_parts(context, &figures);
    return parts_of(&figures);
}

void memory_figures(const struct admin_parts *context, struct memory_figures *figures)
{
    *figures = (struct memory_figures){ .used = mem_used(),
                                        .peak = mem_peak(),
                                        .resident = mem_resident(),
                                        .startup = context->bytes_at_start,
                                        .allocators = mem_allocators() };
    measure_parts(context, figures);
    /* `startup` includes the memory of these parts at the start. */
    size_t parts = parts_of(figures), before = context->parts_at_start;
    figures->overhead = figures->startup + (parts > before ? parts - before : 0);
    if (figures->overhead > figures->used) figures->overhead = figures->used;
    figures->dataset = figures->used - figures->overhead;
    if (figures->used > figures->startup)
        figures->dataset_percent =
            100 * memory_ratio(figures->dataset, figures->used - figures->startup);
}

double memory_ratio(size_t value, size_t to)
{
    return to > 0 ? (double)value / (double)to : 0;
}
