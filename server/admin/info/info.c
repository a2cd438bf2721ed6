/* info: the row of INFO, its sections, and which of them a call requests. A field that Redis also
 * has bears Redis' name; most others are in the sections Expired and Expiry. */
#include "server/admin/info/report.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"

static const struct section {
    const char *name; /* upper case; matched in any case */
    const char *title;
    void (*write)(struct report *report);
    bool on_request; /* only by name, or by "all" */
} sections[] = {
    { "SERVER", "Server", info_server, false },
    { "EXPIRED", "Expired", info_expired, false },
    { "EXPIRY", "Expiry", info_expiry, false },
    { "CLIENTS", "Clients", info_clients, false },
    { "MEMORY", "Memory", info_memory, false },
    { "PERSISTENCE", "Persistence", info_persistence, false },
    { "STATS", "Stats", info_stats, false },
    { "TLS", "TLS", info_tls, false },
    { "REPLICATION", "Replication", info_replication, false },
    { "CPU", "CPU", info_cpu, false },
    { "MODULES", "Modules", info_modules, false },
    { "COMMANDSTATS", "Commandstats", info_commandstats, true },
    { "ERRORSTATS", "Errorstats", info_errorstats, false },
    { "LATENCYSTATS", "Latencystats", info_latencystats, true },
    { "CLUSTER", "Cluster", info_cluster, false },
    { "KEYSPACE", "Keyspace", info_keyspace, false },
};

enum { SECTIONS = sizeof(sections) / sizeof(sections[0]) };

static bool is_requested(const struct call *call, const struct section *section)
{
    bool by_default = !section->on_request;
    if (call->argc == 1) return by_default;
    for (int i = 1; i < call->argc; i++) {
        if (arg_is(call, i, "ALL") || arg_is(call, i, "EVERYTHING")) return true;
        if (arg_is(call, i, "DEFAULT") && by_default) return true;
        if (arg_is(call, i, section->name)) return true;
    }
    return false;
}

static bool requests_keyspace(const struct call *call)
{
    for (size_t i = 0; i < SECTIONS; i++)
        if (sections[i].write == info_keyspace) return is_requested(call, &sections[i]);
    return false;
}

static void cmd_info(struct call *call)
{
    const struct admin_parts *context = call->context;
    struct report report = { .context = context,
                             .now = call->txn->now,
                             .mono_usec = clock_mono_usec(),
                             .persist = { .saves.sec = -1,
                                          .rewrites.sec = -1,
                                          .current_save_sec = -1,
                                          .current_rewrite_sec = -1 } };
    if (context->engine->persist != NULL) report.persist = persist_report(context->engine->persist);
    outbuf_init(&report.text);
    for (size_t i = 0; i < SECTIONS; i++) {
        if (!is_requested(call, &sections[i])) continue;
        if (report.text.len > 0) outbuf_append(&report.text, "\r\n", 2);
        report_line(&report, "# %s", sections[i].title);
        sections[i].write(&report);
    }
    reply_text(call, &report.text);
}

static const struct command rows[] = {
    ROW("INFO", cmd_info, -1, LOADING | STALE | COUNTS_KEYS, .counts_keys = requests_keyspace,
        .acl = ACL_DANGEROUS,
        .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
        .since = "1.0.0", .replies = REPLIES("verbatim: sections of field:value"),
        .complexity = "O(N) where N is the number of connections.",
        .syntax = "[section [section ...]]",
        .summary = "Returns information and statistics about the server."),
};

const struct command_group info_commands = COMMAND_GROUP("server", rows);
