/* conf: the options of the server, in one table. This library parses, stores and prints options; it
 * does not know what an option does. Options of Redis keep Redis' names and the syntax of their
 * values.
 *
 * Folder conf: each option is one row: its name, type, range, default and help, and whether CONFIG
 * SET may change it. Parsing, CONFIG GET, SET and REWRITE, --help and expired.conf.example are made
 * from the rows. Start with option.h, then read a row in options.c.
 *
 *     option          the row
 *     option_table    the tables of rows, private to this folder
 *     options*.c      the rows of options that have an effect
 *     accepted.c      the rows of options of Redis and Valkey that are ignored
 *     find.c          finds rows by name
 *     conf            parses and prints a value by its row
 *     load.c          the start: files and arguments; continues after an error, to report all
 *     rewrite.c       writes files: CONFIG REWRITE, and the example
 *     words           splits lines into words
 *     times           reads spans and instants
 *     command_line    the arguments of `expired`, for --help and the man page
 *     usage           describes and parses the command line of any program
 *
 * To add an option, add a field to struct conf and a row, run `make example`, and read the field
 * where it matters.
 *
 * May use: store/base store/mem. */
#pragma once

#include <stdio.h>

#include "conf/option.h"

enum conf_allowed { CONF_ALLOW_NO, CONF_ALLOW_YES, CONF_ALLOW_LOCAL };
enum conf_clock { CONF_CLOCK_REAL, CONF_CLOCK_STEPPED };
enum conf_supervised { CONF_SUPERVISED_NO, CONF_SUPERVISED_SYSTEMD, CONF_SUPERVISED_AUTO };
enum conf_cluster { CONF_CLUSTER_NO, CONF_CLUSTER_EMULATED, CONF_CLUSTER_STRICT };
enum conf_endpoint { CONF_ENDPOINT_IP, CONF_ENDPOINT_HOSTNAME, CONF_ENDPOINT_UNKNOWN };
enum conf_compat { CONF_COMPAT_REDIS_7_0, CONF_COMPAT_REDIS_8_0, CONF_COMPAT_VALKEY_9_1 };
enum conf_tls_auth { CONF_TLS_AUTH_NO, CONF_TLS_AUTH_YES, CONF_TLS_AUTH_OPTIONAL };
enum conf_tls_user { CONF_TLS_USER_OFF, CONF_TLS_USER_CN };
enum conf_fsync { CONF_FSYNC_NO, CONF_FSYNC_EVERYSEC, CONF_FSYNC_ALWAYS };
enum { CONF_BIND_MAX = 16, CONF_LIMIT_NORMAL = 0, CONF_LIMIT_REPLICA = 1, CONF_LIMIT_PUBSUB = 2 };

/* The letters of notify-keyspace-events, in the order in which CONFIG GET shows them. "A" means all
 * of the first CONF_EVENTS_OF_ALL letters. server/engine/react/notify.c defines what each letter
 * selects. */
#define CONF_EVENT_LETTERS "g$lshzxetdnKEmSTIV"
enum { CONF_EVENTS_OF_ALL = 10 };

enum { CONF_OPTIONS_MAX = 384, CONF_KEPT_MAX = 160 };

/* A bit per option, by its index. */
struct conf_bits {
    uint64_t words[CONF_OPTIONS_MAX / 64];
};

/* The value of an option that has no field of its own. */
union conf_kept {
    bool flag;
    int64_t number;
    char *text;
};

struct conf_output_limit {
    int64_t hard, soft; /* bytes, or 0 */
    int64_t soft_seconds;
};

