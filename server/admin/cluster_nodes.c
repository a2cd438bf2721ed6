/* cluster_nodes: see cluster_nodes.h. The reply contains the node's address. By default that is the
 * address to which the client has connected, because a server can't know at which address others
 * reach it; options override it. */
#include "server/admin/cluster_nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/admin.h"
#include "server/cmd/call/slot.h"
#include "server/replica/replication.h"

enum { IP_MAX = 256, BUS_DISTANCE = 10000, TEXT_MAX = 1024 };

struct node {
    const char *id, *name; /* `name` is the host name, or "" */
    char ip[IP_MAX];
    int64_t port, tls_port, reached; /* 0 if off; `reached`: the port that this client uses */
};

static struct node describe(const struct call *call)
{
    const struct cluster_context *context = call->context;
    const struct conf *conf = context->conf;
    struct node node = { .id = context->node_id,
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

void cluster_reply_slots(struct call *call)
{
    const struct cluster_context *context = call->context;
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

void cluster_reply_shards(struct call *call)
{
    const struct cluster_context *context = call->context;
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
    reply_pair(call, "health", *context->loading ? "loading" : "online");
}

void cluster_reply_nodes(struct call *call)
{
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

void cluster_reply_info(struct call *call)
{
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
