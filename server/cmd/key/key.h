/* Folder server/cmd/key: commands on keys of any type. Start with key.c.
 *
 *     key          DEL, EXISTS, RENAME, TYPE, TOUCH, COPY, MOVE, OBJECT
 *     key_expire   EXPIRE, TTL, PERSIST and their families
 *     key_scan     SCAN, KEYS, RANDOMKEY, DBSIZE, FLUSHALL, SWAPDB
 *     dump         DUMP, RESTORE
 *     sort         SORT
 *     policy       POLICY
 *     policy_args  the words of a policy, also for the configuration file and the module
 *
 * May use: proto/resp server/cmd/call server/cmd store/. */
#pragma once

#include "server/cmd/call/command.h"

/* DEL UNLINK EXISTS TYPE TOUCH RENAME RENAMENX COPY MOVE OBJECT. */
extern const struct command_group key_commands;
/* EXPIRE TTL PERSIST and their families. */
extern const struct command_group key_expire_commands;
/* KEYS SCAN RANDOMKEY. */
extern const struct command_group key_scan_commands;
/* DBSIZE FLUSHDB FLUSHALL SWAPDB. */
extern const struct command_group database_commands;
extern const struct command_group dump_commands;
extern const struct command_group sort_commands;
extern const struct command_group policy_commands;
