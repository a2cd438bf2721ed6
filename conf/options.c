/* options: rows of options about the process, limits and observation. */
#include "conf/option_table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MEGABYTE (INT64_C(1) << 20)

/* In the order of Redis' own list. The numbers repeat enum evict_policy of store/sweep/evict.h,
 * which this folder may not include; tests/unit/server/agreement_test.c compares them. */
static const struct conf_choice policies[] = {
    { "volatile-lru", 4 },   { "volatile-lfu", 5 }, { "volatile-random", 6 },
    { "volatile-ttl", 7 },   { "allkeys-lru", 1 },  { "allkeys-lfu", 2 },
    { "allkeys-random", 3 }, { "noeviction", 0 },   { NULL, 0 },
};
static const struct conf_choice levels[] = { { "debug", 0 },   { "verbose", 1 }, { "notice", 2 },
                                             { "warning", 3 }, { "nothing", 4 }, { NULL, 0 } };
static const struct conf_choice log_formats[] = {
    { "text", 0 }, { "json", 1 }, { "legacy", 0 }, { NULL, 0 }
};
/* The numbers are those of <syslog.h>. */
static const struct conf_choice syslog_facilities[] = {
    { "user", 1 << 3 },    { "local0", 16 << 3 }, { "local1", 17 << 3 }, { "local2", 18 << 3 },
    { "local3", 19 << 3 }, { "local4", 20 << 3 }, { "local5", 21 << 3 }, { "local6", 22 << 3 },
    { "local7", 23 << 3 }, { NULL, 0 },
};
static const struct conf_choice clocks[] = { { "real", CONF_CLOCK_REAL },
                                             { "stepped", CONF_CLOCK_STEPPED },
                                             { NULL, 0 } };
static const struct conf_choice supervisors[] = { { "systemd", CONF_SUPERVISED_SYSTEMD },
                                                  { "auto", CONF_SUPERVISED_AUTO },
                                                  { "no", CONF_SUPERVISED_NO },
                                                  { "upstart", CONF_SUPERVISED_NO },
                                                  { NULL, 0 } };
static const struct conf_choice allowed[] = {
    { "no", CONF_ALLOW_NO }, { "yes", CONF_ALLOW_YES }, { "local", CONF_ALLOW_LOCAL }, { NULL, 0 }
};

void conf_tidy_spaces(char *value)
{
    char *to = value;
    for (const char *at = value; *at != '\0'; at++)
        if (*at != ' ' || (to > value && to[-1] != ' ')) *to++ = *at;
    if (to > value && to[-1] == ' ') to--;
    *to = '\0';
}

/* Accepts numbers from 0 to 100, separated by spaces. */
static const char *check_percentiles(const char *value)
{
    while (*value != '\0') {
        char *end;
        double percentile = strtod(value, &end);
        if (end == value || (*end != ' ' && *end != '\0'))
            return "Invalid latency-tracking-info-percentiles parameters";
        if (!(percentile >= 0 && percentile <= 100))
            return "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
        value = end + strspn(end, " ");
    }
    return NULL;
}

/* The words of shutdown-on-sigterm and shutdown-on-sigint, in the order in which CONFIG GET shows
 * them. Only Valkey has the last two, which concern clusters. */
static const char *const shutdown_words[] = {
    "save", "nosave", "now", "force", "safe", "failover"
};

enum { SHUTDOWN_WORDS = sizeof(shutdown_words) / sizeof(shutdown_words[0]) };

static bool is_word(const char *at, size_t len, const char *word)
{
    return len == strlen(word) && strncasecmp(at, word, len) == 0;
}

static bool has_word(const char *value, const char *word)
{
    for (const char *at = value + strspn(value, " "); *at != '\0'; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        if (is_word(at, len, word)) return true;
        at += len;
    }
    return false;
}

static const char *check_shutdown(const char *value)
{
    int words = 0;
    bool known = true;
    for (const char *at = value + strspn(value, " "); *at != '\0'; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        bool is_known = is_word(at, len, "default");
        for (int i = 0; i < SHUTDOWN_WORDS; i++)
            is_known = is_known || is_word(at, len, shutdown_words[i]);
        known = known && is_known;
        at += len;
        words++;
    }
    if (words == 0 || !known)
        return "argument(s) must be one of the following: default, save, nosave, now, force";
    return has_word(value, "save") && has_word(value, "nosave")
               ? "shutdown options SAVE and NOSAVE can't be used simultaneously"
               : NULL;
}

static void tidy_shutdown(char *value)
{
    bool on[SHUTDOWN_WORDS];
    for (int i = 0; i < SHUTDOWN_WORDS; i++)
        on[i] = has_word(value, shutdown_words[i]);
    char *to = value;
    for (int i = 0; i < SHUTDOWN_WORDS; i++) {
        if (!on[i]) continue;
        if (to > value) *to++ = ' ';
        to = stpcpy(to, shutdown_words[i]);
    }
    if (to == value) memcpy(value, "default", sizeof "default");
}

