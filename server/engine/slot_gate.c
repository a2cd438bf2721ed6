/* slot_gate: see slot_gate.h. */
#include "server/engine/slot_gate.h"

#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "server/cmd/call/slot.h"

struct look {
    int slot;
    bool one;
};

static void look_at(void *ctx, const struct call *call)
{
    struct look *look = ctx;
    look->one = look->one && slot_is_one(call, &look->slot);
}

bool slot_gate_refuses(struct dispatch *dispatch, struct call *call)
{
    struct look look = { SLOT_NONE, true };
    if (dispatch->conf->cluster != CONF_CLUSTER_STRICT) return false;
    bool runs_queue = call->command.row->flags & RUNS_QUEUE;
    if (runs_queue)
        multi_each(call->session, look_at, &look);
    else
        look_at(&look, call);
    if (look.one) return false;
    if (runs_queue) {
        multi_drop(call->session);
        watch_forget(dispatch->watch, call->session);
    }
    fail(call, ERR_CROSSSLOT);
    return true;
}
