/* Folder server/cmd/list: the commands of lists. list pushes, pops, reads and changes; list_move
 * moves elements between lists. The value is store/type/list. Start with list.c.
 *
 * May use: proto/resp server/cmd/call server/cmd store/. */
#pragma once

#include "server/cmd/call/command.h"

extern const struct command_group list_commands;
/* LMOVE RPOPLPUSH BLMOVE BRPOPLPUSH LMOVEM BLMOVEM. */
extern const struct command_group list_move_commands;
