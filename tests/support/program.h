/* program: makes random calls from a command's row. Its syntax line gives the kinds of arguments,
 * small pools give their values, and a source of numbers chooses among them. tests/README.md lists
 * the other generators. Does not know what a command does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "server/cmd/call/command.h"
#include "store/base/instant.h"

enum { PROGRAM_ARGS_MAX = 128, PROGRAM_TEXT_MAX = 2048, PROGRAM_ROWS_MAX = 512 };

/* Where the choices come from: rng, or a fuzzer's bytes. 0 everywhere makes the shortest call. */
struct program_source {
    unsigned (*below)(void *ctx, unsigned limit);
    void *ctx;
};

struct program_call {
    struct bytes argv[PROGRAM_ARGS_MAX];
    bool is_key[PROGRAM_ARGS_MAX];
    bool counts_keys[PROGRAM_ARGS_MAX]; /* a "numkeys" */
    /* A "numfields" or "nummembers": this many arguments after it are one of the things it counts.
     */
    unsigned counts_rest[PROGRAM_ARGS_MAX];
    int argc;
    bool overflowed; /* there was more than has room */
    size_t text_len;
    char text[PROGRAM_TEXT_MAX]; /* of those arguments that are not constants */
};

/* A call that fits the row's syntax; its values need not make sense. Keys are few, and mostly the
 * one that is named after the row's group. */
void program_make(struct program_call *call, struct command_ref ref, msec now,
                  const struct program_source *source);
/* Adds, removes or replaces an argument. */
void program_spoil(struct program_call *call, const struct program_source *source);
/* The call as a line of text; valid until the next call. */
const char *program_text(const struct program_call *call);

/* All rows that can run, including subcommands, for which `wanted` returns true. */
struct program_rows {
    struct command_ref refs[PROGRAM_ROWS_MAX];
    unsigned count;
};
void program_rows(struct program_rows *rows, const struct commands *commands,
                  bool (*wanted)(struct command_ref ref));

/* Does the row read or write data? */
bool program_is_data(struct command_ref ref);
bool program_is_any(struct command_ref ref);
