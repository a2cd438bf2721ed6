/* command: defines a command as one row of data, and the table of all rows. COMMAND, the ACL and
 * the reference are made from the rows, so they can't disagree.
 *
 * A file of commands ends with its rows, exported as one group. At start-up, server/daemon/wiring
 * adds each group to the table, with a context: the part of the server that its commands may use in
 * addition to the store. */
#pragma once

#include "store/base/bytes.h"

struct call;
struct histogram;

/* Flags, named as in COMMAND INFO; GROWS is Redis' denyoom. */
enum {
    WRITE = 1 << 0,
    READONLY = 1 << 1,
    GROWS = 1 << 2,
    ADMIN = 1 << 3,
    PUBSUB = 1 << 4,
    NOSCRIPT = 1 << 5,
    BLOCKING = 1 << 6,
    LOADING = 1 << 7,
    STALE = 1 << 8,
    SKIP_MONITOR = 1 << 9,
    SKIP_SLOWLOG = 1 << 10,
    FAST = 1 << 11,
    NO_AUTH = 1 << 12,
    NO_MULTI = 1 << 13,
    NO_ASYNC_LOADING = 1 << 14,
    MOVABLE_KEYS = 1 << 15,
    ALLOW_BUSY = 1 << 16,
    MAY_REPLICATE = 1 << 17, /* not shown to clients, as in Redis */
    NO_MANDATORY_KEYS = 1 << 18,
    /* Own flags, not shown to clients: */
    WHILE_SUBSCRIBED = 1 << 24, /* allowed to a RESP2 client with subscriptions */
    NOT_QUEUED = 1 << 25,       /* runs at once inside MULTI: EXEC DISCARD MULTI WATCH QUIT RESET */
    RUNS_QUEUE = 1 << 26,       /* EXEC: a refusal ends the MULTI */
    WHILE_PAUSED = 1 << 28,     /* CLIENT PAUSE does not delay it */
    REFUSED_WITH_WRITES = 1 << 29, /* PING: refused whenever writes are refused */
    COPIES = 1 << 30,              /* needs memory to copy the values at its keys */
    KEEPS_CACHING = 1 << 27,       /* does not end the effect of CLIENT CACHING */
    OTHER_DATABASES = 1 << 23,     /* can use or select another database */
    NAMES_MEMBERS = 1 << 20,       /* reads only members that its arguments name */
    RUNS_SCRIPT = 1 << 21,         /* has vary_flags; memory is checked before the script runs */
    COUNTS_KEYS = 1 << 22,         /* delayed while many expired keys are left: see counts_keys */
};

/* ACL categories that can't be derived from flags and group, and which arguments are channels. */
enum {
    ACL_DANGEROUS = 1 << 0,
    ACL_CONNECTION = 1 << 1,
    ACL_TRANSACTION = 1 << 2,
    ACL_KEYSPACE = 1 << 3,
    ACL_SET = 1 << 4,
    ACL_SORTED_SET = 1 << 5,
    ACL_LIST = 1 << 6,
    ACL_ADMIN = 1 << 7,
    ACL_EXPIRY = 1 << 8, /* implied for every row that Redis does not have */
    /* Not categories: which arguments are channels to publish or subscribe to. */
    ACL_CHANNEL_FIRST = 1 << 9, /* the first argument */
    ACL_CHANNEL_ALL = 1 << 10,  /* all arguments */
    ACL_PATTERN_ALL = 1 << 11,  /* all arguments, which are patterns */
};

struct key_range {
    int first, last, step; /* last < 0 counts from the end; first is 0 without keys */
};

/* How a call uses a key, named as in COMMAND INFO. One of the first four flags states whether the
 * call reads or writes the key; the others state what happens to the value. */
enum {
    KEY_RO = 1 << 0,
    KEY_RW = 1 << 1,
    KEY_OW = 1 << 2, /* overwrites the value without reading it */
    KEY_RM = 1 << 3,
    KEY_ACCESS = 1 << 4, /* the value is returned or copied */
    KEY_UPDATE = 1 << 5,
    KEY_INSERT = 1 << 6,
    KEY_DELETE = 1 << 7,
    KEY_NOT = 1 << 8, /* not a key, but routed like one */
    KEY_INCOMPLETE = 1 << 9,
    KEY_VARIABLE = 1 << 10, /* depends on the call: vary_keys */
};

/* Where some of a command's keys are, and how it uses them. */
struct key_spec {
    unsigned flags; /* KEY_*, or 0 without a spec */
    enum { KEYS_RANGE, KEYS_COUNTED, KEYS_ANYWHERE } find;
    int first; /* position of the first key; KEYS_COUNTED: of the key count, which precedes it */
    const char *keyword; /* the key follows this word, searched from `first` on; or NULL */
    int last, step;      /* KEYS_RANGE: relative to the first key; last < 0 counts from the end */
    int limit;           /* KEYS_RANGE: 2 if only the first half of the arguments are keys */
};

enum { KEY_SPECS_MAX = 3 };

