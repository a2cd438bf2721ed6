/* cluster: CLUSTER, READONLY, READWRITE and ASKING. With `cluster-enabled emulated` this server is
 * the only node of a cluster, so that clients of Redis Cluster work. Otherwise these commands fail
 * with the error of a Redis whose cluster support is off. */
#include "server/admin/admin.h"
#include "server/admin/cluster_keys.h"
#include "server/admin/cluster_nodes.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/error.h"
#include "server/cmd/call/reply_text.h"

static bool is_off(struct call *call)
{
    const struct cluster_context *context = call->context;
    if (context->conf->cluster != CONF_CLUSTER_NO) return false;
    fail(call, ERR_NO_CLUSTER);
    return true;
}

/* Runs all subcommands that would change the cluster: replies with an error. */
static void cmd_fixed(struct call *call)
{
    if (!is_off(call)) fail(call, ERR_CLUSTER_EMULATED);
}

/* ASKING and, in a cluster, READONLY and READWRITE: without effect, because the only node owns all
 * slots. */
static void cmd_nothing(struct call *call)
{
    if (!is_off(call)) reply_ok(call);
}

/* READONLY and READWRITE of a client that follows redirections (CLIENT CAPA): should a replica
 * serve the client's reads, or redirect them to its master? For other clients they are commands of
 * a cluster. */
static void set_reads_replica(struct call *call)
{
    bool reads = call_variant(call);
    if (!call->session->redirects) {
        cmd_nothing(call);
        return;
    }
    call->session->reads_replica = reads;
    reply_ok(call);
}

#define WHEN_ON(name, reply)                                                                       \
    static void name(struct call *call)                                                            \
    {                                                                                              \
        if (!is_off(call)) reply(call);                                                            \
    }

WHEN_ON(cmd_slots, cluster_reply_slots)
WHEN_ON(cmd_shards, cluster_reply_shards)
WHEN_ON(cmd_nodes, cluster_reply_nodes)
WHEN_ON(cmd_info, cluster_reply_info)
WHEN_ON(cmd_keyslot, cluster_reply_keyslot)
WHEN_ON(cmd_count, cluster_reply_count)
WHEN_ON(cmd_keys, cluster_reply_keys)

static void cmd_myid(struct call *call)
{
    const struct cluster_context *context = call->context;
    if (!is_off(call)) resp_bulk_text(call->out, context->node_id);
}

static void cmd_links(struct call *call)
{
    if (!is_off(call)) resp_array(call->out, 0);
}

static bool names_node(struct call *call)
{
    const struct cluster_context *context = call->context;
    if (is_off(call)) return false;
    if (bytes_equal(call->argv[2], bytes_of(context->node_id, strlen(context->node_id))))
        return true;
    return failf(call, ERR_CLUSTER_NODE, arg_width(call, 2), call->argv[2].data);
}

static void cmd_replicas(struct call *call)
{
    if (names_node(call)) resp_array(call->out, 0);
}

static void cmd_failures(struct call *call)
{
    if (names_node(call)) resp_integer(call->out, 0);
}

static void cmd_cluster_help(struct call *call)
{
    if (!is_off(call)) cmd_help(call);
}

enum { CHANGES = ADMIN | STALE | NO_ASYNC_LOADING, SHOWS = ADMIN | STALE };

static const char UNSTEADY[] = "nondeterministic_output";

#define FIXED_ROW(word, args, how, text, version, tip)                                             \
    {                                                                                              \
        .name = (word), .run = cmd_fixed, .arity = (args), .flags = (how), .syntax = (text),       \
        .since = (version), .tips = (tip), .replies = (const char *const[]){ NULL },               \
        .errors = ERRORS(ERR_NO_CLUSTER, ERR_CLUSTER_EMULATED), .complexity = "O(1)",              \
        .summary = "Fails: the cluster can't be changed."                                          \
    }

