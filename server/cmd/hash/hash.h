/* Folder server/cmd/hash: the commands of hashes. hash implements most of them, hash_ex those that
 * set fields with deadlines, hash_random HRANDFIELD. The value is store/type/hash. Start with
 * hash.c.
 *
 * May use: proto/resp server/cmd/call server/cmd server/cmd/member store/. */
#pragma once

#include "server/cmd/call/command.h"

extern const struct command_group hash_commands;
/* HRANDFIELD. */
extern const struct command_group hash_random_commands;
/* HSETEX HGETEX HGETDEL. */
extern const struct command_group hash_ex_commands;
