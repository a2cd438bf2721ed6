/* options: the table: a row per option.
 * Knows names, ranges, defaults and what each is for; refuses to know where values are kept and how
 * they are read. From it come parsing, CONFIG GET/SET/REWRITE and expired.conf.example. */
#include "conf/conf.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define AT(member) offsetof(struct conf, member)
#define MEGABYTE   (INT64_C(1) << 20)

/* In Redis' order; the numbers are those of the store's enumeration. */
static const struct conf_choice policies[] = {
    { "volatile-lru", 4 },   { "volatile-lfu", 5 }, { "volatile-random", 6 },
    { "volatile-ttl", 7 },   { "allkeys-lru", 1 },  { "allkeys-lfu", 2 },
    { "allkeys-random", 3 }, { "noeviction", 0 },   { NULL, 0 },
};
static const struct conf_choice levels[] = {
    { "debug", 0 }, { "verbose", 1 }, { "notice", 2 }, { "warning", 3 }, { NULL, 0 }
};
static const struct conf_choice supervisors[] = { { "systemd", CONF_SUPERVISED_SYSTEMD },
                                                  { "auto", CONF_SUPERVISED_AUTO },
                                                  { "no", CONF_SUPERVISED_NO },
                                                  { NULL, 0 } };
static const struct conf_choice allowed[] = {
    { "no", CONF_ALLOW_NO }, { "yes", CONF_ALLOW_YES }, { "local", CONF_ALLOW_LOCAL }, { NULL, 0 }
};

/* The event classes in the order in which CONFIG GET shows them; "A" stands for the first
 * EVENTS_OF_ALL of them. */
#define EVENT_LETTERS "g$lshzxetdnKEmSTIV"
enum { EVENTS_OF_ALL = 10, EVENT_KINDS = sizeof(EVENT_LETTERS) - 1 };

static const char *check_events(const char *value)
{
    return value[strspn(value, "A" EVENT_LETTERS)] != '\0'
               ? "Invalid event class character. Use 'Ag$lshzxeKEtmdnSTIV'."
               : NULL;
}

/* DIFFERS: Redis 7.0 does not show "n" beside "A" ("AKEn" reads back as "AKE"); here it stays.
 * (doc/differs.md) */
static void tidy_events(char *value)
{
    bool on[EVENT_KINDS] = { false };
    int count = 0;
    for (const char *at = value; *at != '\0'; at++)
        for (int i = 0; i < EVENT_KINDS; i++)
            if (EVENT_LETTERS[i] == *at || (*at == 'A' && i < EVENTS_OF_ALL)) on[i] = true;
    while (count < EVENTS_OF_ALL && on[count])
        count++;
    bool all = count == EVENTS_OF_ALL;
    if (all) *value++ = 'A';
    for (int i = all ? EVENTS_OF_ALL : 0; i < EVENT_KINDS; i++)
        if (on[i]) *value++ = EVENT_LETTERS[i];
    *value = '\0';
}

static void tidy_spaces(char *value)
{
    char *to = value;
    for (const char *at = value; *at != '\0'; at++)
        if (*at != ' ' || (to > value && to[-1] != ' ')) *to++ = *at;
    if (to > value && to[-1] == ' ') to--;
    *to = '\0';
}

static const struct conf_choice fsync_policies[] = {
    { "no", CONF_FSYNC_NO },
    { "everysec", CONF_FSYNC_EVERYSEC },
    { "always", CONF_FSYNC_ALWAYS },
    { NULL, 0 },
};

static const char *check_bind(const char *value)
{
    int words = 0;
    for (const char *at = value; *at != '\0'; at++)
        if (*at != ' ' && (at == value || at[-1] == ' ')) words++;
    return words > CONF_BIND_MAX ? "Too many bind addresses specified." : NULL;
}

