/* Folder server/cmd/member: deadlines of members: HEXPIRE, SEXPIRE, ZEXPIRE and their families
 * (member_expire), and the commands of KeyDB and Dragonfly for the same purpose (other_servers).
 * set, hash and zset use member_args for their own options. Start with member_expire.c.
 *
 * May use: proto/resp server/cmd/call server/cmd store/. */
#ifndef SERVER_CMD_MEMBER_MEMBER_H
#define SERVER_CMD_MEMBER_MEMBER_H

#include "server/cmd/call/command.h"

/* HEXPIRE SEXPIRE ZEXPIRE and their families. */
extern const struct command_group hash_expire_commands, set_expire_commands, zset_expire_commands;
/* EXPIREMEMBER, FIELDEXPIRE and others. */
extern const struct command_group other_servers_commands;

#endif
