/* options: the table of options that have an effect, one row each: names, types, ranges, defaults,
 * help. Parsing, CONFIG GET/SET/REWRITE and expired.conf.example use it. */
#include "conf/conf.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define AT(member) offsetof(struct conf, member)
#define MEGABYTE   (INT64_C(1) << 20)

/* In Redis' order; the numbers are those of enum evict_policy in store/sweep/evict.h, which
 * tests/unit/server/agreement_test.c checks. */
static const struct conf_choice policies[] = {
    { "volatile-lru", 4 },   { "volatile-lfu", 5 }, { "volatile-random", 6 },
    { "volatile-ttl", 7 },   { "allkeys-lru", 1 },  { "allkeys-lfu", 2 },
    { "allkeys-random", 3 }, { "noeviction", 0 },   { NULL, 0 },
};
static const struct conf_choice levels[] = {
    { "debug", 0 }, { "verbose", 1 }, { "notice", 2 }, { "warning", 3 }, { NULL, 0 }
};
static const struct conf_choice log_formats[] = { { "text", 0 }, { "json", 1 }, { NULL, 0 } };
/* With the numbers of <syslog.h>. */
static const struct conf_choice syslog_facilities[] = {
    { "user", 1 << 3 },    { "local0", 16 << 3 }, { "local1", 17 << 3 }, { "local2", 18 << 3 },
    { "local3", 19 << 3 }, { "local4", 20 << 3 }, { "local5", 21 << 3 }, { "local6", 22 << 3 },
    { "local7", 23 << 3 }, { NULL, 0 },
};
static const struct conf_choice supervisors[] = { { "systemd", CONF_SUPERVISED_SYSTEMD },
                                                  { "auto", CONF_SUPERVISED_AUTO },
                                                  { "no", CONF_SUPERVISED_NO },
                                                  { NULL, 0 } };
static const struct conf_choice allowed[] = {
    { "no", CONF_ALLOW_NO }, { "yes", CONF_ALLOW_YES }, { "local", CONF_ALLOW_LOCAL }, { NULL, 0 }
};

enum { EVENT_KINDS = sizeof(CONF_EVENT_LETTERS) - 1 };

static const char *check_events(const char *value)
{
    return value[strspn(value, "A" CONF_EVENT_LETTERS)] != '\0'
               ? "Invalid event class character. Use 'Ag$lshzxeKEtmdnSTIV'."
               : NULL;
}

/* DIFFERS: Redis 7.0 does not show "n" beside "A" ("AKEn" reads back as "AKE"); we show it.
 * (doc/differs.md) */