static const struct command subcommands[] = {
    FIXED_ROW("ADDSLOTS", -3, CHANGES, "slot [slot ...]", "3.0.0", NULL),
    FIXED_ROW("ADDSLOTSRANGE", -4, CHANGES, "start-slot end-slot [start-slot end-slot ...]",
              "7.0.0", NULL),
    FIXED_ROW("BUMPEPOCH", 2, CHANGES, "", "3.0.0", UNSTEADY),
    ROW("COUNT-FAILURE-REPORTS", cmd_failures, 3, SHOWS, .tips = UNSTEADY, .since = "3.0.0",
        .replies = REPLIES("integer: 0"), .errors = ERRORS(ERR_NO_CLUSTER, ERR_CLUSTER_NODE),
        .complexity = "O(1)", .syntax = "node-id",
        .summary = "Returns the number of failure reports about the node."),
    ROW("COUNTKEYSINSLOT", cmd_count, 3, STALE, .since = "3.0.0",
        .replies = REPLIES("integer: the number of keys in the slot"),
        .errors = ERRORS(ERR_NO_CLUSTER, ERR_NOT_INTEGER, ERR_SLOT),
        .complexity = "O(N) where N is the number of keys of the database; other clients are "
                      "served meanwhile.",
        .syntax = "slot", .summary = "Counts the keys of a slot."),
    FIXED_ROW("DELSLOTS", -3, CHANGES, "slot [slot ...]", "3.0.0", NULL),
    FIXED_ROW("DELSLOTSRANGE", -4, CHANGES, "start-slot end-slot [start-slot end-slot ...]",
              "7.0.0", NULL),
    FIXED_ROW("FAILOVER", -2, CHANGES, "[FORCE | TAKEOVER]", "3.0.0", NULL),
    FIXED_ROW("FLUSHSLOTS", 2, CHANGES, "", "3.0.0", NULL),
    FIXED_ROW("FORGET", 3, CHANGES, "node-id", "3.0.0", NULL),
    ROW("GETKEYSINSLOT", cmd_keys, 4, STALE, .tips = UNSTEADY, .since = "3.0.0",
        .replies = REPLIES("[bulk ...]: keys"),
        .errors = ERRORS(ERR_NO_CLUSTER, ERR_NOT_INTEGER, ERR_SLOT_OR_COUNT),
        .complexity = "O(N) where N is the number of keys of the database; other clients are "
                      "served meanwhile.",
        .syntax = "slot count", .summary = "Returns keys of a slot."),
    HELP_ROW(cmd_cluster_help, .since = "5.0.0", .errors = ERRORS(ERR_NO_CLUSTER)),
    ROW("INFO", cmd_info, 2, STALE, .tips = UNSTEADY, .since = "3.0.0",
        .replies = REPLIES("verbatim: lines of field:value"), .errors = ERRORS(ERR_NO_CLUSTER),
        .complexity = "O(1)", .syntax = "", .summary = "Returns the state of the cluster."),
    ROW("KEYSLOT", cmd_keyslot, 3, STALE, .since = "3.0.0", .replies = REPLIES("integer: the slot"),
        .errors = ERRORS(ERR_NO_CLUSTER),
        .complexity = "O(N) where N is the number of bytes of the key.", .syntax = "key",
        .summary = "Returns the slot of a key."),
    ROW("LINKS", cmd_links, 2, STALE, .tips = UNSTEADY, .since = "7.0.0",
        .replies = REPLIES("[]: always empty, because this server is the only node"),
        .errors = ERRORS(ERR_NO_CLUSTER), .complexity = "O(1)", .syntax = "",
        .summary = "Returns an empty list: this server has no links to other nodes."),
    FIXED_ROW("MEET", -4, CHANGES, "ip port [cluster-bus-port]", "3.0.0", NULL),
    ROW("MYID", cmd_myid, 2, STALE, .since = "3.0.0",
        .replies = REPLIES("bulk: the ID, which changes at each start"),
        .errors = ERRORS(ERR_NO_CLUSTER), .complexity = "O(1)", .syntax = "",
        .summary = "Returns the ID of the node."),
    ROW("NODES", cmd_nodes, 2, STALE, .tips = UNSTEADY, .since = "3.0.0",
        .replies = REPLIES("verbatim: the line of the node"), .errors = ERRORS(ERR_NO_CLUSTER),
        .complexity = "O(1)", .syntax = "", .summary = "Describes the nodes."),
    ROW("REPLICAS", cmd_replicas, 3, SHOWS, .tips = UNSTEADY, .since = "5.0.0",
        .replies = REPLIES("[]: the node has none"),
        .errors = ERRORS(ERR_NO_CLUSTER, ERR_CLUSTER_NODE), .complexity = "O(1)",
        .syntax = "node-id", .summary = "Returns the replicas of a node."),
    FIXED_ROW("REPLICATE", 3, CHANGES, "node-id", "3.0.0", NULL),
    FIXED_ROW("RESET", -2, SHOWS | NOSCRIPT, "[HARD | SOFT]", "3.0.0", NULL),
    FIXED_ROW("SAVECONFIG", 2, CHANGES, "", "3.0.0", NULL),
    FIXED_ROW("SET-CONFIG-EPOCH", 3, CHANGES, "config-epoch", "3.0.0", NULL),
    FIXED_ROW("SETSLOT", -4, CHANGES,
              "slot <STABLE | IMPORTING node-id | MIGRATING node-id | NODE node-id>", "3.0.0",
              NULL),
    ROW("SHARDS", cmd_shards, 2, STALE, .tips = UNSTEADY, .since = "7.0.0",
        .replies = REPLIES("[map[bulk any ...]]: the slots, and the nodes, each a map"),
        .errors = ERRORS(ERR_NO_CLUSTER), .complexity = "O(1)", .syntax = "",
        .summary = "Describes the slots and the node that owns them."),
    ROW("SLAVES", cmd_replicas, 3, SHOWS, .tips = UNSTEADY, .since = "3.0.0",
        .replies = REPLIES("[]: the node has none"),
        .errors = ERRORS(ERR_NO_CLUSTER, ERR_CLUSTER_NODE), .complexity = "O(1)",
        .syntax = "node-id", .summary = "Another name of REPLICAS."),
    ROW("SLOTS", cmd_slots, 2, STALE, .tips = UNSTEADY, .since = "3.0.0",
        .replies = REPLIES("[[integer integer [any ...]]]: first slot, last slot, and the node: "
                           "address, port, ID, other addresses"),
        .errors = ERRORS(ERR_NO_CLUSTER), .complexity = "O(1)", .syntax = "",
        .summary = "Returns which node owns which slots."),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("CLUSTER", subcommands, "3.0.0", "Describes the cluster, if one is emulated."),
    ROW("READONLY", set_reads_replica, 1, LOADING | STALE | FAST, .variant = true,
        .acl = ACL_CONNECTION, .since = "3.0.0", .replies = REPLIES("OK"),
        .errors = ERRORS(ERR_NO_CLUSTER), .complexity = "O(1)", .syntax = "",
        .summary =
            "After CLIENT CAPA redirect: a replica answers reads itself. Accepted for cluster "
            "clients; has no effect there."),
    ROW("READWRITE", set_reads_replica, 1, LOADING | STALE | FAST, .variant = false,
        .acl = ACL_CONNECTION, .since = "3.0.0", .replies = REPLIES("OK"),
        .errors = ERRORS(ERR_NO_CLUSTER), .complexity = "O(1)", .syntax = "",
        .summary = "Ends READONLY."),
    ROW("ASKING", cmd_nothing, 1, FAST, .acl = ACL_CONNECTION, .since = "3.0.0",
        .replies = REPLIES("OK"), .errors = ERRORS(ERR_NO_CLUSTER), .complexity = "O(1)",
        .syntax = "", .summary = "Accepted for cluster clients; has no effect."),
};

const struct command_group cluster_commands = COMMAND_GROUP("cluster", rows);
