/* cluster: CLUSTER, READONLY, READWRITE and ASKING. With `cluster-enabled emulated` this server is
 * the only node of a cluster, so that clients of Redis Cluster work. Otherwise these commands fail
 * with the error of a Redis whose cluster support is off. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/error.h"
#include "server/cmd/call/reply_text.h"
#include "server/cmd/call/slot.h"
#include "server/replica/replication.h"
#include "store/mem/mem.h"

static bool is_off(struct call *call)
{
    const struct admin_parts *context = call->context;
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

/* ---- KEYSLOT, COUNTKEYSINSLOT, GETKEYSINSLOT ------------------------------------------------- */

/* Visits all keys of the database, in the background if there are many. Why not an index by slot?
 * It would cost every server memory and time, and only these subcommands would use it. */

enum { STEPS_AT_ONCE = 2000, STEPS_AT_A_TIME = 64 };

/* The keys of one slot. */
struct question {
    const struct store *store;
    unsigned db;
    int slot;
    msec now;
    uint64_t cursor;
    size_t found, most;
    bool names;         /* reply with the keys, not with their number */
    struct outbuf text; /* the keys found so far, as bulk strings */
    struct resp_writer out;
};

static struct question *question_new(const struct call *call, int slot, size_t most)
{
    struct question *question = mem_zalloc(sizeof(*question));
    question->store = call->txn->store;
    question->db = call->txn->ks->db;
    question->slot = slot;
    question->most = most;
    outbuf_init(&question->text);
    question->out = resp_writer_to(call->out, &question->text);
    return question;
}

static void question_free(void *ctx)
{
    struct question *question = ctx;
    outbuf_drop(&question->text);
    mem_free(question);
}

static void visit_key(void *ctx, struct entry *entry)
{
    struct question *question = ctx;
    struct bytes key = entry_key(entry);
    if (question->found == question->most || slot_of(key) != question->slot) return;
    if (entry_expired(store_database(question->store, question->db), entry, question->now)) return;
    question->found++;
    if (question->names) resp_bulk(&question->out, key.data, key.len);
}

/* Visits keys in about `steps` steps. Returns true when all have been visited. */
static bool visit_some(struct question *question, msec now, size_t steps)
{
    const struct keyspace *ks = store_database(question->store, question->db);
    question->now = now;
    for (; steps > 0; steps--) {
        if (question->found == question->most) return true;
        question->cursor = keyspace_scan(ks, question->cursor, visit_key, question);
        if (question->cursor == 0) return true;
    }
    return false;
}

static bool work(void *ctx, msec now)
{
    return visit_some(ctx, now, STEPS_AT_A_TIME);
}

static void answer(void *ctx, msec now, struct resp_writer *out)
{
    struct question *question = ctx;
    (void)now;
    if (!question->names) {
        resp_integer(out, (int64_t)question->found);
        return;
    }
    resp_array(out, question->found);
    resp_splice(out, &question->text);
}

static const struct long_query_kind kind = { work, answer, question_free };

static void ask(struct call *call, struct question *question)
{
    const struct admin_parts *context = call->context;
    bool waits = call->block != NULL && context->queries != NULL;
    if (visit_some(question, call->txn->now, waits ? STEPS_AT_ONCE : SIZE_MAX)) {
        answer(question, call->txn->now, call->out);
        question_free(question);
        return;
    }
    long_queries_ask(context->queries, call->session, &kind, question);
}

static void cmd_keyslot(struct call *call)
{
    if (!is_off(call)) resp_integer(call->out, slot_of(call->argv[2]));
}

static void cmd_count(struct call *call)
{
    if (is_off(call)) return;
    int64_t slot;
    if (!arg_int64(call, 2, &slot)) return;
    if (fail_if(call, slot < 0 || slot >= SLOTS, ERR_SLOT)) return;
    ask(call, question_new(call, (int)slot, SIZE_MAX));
}

static void cmd_keys(struct call *call)
{
    if (is_off(call)) return;
    int64_t slot, most;
    if (!arg_int64(call, 2, &slot) || !arg_int64(call, 3, &most)) return;
    if (fail_if(call, slot < 0 || slot >= SLOTS || most < 0, ERR_SLOT_OR_COUNT)) return;
    struct question *question = question_new(call, (int)slot, (size_t)most);
    question->names = true;
    ask(call, question);
}

/* ---- SLOTS, SHARDS, NODES, INFO -------------------------------------------------------------- */

/* The reply contains the node's address. By default that is the address to which the client has
 * connected, because a server can't know at which address others reach it; options override it. */

enum { IP_MAX = 256, BUS_DISTANCE = 10000, TEXT_MAX = 1024 };

struct node {
    const char *id, *name; /* `name` is the host name, or "" */
    char ip[IP_MAX];
    int64_t port, tls_port, reached; /* 0 if off; `reached`: the port that this client uses */
};

static struct node describe(const struct call *call)
{
    const struct admin_parts *context = call->context;
    const struct conf *conf = context->conf;
    struct node node = { .id = context->run_id,
                         .name = conf->cluster_announce_hostname,
                         .ip = "127.0.0.1",
                         .port = conf->port,
                         .tls_port = conf->tls_port };
    struct client_info info;
    int64_t local = 0;
    if (clients_info(call->session, &info) && !info.unix_socket) {
        /* "127.0.0.1:6379" or "[::1]:6379" */
        const char *colon = strrchr(info.local, ':');
        if (colon != NULL) {
            bool bracketed = info.local[0] == '[' && colon[-1] == ']';
            const char *from = info.local + bracketed, *end = colon - bracketed;
            snprintf(node.ip, sizeof(node.ip), "%.*s", (int)(end - from), from);
            local = strtoll(colon + 1, NULL, 10);
        }
    }
    bool over_tls = conf->tls_port > 0 && (conf->port == 0 || local == conf->tls_port);
    if (conf->cluster_announce_ip[0] != '\0')
        snprintf(node.ip, sizeof(node.ip), "%s", conf->cluster_announce_ip);
    if (conf->cluster_announce_port > 0) node.port = conf->cluster_announce_port;
    if (conf->cluster_announce_tls_port > 0) node.tls_port = conf->cluster_announce_tls_port;
    node.reached = over_tls ? node.tls_port : node.port;
    return node;
}

