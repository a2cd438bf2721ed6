/* memory: MEMORY: memory use of the data, of a key, and of the allocator. */
#include <stdio.h>

#include "server/admin/admin.h"
#include "server/admin/memory_figures.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "store/mem/mem.h"

/* SAMPLES is parsed for its errors only: sizes are exact. */
static void cmd_memory_usage(struct call *call)
{
    for (int i = 3; i < call->argc; i += 2) {
        int64_t samples;
        bool valued = arg_is(call, i, "SAMPLES") && i + 1 < call->argc;
        if (valued && !arg_int64(call, i + 1, &samples)) return;
        if (valued && samples >= 0) continue;
        fail(call, ERR_SYNTAX);
        return;
    }
    const struct entry *entry = txn_find(call->txn, call->argv[2]);
    if (entry == NULL)
        resp_null(call->out);
    else
        resp_integer(call->out, (int64_t)entry_bytes(entry));
}

static void reply_ratio(struct call *call, const char *name, double value)
{
    resp_bulk_text(call->out, name);
    resp_double(call->out, value);
}

/* Replies by how much one figure exceeds another: as a ratio, and as a number of bytes, which may
 * be negative. */
static void reply_excess(struct call *call, const char *name, size_t value, size_t above)
{
    char field[64];
    snprintf(field, sizeof(field), "%s.ratio", name);
    reply_ratio(call, field, memory_ratio(value, above));
    snprintf(field, sizeof(field), "%s.bytes", name);
    reply_named_count(call, field, value - above);
}

static void cmd_memory_stats(struct call *call)
{
    enum { AREAS = 10, DATA = 6, ALLOCATORS = 11 };
    const struct admin_parts *context = call->context;
    const struct store *store = context->engine->store;
    struct memory_figures figures;
    memory_figures(context, &figures);
    size_t databases = 0;
    for (unsigned db = 0; db < store->database_count; db++)
        databases += keyspace_count(store_database(store, db)) > 0;
    resp_map(call->out, AREAS + databases + DATA + ALLOCATORS);

    const struct script_report *scripts = &figures.scripts;
    reply_named_count(call, "peak.allocated", figures.peak);
    reply_named_count(call, "total.allocated", figures.used);
    reply_named_count(call, "startup.allocated", figures.startup);
    reply_named_count(call, "replication.backlog", figures.backlog);
    reply_named_count(call, "clients.slaves", figures.replicas);
    reply_named_count(call, "clients.normal", figures.clients);
    reply_named_count(call, "cluster.links", 0); /* as without Redis Cluster */
    reply_named_count(call, "aof.buffer", figures.journal);
    reply_named_count(call, "lua.caches", scripts->lua_bytes + scripts->script_bytes);
    reply_named_count(call, "functions.caches", scripts->function_bytes);

    for (unsigned db = 0; db < store->database_count; db++) {
        char name[32];
        struct memory_of_keys one = memory_of_keys(store_database(store, db));
        if (one.keys == 0) continue;
        snprintf(name, sizeof(name), "db.%u", db);
        resp_bulk_text(call->out, name);
        resp_map(call->out, 3);
        reply_named_count(call, "overhead.hashtable.main", one.tables);
        reply_named_count(call, "overhead.hashtable.expires", one.deadlines);
        reply_named_count(call, "overhead.hashtable.slot-to-keys", 0);
    }

    size_t keys = figures.keys.keys;
    size_t gained = figures.used > figures.startup ? figures.used - figures.startup : 0;
    reply_named_count(call, "overhead.total", figures.overhead);
    reply_named_count(call, "keys.count", keys);
    reply_named_count(call, "keys.bytes-per-key", keys > 0 ? gained / keys : 0);
    reply_named_count(call, "dataset.bytes", figures.dataset);
    reply_ratio(call, "dataset.percentage", figures.dataset_percent);
    reply_ratio(call, "peak.percentage", 100 * memory_ratio(figures.used, figures.peak));

    const struct mem_allocators *all = &figures.allocators;
    reply_named_count(call, "allocator.allocated", all->allocated);
    reply_named_count(call, "allocator.active", all->active);
    reply_named_count(call, "allocator.resident", all->resident);
    reply_excess(call, "allocator-fragmentation", all->active, all->allocated);
    reply_excess(call, "allocator-rss", all->resident, all->active);
    reply_excess(call, "rss-overhead", figures.resident, all->resident);
    reply_ratio(call, "fragmentation", memory_ratio(figures.resident, figures.used));
    reply_named_count(call, "fragmentation.bytes", figures.resident - figures.used);
}

