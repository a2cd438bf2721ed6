/* failover_command: FAILOVER. */
#ifndef SERVER_REPLICA_FAILOVER_COMMAND_H
#define SERVER_REPLICA_FAILOVER_COMMAND_H

struct call;

void cmd_failover(struct call *call); /* context: struct replication */

#endif
