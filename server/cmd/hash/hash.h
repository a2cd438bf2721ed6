/* Folder server/cmd/hash: the commands of hashes. The value is store/type/hash. Start with
 * hash.c.
 *
 * May use: proto/resp server/cmd/call server/cmd server/cmd/member store/. */
#pragma once

#include "server/cmd/call/command.h"

extern const struct command_group hash_commands;