/* Ratios are reported above HIGH_RATIO, and not at all if less than SMALL_BYTES are in use. */
#define SMALL_BYTES ((size_t)5 << 20)
#define HIGH_RATIO  1.4

static void cmd_memory_doctor(struct call *call)
{
    size_t used = mem_used(), peak = mem_peak(), resident = mem_resident();
    struct outbuf text;
    char line[256];
    int len;
    outbuf_init(&text);
    if (used < SMALL_BYTES) {
        len = snprintf(line, sizeof(line), "%zu bytes in use: too few to report on.\n", used);
        outbuf_append(&text, line, (size_t)len);
    } else {
        if ((double)peak / (double)used > HIGH_RATIO) {
            len = snprintf(line, sizeof(line),
                           "Peak: %zu bytes were in use, %zu are now; the allocator may still "
                           "hold the difference.\n",
                           peak, used);
            outbuf_append(&text, line, (size_t)len);
        }
        if ((double)resident / (double)used > HIGH_RATIO) {
            len = snprintf(line, sizeof(line),
                           "Fragmentation: %zu bytes are resident for %zu in use; use MEMORY "
                           "PURGE to return unused pages.\n",
                           resident, used);
            outbuf_append(&text, line, (size_t)len);
        }
        if (text.len == 0) {
            static const char fine[] = "No problem found.\n";
            outbuf_append(&text, fine, sizeof(fine) - 1);
        }
    }
    reply_text(call, &text);
}

static void append_statistics(void *ctx, const char *text)
{
    outbuf_append(ctx, text, strlen(text));
}

static void cmd_memory_malloc_stats(struct call *call)
{
    struct outbuf text;
    outbuf_init(&text);
    mem_describe(append_statistics, &text);
    reply_text(call, &text);
}

static void cmd_memory_purge(struct call *call)
{
    mem_purge();
    reply_ok(call);
}

static const struct command subcommands[] = {
    ROW("DOCTOR", cmd_memory_doctor, 2, 0,
        .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
        .since = "4.0.0", .replies = REPLIES("verbatim: advice about the use of memory"),
        .complexity = "O(1)", .syntax = "",
        .summary = "Reports problems with memory, with advice."),
    ROW("MALLOC-STATS", cmd_memory_malloc_stats, 2, 0,
        .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
        .since = "4.0.0", .replies = REPLIES("verbatim: the allocator's report"),
        .complexity = "Depends on the allocator.", .syntax = "",
        .summary = "Returns the allocator's own statistics."),
    ROW("PURGE", cmd_memory_purge, 2, 0,
        .tips = "request_policy:all_shards response_policy:all_succeeded", .since = "4.0.0",
        .replies = REPLIES("OK: unused pages were returned"),
        .complexity = "Depends on the allocator.", .syntax = "",
        .summary = "Asks the allocator to return unused memory to the system."),
    ROW("STATS", cmd_memory_stats, 2, 0,
        .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
        .since = "4.0.0",
        .replies = REPLIES(
            "map[bulk any ...]: figures by name; the figures of a database are a map of their own"),
        .complexity = "O(N) where N is the number of connections.", .syntax = "",
        .summary = "Returns how much memory each part uses."),
    ROW("USAGE", cmd_memory_usage, -3, READONLY, .keys = KEY_SECOND, .key_flags = KEY_RO,
        .since = "4.0.0",
        .replies = REPLIES("integer: the bytes that the key and its value take",
                           "null: there is no such key"),
        .errors = ERRORS(ERR_SYNTAX, ERR_NOT_INTEGER), .complexity = "O(1)",
        .syntax = "key [SAMPLES count]", .summary = "Returns the bytes of a key and its value."),
    HELP_ROW(cmd_help, .since = "4.0.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("MEMORY", subcommands, "4.0.0", "Reports the use of memory."),
};

const struct command_group memory_commands = COMMAND_GROUP("server", rows);
