/* role_gate: see role_gate.h. */
#include "server/engine/role_gate.h"

bool role_refuses_writes(const struct dispatch *dispatch, enum error *why)
{
    const struct role *role = &dispatch->role;
    if (role->replica) {
        *why = ERR_READONLY;
        return dispatch->conf->replica_read_only;
    }
    *why = ERR_NOREPLICAS;
    return role->few_replicas;
}

bool role_is_too_stale(const struct dispatch *dispatch)
{
    return dispatch->role.stale && !dispatch->conf->replica_serve_stale_data;
}
