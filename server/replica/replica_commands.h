/* replica_commands: the commands of replication: what replicas send (PSYNC, SYNC, REPLCONF), what
 * operators and Sentinel send (REPLICAOF, ROLE), what clients wait for (WAIT, WAITAOF). */
#ifndef SERVER_REPLICA_REPLICA_COMMANDS_H
#define SERVER_REPLICA_REPLICA_COMMANDS_H

#include "server/cmd/call/command.h"

/* Context: struct replication. */
extern const struct command_group replica_commands;

#endif