#define KEY_AT(i, how)                                                                             \
    {                                                                                              \
        .flags = (how), .first = (i), .step = 1                                                    \
    }
#define KEYS_FROM(i, how)                                                                          \
    {                                                                                              \
        .flags = (how), .first = (i), .last = -1, .step = 1                                        \
    }
#define KEYS_COUNTED_AT(i, how)                                                                    \
    {                                                                                              \
        .flags = (how), .find = KEYS_COUNTED, .first = (i), .step = 1                              \
    }
#define KEY_AFTER(word, from, how)                                                                 \
    {                                                                                              \
        .flags = (how), .first = (from), .keyword = (word), .step = 1                              \
    }
/* Keys, then the same number of other arguments. */
#define KEYS_AFTER(word, from, how)                                                                \
    {                                                                                              \
        .flags = (how), .first = (from), .keyword = (word), .last = -1, .step = 1, .limit = 2      \
    }
/* Keys that no other spec can describe: find_keys finds them. */
#define KEY_ANYWHERE(how)                                                                          \
    {                                                                                              \
        .flags = (how), .find = KEYS_ANYWHERE                                                      \
    }

/* Forms of a reply, each as "form: when", with the names of RESP3's types:
 *
 *     OK              this simple string; simple: any
 *     bulk 'text'     exactly this string; bulk: any
 *     integer double null verbatim
 *     null-array      null in RESP3; *-1 in RESP2, where null is $-1
 *     [bulk integer]  an array of these two; [bulk ...]: any number of strings
 *     map[...] set[...] push[...]
 *     a|b             one of them
 *     any             anything
 *     none            there is no reply
 *
 * In RESP2, doubles and verbatim strings are bulk strings; maps, sets and pushes are flat arrays.
 * Where the protocols differ in another way, there are two forms, after "RESP2 " and "RESP3 ". */
#define REPLIES(...)                                                                               \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
/* Values of `keys`: the only key is the first argument, or the first one after the name of a
 * subcommand. */
#define KEY_FIRST                                                                                  \
    {                                                                                              \
        .first = 1, .last = 1, .step = 1                                                           \
    }
#define KEY_SECOND                                                                                 \
    {                                                                                              \
        .first = 2, .last = 2, .step = 1                                                           \
    }
/* A list of enum error; needs server/cmd/call/error.h. */
#define ERRORS(...)                                                                                \
    (const uint16_t[])                                                                             \
    {                                                                                              \
        __VA_ARGS__, ERROR_COUNT                                                                   \
    }

/* The row of a command. The fields that each row has come first; the arguments after them are the
 * further fields of struct command. */
#define ROW(NAME, RUN, ARITY, FLAGS, ...)                                                          \
    {                                                                                              \
        .name = (NAME), .run = (RUN), .arity = (ARITY), .flags = (FLAGS), __VA_ARGS__              \
    }
/* The row of a command that has only subcommands. */
#define PARENT_ROW(NAME, SUBCOMMANDS, SINCE, SUMMARY)                                              \
    {                                                                                              \
        .name = (NAME), .arity = -2, .since = (SINCE), .complexity = "Depends on the subcommand.", \
        .syntax = "", .summary = (SUMMARY), .subcommands = (SUBCOMMANDS)                           \
    }
/* The row of a subcommand HELP; the arguments add further fields, such as the version. */
#define HELP_ROW(function, ...)                                                                    \
    {                                                                                              \
        .name = "HELP", .run = (function), .arity = 2, .flags = LOADING | STALE,                   \
        .replies = REPLIES("[simple ...]: lines of text"), .complexity = "O(1)", .syntax = "",     \
        .summary = "Returns a list of the subcommands.", __VA_ARGS__                               \
    }

struct command {
    const char *name; /* upper case; for a subcommand only its own word ("GET" of CONFIG) */
    void (*run)(struct call *call); /* NULL if there are only subcommands */
    int variant;                    /* tells rows with the same `run` apart: see call_variant */
    int arity;                      /* counts the name; -n for at least n */
    unsigned flags;
    unsigned acl;
    struct key_range keys;
    /* For MOVABLE_KEYS: stores the positions of the keys in `positions`, which has room for argc,
     * and returns their number, or -1 if the arguments are invalid. command_keys checks the arity
     * before it calls this function. */
    int (*find_keys)(int argc, const struct bytes *argv, int *positions);
    /* The index of the argument that is a prefix of keys and ends with '*', or 0. The user needs
     * permission for every key that the prefix could match. */
    int prefix;
    /* If `keys` is empty: the argument that usually is a key, for prefetching, or 0. */
    int likely_key;
    /* How the keys are used. If there is no spec, one is derived: its range is `keys`, its flags
     * are `key_flags` or, if that is 0, those that follow from WRITE or its absence. */
    struct key_spec specs[KEY_SPECS_MAX];
    unsigned key_flags;
    unsigned (*vary_keys)(int argc, const struct bytes *argv); /* KEY_VARIABLE: KEY_* of a call */
    /* For COUNTS_KEYS: does this call count keys? NULL if each call does. */
    bool (*counts_keys)(const struct call *call);
    /* Must a thread first prepare something for this call, such as a synced file, for which all
     * clients would wait if the call did it itself? Begins the preparation unless it runs already.
     * NULL if no call of this row needs one. */
    bool (*prepares)(const struct call *call);
    /* For RUNS_SCRIPT: the flags of a call, which its script may declare. */
    unsigned (*vary_flags)(const struct call *call);
    const char *tips;       /* for proxies, separated by spaces, or NULL */
    const char *since;      /* the version of Redis, or of expired, that introduced it */
    const char *origin;     /* the product that it comes from, if not Redis or expired */
    const char *complexity; /* "O(1)" */
    const char *syntax;     /* without the name */
    const char *summary;
    const char *const *replies;        /* REPLIES(...): every form of a reply except errors */
    const uint16_t *errors;            /* ERRORS(...), without those that all share; or NULL */
    const struct command *subcommands; /* ends with a NULL name */
};

