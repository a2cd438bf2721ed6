/* syntax: a row's syntax line as the tree of arguments that COMMAND DOCS replies, from which
 * redis-cli makes its hints.
 *
 *     key [NX | XX] [EX seconds] <a | b> score member [score member ...]
 *
 * Words in capitals are tokens, others are values; [] optional, <> a choice within |, "..." after a
 * repetition of what stands before it: repeatable. */
#ifndef SERVER_ADMIN_COMMAND_SYNTAX_H
#define SERVER_ADMIN_COMMAND_SYNTAX_H

#include "proto/resp/resp_write.h"

/* Replies an array with one map per argument. `key_specs`: how many specs of keys the row has;
 * those of its arguments that are keys belong to them in turn, all further ones to the last. */
void syntax_reply_arguments(struct resp_writer *out, const char *syntax, int key_specs);

#endif
