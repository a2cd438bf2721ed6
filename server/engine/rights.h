/* rights: asks the ACL about the calls of sessions, and notes refusals. Depends on engine's
 * parts. */
#ifndef SERVER_ENGINE_RIGHTS_H
#define SERVER_ENGINE_RIGHTS_H

#include "server/engine/acl/acl.h"
#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "server/engine/engine.h"

/* Is there anything that the session's user may not do? */
static inline bool rights_are_limited(const struct session *session)
{
    return session->user != NULL && !session->user->unrestricted;
}

/* May the session's user make this call now? Each call is asked about before it is queued and
 * again before it runs, wherever it comes from, because rights may change between. A refusal is
 * counted and logged. Fills call->limits_keys. */
enum acl_verdict rights_check(struct engine *engine, struct call *call, enum acl_where where);
/* The error of a refusal, which names the command. */
enum error rights_error(enum acl_verdict verdict);
void rights_fail(struct call *call, enum acl_verdict verdict);

#endif