static void tidy_events(char *value)
{
    bool on[EVENT_KINDS] = { false };
    int count = 0;
    for (const char *at = value; *at != '\0'; at++)
        for (int i = 0; i < EVENT_KINDS; i++)
            if (CONF_EVENT_LETTERS[i] == *at || (*at == 'A' && i < CONF_EVENTS_OF_ALL))
                on[i] = true;
    while (count < CONF_EVENTS_OF_ALL && on[count])
        count++;
    bool all = count == CONF_EVENTS_OF_ALL;
    if (all) *value++ = 'A';
    for (int i = all ? CONF_EVENTS_OF_ALL : 0; i < EVENT_KINDS; i++)
        if (on[i]) *value++ = CONF_EVENT_LETTERS[i];
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

static const struct conf_choice channel_defaults[] = { { "allchannels", 1 },
                                                       { "resetchannels", 0 },
                                                       { NULL, 0 } };

static const struct conf_choice fsync_policies[] = {
    { "everysec", CONF_FSYNC_EVERYSEC },
    { "always", CONF_FSYNC_ALWAYS },
    { "no", CONF_FSYNC_NO },
    { NULL, 0 },
};

static const struct conf_choice tls_auths[] = { { "no", CONF_TLS_AUTH_NO },
                                                { "yes", CONF_TLS_AUTH_YES },
                                                { "optional", CONF_TLS_AUTH_OPTIONAL },
                                                { NULL, 0 } };
static const struct conf_choice tls_users[] = { { "off", CONF_TLS_USER_OFF },
                                                { "CN", CONF_TLS_USER_CN },
                                                { NULL, 0 } };

/* DIFFERS: Redis refuses an unknown version when TLS starts, without naming it. (doc/differs.md) */
static const char *check_protocols(const char *value)
{
    static const char *const known[] = { "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3" };
    for (value += strspn(value, " "); *value != '\0'; value += strspn(value, " ")) {
        size_t len = strcspn(value, " ");
        bool found = false;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            found = found || (strlen(known[i]) == len && strncasecmp(known[i], value, len) == 0);
        if (!found) return "each word must be one of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3";
        value += len;
    }
    return NULL;
}

static const char *check_bind(const char *value)
{
    int words = 0;
    for (const char *at = value; *at != '\0'; at++)
        if (*at != ' ' && (at == value || at[-1] == ' ')) words++;
    return words > CONF_BIND_MAX ? "Too many bind addresses specified." : NULL;
}

/* Accepts pairs of seconds and changes, both positive. */
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

/* Numbers from 0 to 100. */
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

/* Redis' "now" and "force" are about replicas and failed saves. */
static const struct conf_choice shutdowns[] = { { "default", CONF_SHUTDOWN_DEFAULT },
                                                { "save", CONF_SHUTDOWN_SAVE },
                                                { "nosave", CONF_SHUTDOWN_NOSAVE },
                                                { NULL, 0 } };

static const struct conf_option options[] = {
    { .name = "bind",
      .type = CONF_TEXT,
      .offset = AT(bind),
      .preset = "127.0.0.1 -::1",
      .many = true,
      .check = check_bind,
      .tidy = tidy_spaces,
      .section = "network",
      .help =
          "Addresses to listen on. A \"-\" before an address: no error if the machine lacks it.\n"
          "\"*\" means every IPv4 address, \"::*\" every IPv6 one, \"\" none." },
    { .name = "port",
      .type = CONF_INT,
      .offset = AT(port),
      .max = 65535,
      .preset = "6379",
      .section = "network",
      .help = "TCP port. 0: no TCP, only the unix socket." },
    { .name = "tcp-backlog",
      .type = CONF_INT,
      .offset = AT(tcp_backlog),
      .max = INT_MAX,
      .preset = "511",
      .section = "network",
      .help = "Length of the queue of connections that have not been accepted yet." },
    { .name = "unixsocket",
      .type = CONF_TEXT,
      .offset = AT(unixsocket),
      .preset = "",
      .section = "network",
      .help = "Path of a unix socket to listen on. \"\": none." },
    { .name = "unixsocketperm",
      .type = CONF_OCTAL,
      .offset = AT(unixsocketperm),
      .max = 0777,
      .preset = "0",
      .section = "network",
      .help = "Mode of the unix socket, in octal. 0: as the umask allows." },
    { .name = "timeout",
      .type = CONF_INT,
      .offset = AT(timeout),
      .max = INT_MAX,
      .preset = "0",
      .live = true,
      .section = "network",
      .help = "Close a client that has been idle for so many seconds. 0: never." },
    { .name = "tcp-keepalive",
      .type = CONF_INT,
      .offset = AT(tcp_keepalive),
      .max = INT_MAX,
      .preset = "300",
      .live = true,
      .section = "network",
      .help = "Seconds between TCP keep-alive probes. 0: no probes." },
    { .name = "protected-mode",
      .type = CONF_BOOL,
      .offset = AT(protected_mode),
      .preset = "yes",
      .live = true,
      .section = "network",
      .help = "While no password is set, accept only clients on this machine." },
    { .name = "requirepass",
      .type = CONF_TEXT,
      .offset = AT(requirepass),
      .preset = "",
      .live = true,
      .section = "network",
      .help = "Password that AUTH requires. \"\": none. A client that never authenticates uses at "
              "most\n"
              "64 KiB, but counts for maxclients until `timeout` closes its connection." },
    { .name = "tls-port",
      .type = CONF_INT,
      .offset = AT(tls_port),
      .max = 65535,
      .preset = "0",
      .section = "tls",
      .help = "TCP port for TLS connections, on the addresses of bind. 0: no TLS. With port 0 it "
              "is the\n"
              "only port." },
    { .name = "tls-cert-file",
      .type = CONF_TEXT,
      .offset = AT(tls_cert_file),
      .preset = "",
      .live = true,
      .section = "tls",
      .help = "The server's certificate in PEM format, with the certificates of the authorities "
              "between it\n"
              "and the root behind it. Needed with tls-port. Setting this or another tls option, "
              "even to\n"
              "the same file, reads all files again, for new connections." },
    { .name = "tls-key-file",
      .type = CONF_TEXT,
      .offset = AT(tls_key_file),
      .preset = "",
      .live = true,
      .section = "tls",
      .help = "The private key of the certificate, in PEM format." },
    { .name = "tls-key-file-pass",
      .type = CONF_TEXT,
      .offset = AT(tls_key_file_pass),
      .preset = "",
      .live = true,
      .section = "tls",
      .help = "Password of tls-key-file. \"\": it has none." },
    { .name = "tls-client-cert-file",
      .type = CONF_TEXT,
      .offset = AT(tls_client_cert_file),
      .preset = "",
      .live = true,
      .section = "tls",
      .help = "Certificate for connections to other servers. It is checked, but not used yet." },
    { .name = "tls-client-key-file",
      .type = CONF_TEXT,
      .offset = AT(tls_client_key_file),
      .preset = "",
      .live = true,
      .section = "tls",
      .help = "The private key of tls-client-cert-file." },
    { .name = "tls-client-key-file-pass",
      .type = CONF_TEXT,
      .offset = AT(tls_client_key_file_pass),
      .preset = "",
      .live = true,
      .section = "tls",
      .help = "Password of tls-client-key-file." },
    { .name = "tls-ca-cert-file",
      .type = CONF_TEXT,
      .offset = AT(tls_ca_cert_file),
      .preset = "",
      .live = true,
      .section = "tls",
      .help = "Certificates of the authorities that sign those of clients." },
    { .name = "tls-ca-cert-dir",
      .type = CONF_TEXT,
      .offset = AT(tls_ca_cert_dir),
      .preset = "",
      .live = true,
      .section = "tls",
      .help = "A directory of such certificates, with names as `openssl rehash` makes them." },
    { .name = "tls-auth-clients",
      .type = CONF_ENUM,
      .offset = AT(tls_auth_clients),
      .choices = tls_auths,
      .preset = "yes",
      .live = true,
      .section = "tls",
      .help =
          "Must a client have a certificate of tls-ca-cert-file or tls-ca-cert-dir: yes, no, or\n"
          "optional (if it has one, it must be valid)." },
    { .name = "tls-auth-clients-user",
      .type = CONF_ENUM,
      .offset = AT(tls_auth_clients_user),
      .choices = tls_users,
      .preset = "off",
      .live = true,
      .section = "tls",
      .help = "CN: a client's certificate logs it in as the user whose name is the common name in "
              "it, if\n"
              "there is such a user. off: it does not." },
    { .name = "tls-protocols",
      .type = CONF_TEXT,
      .offset = AT(tls_protocols),
      .preset = "",
      .live = true,
      .many = true,
      .check = check_protocols,
      .section = "tls",
      .help = "Versions to accept: any of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3. \"\": the last two." },
    { .name = "tls-ciphers",
      .type = CONF_TEXT,
      .offset = AT(tls_ciphers),
      .preset = "",
      .live = true,
      .section = "tls",
      .help =
          "Ciphers for TLS up to 1.2, as ciphers(1ssl) describes them. \"\": those of OpenSSL." },
    { .name = "tls-ciphersuites",
      .type = CONF_TEXT,
      .offset = AT(tls_ciphersuites),
      .preset = "",
      .live = true,
      .section = "tls",
      .help = "Ciphers for TLS 1.3, separated by colons. \"\": those of OpenSSL." },
    { .name = "tls-prefer-server-ciphers",
      .type = CONF_BOOL,
      .offset = AT(tls_prefer_server_ciphers),
      .preset = "no",
      .live = true,
      .section = "tls",
      .help = "Choose the cipher by the server's order, not by the client's." },
    { .name = "tls-dh-params-file",
      .type = CONF_TEXT,
      .offset = AT(tls_dh_params_file),
      .preset = "",
      .live = true,
      .section = "tls",
      .help = "Parameters for DHE ciphers. \"\": OpenSSL chooses them by the size of the key." },
    { .name = "tls-session-caching",
      .type = CONF_BOOL,
      .offset = AT(tls_session_caching),
      .preset = "yes",
      .live = true,
      .section = "tls",
      .help = "Let clients resume sessions, which saves most of the time of a handshake." },
    { .name = "tls-session-cache-size",
      .type = CONF_INT,
      .offset = AT(tls_session_cache_size),
      .max = INT_MAX,
      .preset = "20480",
      .live = true,
      .section = "tls",
      .help =
          "Number of sessions that the server remembers (TLS 1.2 without tickets). 0: no limit." },
    { .name = "tls-session-cache-timeout",
      .type = CONF_INT,
      .offset = AT(tls_session_cache_timeout),
      .max = INT_MAX,
      .preset = "300",
      .live = true,
      .section = "tls",
      .help = "Seconds during which a session can be resumed." },
    { .name = "tls-replication",
      .type = CONF_BOOL,
      .offset = AT(tls_replication),
      .preset = "no",
      .live = true,
      .section = "tls",
      .help = "Use TLS for replication. Without effect: there are no replicas yet." },
    { .name = "tls-cluster",
      .type = CONF_BOOL,
      .offset = AT(tls_cluster),
      .preset = "no",
      .live = true,
      .section = "tls",
      .help = "Use TLS between nodes of a cluster. Without effect: there is no cluster." },
    { .name = "user",
      .type = CONF_LINES,
      .offset = AT(user),
      .preset = "",
      .many = true,
      .hidden = true,
      .changes = true,
      .twice = "Duplicate user found. A user can only be defined once in config files",
      .section = "network",
      .help = "<name> <rule> ...: a user, with rules as for ACL SETUSER. One line per user; CONFIG "
              "REWRITE\n"
              "writes them with hashed passwords. Not together with aclfile. Example:\n"
              "user anna on >secret ~anna:* &anna:* +@all -@dangerous" },
    { .name = "aclfile",
      .type = CONF_TEXT,
      .offset = AT(aclfile),
      .preset = "",
      .section = "network",
      .help = "File with the users, which ACL LOAD reads and ACL SAVE writes: lines as of the "
              "option user.\n"
              "\"\": none." },
    { .name = "acllog-max-len",
      .type = CONF_INT,
      .offset = AT(acllog_max_len),
      .max = INT64_MAX,
      .preset = "128",
      .live = true,
      .section = "network",
      .help = "Maximum number of entries in ACL LOG." },
    { .name = "acl-pubsub-default",
      .type = CONF_ENUM,
      .offset = AT(acl_pubsub_default),
      .choices = channel_defaults,
      .preset = "resetchannels",
      .live = true,
      .section = "network",
      .help = "Channels that a new user may use before any rule: none (resetchannels) or all\n"
              "(allchannels)." },
    { .name = "maxclients",
      .type = CONF_INT,
      .offset = AT(maxclients),
      .min = 1,
      .max = UINT_MAX,
      .preset = "10000",
      .live = true,
      .section = "limits",
      .help = "Maximum number of connections; further ones get an error and are closed." },
    { .name = "proto-max-bulk-len",
      .type = CONF_MEMORY,
      .offset = AT(proto_max_bulk_len),
      .min = MEGABYTE,
      .max = INT32_MAX,
      .preset = "512mb",
      .live = true,
      .section = "limits",
      .help = "Maximum size of one argument of a request, and of a string value." },
    { .name = "client-query-buffer-limit",
      .type = CONF_MEMORY,
      .offset = AT(client_query_buffer_limit),
      .min = MEGABYTE,
      .max = INT64_MAX,
      .preset = "1gb",
      .live = true,
      .section = "limits",
      .help = "Close a client that has more unprocessed input than this." },
    { .name = "client-output-buffer-limit",
      .type = CONF_LIMITS,
      .offset = AT(output_limits),
      .preset = "normal 0 0 0 slave 256mb 64mb 60 pubsub 32mb 8mb 60",
      .live = true,
      .many = true,
      .section = "limits",
      .help =
          "<class> <hard> <soft> <seconds>: close a client of this class if its unsent replies\n"
          "exceed the hard limit, or exceed the soft limit for so many seconds. 0: no limit." },
    { .name = "maxmemory",
      .type = CONF_MEMORY,
      .offset = AT(maxmemory),
      .max = INT64_MAX,
      .preset = "0",
      .live = true,
      .section = "limits",
      .help = "Memory limit in bytes. A command that needs more first evicts keys, by "
              "maxmemory-policy.\n"
              "A new limit or policy takes effect at once. Client buffers count, but do not evict "
              "before\n"
              "a command needs memory; memory of unauthenticated connections does not count. 0: no "
              "limit." },
    { .name = "maxmemory-policy",
      .type = CONF_ENUM,
      .offset = AT(maxmemory_policy),
      .choices = policies,
      .preset = "noeviction",
      .live = true,
      .section = "limits",
      .help =
          "Which keys to evict at maxmemory: the least recently used (lru), the least often used\n"
          "(lfu), random ones, or the next to expire (ttl), among all keys (allkeys) or keys with "
          "a\n"
          "deadline (volatile). noeviction: evict nothing and refuse commands that need more." },
    { .name = "maxmemory-samples",
      .type = CONF_INT,
      .offset = AT(maxmemory_samples),
      .min = 1,
      .max = 64,
      .preset = "5",
      .live = true,
      .section = "limits",
      .help = "Number of keys to sample when choosing one to evict." },
    { .name = "maxmemory-clients",
      .type = CONF_MEMORY_PERCENT,
      .offset = AT(maxmemory_clients),
      .min = -100,
      .max = INT64_MAX,
      .preset = "0",
      .live = true,
      .section = "limits",
      .help = "Memory limit of all connections together: bytes, or a percentage of maxmemory "
              "(\"5%\").\n"
              "Beyond it the connections that use the most are closed, except those with CLIENT "
              "NO-EVICT.\n"
              "0: no limit." },
    { .name = "lfu-log-factor",
      .type = CONF_INT,
      .offset = AT(lfu_log_factor),
      .max = INT_MAX,
      .preset = "10",
      .live = true,
      .section = "limits",
      .help = "How slowly the counter of uses rises, for the lfu policies: at 10, a million uses "
              "saturate it." },
    { .name = "lfu-decay-time",
      .type = CONF_INT,
      .offset = AT(lfu_decay_time),
      .max = INT_MAX,
      .preset = "1",
      .live = true,
      .section = "limits",
      .help = "Minutes after which the counter of uses falls by one. 0: never." },
    { .name = "activedefrag",
      .type = CONF_BOOL,
      .offset = AT(activedefrag),
      .preset = "yes",
      .live = true,
      .section = "limits",
      .help = "After many deletes, move data together in memory, so that the free memory between "
              "it can\n"
              "be returned to the system." },
    { .name = "busy-reply-threshold",
      .type = CONF_INT,
      .offset = AT(busy_reply_threshold),
      .max = LONG_MAX,
      .preset = "5000",
      .live = true,
      .section = "limits",
      .help = "Once a script or function has run for so many milliseconds, other clients are "
              "answered BUSY,\n"
              "and SCRIPT KILL and FUNCTION KILL can stop it. 0: never." },
    { .name = "lua-time-limit",
      .type = CONF_INT,
      .offset = AT(busy_reply_threshold),
      .alias_of = "busy-reply-threshold",
      .max = LONG_MAX,
      .preset = "5000",
      .live = true,
      .section = "limits",
      .help = "The same as busy-reply-threshold." },
    { .name = "script-memory-limit",
      .type = CONF_MEMORY,
      .offset = AT(script_memory_limit),
      .max = INT64_MAX,
      .preset = "256mb",
      .live = true,
      .section = "limits",
      .help = "Memory that one script or function may take while it runs. Beyond it ends with an "
              "error.\n"
              "0: no limit." },
    { .name = "tracking-table-max-keys",
      .type = CONF_INT,
      .offset = AT(tracking_table_max_keys),
      .max = INT64_MAX,
      .preset = "1000000",
      .live = true,
      .section = "limits",
      .help = "Maximum number of keys to remember for CLIENT TRACKING. 0: no limit." },
    { .name = "slowlog-log-slower-than",
      .type = CONF_INT,
      .offset = AT(slowlog_log_slower_than),
      .min = -1,
      .max = INT64_MAX,
      .preset = "10000",
      .live = true,
      .section = "observation",
      .help = "Log calls that take at least so many microseconds in SLOWLOG. -1: none." },
    { .name = "slowlog-max-len",
      .type = CONF_INT,
      .offset = AT(slowlog_max_len),
      .max = INT64_MAX,
      .preset = "128",
      .live = true,
      .section = "observation",
      .help = "Maximum number of calls in SLOWLOG." },
    { .name = "latency-monitor-threshold",
      .type = CONF_INT,
      .offset = AT(latency_monitor_threshold),
      .max = INT64_MAX,
      .preset = "0",
      .live = true,
      .section = "observation",
      .help = "Record events that take at least so many milliseconds in LATENCY. 0: off." },
    { .name = "latency-tracking",
      .type = CONF_BOOL,
      .offset = AT(latency_tracking),
      .preset = "yes",
      .live = true,
      .section = "observation",
      .help = "Record the time of each call for INFO latencystats and LATENCY HISTOGRAM." },
    { .name = "latency-tracking-info-percentiles",
      .type = CONF_TEXT,
      .offset = AT(latency_percentiles),
      .preset = "50 99 99.9",
      .live = true,
      .many = true,
      .check = check_percentiles,
      .tidy = tidy_spaces,
      .section = "observation",
      .help = "Percentiles of the time of calls that INFO latencystats shows. \"\": none." },
    { .name = "metrics-port",
      .type = CONF_INT,
      .offset = AT(metrics_port),
      .max = 65535,
      .preset = "0",
      .section = "metrics",
      .help = "TCP port for HTTP: /metrics for Prometheus, and a page to look at. 0: off." },
    { .name = "metrics-bind",
      .type = CONF_TEXT,
      .offset = AT(metrics_bind),
      .preset = "127.0.0.1 -::1",
      .many = true,
      .check = check_bind,
      .tidy = tidy_spaces,
      .section = "metrics",
      .help =
          "Addresses for metrics-port, as for bind. With requirepass it asks for the password." },
    { .name = "metrics-tls",
      .type = CONF_BOOL,
      .offset = AT(metrics_tls),
      .preset = "no",
      .section = "metrics",
      .help = "Speak HTTPS alone on metrics-port, with the certificates and limits of tls-port." },
    { .name = "metrics-dehydrators",
      .type = CONF_TEXT,
      .offset = AT(metrics_dehydrators),
      .preset = "*",
      .live = true,
      .section = "metrics",
      .help =
          "Dehydrators to report one by one: a pattern for their keys, as for KEYS. \"\": none." },
    { .name = "metrics-dehydrators-max",
      .type = CONF_INT,
      .offset = AT(metrics_dehydrators_max),
      .max = 10000,
      .preset = "100",
      .live = true,
      .section = "metrics",
      .help = "Report at most so many of them: the first ones by name." },
    { .name = "databases",
      .type = CONF_INT,
      .offset = AT(databases),
      .min = 1,
      .max = 16384,
      .preset = "16",
      .section = "data",
      .help = "Number of databases that SELECT can choose from, numbered from 0." },
    { .name = "notify-keyspace-events",
      .type = CONF_TEXT,
      .offset = AT(notify_keyspace_events),
      .preset = "",
      .live = true,
      .check = check_events,
      .tidy = tidy_events,
      .section = "data",
      .help =
          "Events to publish. Channels: K (__keyspace@<db>__), E (__keyevent@<db>__); for members\n"
          "S (__subkeyspace), T (__subkeyevent), I (__subkeyspaceitem), V (__subkeyspaceevent).\n"
          "Classes: g generic, $ strings, l lists, s sets, h hashes, z sorted sets, x expired,\n"
          "e evicted, t streams, d modules, A all of these, m key misses, n new keys. \"\": "
          "none." },
    { .name = "policy",
      .type = CONF_LINES,
      .offset = AT(policy),
      .preset = "",
      .keyed = true,
      .many = true,
      .section = "data",
      .help = "<prefix*|name> <option> <value> ...: a policy as for POLICY SET, set at start if "
              "the data\n"
              "set has none of that name. One line per policy; \"\" for none. Example:\n"
              "policy rv:* MAXLEN 30 TTL 7d REFRESH WRITE" },
    { .name = "rename-command",
      .type = CONF_LINES,
      .offset = AT(renames),
      .preset = "",
      .many = true,
      .hidden = true,
      .section = "data",
      .help =
          "<command> <new name>: give a command another name; \"\" disables it. One line per "
          "command.\n"
          "Clients need the new name everywhere, also in scripts; rules of ACL use the old one." },
    { .name = "dir",
      .type = CONF_TEXT,
      .offset = AT(dir),
      .preset = ".",
      .guarded = true,
      .section = "data",
      .help = "Working directory, which holds the data files." },
    { .name = "hash-max-listpack-entries",
      .type = CONF_INT,
      .offset = AT(hash_max_entries),
      .max = LONG_MAX,
      .preset = "512",
      .live = true,
      .section = "encodings",
      .help = "OBJECT ENCODING calls a hash \"listpack\" up to so many fields. This and the next "
              "options\n"
              "change names only: memory use does not depend on them." },
    { .name = "hash-max-ziplist-entries",
      .type = CONF_INT,
      .offset = AT(hash_max_entries),
      .alias_of = "hash-max-listpack-entries",
      .max = LONG_MAX,
      .preset = "512",
      .live = true,
      .section = "encodings",
      .help = "The same as hash-max-listpack-entries." },
    { .name = "hash-max-listpack-value",
      .type = CONF_MEMORY,
      .offset = AT(hash_max_value),
      .max = INT64_MAX,
      .preset = "64",
      .live = true,
      .section = "encodings",
      .help = "... and whose fields and values have up to so many bytes." },
    { .name = "hash-max-ziplist-value",
      .type = CONF_MEMORY,
      .offset = AT(hash_max_value),
      .alias_of = "hash-max-listpack-value",
      .max = INT64_MAX,
      .preset = "64",
      .live = true,
      .section = "encodings",
      .help = "The same as hash-max-listpack-value." },
    { .name = "zset-max-listpack-entries",
      .type = CONF_INT,
      .offset = AT(zset_max_entries),
      .max = LONG_MAX,
      .preset = "128",
      .live = true,
      .section = "encodings",
      .help = "The same for the members of a sorted set." },
    { .name = "zset-max-ziplist-entries",
      .type = CONF_INT,
      .offset = AT(zset_max_entries),
      .alias_of = "zset-max-listpack-entries",
      .max = LONG_MAX,
      .preset = "128",
      .live = true,
      .section = "encodings",
      .help = "The same as zset-max-listpack-entries." },
    { .name = "zset-max-listpack-value",
      .type = CONF_MEMORY,
      .offset = AT(zset_max_value),
      .max = INT64_MAX,
      .preset = "64",
      .live = true,
      .section = "encodings",
      .help = "... and their bytes." },
    { .name = "zset-max-ziplist-value",
      .type = CONF_MEMORY,
      .offset = AT(zset_max_value),
      .alias_of = "zset-max-listpack-value",
      .max = INT64_MAX,
      .preset = "64",
      .live = true,
      .section = "encodings",
      .help = "The same as zset-max-listpack-value." },
    { .name = "set-max-intset-entries",
      .type = CONF_INT,
      .offset = AT(set_max_intset),
      .max = LONG_MAX,
      .preset = "512",
      .live = true,
      .section = "encodings",
      .help = "OBJECT ENCODING calls a set of integers \"intset\" up to so many members." },
    { .name = "hll-sparse-max-bytes",
      .type = CONF_MEMORY,
      .offset = AT(hll_sparse_max),
      .max = INT64_MAX,
      .preset = "3000",
      .live = true,
      .section = "encodings",
      .help = "A HyperLogLog of more bytes than this takes its dense form, of 12 KiB." },
    { .name = "appendonly",
      .type = CONF_BOOL,
      .offset = AT(appendonly),
      .preset = "yes",
      .live = true,
      .not_loading = true,
      .section = "persistence",
      .help =
          "Write every change to the journal before its reply is sent, and replay the journal at\n"
          "start. no: data are kept in memory and in snapshots only." },
    { .name = "appendfsync",
      .type = CONF_ENUM,
      .offset = AT(appendfsync),
      .choices = fsync_policies,
      .preset = "everysec",
      .live = true,
      .section = "persistence",
      .help =
          "When to fsync the journal: before each reply (always), once per second (everysec), or\n"
          "when the system decides (no)." },
    { .name = "appenddirname",
      .type = CONF_TEXT,
      .offset = AT(appenddirname),
      .preset = "appendonlydir",
      .check = check_file_name,
      .section = "persistence",
      .help = "Directory of the journal, inside dir. If it holds Redis' files, the journal uses a\n"
              "directory of this name with \".exp\" appended." },
    { .name = "appendfilename",
      .type = CONF_TEXT,
      .offset = AT(appendfilename),
      .preset = "appendonly.aof",
      .check = check_file_name,
      .section = "persistence",
      .help = "Prefix of the names of the journal's files." },
    { .name = "aof-load-truncated",
      .type = CONF_BOOL,
      .offset = AT(aof_load_truncated),
      .preset = "yes",
      .live = true,
      .section = "persistence",
      .help = "If the last transaction in the journal is incomplete, cut it off and start. no: "
              "refuse to\n"
              "start." },
    { .name = "auto-aof-rewrite-percentage",
      .type = CONF_INT,
      .offset = AT(rewrite_percentage),
      .max = INT_MAX,
      .preset = "100",
      .live = true,
      .section = "persistence",
      .help = "Rewrite the journal when it has grown by so many percent since the last rewrite.\n"
              "0: never automatically." },
    { .name = "auto-aof-rewrite-min-size",
      .type = CONF_MEMORY,
      .offset = AT(rewrite_min_size),
      .max = INT64_MAX,
      .preset = "64mb",
      .live = true,
      .section = "persistence",
      .help = "Do not rewrite automatically while the journal is smaller than this." },
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
      .help = "<seconds> <changes> ...: save a snapshot when the last one is so many seconds old\n"
              "and there were at least so many changes since. \"\": only by SAVE and BGSAVE." },
    { .name = "dbfilename",
      .type = CONF_TEXT,
      .offset = AT(dbfilename),
      .preset = "dump.exp",
      .live = true,
      .guarded = true,
      .check = check_file_name,
      .section = "persistence",
      .help =
          "Name of the snapshot file, inside dir. A file that is not a snapshot of this server is\n"
          "never replaced." },
    { .name = "rdbcompression",
      .type = CONF_BOOL,
      .offset = AT(rdbcompression),
      .preset = "yes",
      .live = true,
      .section = "persistence",
      .help = "Compress snapshots and the journal's base file (LZ4)." },
    { .name = "stop-writes-on-bgsave-error",
      .type = CONF_BOOL,
      .offset = AT(stop_writes_on_bgsave_error),
      .preset = "yes",
      .live = true,
      .section = "persistence",
      .help = "After an automatic snapshot has failed, refuse writes until one succeeds." },
    { .name = "import",
      .type = CONF_TEXT,
      .offset = AT(import),
      .preset = "",
      .section = "persistence",
      .help =
          "Redis data to import if there are no data yet: an RDB file, an AOF, a manifest, or a\n"
          "directory with one of these. The files are only read." },
    { .name = "import-skip-unsupported",
      .type = CONF_BOOL,
      .offset = AT(import_skip_unsupported),
      .preset = "no",
      .section = "persistence",
      .help = "Skip streams and data of modules during an import. no: refuse to import them." },
    { .name = "daemonize",
      .type = CONF_BOOL,
      .offset = AT(daemonize),
      .preset = "no",
      .section = "process",
      .help = "Detach from the terminal and run in the background." },
    { .name = "supervised",
      .type = CONF_ENUM,
      .offset = AT(supervised),
      .choices = supervisors,
      .preset = "no",
      .section = "process",
      .help =
          "Notify a supervisor when the daemon is ready: systemd, auto (systemd if it started the\n"
          "daemon), or no." },
    { .name = "shutdown-on-sigterm",
      .type = CONF_ENUM,
      .offset = AT(shutdown_on_sigterm),
      .choices = shutdowns,
      .preset = "default",
      .live = true,
      .section = "process",
      .help = "SIGTERM saves a snapshot before the end: if there are save points (default), always "
              "(save), or\n"
              "never (nosave)." },
    { .name = "shutdown-on-sigint",
      .type = CONF_ENUM,
      .offset = AT(shutdown_on_sigint),
      .choices = shutdowns,
      .preset = "default",
      .live = true,
      .section = "process",
      .help = "The same for SIGINT." },
    { .name = "pidfile",
      .type = CONF_TEXT,
      .offset = AT(pidfile),
      .preset = "",
      .section = "process",
      .help = "File to write the process id to while the daemon runs." },
    { .name = "loglevel",
      .type = CONF_ENUM,
      .offset = AT(loglevel),
      .choices = levels,
      .preset = "notice",
      .live = true,
      .section = "process",
      .help = "Lowest level of messages to log: debug, verbose, notice or warning." },
    { .name = "logfile",
      .type = CONF_TEXT,
      .offset = AT(logfile),
      .preset = "",
      .section = "process",
      .help = "Log file. \"\": standard output. SIGHUP reopens the file." },
    { .name = "log-format",
      .type = CONF_ENUM,
      .offset = AT(log_format),
      .choices = log_formats,
      .preset = "text",
      .live = true,
      .section = "process",
      .help = "Format of the lines in the log: text, or json for one JSON object per line." },
    { .name = "syslog-enabled",
      .type = CONF_BOOL,
      .offset = AT(syslog_enabled),
      .preset = "no",
      .section = "process",
      .help = "Log to syslog, too." },
    { .name = "syslog-ident",
      .type = CONF_TEXT,
      .offset = AT(syslog_ident),
      .preset = "expired",
      .section = "process",
      .help = "Name of the daemon in syslog." },
    { .name = "syslog-facility",
      .type = CONF_ENUM,
      .offset = AT(syslog_facility),
      .choices = syslog_facilities,
      .preset = "local0",
      .section = "process",
      .help = "Facility of the lines in syslog: user, or local0 to local7." },
    { .name = "enable-debug-command",
      .type = CONF_ENUM,
      .offset = AT(enable_debug_command),
      .choices = allowed,
      .preset = "no",
      .section = "process",
      .help =
          "Who may use DEBUG: nobody (no), everyone (yes), or clients on this machine (local)." },
    { .name = "enable-protected-configs",
      .type = CONF_ENUM,
      .offset = AT(enable_protected_configs),
      .choices = allowed,
      .preset = "no",
      .section = "process",
      .help =
          "Who may change dbfilename with CONFIG SET: nobody (no), everyone (yes), or clients on\n"
          "this machine (local)." },
};

const struct conf_table conf_working = { options, sizeof(options) / sizeof(options[0]) };
