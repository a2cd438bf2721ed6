/* accepted: the rows of options that Redis or Valkey has and this server ignores. They are accepted
 * so that a redis.conf loads unchanged. Types and ranges are checked as in Redis, and CONFIG GET
 * shows the values, except those of unlisted options. One warning at start lists the ignored
 * options that are set. */
#include "conf/option_table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct conf_choice allowed[] = {
    { "no", 0 }, { "yes", 1 }, { "local", 2 }, { NULL, 0 }
};
static const struct conf_choice oom_kinds[] = {
    { "no", 0 }, { "yes", 1 }, { "relative", 2 }, { "absolute", 3 }, { NULL, 0 }
};
static const struct conf_choice error_behaviors[] = {
    { "ignore", 0 }, { "panic", 1 }, { "panic-on-replicas", 2 }, { NULL, 0 }
};
static const struct conf_choice diskless_loads[] = { { "disabled", 0 },
                                                     { "on-empty-db", 1 },
                                                     { "swapdb", 2 },
                                                     { "flush-before-load", 3 },
                                                     { NULL, 0 } };
static const struct conf_choice sanitizers[] = {
    { "no", 0 }, { "yes", 1 }, { "clients", 2 }, { NULL, 0 }
};

static const struct conf_choice cluster_saves[] = { { "sync", 0 },
                                                    { "best-effort", 1 },
                                                    { NULL, 0 } };
static const struct conf_choice log_stamps[] = {
    { "legacy", 0 }, { "iso8601", 1 }, { "milliseconds", 2 }, { NULL, 0 }
};
static const struct conf_choice version_checks[] = { { "strict", 0 },
                                                     { "relaxed", 1 },
                                                     { NULL, 0 } };

/* Refuses "yes". Valkey keeps expired keys while import-mode is on; this server would expire the
 * keys that are being copied to it, so ignoring the option would lose data. */
static const char *check_import_mode(const char *value)
{
    return strcasecmp(value, "no") == 0
               ? NULL
               : "keys expire and are evicted during an import too. Use REPLICAOF or the option "
                 "import to copy the data";
}

static const char *check_oom_values(const char *value)
{
    bool fit = true;
    int words = 0;
    for (; *value != '\0'; words++) {
        char *end;
        long number = strtol(value, &end, 10);
        fit = fit && end > value && (*end == ' ' || *end == '\0') && number >= -2000 &&
              number <= 2000;
        value += strcspn(value, " ");
        value += strspn(value, " ");
    }
    if (words != 3) return "wrong number of arguments";
    return fit ? NULL : "Invalid oom-score-adj-values, elements must be between -2000 and 2000.";
}

/* As in Redis, a number outside the range of hz is accepted, and clamped. */
static void tidy_hz(char *value)
{
    long hz = strtol(value, NULL, 10);
    if (hz < 1)
        value[0] = '1';
    else if (hz > 500)
        memcpy(value, "500", sizeof "500");
}

#define FIXED               .live = false
#define YES_NO              .type = CONF_BOOL
#define TEXT                .type = CONF_TEXT
#define INT                 .type = CONF_INT
#define MEMORY              .type = CONF_MEMORY
#define CHOICE(names)       .type = CONF_ENUM, .choices = (names)
#define WITHIN(least, most) .min = (least), .max = (most)
#define ALIAS(other)        .alias_of = (other)
#define ACCEPTED(shown, ...)                                                                       \
    OPTION(shown, "Accepted for compatibility and ignored.", .use = CONF_ACCEPTED, __VA_ARGS__)

/* Names, types, defaults, and which options CONFIG SET may change are as in Redis 7.0. Options that
 * Redis 7.0 lacks are as in Redis 8.0 or Valkey 9.1. An unlisted option has no line in CONFIG GET
 * there either, or accepts any value. */
