/* cmd: the groups of data commands. main adds each to the table. A group has no context, unless it
 * says so. */
#ifndef SERVER_CMD_CMD_H
#define SERVER_CMD_CMD_H

#include "server/command.h"

/* DEL UNLINK EXISTS TYPE TOUCH RENAME RENAMENX. */
extern const struct command_group key_commands;
/* EXPIRE TTL PERSIST and their families. */
extern const struct command_group key_expire_commands;
/* KEYS SCAN RANDOMKEY DBSIZE FLUSHDB FLUSHALL. */
extern const struct command_group key_scan_commands;
/* OBJECT MEMORY. */
extern const struct command_group object_commands;

/* SET GET MSET APPEND and the like. Context: const int64_t *, the length that no string may pass by
 * APPEND (proto-max-bulk-len); NULL: 512 MiB. */
extern const struct command_group string_commands;
/* INCR DECR INCRBY DECRBY INCRBYFLOAT. */
extern const struct command_group string_number_commands;

extern const struct command_group list_commands;
extern const struct command_group set_commands;
extern const struct command_group hash_commands;
extern const struct command_group zset_commands;
/* The commands of sorted sets that name a range; ZPOPMIN and ZPOPMAX among them. */
extern const struct command_group zset_range_commands;
extern const struct command_group dehydrator_commands;

#endif
