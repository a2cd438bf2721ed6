/* role_gate: which calls the server's role in replication forbids. Depends on dispatch's role and
 * options. */
#ifndef SERVER_ENGINE_ROLE_GATE_H
#define SERVER_ENGINE_ROLE_GATE_H

#include <stdbool.h>

#include "server/cmd/call/error.h"
#include "server/engine/dispatch.h"

/* Are writes of clients refused? *why is the error. */
bool role_refuses_writes(const struct dispatch *dispatch, enum error *why);
/* Are reads refused, because the data may be old? */
bool role_is_too_stale(const struct dispatch *dispatch);

#endif