static const struct conf_option accepted[] = {
    /* Threads, timers and the operating system. Ignored because the threads of io-threads read
     * anyway, each deadline is met by a timer instead of a periodic scan, and memory is returned to
     * the system without hints. */
    ACCEPTED("io-threads-do-reads", YES_NO, .preset = "no", FIXED),
    ACCEPTED("hz", INT, WITHIN(0, INT_MAX), .preset = "10", LIVE, .tidy = tidy_hz),
    ACCEPTED("dynamic-hz", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("active-expire-effort", INT, WITHIN(1, 10), .preset = "1", LIVE),
    ACCEPTED("server_cpulist", TEXT, .preset = "", FIXED),
    ACCEPTED("bio_cpulist", TEXT, .preset = "", FIXED),
    ACCEPTED("aof_rewrite_cpulist", TEXT, .preset = "", FIXED),
    ACCEPTED("bgsave_cpulist", TEXT, .preset = "", FIXED),
    ACCEPTED("disable-thp", YES_NO, .preset = "yes", FIXED),
    ACCEPTED("jemalloc-bg-thread", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("oom-score-adj", CHOICE(oom_kinds), .preset = "no", LIVE),
    ACCEPTED("oom-score-adj-values", TEXT, .preset = "0 200 800", LIVE, .check = check_oom_values,
             .many = true),
    ACCEPTED("set-proc-title", YES_NO, .preset = "yes", FIXED),
    ACCEPTED("proc-title-template", TEXT, .preset = "{title} {listen-addr} {server-mode}", LIVE,
             .many = true),
    ACCEPTED("always-show-logo", YES_NO, .preset = "no", FIXED),
    ACCEPTED("ignore-warnings", TEXT, .preset = "", LIVE, .many = true),
    ACCEPTED("crash-log-enabled", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("crash-memcheck-enabled", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("socket-mark-id", INT, WITHIN(0, UINT32_MAX), .preset = "0", FIXED),
    ACCEPTED("enable-module-command", CHOICE(allowed), .preset = "no", FIXED),
    ACCEPTED("shutdown-timeout", INT, WITHIN(0, INT_MAX), .preset = "10", LIVE),
    ACCEPTED("server-cpulist", TEXT, .preset = "", FIXED, ALIAS("server_cpulist")),
    ACCEPTED("bio-cpulist", TEXT, .preset = "", FIXED, ALIAS("bio_cpulist")),
    ACCEPTED("aof-rewrite-cpulist", TEXT, .preset = "", FIXED, ALIAS("aof_rewrite_cpulist")),
    ACCEPTED("bgsave-cpulist", TEXT, .preset = "", FIXED, ALIAS("bgsave_cpulist")),
    ACCEPTED("max-new-connections-per-cycle", INT, WITHIN(1, 1000), .preset = "10", LIVE),
    ACCEPTED("max-new-tls-connections-per-cycle", INT, WITHIN(1, 1000), .preset = "1", LIVE),
    ACCEPTED("prefetch-batch-max-size", INT, WITHIN(0, 128), .preset = "16", LIVE),
    ACCEPTED("events-per-io-thread", TEXT, .preset = "", FIXED, .unlisted = true),
    ACCEPTED("io-threads-always-active", YES_NO, .preset = "no", LIVE, .unlisted = true),
    ACCEPTED("min-io-threads-avoid-copy-reply", INT, WITHIN(0, INT_MAX), .preset = "7", LIVE,
             .unlisted = true),
    ACCEPTED("min-string-size-avoid-copy-reply", INT, WITHIN(0, INT_MAX), .preset = "16384", LIVE,
             .unlisted = true),
    ACCEPTED("min-string-size-avoid-copy-reply-threaded", INT, WITHIN(0, INT_MAX),
             .preset = "65536", LIVE, .unlisted = true),
    ACCEPTED("mptcp", YES_NO, .preset = "no", FIXED),
    ACCEPTED("rdma-bind", TEXT, .preset = "", LIVE, .many = true),
    ACCEPTED("rdma-completion-vector", INT, WITHIN(-1, 1024), .preset = "-1", FIXED),
    ACCEPTED("rdma-port", INT, WITHIN(0, 65535), .preset = "0", LIVE),
    ACCEPTED("rdma-rx-size", INT, WITHIN(1, INT_MAX), .preset = "1048576", FIXED),
    /* Reports and the log. */
    ACCEPTED("availability-zone", TEXT, .preset = "", LIVE),
    ACCEPTED("commandlog-request-larger-than", INT, WITHIN(-1, INT64_MAX), .preset = "1048576",
             LIVE),
    ACCEPTED("commandlog-large-request-max-len", INT, WITHIN(0, INT64_MAX), .preset = "128", LIVE),
    ACCEPTED("commandlog-reply-larger-than", INT, WITHIN(-1, INT64_MAX), .preset = "1048576", LIVE),
    ACCEPTED("commandlog-large-reply-max-len", INT, WITHIN(0, INT64_MAX), .preset = "128", LIVE),
    ACCEPTED("extended-redis-compatibility", YES_NO, .preset = "no", LIVE),
    ACCEPTED("hide-user-data-from-log", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("locale-collate", TEXT, .preset = "", LIVE),
    ACCEPTED("log-timestamp-format", CHOICE(log_stamps), .preset = "legacy", LIVE),
    /* For developers of these servers, and options of Redis 6 and older. */
    ACCEPTED("debug-context", TEXT, .preset = "", LIVE, .unlisted = true),
    ACCEPTED("enable-debug-assert", YES_NO, .preset = "no", FIXED, .unlisted = true),
    ACCEPTED("key-load-delay", INT, WITHIN(INT_MIN, INT_MAX), .preset = "0", LIVE,
             .unlisted = true),
    ACCEPTED("rdb-key-save-delay", INT, WITHIN(INT_MIN, INT_MAX), .preset = "0", LIVE,
             .unlisted = true),
    ACCEPTED("loading-process-events-interval-bytes", INT, WITHIN(1024, INT_MAX),
             .preset = "2097152", LIVE, .unlisted = true),
    ACCEPTED("lua-enable-deprecated-api", YES_NO, .preset = "no", FIXED, .unlisted = true),
    ACCEPTED("lua-enable-insecure-api", YES_NO, .preset = "no", FIXED, .unlisted = true),
    ACCEPTED("lua-replicate-commands", TEXT, .preset = "", FIXED, .unlisted = true),
    ACCEPTED("use-exit-on-panic", YES_NO, .preset = "no", LIVE, .unlisted = true),
    ACCEPTED("watchdog-period", INT, WITHIN(0, INT_MAX), .preset = "0", LIVE, .unlisted = true),
    /* Data structures. Ignored because lists have no nodes to size or compress, large values are
     * freed in slices, and hash tables grow by one bucket at a time. */
    ACCEPTED("activerehashing", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("lazyfree-lazy-eviction", YES_NO, .preset = "no", LIVE),
    ACCEPTED("lazyfree-lazy-expire", YES_NO, .preset = "no", LIVE),
    ACCEPTED("lazyfree-lazy-server-del", YES_NO, .preset = "no", LIVE),
    ACCEPTED("lazyfree-lazy-user-del", YES_NO, .preset = "no", LIVE),
    ACCEPTED("lazyfree-lazy-user-flush", YES_NO, .preset = "no", LIVE),
    ACCEPTED("maxmemory-eviction-tenacity", INT, WITHIN(0, 100), .preset = "10", LIVE),
    ACCEPTED("list-max-listpack-size", INT, WITHIN(INT_MIN, INT_MAX), .preset = "-2", LIVE),
    ACCEPTED("list-max-ziplist-size", INT, WITHIN(INT_MIN, INT_MAX), .preset = "-2", LIVE,
             ALIAS("list-max-listpack-size")),
    ACCEPTED("list-compress-depth", INT, WITHIN(0, INT_MAX), .preset = "0", LIVE),
    ACCEPTED("list-max-ziplist-entries", TEXT, .preset = "", FIXED, .unlisted = true),
    ACCEPTED("list-max-ziplist-value", TEXT, .preset = "", FIXED, .unlisted = true),
    ACCEPTED("set-max-listpack-entries", INT, WITHIN(0, INT64_MAX), .preset = "128", LIVE),
    ACCEPTED("set-max-listpack-value", INT, WITHIN(0, INT64_MAX), .preset = "64", LIVE),
    ACCEPTED("hash-seed", TEXT, .preset = "", FIXED),
    ACCEPTED("active-defrag-cycle-us", INT, WITHIN(0, 100000), .preset = "500", LIVE),
    ACCEPTED("active-defrag-ignore-bytes", MEMORY, WITHIN(1, INT64_MAX), .preset = "104857600",
             LIVE),
    ACCEPTED("active-defrag-threshold-lower", INT, WITHIN(0, 1000), .preset = "10", LIVE),
    ACCEPTED("active-defrag-threshold-upper", INT, WITHIN(0, 1000), .preset = "100", LIVE),
    ACCEPTED("active-defrag-cycle-min", INT, WITHIN(1, 99), .preset = "1", LIVE),
    ACCEPTED("active-defrag-cycle-max", INT, WITHIN(1, 99), .preset = "25", LIVE),
    ACCEPTED("active-defrag-max-scan-fields", INT, WITHIN(1, INT64_MAX), .preset = "1000", LIVE),
    /* Files: ours have their own format, with checksums, and payloads are verified. */
    ACCEPTED("rdbchecksum", YES_NO, .preset = "yes", FIXED),
    ACCEPTED("sanitize-dump-payload", CHOICE(sanitizers), .preset = "no", LIVE),
    ACCEPTED("rdb-save-incremental-fsync", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("aof-rewrite-incremental-fsync", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("aof-use-rdb-preamble", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("aof-timestamp-enabled", YES_NO, .preset = "no", LIVE),
    ACCEPTED("aof-disable-auto-gc", YES_NO, .preset = "no", LIVE),
    ACCEPTED("no-appendfsync-on-rewrite", YES_NO, .preset = "no", LIVE),
    ACCEPTED("rdb-version-check", CHOICE(version_checks), .preset = "strict", LIVE),
    ACCEPTED("import-mode", YES_NO, .preset = "no", LIVE, .check = check_import_mode),
    /* Replication: a master sends a full copy without a file. */
    ACCEPTED("replica-lazy-flush", YES_NO, .preset = "no", LIVE),
    ACCEPTED("slave-lazy-flush", YES_NO, .preset = "no", LIVE, ALIAS("replica-lazy-flush")),
    ACCEPTED("replica-ignore-disk-write-errors", YES_NO, .preset = "no", LIVE),
    ACCEPTED("propagation-error-behavior", CHOICE(error_behaviors), .preset = "ignore", LIVE),
    ACCEPTED("repl-disable-tcp-nodelay", YES_NO, .preset = "no", LIVE),
    ACCEPTED("repl-diskless-load", CHOICE(diskless_loads), .preset = "disabled", LIVE),
    ACCEPTED("repl-diskless-sync", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("rdb-del-sync-files", YES_NO, .preset = "no", LIVE),
    ACCEPTED("bind-source-addr", TEXT, .preset = "", LIVE, .many = true),
    ACCEPTED("dual-channel-replication-enabled", YES_NO, .preset = "no", LIVE),
    ACCEPTED("repl-rdb-channel", YES_NO, .preset = "yes", LIVE, .unlisted = true),
    ACCEPTED("replica-full-sync-buffer-limit", MEMORY, WITHIN(0, INT64_MAX), .preset = "0", LIVE),
    ACCEPTED("repl-mptcp", YES_NO, .preset = "no", FIXED),
    /* Cluster: this server is the only node. */
    ACCEPTED("cluster-allow-pubsubshard-when-down", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("cluster-allow-reads-when-down", YES_NO, .preset = "no", LIVE),
    ACCEPTED("cluster-allow-replica-migration", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("cluster-announce-bus-port", INT, WITHIN(0, 65535), .preset = "0", LIVE),
    ACCEPTED("cluster-config-file", TEXT, .preset = "nodes.conf", FIXED),
    ACCEPTED("cluster-link-sendbuf-limit", MEMORY, WITHIN(0, INT64_MAX), .preset = "0", LIVE),
    ACCEPTED("cluster-migration-barrier", INT, WITHIN(0, INT_MAX), .preset = "1", LIVE),
    ACCEPTED("cluster-node-timeout", INT, WITHIN(0, INT64_MAX), .preset = "15000", LIVE),
    ACCEPTED("cluster-port", INT, WITHIN(0, 65535), .preset = "0", FIXED),
    ACCEPTED("cluster-replica-no-failover", YES_NO, .preset = "no", LIVE),
    ACCEPTED("cluster-replica-validity-factor", INT, WITHIN(0, INT_MAX), .preset = "10", LIVE),
    ACCEPTED("cluster-require-full-coverage", YES_NO, .preset = "yes", LIVE),
    ACCEPTED("cluster-slave-no-failover", YES_NO, .preset = "no", LIVE,
             ALIAS("cluster-replica-no-failover")),
    ACCEPTED("cluster-slave-validity-factor", INT, WITHIN(0, INT_MAX), .preset = "10", LIVE,
             ALIAS("cluster-replica-validity-factor")),
    ACCEPTED("cluster-announce-client-ipv4", TEXT, .preset = "", LIVE),
    ACCEPTED("cluster-announce-client-ipv6", TEXT, .preset = "", LIVE),
    ACCEPTED("cluster-announce-client-port", INT, WITHIN(0, 65535), .preset = "0", LIVE),
    ACCEPTED("cluster-announce-client-tls-port", INT, WITHIN(0, 65535), .preset = "0", LIVE),
    ACCEPTED("cluster-announce-human-nodename", TEXT, .preset = "", LIVE),
    ACCEPTED("cluster-blacklist-ttl", INT, WITHIN(INT64_MIN, INT64_MAX), .preset = "60", LIVE),
    ACCEPTED("cluster-compatibility-sample-ratio", INT, WITHIN(0, 100), .preset = "0", LIVE),
    ACCEPTED("cluster-config-save-behavior", CHOICE(cluster_saves), .preset = "sync", LIVE),
    ACCEPTED("cluster-databases", INT, WITHIN(1, INT_MAX), .preset = "1", FIXED),
    ACCEPTED("cluster-manual-failover-timeout", INT, WITHIN(1, INT_MAX), .preset = "5000", LIVE),
    ACCEPTED("cluster-message-gossip-perc", INT, WITHIN(1, 100), .preset = "10", LIVE,
             .unlisted = true),
    ACCEPTED("cluster-ping-interval", INT, WITHIN(0, INT64_MAX), .preset = "0", LIVE,
             .unlisted = true),
    ACCEPTED("cluster-slot-migration-log-max-len", INT, WITHIN(0, INT64_MAX), .preset = "1000",
             LIVE),
    ACCEPTED("cluster-slot-stats-enabled", YES_NO, .preset = "no", LIVE),
    ACCEPTED("slot-migration-max-failover-repl-bytes", MEMORY, WITHIN(-1, INT64_MAX), .preset = "0",
             LIVE),
};

_Static_assert(sizeof(accepted) / sizeof(accepted[0]) <= CONF_KEPT_MAX,
               "conf.kept has a value per row");

const struct conf_table conf_accepted = { accepted, sizeof(accepted) / sizeof(accepted[0]) };
