/* rights: checks calls against the ACL and records refusals. Depends on the engine's parts. */
#pragma once

#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "server/engine/acl/acl.h"
#include "server/engine/engine.h"

/* Does any ACL rule restrict the session's user? */
static inline bool rights_are_limited(const struct session *session)
{
    return session->user != NULL && !session->user->unrestricted;
}

/* May the session's user make this call? Asked before a call is queued and again before it runs,
 * because permissions may change in between. Counts a refusal and adds it to ACL LOG. For an
 * allowed SORT, sets call->limits_keys if the user may not read every key. */
enum acl_verdict rights_check(struct engine *engine, struct call *call, enum acl_where where);
/* Returns the error for a refusal, in whose text %s stands for the command's name. */
enum error rights_error(enum acl_verdict verdict);
