/* Folder server/cmd/set: the commands of sets. set implements those on one set, set_algebra those
 * on several. The value is store/type/set. Start with set.c.
 *
 * May use: proto/resp server/cmd/call server/cmd server/cmd/member store/. */
#pragma once

#include "server/cmd/call/command.h"

extern const struct command_group set_commands;
/* SINTER SUNION SDIFF and their forms; SMOVE. */
extern const struct command_group set_algebra_commands;
