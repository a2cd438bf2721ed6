/* failover_command: FAILOVER. */
#pragma once

struct call;

void cmd_failover(struct call *call); /* context: struct replication */
