/* rows: a list of all commands that can run, with their subcommands, sorted by name. It is made
 * from the command table, without a running server. */
#pragma once

#include "server/cmd/call/command.h"

enum { ROW_NAME_SIZE = 128, ROWS_MAX = 512 };

struct row {
    struct command_ref ref;   /* do not use its context and stats */
    char name[ROW_NAME_SIZE]; /* "CONFIG GET" */
};

extern struct row rows[ROWS_MAX];
extern size_t row_count;

void rows_collect(void);

/* Does Redis 7.0.15 have the command? Tests compare replies only with that version. */
bool row_is_in_redis_7_0(const struct command *command);
/* Returns "expired", "Redis 7.4.0" or another product; valid until the next call. */
const char *row_origin(const struct command *command);
/* Was the command introduced by expired itself? */
bool row_is_own(const struct command *command);