struct conf_shutdown conf_shutdown(const struct conf *conf, const char *words)
{
    bool by_default = conf->save[0] != '\0' && !has_word(words, "nosave");
    return (struct conf_shutdown){ .saves = by_default || has_word(words, "save"),
                                   .forced = has_word(words, "force") };
}

static const struct conf_option options[] = {
    OPTION("maxclients",
           "Maximum number of client connections; any more get an error and are closed.",
           .section = "limits", FIELD(INT, maxclients), .min = 1, .max = UINT_MAX,
           .preset = "10000", LIVE),
    OPTION("proto-max-bulk-len",
           "Maximum size of one argument of a request, and of a string value.",
           FIELD(MEMORY, proto_max_bulk_len), .min = MEGABYTE, .max = INT32_MAX, .preset = "512mb",
           LIVE),
    OPTION("client-query-buffer-limit", "Close a client that has more unprocessed input than this.",
           FIELD(MEMORY, client_query_buffer_limit), .min = MEGABYTE, .max = INT64_MAX,
           .preset = "1gb", LIVE),
    OPTION(
        "client-output-buffer-limit",
        "<class> <hard> <soft> <seconds>: close a client of this class if its unsent replies "
        "exceed the hard limit, or exceed the soft limit for this many seconds. 0 means no limit.",
        FIELD(LIMITS, output_limits),
        .preset = "normal 0 0 0 slave 256mb 64mb 60 pubsub 32mb 8mb 60", LIVE, .many = true),
    OPTION("maxmemory",
           "Memory limit in bytes. A command that would exceed it first evicts keys by "
           "maxmemory-policy. A new limit or policy takes effect at once. Client buffers count, "
           "but cause evictions only when a command needs memory; unauthenticated connections do "
           "not count. 0 means no limit.",
           FIELD(MEMORY, maxmemory), .max = INT64_MAX, .preset = "0", LIVE),
    OPTION(
        "maxmemory-policy",
        "Keys to evict at maxmemory: the least recently used (lru), the least often used (lfu), "
        "random ones, or the next to expire (ttl), among all keys (allkeys) or keys with a "
        "deadline (volatile). With noeviction, evict nothing and refuse commands that need more.",
        FIELD(ENUM, maxmemory_policy), .choices = policies, .preset = "noeviction", LIVE),
    OPTION("maxmemory-samples", "Number of keys to sample when choosing a key to evict.",
           FIELD(INT, maxmemory_samples), .min = 1, .max = 64, .preset = "5", LIVE),
    OPTION("maxmemory-evict-jobs",
           "Evict dehydrators and the keys that policies write to (EXPIRED TO, MAXDELIVERIES) too. "
           "With no, maxmemory-policy spares them, as it always spares leases.",
           FIELD(BOOL, maxmemory_evict_jobs), .preset = "no", LIVE),
    OPTION("maxmemory-clients",
           "Memory limit of all connections together: bytes, or a percentage of maxmemory "
           "(\"5%\"). Above it, close the connections that use the most, except those with CLIENT "
           "NO-EVICT. 0 means no limit.",
           FIELD(MEMORY_PERCENT, maxmemory_clients), .min = -100, .max = INT64_MAX, .preset = "0",
           LIVE),
    OPTION("lfu-log-factor",
           "How slowly the access counter of the lfu policies rises. At 10, a million accesses "
           "saturate it.",
           FIELD(INT, lfu_log_factor), .max = INT_MAX, .preset = "10", LIVE),
    OPTION("lfu-decay-time", "Minutes after which the access counter drops by one. 0 means never.",
           FIELD(INT, lfu_decay_time), .max = INT_MAX, .preset = "1", LIVE),
    OPTION("activedefrag",
           "Defragment memory: after many deletes, move data together so that the free memory "
           "between it can be returned to the system.",
           FIELD(BOOL, activedefrag), .preset = "yes", LIVE),
    WITH_ALIAS("busy-reply-threshold", "lua-time-limit",
               "Once a script or function has run for this many milliseconds, other clients get "
               "the error BUSY, and SCRIPT KILL and FUNCTION KILL can stop it. 0 means never.",
               FIELD(INT, busy_reply_threshold), .max = LONG_MAX, .preset = "5000", LIVE),
    OPTION("script-memory-limit",
           "Memory that one script or function may use. A script that exceeds it fails with an "
           "error. 0 means no limit.",
           FIELD(MEMORY, script_memory_limit), .max = INT64_MAX, .preset = "256mb", LIVE),
    OPTION("tracking-table-max-keys",
           "Maximum number of keys to track for CLIENT TRACKING. 0 means no limit.",
           FIELD(INT, tracking_table_max_keys), .max = INT64_MAX, .preset = "1000000", LIVE),
    WITH_ALIAS(
        "slowlog-log-slower-than", "commandlog-execution-slower-than",
        "Record in SLOWLOG the calls that take at least this many microseconds. -1 means none.",
        .section = "observation", FIELD(INT, slowlog_log_slower_than), .min = -1, .max = INT64_MAX,
        .preset = "10000", LIVE),
    WITH_ALIAS("slowlog-max-len", "commandlog-slow-execution-max-len",
               "Maximum number of calls in SLOWLOG.", FIELD(INT, slowlog_max_len), .max = INT64_MAX,
               .preset = "128", LIVE),
    OPTION("why-memory",
           "Memory for the record that EXPIRY WHY reads: who set, moved and removed deadlines, and "
           "what ended keys. Less than 64kb counts as 64kb, and it counts towards maxmemory. 0 "
           "means off.",
           FIELD(MEMORY, why_memory), .max = 256 << 20, .preset = "1mb", LIVE),
    OPTION("latency-monitor-threshold",
           "Record in LATENCY the events that take at least this many milliseconds. 0 means off.",
           FIELD(INT, latency_monitor_threshold), .max = INT64_MAX, .preset = "0", LIVE),
    OPTION("latency-tracking",
           "Record the time of each call for INFO latencystats and LATENCY HISTOGRAM.",
           FIELD(BOOL, latency_tracking), .preset = "yes", LIVE),
    OPTION("latency-tracking-info-percentiles",
           "Percentiles of call times to show in INFO latencystats. \"\" means none.",
           FIELD(TEXT, latency_percentiles), .preset = "50 99 99.9", LIVE, .many = true,
           .check = check_percentiles, .tidy = conf_tidy_spaces),
    OPTION("daemonize", "Detach from the terminal and run in the background.", .section = "process",
           FIELD(BOOL, daemonize), .preset = "no"),
    OPTION("supervised",
           "Notify a supervisor when the daemon is ready: systemd, auto (notify systemd if it "
           "started the daemon), or no. upstart means no.",
           FIELD(ENUM, supervised), .choices = supervisors, .preset = "no"),
    OPTION(
        "clock",
        "real, or stepped. With stepped, time stands still until the command CLOCK moves it, for "
        "tests of programs that depend on time. stepped is not possible with supervised systemd.",
        FIELD(ENUM, clock), .choices = clocks, .preset = "real"),
    OPTION("shutdown-on-sigterm",
           "Save a snapshot on SIGTERM: if there are save points (default), always (save), or "
           "never (nosave). With force, stop even if saving fails. now has no effect, because no "
           "stop waits for replicas.",
           FIELD(TEXT, shutdown_on_sigterm), .preset = "default", LIVE, .many = true,
           .check = check_shutdown, .tidy = tidy_shutdown),
    OPTION("shutdown-on-sigint", "Save a snapshot on SIGINT: see shutdown-on-sigterm.",
           FIELD(TEXT, shutdown_on_sigint), .preset = "default", LIVE, .many = true,
           .check = check_shutdown, .tidy = tidy_shutdown),
    OPTION("pidfile", "File that holds the process ID while the daemon runs.", FIELD(TEXT, pidfile),
           .preset = ""),
    OPTION("loglevel",
           "Lowest level of messages to log: debug, verbose, notice, warning, or nothing.",
           FIELD(ENUM, loglevel), .choices = levels, .preset = "notice", LIVE),
    OPTION("logfile", "Log file. \"\" means standard output. SIGHUP reopens the file.",
           FIELD(TEXT, logfile), .preset = ""),
    OPTION("log-format",
           "Log format: text (or legacy, Valkey's name), or json for one JSON object per line.",
           FIELD(ENUM, log_format), .choices = log_formats, .preset = "text", LIVE),
    OPTION("syslog-enabled", "Also log to syslog.", FIELD(BOOL, syslog_enabled), .preset = "no"),
    OPTION("syslog-ident", "Program name for syslog.", FIELD(TEXT, syslog_ident),
           .preset = "expired"),
    OPTION("syslog-facility", "Syslog facility: user, or local0 to local7.",
           FIELD(ENUM, syslog_facility), .choices = syslog_facilities, .preset = "local0"),
    OPTION("enable-debug-command",
           "Allows DEBUG for nobody (no), everyone (yes), or clients on this machine (local).",
           FIELD(ENUM, enable_debug_command), .choices = allowed, .preset = "no"),
    OPTION("enable-protected-configs",
           "Allows CONFIG SET of dir and dbfilename for nobody (no), everyone (yes), or clients on "
           "this machine (local).",
           FIELD(ENUM, enable_protected_configs), .choices = allowed, .preset = "no"),
};

const struct conf_table conf_working = { options, sizeof(options) / sizeof(options[0]) };
