/* conf: the options, from one table: parsing, CONFIG GET/SET/REWRITE and the example file. Does not
 * know what an option does. Names and value syntax are those of redis.conf if the option exists
 * there. */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum conf_allowed { CONF_ALLOW_NO, CONF_ALLOW_YES, CONF_ALLOW_LOCAL };
enum conf_supervised { CONF_SUPERVISED_NO, CONF_SUPERVISED_SYSTEMD, CONF_SUPERVISED_AUTO };
enum conf_tls_auth { CONF_TLS_AUTH_NO, CONF_TLS_AUTH_YES, CONF_TLS_AUTH_OPTIONAL };
enum conf_tls_user { CONF_TLS_USER_OFF, CONF_TLS_USER_CN };
enum conf_fsync { CONF_FSYNC_NO, CONF_FSYNC_EVERYSEC, CONF_FSYNC_ALWAYS };
enum { CONF_BIND_MAX = 16, CONF_LIMIT_NORMAL = 0, CONF_LIMIT_REPLICA = 1, CONF_LIMIT_PUBSUB = 2 };

/* The letters of notify-keyspace-events, in the order in which CONFIG GET shows them; "A" means the
 * first CONF_EVENTS_OF_ALL of them. server/react/notify.c says what each one turns on. */
#define CONF_EVENT_LETTERS "g$lshzxetdnKEmSTIV"
enum { CONF_EVENTS_OF_ALL = 10 };

enum { CONF_OPTIONS_MAX = 320 };

/* A bit per option, by its index. */
struct conf_marks {
    uint64_t words[CONF_OPTIONS_MAX / 64];
};

struct conf_output_limit {
    int64_t hard, soft; /* bytes; 0: none */
    int64_t soft_seconds;
};

struct conf {
    /* network */
    char *bind; /* the words as given, separated by one space */
    int64_t port, tcp_backlog, timeout, tcp_keepalive, maxclients;
    char *unixsocket;
    int64_t unixsocketperm; /* a mode; 0: as the umask allows */
    bool protected_mode;
    char *requirepass;
    /* tls */
    int64_t tls_port; /* 0: no TLS */
    char *tls_cert_file, *tls_key_file, *tls_key_file_pass;
    char *tls_client_cert_file, *tls_client_key_file, *tls_client_key_file_pass;
    char *tls_ca_cert_file, *tls_ca_cert_dir, *tls_dh_params_file;
    int64_t tls_auth_clients;      /* enum conf_tls_auth */
    int64_t tls_auth_clients_user; /* enum conf_tls_user */
    char *tls_protocols, *tls_ciphers, *tls_ciphersuites;
    bool tls_prefer_server_ciphers, tls_session_caching;
    int64_t tls_session_cache_size, tls_session_cache_timeout; /* sessions, seconds */
    bool tls_replication, tls_cluster;
    /* limits */
    int64_t proto_max_bulk_len, client_query_buffer_limit, maxmemory;
    int64_t maxmemory_policy, maxmemory_samples;
    bool activedefrag;
    int64_t busy_reply_threshold; /* milliseconds; 0 and less: no limit */
    int64_t script_memory_limit;  /* bytes; 0: no limit */
    struct conf_output_limit output_limits[3];
    /* observation */
    int64_t slowlog_log_slower_than; /* microseconds; -1: off */
    int64_t slowlog_max_len;
    int64_t latency_monitor_threshold; /* milliseconds; 0: off */
    bool latency_tracking;
    int64_t tracking_table_max_keys; /* 0: no limit */
    /* data */
    int64_t databases;
    char *policy; /* lines such as "prefix* TTL 1000", with distinct first words */
    /* Checks the words of such a line: returns the error, a constant string, or NULL. Set it after
     * conf_init; without it any words are accepted. */
    const char *(*policy_fault)(char *const *words, size_t count);
    char *notify_keyspace_events;
    char *dir;
    /* persistence */
    bool appendonly;
    int64_t appendfsync; /* enum conf_fsync */
    char *appenddirname, *appendfilename;
    bool aof_load_truncated;
    int64_t rewrite_percentage, rewrite_min_size;
    char *save; /* "seconds changes ..." */
    char *dbfilename;
    bool rdbcompression, stop_writes_on_bgsave_error;
    char *import;
    bool import_skip_unsupported;
    /* process */
    int64_t loglevel;   /* 0 debug, 1 verbose, 2 notice, 3 warning */
    int64_t log_format; /* 0 text, 1 JSON */
    char *logfile, *pidfile;
    bool syslog_enabled;
    char *syslog_ident;
    int64_t syslog_facility; /* as in <syslog.h> */
    bool daemonize;
    int64_t supervised;                                     /* enum conf_supervised */
    int64_t enable_debug_command, enable_protected_configs; /* enum conf_allowed */
    int64_t hz; /* accepted for compatibility and ignored */

