/* client_pause: see client_pause.h. Sets the pause (call/pause.h); the engine delays requests. */
#include "server/admin/client/client_pause.h"

#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/pause.h"

/* DIFFERS: in Redis a pause has no effect if the computation of its end overflows; here it lasts as
 * long as possible. (doc/differs.md) */
void cmd_client_pause(struct call *call)
{
    const struct connection_context *context = call->context;
    enum pause_kind kind = PAUSE_ALL;
    msec until;
    int64_t span;
    if (call->argc > 4) {
        failf(call, ERR_SUBCOMMAND_OR_ARITY, arg_width(call, 1), call->argv[1].data, "CLIENT");
        return;
    }
    if (call->argc == 4 && !arg_is(call, 3, "ALL")) {
        kind = PAUSE_WRITE;
        if (fail_if(call, !arg_is(call, 3, "WRITE"), ERR_PAUSE_MODE)) return;
    }
    if (!arg_int64_or(call, 2, &span, ERR_TIMEOUT)) return;
    if (fail_if(call, span < 0, ERR_TIMEOUT_NEGATIVE)) return;
    if (span == 0)
        until = instant_last_expired(call->txn->now); /* ends at once */
    else if (!instant_after(call->txn->now, span, &until))
        until = INSTANT_MAX;
    pause_begin(context->pause, kind, until);
    reply_ok(call);
}

void cmd_client_unpause(struct call *call)
{
    const struct connection_context *context = call->context;
    pause_end(context->pause);
    reply_ok(call);
}
