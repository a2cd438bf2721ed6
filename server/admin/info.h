/* info: INFO, and which of its calls count all keys. */
#ifndef SERVER_ADMIN_INFO_H
#define SERVER_ADMIN_INFO_H

#include "server/call/call.h"

void cmd_info(struct call *call);               /* context: struct server_context */
bool info_counts_keys(const struct call *call); /* does the call ask for the section "keyspace"? */

#endif
