/* Folder server/cmd/member: deadlines of members. member_expire implements HEXPIRE, SEXPIRE,
 * ZEXPIRE and their families; other_servers implements the commands of KeyDB and Dragonfly for the
 * same purpose. member_args parses what these share with commands of sets, hashes and sorted sets.
 * Start with member_expire.c.
 *
 * May use: proto/resp server/cmd/call server/cmd store/. */
#pragma once

#include "server/cmd/call/command.h"

/* HEXPIRE SEXPIRE ZEXPIRE and their families. */
extern const struct command_group hash_expire_commands, set_expire_commands, zset_expire_commands;
/* EXPIREMEMBER, FIELDEXPIRE and others. */
extern const struct command_group other_servers_commands;
