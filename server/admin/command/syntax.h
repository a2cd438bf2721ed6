/* syntax: parses a row's syntax line into a tree of arguments, which is used by
 * - COMMAND DOCS, whose reply shows it, and from which redis-cli makes its hints;
 * - the generator of typed clients (tools/reference);
 * - tests that make random calls (tests/support/program.c).
 *
 * The language:
 *
 *     key [NX | XX] [EX seconds] <a | b> score member [score member ...]
 *
 *     CAPITALS = ~ * $       a token; any other word is a value
 *     [words]                an optional part
 *     <words | words>        a choice
 *     words [words ...]      the same words again, with dots: a part that may be repeated */
#pragma once

#include "proto/resp/resp_write.h"
#include "store/base/bytes.h"

enum syntax_kind { SYNTAX_VALUE, SYNTAX_TOKEN, SYNTAX_ONEOF, SYNTAX_BLOCK };

enum { SYNTAX_NODES_MAX = 96, SYNTAX_NONE = -1 };

struct syntax_node {
    enum syntax_kind kind;
    struct bytes name;  /* name of a value or block; a view of the line, like `token` */
    struct bytes token; /* the text of a SYNTAX_TOKEN; or the token before a value or block */
    bool optional, multiple;
    bool repeats_token; /* if `multiple`: the token is repeated with each value */
    int child, next;    /* indexes, or SYNTAX_NONE */
};

struct syntax {
    struct syntax_node nodes[SYNTAX_NODES_MAX];
    int first; /* the first argument, or SYNTAX_NONE */
};

/* Parses a syntax line. A malformed line is a bug: the process aborts with a message. */
void syntax_parse(struct syntax *syntax, const char *line);

/* Returns an argument's type as in COMMAND DOCS: "key", "integer", "oneof", ... */
const char *syntax_type(const struct syntax_node *node);

/* Replies with an array of one map for each argument. `key_specs` is the number of the row's key
 * specs. The first argument that is a key belongs to the first spec, and so on; further ones belong
 * to the last. */
void syntax_reply_arguments(struct resp_writer *out, const char *line, int key_specs);