static void reply_pair(struct call *call, const char *name, const char *value)
{
    resp_bulk_text(call->out, name);
    resp_bulk_text(call->out, value);
}

static void cmd_slots(struct call *call)
{
    if (is_off(call)) return;
    const struct admin_parts *context = call->context;
    enum conf_endpoint type = (enum conf_endpoint)context->conf->cluster_endpoint;
    struct node node = describe(call);
    bool has_name = node.name[0] != '\0', with_ip = type != CONF_ENDPOINT_IP;
    bool with_name = type != CONF_ENDPOINT_HOSTNAME && has_name;
    resp_array(call->out, 1);
    resp_array(call->out, 3);
    resp_integer(call->out, 0);
    resp_integer(call->out, SLOTS - 1);
    /* The preferred endpoint, then the other addresses of the node. */
    resp_array(call->out, 4);
    if (type == CONF_ENDPOINT_UNKNOWN)
        resp_null(call->out);
    else if (type == CONF_ENDPOINT_HOSTNAME)
        resp_bulk_text(call->out, has_name ? node.name : "?");
    else
        resp_bulk_text(call->out, node.ip);
    resp_integer(call->out, node.reached);
    resp_bulk_text(call->out, node.id);
    resp_map(call->out, (size_t)with_ip + with_name);
    if (with_ip) reply_pair(call, "ip", node.ip);
    if (with_name) reply_pair(call, "hostname", node.name);
}

static void reply_port(struct call *call, const char *name, int64_t port)
{
    if (port != 0) reply_named_integer(call, name, port);
}

static void cmd_shards(struct call *call)
{
    if (is_off(call)) return;
    const struct admin_parts *context = call->context;
    struct node node = describe(call);
    bool has_name = node.name[0] != '\0';
    const char *endpoints[] = { [CONF_ENDPOINT_IP] = node.ip,
                                [CONF_ENDPOINT_HOSTNAME] = has_name ? node.name : "?",
                                [CONF_ENDPOINT_UNKNOWN] = "" };
    uint64_t offset = context->replication != NULL ? replication_offset(context->replication) : 0;
    resp_array(call->out, 1);
    resp_map(call->out, 2);
    resp_bulk_text(call->out, "slots");
    resp_array(call->out, 2);
    resp_integer(call->out, 0);
    resp_integer(call->out, SLOTS - 1);
    resp_bulk_text(call->out, "nodes");
    resp_array(call->out, 1);
    resp_map(call->out, 6 + (size_t)(node.port != 0) + (node.tls_port != 0) + has_name);
    reply_pair(call, "id", node.id);
    reply_port(call, "port", node.port);
    reply_port(call, "tls-port", node.tls_port);
    reply_pair(call, "ip", node.ip);
    reply_pair(call, "endpoint", endpoints[context->conf->cluster_endpoint]);
    if (has_name) reply_pair(call, "hostname", node.name);
    reply_pair(call, "role", "master");
    resp_bulk_text(call->out, "replication-offset");
    resp_integer(call->out, (int64_t)offset);
    reply_pair(call, "health", context->engine->loading ? "loading" : "online");
}

static void cmd_nodes(struct call *call)
{
    if (is_off(call)) return;
    struct node node = describe(call);
    char text[TEXT_MAX];
    /* The bus port is computed as in Redis; nothing listens on it. */
    int64_t bus = node.reached <= 65535 - BUS_DISTANCE ? node.reached + BUS_DISTANCE : 0;
    int len = snprintf(
        text, sizeof(text),
        "%s %s:%" PRId64 "@%" PRId64 "%s%.255s myself,master - 0 0 0 connected 0-%d\n", node.id,
        node.ip, node.reached, bus, node.name[0] != '\0' ? "," : "", node.name, SLOTS - 1);
    resp_verbatim(call->out, "txt", text, (size_t)len);
}

static void cmd_info(struct call *call)
{
    if (is_off(call)) return;
    static const char text[] = "cluster_state:ok\r\n"
                               "cluster_slots_assigned:16384\r\n"
                               "cluster_slots_ok:16384\r\n"
                               "cluster_slots_pfail:0\r\n"
                               "cluster_slots_fail:0\r\n"
                               "cluster_known_nodes:1\r\n"
                               "cluster_size:1\r\n"
                               "cluster_current_epoch:0\r\n"
                               "cluster_my_epoch:0\r\n"
                               "cluster_stats_messages_sent:0\r\n"
                               "cluster_stats_messages_received:0\r\n"
                               "total_cluster_links_buffer_limit_exceeded:0\r\n";
    resp_verbatim(call->out, "txt", text, sizeof(text) - 1);
}

/* ---- the rows -------------------------------------------------------------------------------- */

static void cmd_myid(struct call *call)
{
    const struct admin_parts *context = call->context;
    if (!is_off(call)) resp_bulk_text(call->out, context->run_id);
}

static void cmd_links(struct call *call)
{
    if (!is_off(call)) resp_array(call->out, 0);
}

static bool names_node(struct call *call)
{
    const struct admin_parts *context = call->context;
    if (is_off(call)) return false;
    if (bytes_equal(call->argv[2], bytes_of(context->run_id, strlen(context->run_id)))) return true;
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