    char *file;                   /* absolute path of the configuration file; "" without one */
    struct conf_marks by_include; /* set by an included file; for conf_rewrite */
};

enum conf_type {
    CONF_BOOL,
    CONF_INT,
    CONF_MEMORY,
    CONF_OCTAL,
    CONF_ENUM,
    CONF_TEXT,
    CONF_LIMITS,
    CONF_LINES, /* text; each occurrence in a file adds a line */
};

struct conf_choice {
    const char *name;
    int64_t value;
};

struct conf_option {
    const char *name;
    enum conf_type type;
    size_t offset; /* into struct conf */
    int64_t min, max;
    const struct conf_choice *choices; /* CONF_ENUM; ends with a NULL name */
    const char *preset;                /* the default, as text */
    bool live;                         /* CONFIG SET may change it */
    bool guarded;                      /* ... if enable-protected-configs allows it */
    bool not_loading;                  /* ... but not while data are being loaded */
    bool many;                         /* takes more than one word */
    bool adds;                         /* a further line adds words; "" removes all */
    /* Checks a value that the type allows: returns the error, or NULL. */
    const char *(*check)(const char *value);
    /* Normalizes an allowed value, in place; never lengthens it. */
    void (*tidy)(char *value);
    /* Another name of this option, which has the same offset; not in the example file. */
    const char *alias_of;
    const char *section; /* of the example file */
    const char *help;    /* one or a few lines, separated by \n */
};

struct conf_error {
    char text[512]; /* for start-up: "expired.conf:12: port: argument must be between ..." */
};

void conf_init(struct conf *conf); /* sets the defaults */
void conf_drop(struct conf *conf);

/* Reads a file and those it includes. On failure the error names file, line, option and reason. */
bool conf_load_file(struct conf *conf, const char *path, struct conf_error *error);
/* The same from memory; error messages call it `name`. */
bool conf_load_text(struct conf *conf, const char *text, size_t len, const char *name,
                    struct conf_error *error);
/* Reads main's argc and argv as redis-server does: a configuration file, if argv[1] does not begin
 * with "-"; standard input, if the last word is "-"; then "--name value ...", with values up to the
 * next word that begins with "--". The caller handles --help and --version. */
bool conf_load_args(struct conf *conf, int argc, char *const *argv, struct conf_error *error);

size_t conf_option_count(void);
const struct conf_option *conf_option_at(size_t index);
const struct conf_option *conf_find(const char *name); /* ignores case; NULL: unknown */
bool conf_is_marked(const struct conf_marks *marks, const struct conf_option *option);
void conf_mark(struct conf_marks *marks, const struct conf_option *option);

/* Sets an option from text. On failure nothing changes, and *why is Redis' message ("argument must
 * be 'yes' or 'no'"), a constant or a static buffer. */
bool conf_set(struct conf *conf, const struct conf_option *option, const char *value,
              const char **why);
/* The value as CONFIG GET shows it; the caller frees it. */
char *conf_get(const struct conf *conf, const struct conf_option *option);

void conf_write_example(FILE *to);
/* Rewrites conf->file, keeping comments and order, and appends options that differ from their
 * defaults. Replaces the file atomically. On failure the error is only the reason ("Permission
 * denied"). */
bool conf_rewrite(const struct conf *conf, struct conf_error *error);

#endif
