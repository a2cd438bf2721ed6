/* help: the reply of every HELP subcommand. */
#ifndef SERVER_ADMIN_HELP_H
#define SERVER_ADMIN_HELP_H

#include <stddef.h>

#include "server/call.h"

static inline void reply_help(struct call *call, const char *const *lines, size_t count)
{
    resp_array(call->out, count + 2);
    for (size_t i = 0; i < count; i++)
        resp_status(call->out, lines[i]);
    resp_status(call->out, "HELP");
    resp_status(call->out, "    Prints this help.");
}

#endif
