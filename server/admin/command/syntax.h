/* syntax: parses a row's syntax line into the tree of arguments that COMMAND DOCS replies, from
 * which redis-cli makes its hints.
 *
 *     key [NX | XX] [EX seconds] <a | b> score member [score member ...]
 *
 * Words in capitals are tokens, others are values; [] is optional, <> a choice separated by |;
 * "..." after a repetition of the words before it means that these may be repeated. */
#ifndef SERVER_ADMIN_COMMAND_SYNTAX_H
#define SERVER_ADMIN_COMMAND_SYNTAX_H

#include "proto/resp/resp_write.h"

/* Replies an array with one map per argument. `key_specs` is the row's number of key specs; the
 * arguments that are keys belong to them in order, and all further ones to the last. */
void syntax_reply_arguments(struct resp_writer *out, const char *syntax, int key_specs);

#endif
