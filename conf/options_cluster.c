/* options_cluster: rows of options for cluster clients, to which this server presents itself as a
 * cluster of one node. */
#include "conf/option_table.h"

#include <string.h>

enum { HOSTNAME_LIMIT = 256 };

static const struct conf_choice modes[] = { { "no", CONF_CLUSTER_NO },
                                            { "emulated", CONF_CLUSTER_EMULATED },
                                            { "emulated-strict", CONF_CLUSTER_STRICT },
                                            { NULL, 0 } };
static const struct conf_choice endpoints[] = { { "ip", CONF_ENDPOINT_IP },
                                                { "hostname", CONF_ENDPOINT_HOSTNAME },
                                                { "unknown-endpoint", CONF_ENDPOINT_UNKNOWN },
                                                { NULL, 0 } };

/* CLUSTER NODES prints the name without quotes, so only these characters are safe. */
static const char *check_hostname(const char *value)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
    if (strlen(value) >= HOSTNAME_LIMIT) return "Hostnames must be less than 256 characters";
    if (value[strspn(value, allowed)] == '\0') return NULL;
    return "Hostnames may only contain alphanumeric characters, hyphens or dots";
}

static const struct conf_option options[] = {
    OPTION("cluster-enabled",
           "With emulated, act as a Redis Cluster of one node, which owns all slots, for cluster "
           "clients. With emulated-strict, all keys of a command must also be in one slot. \"yes\" "
           "is refused.",
           .section = "cluster", FIELD(ENUM, cluster), .choices = modes, .preset = "no"),
    OPTION("cluster-announce-ip",
           "Address of this node in replies to clients. \"\" means the address to which the client "
           "connected.",
           FIELD(TEXT, cluster_announce_ip), .preset = "", LIVE),
    OPTION("cluster-announce-hostname", "Host name of this node in replies to clients.",
           FIELD(TEXT, cluster_announce_hostname), .preset = "", .check = check_hostname, LIVE),
    OPTION("cluster-announce-port",
           "Port of this node in replies to clients without TLS. 0 means the option port.",
           FIELD(INT, cluster_announce_port), .max = 65535, .preset = "0", LIVE),
    OPTION("cluster-announce-tls-port",
           "Port of this node in replies to clients with TLS. 0 means the option tls-port.",
           FIELD(INT, cluster_announce_tls_port), .max = 65535, .preset = "0", LIVE),
    OPTION("cluster-preferred-endpoint-type",
           "How CLUSTER SLOTS names this node: ip, hostname, or unknown-endpoint (null, which "
           "means the address that the client connected to).",
           FIELD(ENUM, cluster_endpoint), .choices = endpoints, .preset = "ip", LIVE),
};

const struct conf_table conf_cluster = { options, sizeof(options) / sizeof(options[0]) };
