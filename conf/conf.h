/* conf: the options, from one table: parsing, CONFIG GET/SET/REWRITE and the example file.
 * Knows names, types, ranges and defaults; refuses to know what an option does.
 * Names and value syntax are redis.conf's wherever an option exists there. */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum conf_allowed { CONF_ALLOW_NO, CONF_ALLOW_YES, CONF_ALLOW_LOCAL };
enum conf_supervised { CONF_SUPERVISED_NO, CONF_SUPERVISED_SYSTEMD, CONF_SUPERVISED_AUTO };
enum conf_fsync { CONF_FSYNC_NO, CONF_FSYNC_EVERYSEC, CONF_FSYNC_ALWAYS };
enum { CONF_BIND_MAX = 16, CONF_LIMIT_NORMAL = 0, CONF_LIMIT_REPLICA = 1, CONF_LIMIT_PUBSUB = 2 };

struct conf_output_limit {
    int64_t hard, soft; /* bytes; 0: none */
    int64_t soft_seconds;
};

struct conf {
    /* network */
    char *bind; /* words separated by one space, as given */
    int64_t port, tcp_backlog, timeout, tcp_keepalive, maxclients;
    char *unixsocket;
    int64_t unixsocketperm; /* an octal mode; 0: as the umask says */
    bool protected_mode;
    char *requirepass;
    /* limits */
    int64_t proto_max_bulk_len, client_query_buffer_limit, maxmemory;
    int64_t maxmemory_policy, maxmemory_samples;
    bool activedefrag;
    struct conf_output_limit output_limits[3];
    /* observation */
    int64_t slowlog_log_slower_than; /* microseconds; -1: nothing is kept */
    int64_t slowlog_max_len;
    int64_t latency_monitor_threshold; /* milliseconds; 0: off */
    bool latency_tracking;
    int64_t tracking_table_max_keys; /* 0: any number */
    /* data */
    int64_t databases;
    char *policy; /* lines: "prefix* TTL 1000", of different first words */
    /* What is wrong with the words of such a line, in memory that stays, or NULL. To be set behind
     * conf_init by who knows; without it they are taken as they are. */
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
    int64_t loglevel; /* 0 debug, 1 verbose, 2 notice, 3 warning */
    char *logfile, *pidfile;
    bool daemonize;
    int64_t supervised;                                     /* enum conf_supervised */
    int64_t enable_debug_command, enable_protected_configs; /* enum conf_allowed */
    int64_t hz; /* accepted for Redis' sake; nothing here polls */

    char *file;          /* absolute path of the configuration file; "" without one */
    uint64_t by_include; /* for conf_rewrite: a bit per option that an included file has set */
};

enum conf_type {
    CONF_BOOL,
    CONF_INT,
    CONF_MEMORY,
    CONF_OCTAL,
    CONF_ENUM,
    CONF_TEXT,
    CONF_LIMITS,
    CONF_LINES, /* text; each time that a file gives the option, a line is added */
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
    bool live;                         /* CONFIG SET may change it, */
    bool guarded;                      /* ... where enable-protected-configs lets it */
    bool not_loading;                  /* ... and not while data are being loaded */
    bool many;                         /* takes more than one word */
    bool adds;                         /* a further line adds its words; "" begins anew */
    /* Refuses a value that the type allows: returns the reason, or NULL. */
    const char *(*check)(const char *value);
    /* Brings an allowed value into the form that is kept and shown; never longer. */
    void (*tidy)(char *value);
    const char *section; /* of the example file */
    const char *help;    /* one line, or a few with \n */
};

struct conf_error {
    char text[512]; /* for start-up: "expired.conf:12: port: argument must be between ..." */
};

void conf_init(struct conf *conf); /* the defaults */
void conf_drop(struct conf *conf);

/* One file, with what it includes. On failure the error names file, line, option and reason. */
bool conf_load_file(struct conf *conf, const char *path, struct conf_error *error);
/* The same from memory; `name` is what errors call it. */
bool conf_load_text(struct conf *conf, const char *text, size_t len, const char *name,
                    struct conf_error *error);
/* main's argc and argv, read as redis-server does: the configuration file, if argv[1] does not
 * begin with "-"; then standard input, if the last word is "-"; then "--name value ...", where the
 * values run until the next word that begins with "--". --help and --version are the caller's. */
bool conf_load_args(struct conf *conf, int argc, char *const *argv, struct conf_error *error);

size_t conf_option_count(void);
const struct conf_option *conf_option_at(size_t index);
const struct conf_option *conf_find(const char *name); /* whatever its case; NULL */

/* Sets one option from its text; on failure nothing changed and `why` points to a constant or into
 * a static buffer, in Redis' words ("argument must be 'yes' or 'no'"). */
bool conf_set(struct conf *conf, const struct conf_option *option, const char *value,
              const char **why);
/* The value as CONFIG GET shows it; owned by the caller (free). */
char *conf_get(const struct conf *conf, const struct conf_option *option);

void conf_write_example(FILE *to);
/* Rewrites conf->file, keeping comments and order; options that differ from their defaults are
 * appended. The file is replaced whole or not at all. On failure the error is the bare reason
 * ("Permission denied"). */
bool conf_rewrite(const struct conf *conf, struct conf_error *error);

#endif
