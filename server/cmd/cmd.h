/* cmd: adds all data commands to the table. Each type's folder declares its groups of rows; cmd.c
 * lists the groups.
 *
 * Folder server/cmd: the commands that read and write data, in one folder for each type. The files
 * in server/cmd itself serve several types: block for commands that take elements from the first
 * key that has any, scan and collection_scan for SCAN and its family, sample for random elements.
 * Start with server/cmd/string/string_number.c, the shortest complete file of commands.
 *
 * May use: proto/resp server/cmd/call store/. */
#pragma once

#include "server/cmd/call/command.h"

extern const struct command_group set_scan_commands, hash_scan_commands, zset_scan_commands;

/* Adds all groups to the table. Their context is longest_string, the maximum length of a string
 * (proto-max-bulk-len), which must outlive the table. */
void cmd_add_all(struct commands *commands, const int64_t *longest_string);
