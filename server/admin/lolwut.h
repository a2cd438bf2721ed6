/* lolwut: LOLWUT, for the table of server_commands.c. */
#ifndef SERVER_ADMIN_LOLWUT_H
#define SERVER_ADMIN_LOLWUT_H

#include "server/cmd/call/call.h"

void cmd_lolwut(struct call *call);

#endif
