/* session: see session.h. */
#include "server/cmd/call/session.h"

void session_init(struct session *session, struct outbuf *out)
{
    *session = (struct session){ .out = { .out = out, .version = 2 } };
}
