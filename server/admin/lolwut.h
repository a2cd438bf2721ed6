/* lolwut: the picture that LOLWUT draws. */
#ifndef SERVER_ADMIN_LOLWUT_H
#define SERVER_ADMIN_LOLWUT_H

#include "server/call/call.h"

void cmd_lolwut(struct call *call);

#endif