/* Pairs of seconds and changes, both positive. */
static const char *check_save(const char *value)
{
    int words = 0;
    for (const char *at = value; *at != '\0'; words++) {
        char *end;
        errno = 0;
        long number = strtol(at, &end, 10);
        if (end == at || errno != 0 || number < (words % 2 == 0) || (*end != ' ' && *end != '\0'))
            return "Invalid save parameters";
        at = *end == ' ' ? end + 1 : end;
    }
    return words % 2 == 0 ? NULL : "Invalid save parameters";
}

static const char *check_file_name(const char *value)
{
    return *value == '\0' || strchr(value, '/') != NULL || strcmp(value, ".") == 0 ||
                   strcmp(value, "..") == 0
               ? "it can't be a path, just a name"
               : NULL;
}

/* As Redis: any number is taken, and what is beyond its bounds becomes the bound. */
static void tidy_hz(char *value)
{
    long hz = strtol(value, NULL, 10);
    if (hz < 1)
        value[0] = '1';
    else if (hz > 500)
        memcpy(value, "500", sizeof "500");
}

static const struct conf_option options[] = {
    { .name = "bind",
      .type = CONF_TEXT,
      .offset = AT(bind),
      .preset = "127.0.0.1 -::1",
      .many = true,
      .check = check_bind,
      .tidy = tidy_spaces,
      .section = "network",
      .help = "The addresses to listen on. A \"-\" in front: no error where the machine lacks it.\n"
              "\"*\" is every IPv4 address, \"::*\" every IPv6 one; \"\" is none." },
    { .name = "port",
      .type = CONF_INT,
      .offset = AT(port),
      .max = 65535,
      .preset = "6379",
      .section = "network",
      .help = "The TCP port. 0: no TCP, only the unix socket." },
    { .name = "tcp-backlog",
      .type = CONF_INT,
      .offset = AT(tcp_backlog),
      .max = INT_MAX,
      .preset = "511",
      .section = "network",
      .help = "Connections that may wait to be accepted." },
    { .name = "unixsocket",
      .type = CONF_TEXT,
      .offset = AT(unixsocket),
      .preset = "",
      .section = "network",
      .help = "Path of a unix socket to listen on." },
    { .name = "unixsocketperm",
      .type = CONF_OCTAL,
      .offset = AT(unixsocketperm),
      .max = 0777,
      .preset = "0",
      .section = "network",
      .help = "Mode of the unix socket, in octal. 0: what the umask leaves." },
    { .name = "timeout",
      .type = CONF_INT,
      .offset = AT(timeout),
      .max = INT_MAX,
      .preset = "0",
      .live = true,
      .section = "network",
      .help = "Seconds after which an idle client is closed. 0: never." },
    { .name = "tcp-keepalive",
      .type = CONF_INT,
      .offset = AT(tcp_keepalive),
      .max = INT_MAX,
      .preset = "300",
      .live = true,
      .section = "network",
      .help = "Seconds between TCP keep-alive probes. 0: none." },
    { .name = "protected-mode",
      .type = CONF_BOOL,
      .offset = AT(protected_mode),
      .preset = "yes",
      .live = true,
      .section = "network",
      .help = "Without a password, serve clients of this machine only." },
    { .name = "requirepass",
      .type = CONF_TEXT,
      .offset = AT(requirepass),
      .preset = "",
      .live = true,
      .section = "network",
      .help = "The password that AUTH asks for. \"\": none. Who never authenticates holds at most\n"
              "64 KiB, but takes one of maxclients until `timeout` finds the connection idle." },
    { .name = "maxclients",
      .type = CONF_INT,
      .offset = AT(maxclients),
      .min = 1,
      .max = UINT_MAX,
      .preset = "10000",
      .live = true,
      .section = "limits",
      .help = "Connections served at a time; the next one gets an error and is closed." },
    { .name = "proto-max-bulk-len",
      .type = CONF_MEMORY,
      .offset = AT(proto_max_bulk_len),
      .min = MEGABYTE,
      .max = INT32_MAX,
      .preset = "512mb",
      .live = true,
      .section = "limits",
      .help = "The longest single argument of a request, and the longest string value." },
    { .name = "client-query-buffer-limit",
      .type = CONF_MEMORY,
      .offset = AT(client_query_buffer_limit),
      .min = MEGABYTE,
      .max = INT64_MAX,
      .preset = "1gb",
      .live = true,
      .section = "limits",
      .help = "A client with more unanswered input than this is closed." },
    { .name = "client-output-buffer-limit",
      .type = CONF_LIMITS,
      .offset = AT(output_limits),
      .preset = "normal 0 0 0 slave 256mb 64mb 60 pubsub 32mb 8mb 60",
      .live = true,
      .many = true,
      .section = "limits",
      .help =
          "<class> <hard> <soft> <seconds>: a client of the class is closed when its unread\n"
          "replies pass the hard limit, or stay beyond the soft one for that long. 0: no limit." },
    { .name = "maxmemory",
      .type = CONF_MEMORY,
      .offset = AT(maxmemory),
      .max = INT64_MAX,
      .preset = "0",
      .live = true,
      .section = "limits",
      .help =
          "Bytes beyond which keys give way to commands that need more, by maxmemory-policy.\n"
          "A lower limit, or another policy, takes effect at once. Buffers of clients count, but\n"
          "evict nothing before a command needs memory; what unauthenticated connections hold\n"
          "does not count. 0: no limit." },
    { .name = "maxmemory-policy",
      .type = CONF_ENUM,
      .offset = AT(maxmemory_policy),
      .choices = policies,
      .preset = "noeviction",
      .live = true,
      .section = "limits",
      .help = "What gives way when maxmemory is reached: the least recently (lru) or least often "
              "(lfu)\n"
              "used, any, or what dies first (ttl), among all keys or volatile ones. noeviction:\n"
              "nothing does, and commands that need more are refused." },
    { .name = "maxmemory-samples",
      .type = CONF_INT,
      .offset = AT(maxmemory_samples),
      .min = 1,
      .max = 64,
      .preset = "5",
      .live = true,
      .section = "limits",
      .help = "Keys that are drawn to find the one that gives way." },
    { .name = "activedefrag",
      .type = CONF_BOOL,
      .offset = AT(activedefrag),
      .preset = "yes",
      .live = true,
      .section = "limits",
      .help = "After much was deleted, copy what is left together, so that memory is given back." },
    { .name = "tracking-table-max-keys",
      .type = CONF_INT,
      .offset = AT(tracking_table_max_keys),
      .max = INT64_MAX,
      .preset = "1000000",
      .live = true,
      .section = "limits",
      .help = "Keys that are remembered as read by clients that track (CLIENT TRACKING). 0: any\n"
              "number." },
    { .name = "slowlog-log-slower-than",
      .type = CONF_INT,
      .offset = AT(slowlog_log_slower_than),
      .min = -1,
      .max = INT64_MAX,
      .preset = "10000",
      .live = true,
      .section = "observation",
      .help = "SLOWLOG keeps calls of at least so many microseconds. -1: none." },
    { .name = "slowlog-max-len",
      .type = CONF_INT,
      .offset = AT(slowlog_max_len),
      .max = INT64_MAX,
      .preset = "128",
      .live = true,
      .section = "observation",
      .help = "How many calls SLOWLOG keeps." },
    { .name = "latency-monitor-threshold",
      .type = CONF_INT,
      .offset = AT(latency_monitor_threshold),
      .max = INT64_MAX,
      .preset = "0",
      .live = true,
      .section = "observation",
      .help = "LATENCY keeps moments of at least so many milliseconds. 0: none." },
    { .name = "latency-tracking",
      .type = CONF_BOOL,
      .offset = AT(latency_tracking),
      .preset = "yes",
      .live = true,
      .section = "observation",
      .help =
          "Whether each command's times are kept for INFO latencystats and LATENCY HISTOGRAM." },
    { .name = "databases",
      .type = CONF_INT,
      .offset = AT(databases),
      .min = 1,
      .max = 16384,
      .preset = "16",
      .section = "data",
      .help = "Databases that SELECT can choose from, numbered from 0." },
    { .name = "notify-keyspace-events",
      .type = CONF_TEXT,
      .offset = AT(notify_keyspace_events),
      .preset = "",
      .live = true,
      .check = check_events,
      .tidy = tidy_events,
      .section = "data",
      .help =
          "Events that are published: K (__keyspace@<db>__) and E (__keyevent@<db>__), and of "
          "members\n"
          "S (__subkeyspace), T (__subkeyevent), I (__subkeyspaceitem), V (__subkeyspaceevent), "
          "with\n"
          "g generic, $ strings, l lists, s sets, h hashes, z sorted sets, x expired, e evicted,\n"
          "t streams, d modules, A all of these, m key misses, n new keys. \"\": none." },
    { .name = "policy",
      .type = CONF_LINES,
      .offset = AT(policy),
      .preset = "",
      .many = true,
      .section = "data",
      .help =
          "<prefix*|name> <option> <value> ...: a policy as POLICY SET takes it, made at start\n"
          "where the data set has none of that name. A line for each, \"\" for none:\n"
          "policy rv:* MAXLEN 30 TTL 7d REFRESH WRITE" },
    { .name = "dir",
      .type = CONF_TEXT,
      .offset = AT(dir),
      .preset = ".",
      .section = "data",
      .help = "The working directory." },
    { .name = "appendonly",
      .type = CONF_BOOL,
      .offset = AT(appendonly),
      .preset = "yes",
      .live = true,
      .not_loading = true,
      .section = "persistence",
      .help = "The journal: every change is written down before its reply leaves, and a start\n"
              "brings it all back. Without it data live in memory, and in snapshots." },
    { .name = "appendfsync",
      .type = CONF_ENUM,
      .offset = AT(appendfsync),
      .choices = fsync_policies,
      .preset = "everysec",
      .live = true,
      .section = "persistence",
      .help = "When the journal is brought to the medium: \"always\" before a reply leaves,\n"
              "\"everysec\" once a second, \"no\" when the system does it." },
    { .name = "appenddirname",
      .type = CONF_TEXT,
      .offset = AT(appenddirname),
      .preset = "appendonlydir",
      .check = check_file_name,
      .section = "persistence",
      .help =
          "The journal's directory, in dir. Where it holds Redis' files, the journal is in the\n"
          "directory of this name with \".exp\" behind it." },
    { .name = "appendfilename",
      .type = CONF_TEXT,
      .offset = AT(appendfilename),
      .preset = "appendonly.aof",
      .check = check_file_name,
      .section = "persistence",
      .help = "What the names of the journal's files begin with." },
    { .name = "aof-load-truncated",
      .type = CONF_BOOL,
      .offset = AT(aof_load_truncated),
      .preset = "yes",
      .live = true,
      .section = "persistence",
      .help = "Start although the journal's last unit was torn, and cut it off. \"no\": refuse." },
    { .name = "auto-aof-rewrite-percentage",
      .type = CONF_INT,
      .offset = AT(rewrite_percentage),
      .max = INT_MAX,
      .preset = "100",
      .live = true,
      .section = "persistence",
      .help = "The journal is rewritten when it has grown by so many percent since the last\n"
              "time. 0: never by itself." },
    { .name = "auto-aof-rewrite-min-size",
      .type = CONF_MEMORY,
      .offset = AT(rewrite_min_size),
      .max = INT64_MAX,
      .preset = "64mb",
      .live = true,
      .section = "persistence",
      .help = "But not while it is smaller than this." },
    { .name = "save",
      .type = CONF_TEXT,
      .offset = AT(save),
      .preset = "",
      .live = true,
      .many = true,
      .adds = true,
      .check = check_save,
      .tidy = tidy_spaces,
      .section = "persistence",
      .help = "<seconds> <changes> ...: a snapshot is made when so many changes are so old.\n"
              "\"\": only when SAVE or BGSAVE asks for one." },
    { .name = "dbfilename",
      .type = CONF_TEXT,
      .offset = AT(dbfilename),
      .preset = "dump.exp",
      .live = true,
      .guarded = true,
      .check = check_file_name,
      .section = "persistence",
      .help = "The snapshot's name, in dir. A file that is no snapshot of this server is never "
              "replaced." },
    { .name = "rdbcompression",
      .type = CONF_BOOL,
      .offset = AT(rdbcompression),
      .preset = "yes",
      .live = true,
      .section = "persistence",
      .help = "Snapshots and the journal's base are compressed (LZ4)." },
    { .name = "stop-writes-on-bgsave-error",
      .type = CONF_BOOL,
      .offset = AT(stop_writes_on_bgsave_error),
      .preset = "yes",
      .live = true,
      .section = "persistence",
      .help = "After a snapshot by `save` has failed nothing is written until one succeeds." },
    { .name = "import",
      .type = CONF_TEXT,
      .offset = AT(import),
      .preset = "",
      .section = "persistence",
      .help =
          "What of Redis to begin with where there are no data yet: an RDB, an AOF, a manifest,\n"
          "or a directory with one of them. It is only read." },
    { .name = "import-skip-unsupported",
      .type = CONF_BOOL,
      .offset = AT(import_skip_unsupported),
      .preset = "no",
      .section = "persistence",
      .help = "Import the rest where it has streams or modules' data." },
    { .name = "daemonize",
      .type = CONF_BOOL,
      .offset = AT(daemonize),
      .preset = "no",
      .section = "process",
      .help = "Leave the terminal and serve in the background." },
    { .name = "supervised",
      .type = CONF_ENUM,
      .offset = AT(supervised),
      .choices = supervisors,
      .preset = "no",
      .section = "process",
      .help = "Who is told that the daemon is ready. auto: systemd, where it asks for it." },
    { .name = "pidfile",
      .type = CONF_TEXT,
      .offset = AT(pidfile),
      .preset = "",
      .section = "process",
      .help = "A file that holds the process id while the daemon runs." },
    { .name = "loglevel",
      .type = CONF_ENUM,
      .offset = AT(loglevel),
      .choices = levels,
      .preset = "notice",
      .live = true,
      .section = "process",
      .help = "debug, verbose, notice or warning." },
    { .name = "logfile",
      .type = CONF_TEXT,
      .offset = AT(logfile),
      .preset = "",
      .section = "process",
      .help = "Where the log goes. \"\": standard output. SIGHUP opens the file anew." },
    { .name = "enable-debug-command",
      .type = CONF_ENUM,
      .offset = AT(enable_debug_command),
      .choices = allowed,
      .preset = "no",
      .section = "process",
      .help = "Who may use DEBUG: no one, everyone (yes), or clients of this machine (local)." },
    { .name = "enable-protected-configs",
      .type = CONF_ENUM,
      .offset = AT(enable_protected_configs),
      .choices = allowed,
      .preset = "no",
      .section = "process",
      .help = "Who may set dbfilename by CONFIG SET: no one, everyone (yes), or clients of this\n"
              "machine (local)." },
    { .name = "hz",
      .type = CONF_INT,
      .offset = AT(hz),
      .max = INT_MAX,
      .preset = "10",
      .live = true,
      .tidy = tidy_hz,
      .section = "process",
      .help = "Taken for Redis' sake: nothing here works at intervals." },
};

_Static_assert(sizeof(options) / sizeof(options[0]) <= 64, "conf.by_include has a bit for each");

size_t conf_option_count(void)
{
    return sizeof(options) / sizeof(options[0]);
}

const struct conf_option *conf_option_at(size_t index)
{
    return &options[index];
}

const struct conf_option *conf_find(const char *name)
{
    for (size_t i = 0; i < conf_option_count(); i++)
        if (strcasecmp(options[i].name, name) == 0) return &options[i];
    return NULL;
}
