/* command: a command is one row; everything that lists commands is made from the rows.
 * Knows rows and the table of them; refuses to know what a command does.
 *
 * A file of commands ends with its rows and exports one group of them; main adds the groups to the
 * table, each with the one thing that its commands may know besides the store (its context). */
#ifndef SERVER_COMMAND_H
#define SERVER_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/bytes.h"

struct call;

/* Flags, as COMMAND INFO names them; GROWS is Redis' denyoom. */
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
    MAY_REPLICATE = 1 << 17,
    /* Ours, not shown: */
    WHILE_SUBSCRIBED = 1 << 24, /* allowed in RESP2's subscribed mode */
    NOT_QUEUED = 1 << 25,       /* runs inside MULTI at once: EXEC DISCARD MULTI WATCH QUIT RESET */
    RUNS_QUEUE = 1 << 26,       /* EXEC: a refusal ends the MULTI */
};

/* ACL categories that do not follow from flags and group. */
enum {
    ACL_DANGEROUS = 1 << 0,
    ACL_CONNECTION = 1 << 1,
    ACL_TRANSACTION = 1 << 2,
    ACL_KEYSPACE = 1 << 3,
};

struct key_range {
    int first, last, step; /* last < 0 counts from the end; first 0: no keys */
};

struct command {
    const char *name;               /* upper case; a subcommand's own word ("GET" of CONFIG) */
    void (*run)(struct call *call); /* NULL: only subcommands */
    int arity;                      /* the name included; -n: at least n */
    unsigned flags;
    unsigned acl;
    struct key_range keys;
    /* Of a command with MOVABLE_KEYS: puts argument positions of keys into `positions` (room for
     * argc), returns how many, or -1 if the arguments make no sense. */
    int (*find_keys)(int argc, const struct bytes *argv, int *positions);
    const char *group;      /* string, list, set, hash, sorted-set, generic, dehydrator, ... */
    const char *since;      /* the Redis version that brought it, or expired's */
    const char *complexity; /* "O(1)" */
    const char *syntax;     /* behind the name */
    const char *summary;
    const struct command *subcommands; /* ends with a NULL name */
};

struct command_group {
    const struct command *rows;
    size_t count;
};

#define COMMAND_GROUP(rows)                                                                        \
    {                                                                                              \
        (rows), sizeof(rows) / sizeof((rows)[0])                                                   \
    }

/* The table: rows by name, with the context of their group. */
struct commands;

struct commands *commands_new(void);
void commands_free(struct commands *commands);
void commands_add(struct commands *commands, const struct command_group *group, void *context);

struct command_ref {
    const struct command *row;    /* NULL: no such command */
    const struct command *parent; /* of a subcommand's row, else NULL */
    void *context;
};

/* By name, whatever its case. O(1) */
struct command_ref commands_find(const struct commands *commands, struct bytes name);
/* The row that argv stands for: a subcommand's where there is one. row is NULL when the command is
 * unknown; row == NULL with a parent: the subcommand is. */
struct command_ref commands_match(const struct commands *commands, int argc,
                                  const struct bytes *argv);
size_t commands_count(const struct commands *commands);
struct command_ref commands_at(const struct commands *commands,
                               size_t index); /* in order of addition */

/* "get", "config|get": as errors, COMMAND and ACL name it; returns its length, < size. */
size_t command_full_name(struct command_ref ref, char *to, size_t size);
/* Positions of the keys in a call; -1 if the arguments make no sense. `positions` has room for
 * argc. */
int command_keys(const struct command *row, int argc, const struct bytes *argv, int *positions);

#endif