/* A table of commands, with the properties that its rows share. */
struct command_group {
    const char *name; /* string, list, set, hash, sorted-set, generic, dehydrator, ... */
    const struct command *rows;
    size_t count;
};

#define COMMAND_GROUP(name, rows)                                                                  \
    {                                                                                              \
        (name), (rows), sizeof(rows) / sizeof((rows)[0])                                           \
    }

/* Counters of a row's calls: see observe.h. */
struct command_stats {
    uint64_t calls, usec, rejected, failed;
    struct histogram *spans; /* microseconds; NULL before the first call */
    unsigned id;             /* a small number, unique for each row and subcommand */
};

/* The table of all rows, by name, with the context of their group. */
struct commands;

struct commands *commands_new(void);
void commands_free(struct commands *commands);
/* Adds the rows of a group, whose names must be new. Not after a command has been disabled. */
void commands_add(struct commands *commands, const struct command_group *group, void *context);

struct command_ref {
    const struct command *row;    /* NULL if there is no such command */
    const struct command *parent; /* NULL unless it is a subcommand */
    const char *group;            /* the name of its table's group */
    void *context;
    struct command_stats *stats; /* counters of the row; NULL without a row */
};

/* Renames a command, for the option rename-command: from now on it is found by the new name alone.
 * An empty name disables the command. Only before the first client connects. Returns NULL, or the
 * error, a constant text: there is no such command, the new name is taken, or it is longer than 64
 * bytes. */
const char *commands_rename(struct commands *commands, struct bytes name, struct bytes new_name);
/* Find rows as commands_find and commands_match do, but by the names in the rows, whatever was
 * renamed or disabled: for ACL rules, and for files and streams of other servers. O(n) */
struct command_ref commands_find_original(const struct commands *commands, struct bytes name);
struct command_ref commands_match_original(const struct commands *commands, int argc,
                                           const struct bytes *argv);

/* Finds a row by name, ignoring case. O(1) */
struct command_ref commands_find(const struct commands *commands, struct bytes name);
/* Finds the row for argv, or the row of its subcommand. If there is none, `row` in the result is
 * NULL, and `parent` tells what is unknown: without a parent the command, with a parent the
 * subcommand. */
struct command_ref commands_match(const struct commands *commands, int argc,
                                  const struct bytes *argv);
size_t commands_count(const struct commands *commands);
/* Returns the i-th subcommand of a row; its row is NULL if there are fewer. */
struct command_ref commands_subcommand(struct command_ref ref, size_t i);
struct command_ref commands_at(const struct commands *commands,
                               size_t index); /* in the order of adding, without disabled ones */

/* Visits each row and subcommand with its stats, except disabled commands. */
void commands_each_stats(struct commands *commands,
                         void (*visit)(void *ctx, struct command_ref ref), void *ctx);

/* Writes the name in the form that errors, COMMAND and ACL show: "get" or "config|get". Cuts it to
 * fit `size`, and returns its length. */
size_t command_full_name(struct command_ref ref, char *to, size_t size);
/* Returns the value of a numkeys argument, at most argc, or 0 if it is invalid. Like atoi() in
 * Redis, stops at the first byte that is not a digit. The command itself refuses such a number
 * later; the ACL check needs the keys before that. */
int command_count_keys(struct bytes arg, int argc);
/* Stores the positions of the keys of a call in `positions`, which has room for argc. Returns their
 * number, or -1 if the arguments are invalid or too few or too many for the arity. */
int command_keys(const struct command *row, int argc, const struct bytes *argv, int *positions);
/* Sets flags[i] to the KEY_* flags of each key that command_keys found. */
void command_key_flags(const struct command *row, int argc, const struct bytes *argv,
                       const int *positions, int count, unsigned *flags);
/* Stores the specs of the row in `specs`, which has room for KEY_SPECS_MAX, or one derived from
 * `keys` if the row has none. Returns their number. */
int command_specs(const struct command *row, struct key_spec *specs);
/* Can any of its arguments be a key? */
bool command_has_keys(const struct command *row);
static inline bool command_fits_arity(const struct command *row, int argc)
{
    return row->arity < 0 ? argc >= -row->arity : argc == row->arity;
}
