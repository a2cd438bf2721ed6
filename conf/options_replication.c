/* options_replication: rows of options about masters and replicas. */
#include "conf/option_table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The numbers are those of enum full_copy_reader in server/replica/full_copy.h. */
static const struct conf_choice copy_readers[] = {
    { "redis-7.0", 0 }, { "redis-8", 1 }, { "valkey-9", 2 }, { NULL, 0 }
};

/* Accepts "host port", "no one" or "". */
static const char *check_replicaof(const char *value)
{
    value += strspn(value, " ");
    if (*value == '\0' || strcasecmp(value, "no one") == 0) return NULL;
    const char *port = strchr(value, ' ');
    char *end;
    if (port == NULL) return "it needs a host and a port";
    long number = strtol(port + 1, &end, 10);
    bool good = end != port + 1 && *end == '\0' && number > 0 && number <= 65535;
    return good ? NULL : "Invalid master port";
}

static void tidy_replicaof(char *value)
{
    conf_tidy_spaces(value);
    if (strcasecmp(value, "no one") == 0) *value = '\0';
}

static const struct conf_option options[] = {
    WITH_ALIAS("replicaof", "slaveof",
               "<host> <port>: start as a replica of this master. \"\" or \"no one\": start as a "
               "master. Use REPLICAOF to change it at run time.",
               .section = "replication", FIELD(TEXT, replicaof), .preset = "", .many = true,
               .omitted = true, .check = check_replicaof, .tidy = tidy_replicaof),
    WITH_ALIAS("masterauth", "primaryauth", "Password to send to the master.",
               FIELD(TEXT, masterauth), .preset = "", LIVE),
    WITH_ALIAS("masteruser", "primaryuser",
               "User name to send to the master. \"\" means the default user.",
               FIELD(TEXT, masteruser), .preset = "", LIVE),
    WITH_ALIAS("replica-read-only", "slave-read-only",
               "Refuse writes of clients while this server is a replica. Changes that clients make "
               "to a writable replica are lost at its next full copy.",
               FIELD(BOOL, replica_read_only), .preset = "yes", LIVE),
    WITH_ALIAS("replica-serve-stale-data", "slave-serve-stale-data",
               "Answer reads while the link to the master is down. With no, fail with MASTERDOWN.",
               FIELD(BOOL, replica_serve_stale_data), .preset = "yes", LIVE),
    WITH_ALIAS(
        "replica-ignore-maxmemory", "slave-ignore-maxmemory",
        "Ignore maxmemory while this server is a replica. With no, a writable replica refuses "
        "writes of clients above maxmemory. In either case a replica evicts nothing.",
        FIELD(BOOL, replica_ignore_maxmemory), .preset = "yes", LIVE),
    WITH_ALIAS(
        "replica-priority", "slave-priority",
        "Sentinel promotes the replica with the lowest number. With 0, never promote this one.",
        FIELD(INT, replica_priority), .max = INT_MAX, .preset = "100", LIVE),
    OPTION("replica-announced", "Let Sentinel list this replica to clients.",
           FIELD(BOOL, replica_announced), .preset = "yes", LIVE),
    WITH_ALIAS("replica-announce-ip", "slave-announce-ip",
               "Address that the master shows for this replica. \"\" means the address that it "
               "connects from.",
               FIELD(TEXT, replica_announce_ip), .preset = "", LIVE),
    WITH_ALIAS("replica-announce-port", "slave-announce-port",
               "Port that the master shows for this replica. 0 means the port that it listens on.",
               FIELD(INT, replica_announce_port), .max = 65535, .preset = "0", LIVE),
    WITH_ALIAS(
        "min-replicas-to-write", "min-slaves-to-write",
        "Refuse writes while fewer replicas than this are connected and up to date. 0 means never.",
        FIELD(INT, min_replicas_to_write), .max = INT_MAX, .preset = "0", LIVE),
    WITH_ALIAS("min-replicas-max-lag", "min-slaves-max-lag",
               "A replica counts for min-replicas-to-write while its last report is at most this "
               "many seconds old.",
               FIELD(INT, min_replicas_max_lag), .max = INT_MAX, .preset = "10", LIVE),
    OPTION("repl-backlog-size",
           "Size of the backlog: the latest bytes of the replication stream, which are kept for "
           "replicas that reconnect.",
           FIELD(MEMORY, repl_backlog_size), .min = 1, .max = INT64_MAX, .preset = "1048576", LIVE),
    OPTION("repl-backlog-ttl",
           "Seconds without replicas after which a master frees the backlog. 0 means never.",
           FIELD(INT, repl_backlog_ttl), .max = INT64_MAX, .preset = "3600", LIVE),
    OPTION(
        "repl-diskless-sync-delay",
        "Seconds to wait for more replicas before a full copy starts, so that one copy serves all.",
        FIELD(INT, repl_diskless_sync_delay), .max = INT_MAX, .preset = "5", LIVE),
    OPTION("repl-diskless-sync-max-replicas",
           "Begin the full copy at once when this many replicas wait. With 0, always wait for the "
           "delay.",
           FIELD(INT, repl_diskless_sync_max_replicas), .max = INT_MAX, .preset = "0", LIVE),
    WITH_ALIAS("repl-ping-replica-period", "repl-ping-slave-period",
               "Seconds between the PINGs that a master sends to its replicas.",
               FIELD(INT, repl_ping_replica_period), .min = 1, .max = INT_MAX, .preset = "10",
               LIVE),
    OPTION("rdb-copy-for",
           "Server whose RDB a client gets that wants only a copy (redis-cli --rdb): redis-7.0, "
           "redis-8 or valkey-9. The newer two also read deadlines of hash fields.",
           FIELD(ENUM, rdb_copy_for), .choices = copy_readers, .preset = "redis-7.0", LIVE),
    OPTION("rdb-copy-lossy",
           "Send an RDB to such a client even if it can't hold all data (deadlines of members, "
           "dehydrators, leases, policies). With no, fail with the reason.",
           FIELD(BOOL, rdb_copy_lossy), .preset = "no", LIVE),
    OPTION("repl-timeout",
           "Close a replication link that has been silent for this many seconds. Must be larger "
           "than repl-ping-replica-period.",
           FIELD(INT, repl_timeout), .min = 1, .max = INT_MAX, .preset = "60", LIVE),
};

const struct conf_table conf_replication = { options, sizeof(options) / sizeof(options[0]) };