struct conf {
    /* network */
    char *bind; /* the words as given, separated by one space */
    int64_t port, io_threads, tcp_backlog, timeout, tcp_keepalive, maxclients;
    char *unixsocket;
    int64_t unixsocketperm; /* a mode; 0 to let the umask set it */
    char *unixsocketgroup;
    bool protected_mode;
    char *requirepass;
    int64_t compat_version; /* enum conf_compat */
    /* cluster */
    int64_t cluster;          /* enum conf_cluster */
    int64_t cluster_endpoint; /* enum conf_endpoint */
    char *cluster_announce_ip, *cluster_announce_hostname;
    int64_t cluster_announce_port, cluster_announce_tls_port;
    /* tls */
    int64_t tls_port; /* 0 without TLS */
    char *tls_cert_file, *tls_key_file, *tls_key_file_pass;
    char *tls_client_cert_file, *tls_client_key_file, *tls_client_key_file_pass;
    char *tls_ca_cert_file, *tls_ca_cert_dir, *tls_dh_params_file;
    int64_t tls_auth_clients;      /* enum conf_tls_auth */
    int64_t tls_auth_clients_user; /* enum conf_tls_user */
    char *tls_protocols, *tls_ciphers, *tls_ciphersuites;
    bool tls_prefer_server_ciphers, tls_session_caching;
    int64_t tls_session_cache_size, tls_session_cache_timeout; /* sessions, seconds */
    int64_t tls_auto_reload_interval;                          /* seconds; 0 for never */
    bool tls_replication, tls_cluster;
    char *user;    /* lines such as "anna on #5e88... ~a* +get", with distinct first words */
    char *aclfile; /* path of the ACL file, or "" */
    int64_t acllog_max_len, acl_pubsub_default; /* 1 if new users may use all channels */
    /* replication */
    char *replicaof; /* "host port", or "" for a master */
    char *masterauth, *masteruser;
    bool replica_read_only, replica_serve_stale_data, replica_ignore_maxmemory, replica_announced;
    int64_t replica_priority, replica_announce_port, min_replicas_to_write, min_replicas_max_lag;
    char *replica_announce_ip;
    int64_t repl_backlog_size, repl_backlog_ttl; /* bytes, seconds */
    int64_t repl_diskless_sync_delay, repl_diskless_sync_max_replicas;
    int64_t repl_ping_replica_period, repl_timeout; /* seconds */
    int64_t rdb_copy_for;                           /* enum full_copy_reader */
    bool rdb_copy_lossy;
    /* limits */
    int64_t proto_max_bulk_len, client_query_buffer_limit, maxmemory;
    int64_t maxmemory_clients; /* bytes; below 0, a percentage of maxmemory; 0 for no limit */
    int64_t maxmemory_policy, maxmemory_samples;
    bool maxmemory_evict_jobs;
    int64_t lease_max_ttl;                  /* milliseconds */
    int64_t lfu_log_factor, lfu_decay_time; /* minutes; 0 for never */
    bool activedefrag;
    int64_t busy_reply_threshold; /* milliseconds; 0 for never */
    int64_t script_memory_limit;  /* bytes, or 0 for no limit */
    struct conf_output_limit output_limits[3];
    /* observation */
    int64_t slowlog_log_slower_than; /* microseconds; -1 if off */
    int64_t slowlog_max_len;
    int64_t why_memory;                /* bytes; 0 if off */
    int64_t latency_monitor_threshold; /* milliseconds; 0 if off */
    bool latency_tracking;
    char *latency_percentiles;       /* "50 99 99.9" */
    int64_t tracking_table_max_keys; /* 0 for no limit */
    /* metrics */
    int64_t metrics_port; /* 0 if off */
    bool metrics_tls;
    char *metrics_bind;
    char *metrics_dehydrators; /* a pattern of keys; "" for none */
    int64_t metrics_dehydrators_max;
    /* data */
    int64_t databases;
    char *policy; /* lines such as "prefix* TTL 1000"; those of one name form one policy */
    /* Checks the lines of `policy`: returns a constant error text, or NULL. Set this callback after
     * conf_init; while it is NULL, any words are accepted. */
    const char *(*policies_fault)(const char *lines);
    char *notify_keyspace_events;
    char *dir;
    char *renames; /* lines "<command> <new name>"; the new name "" disables the command */
    const char *(*renames_fault)(const char *lines); /* as policies_fault */
    const char *(*users_fault)(const char *lines);   /* the same for `user` */
    /* encodings, as shown by OBJECT ENCODING */
    int64_t hash_max_entries, hash_max_value, zset_max_entries, zset_max_value, set_max_intset;
    int64_t hll_sparse_max;                       /* bytes */
    int64_t stream_max_bytes, stream_max_entries; /* of a block of a stream; 0 for the maximum */
    /* persistence */
    bool appendonly;
    int64_t appendfsync; /* enum conf_fsync */
    char *appenddirname, *appendfilename;
    bool aof_load_truncated;
    int64_t rewrite_percentage, rewrite_min_size;
    char *journal_keep; /* a span: see conf_read_span */
    char *save;         /* "seconds changes ..." */
    char *dbfilename;
    bool rdbcompression, stop_writes_on_bgsave_error;
    bool restore_paused;
    char *import;
    char *until; /* an instant: see conf_read_instant */
    char *import_skip;
    bool import_skip_unsupported;
    /* process */
    int64_t loglevel;   /* 0 debug, 1 verbose, 2 notice, 3 warning, 4 nothing */
    int64_t log_format; /* 0 text, 1 JSON */
    char *logfile, *pidfile;
    bool syslog_enabled;
    char *syslog_ident;
    int64_t syslog_facility; /* as in <syslog.h> */
    bool daemonize;
    int64_t supervised;                                     /* enum conf_supervised */
    int64_t clock;                                          /* enum conf_clock */
    char *shutdown_on_sigint, *shutdown_on_sigterm;         /* struct conf_shutdown */
    int64_t enable_debug_command, enable_protected_configs; /* enum conf_allowed */

    union conf_kept kept[CONF_KEPT_MAX]; /* values of the ignored options in accepted.c */
    char *file;                  /* absolute path of the configuration file; "" without one */
    struct conf_bits by_include; /* options set by an included file; for conf_rewrite */
    struct conf_bits given;      /* options set by a file or the command line */
};

struct conf_words;

