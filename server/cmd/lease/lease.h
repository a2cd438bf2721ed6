/* Folder server/cmd/lease: the commands of leases, which are locks and permits with an end
 * (doc/leases.md). Start with lease.c.
 *
 * May use: proto/resp server/cmd/call server/cmd store/. */
#pragma once

#include "server/cmd/call/command.h"

/* The commands LEASE.TAKE, EXTEND, DROP, CHECK and INFO. */
extern const struct command_group lease_commands;
