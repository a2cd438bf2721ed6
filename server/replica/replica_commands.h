/* replica_commands: the commands of replication: for replicas (PSYNC, SYNC, REPLCONF), for
 * operators and Sentinel (REPLICAOF, FAILOVER, ROLE), for clients (WAIT, WAITAOF). */
#pragma once

#include "server/cmd/call/command.h"

/* The groups for replicas and operators, and for clients. Their context is struct replication. */
extern const struct command_group replica_commands, wait_commands;
