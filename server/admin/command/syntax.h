/* syntax: parses a row's syntax line into a tree of arguments. COMMAND DOCS replies it, and
 * redis-cli makes its hints from that; tests make random calls from it (tests/support/program.c).
 *
 *     key [NX | XX] [EX seconds] <a | b> score member [score member ...]
 *
 * Words in capitals are tokens, others are values; [] is optional, <> a choice separated by |;
 * "..." after a repetition of the words before it means that these may be repeated. */
#ifndef SERVER_ADMIN_COMMAND_SYNTAX_H
#define SERVER_ADMIN_COMMAND_SYNTAX_H

#include "proto/resp/resp_write.h"
#include "store/base/bytes.h"

enum syntax_kind { SYNTAX_VALUE, SYNTAX_TOKEN, SYNTAX_ONEOF, SYNTAX_BLOCK };

enum { SYNTAX_NODES_MAX = 96, SYNTAX_NONE = -1 };

struct syntax_node {
    enum syntax_kind kind;
    struct bytes name;  /* of a value; a view of the line, like all texts here */
    struct bytes token; /* SYNTAX_TOKEN itself, or the one before a value or block */
    bool optional, multiple;
    bool repeats_token; /* of a repeated one: the token is repeated, too */
    int child, next;    /* indexes, or SYNTAX_NONE */
};

struct syntax {
    struct syntax_node nodes[SYNTAX_NODES_MAX];
    int first; /* the first argument, or SYNTAX_NONE */
};

/* A line that breaks the rules is a bug, and ends the process with a message. */
void syntax_parse(struct syntax *syntax, const char *line);

/* Replies an array with one map per argument. `key_specs` is the row's number of key specs; the
 * arguments that are keys belong to them in order, and all further ones to the last. */
void syntax_reply_arguments(struct resp_writer *out, const char *line, int key_specs);

#endif