/* How SIGTERM or SIGINT stops the server. */
struct conf_shutdown {
    bool saves;  /* writes a snapshot first */
    bool forced; /* stops even if that fails */
};
/* `words` is the value of an option shutdown_on_... With save points in conf, saves unless the
 * words contain "nosave"; without them, only if they contain "save". */
struct conf_shutdown conf_shutdown(const struct conf *conf, const char *words);

struct conf_error {
    /* One error per line: "expired.conf:12: port: argument must be between ...". */
    char text[16 * 1024];
};

void conf_init(struct conf *conf); /* sets the defaults */
void conf_drop(struct conf *conf);

/* Reads a file and the files that it includes, and sets conf->file. On failure `error` lists the
 * errors, each with file, line, option and reason; if its text can't hold them all, its last line
 * counts the others. Drop conf then, because some options are already set. */
bool conf_load_file(struct conf *conf, const char *path, struct conf_error *error);
/* Loads a text in memory as conf_load_file loads a file, but leaves conf->file as it is. `name`
 * stands for the file in error messages. */
bool conf_load_text(struct conf *conf, const char *text, size_t len, const char *name,
                    struct conf_error *error);
/* Reads main's arguments in the forms of redis-server:
 *
 *     expired [FILE] [--name value ...]...
 *     expired [FILE] [--name value ...]... -    also reads standard input
 *
 * The first argument is a file unless it begins with "-". The word after a name is its value, even
 * if it begins with "--", and so are the words up to the next one that begins with "--". But as the
 * last word, or before another name, a yes-or-no option is yes, and `save` is empty. Errors are as
 * for conf_load_file. The caller handles --help and --version.
 *
 * If a file or standard input is read, and something sets `appendonly no` but nothing sets `save`,
 * `save` gets Redis' default save points. */
bool conf_load_args(struct conf *conf, int argc, char *const *argv, struct conf_error *error);

/* Returns the number of options: first the options with an effect, then the rows of accepted.c. */
size_t conf_option_count(void);
const struct conf_option *conf_option_at(size_t index);
const struct conf_option *
conf_find(const char *name); /* ignores case; NULL without such an option */
/* Returns the known name closest to a misspelt one; NULL if none is close. */
const char *conf_closest_name(const char *name);
/* Returns the ignored options that a file or the command line has set, separated by ", "; "" if
 * there are none. The caller frees the text. */
char *conf_accepted_names(const struct conf *conf);
bool conf_bits_has(const struct conf_bits *bits, const struct conf_option *option);
void conf_bits_add(struct conf_bits *bits, const struct conf_option *option);
/* Index in conf.kept of an option of accepted.c. An alias has the index of its option. */
size_t conf_kept_index(const struct conf_option *option);

/* Writes each line of the error as "<program>: line". */
void conf_error_print(const struct conf_error *error, FILE *to, const char *program);

/* Sets an option from text, whether it is live or not. Replaces the old value, except for
 * CONF_LIMITS: classes of clients that the text does not name keep their limits. On failure conf is
 * unchanged, and *why is the error, for an option of Redis in Redis' words, such as "argument must
 * be 'yes' or 'no'": a constant, or a static buffer that the next failure overwrites. */
bool conf_set(struct conf *conf, const struct conf_option *option, const char *value,
              const char **why);
/* Adds a line to a CONF_LINES option, made of the words after the first one, which is the option's
 * name. A single empty word adds no line. Does not check `twice` (option.h). Errors are as for
 * conf_set. */
bool conf_add_line(struct conf *conf, const struct conf_option *option,
                   const struct conf_words *words, const char **why);
/* Returns true if a line of this CONF_LINES option begins with this word. Works for lines that
 * conf_add_line has added, or that are quoted in the same way. */
bool conf_has_line(const struct conf *conf, const struct conf_option *option, const char *word);
/* Returns the value as CONFIG GET shows it; the caller frees it. */
char *conf_get(const struct conf *conf, const struct conf_option *option);

void conf_write_example(FILE *to);
/* Rewrites conf->file for CONFIG REWRITE, and replaces it as conf_replace_file does; creates it if
 * it is missing. Comments and the order of lines stay, but several lines of an option become one,
 * unless the option consists of lines (CONF_LINES). Options that differ from their defaults and
 * have no line yet are appended, as is `save` while appendonly is no. Options that an included file
 * sets move to the end, to override that file. Lines about policies and renames, which do not
 * change while the server runs, are only copied. Fails if there is no conf->file, if an included
 * file defines users, or on an error of the system. The error is then only the reason, such as
 * "Permission denied". */
bool conf_rewrite(const struct conf *conf, struct conf_error *error);
/* Replaces a file atomically: readers see the old or the new text, never a part of either. Keeps
 * the mode, and the owner if the process may set it. A new file is private to its owner. A symbolic
 * link is replaced, not followed. Returns true once the new text is on disk; false with errno on
 * failure. If only the sync of the directory has failed, the file is already the new one. */
bool conf_replace_file(const char *path, const char *text, size_t len);
