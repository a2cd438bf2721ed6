/* wait: WAIT. There are no replicas to wait for. */
#include "server/call/args.h"
#include "server/cmd/cmd.h"

/* DIFFERS: Redis lets the timeout pass first when more than 0 replicas are asked for.
 * (doc/differs.md) */
static void cmd_wait(struct call *call)
{
    int64_t replicas, timeout;
    if (!arg_int64(call, 1, &replicas)) return;
    if (!arg_int64_or(call, 2, &timeout, ERR_TIMEOUT)) return;
    if (timeout < 0) {
        fail(call, ERR_TIMEOUT_NEGATIVE);
        return;
    }
    resp_integer(call->out, 0);
}

static const struct command rows[] = {
    { .name = "WAIT",
      .run = cmd_wait,
      .arity = 3,
      .flags = NOSCRIPT,
      .acl = ACL_CONNECTION,
      .tips = "request_policy:all_shards response_policy:agg_min",
      .group = "generic",
      .since = "3.0.0",
      .replies = REPLIES("integer: the number of replicas: 0"),
      .errors = ERRORS(ERR_NOT_INTEGER, ERR_TIMEOUT, ERR_TIMEOUT_NEGATIVE),
      .complexity = "O(1)",
      .syntax = "numreplicas timeout",
      .summary = "Returns the number of replicas that acknowledged the writes of the client: "
                 "always 0, because there are no replicas." },
};

const struct command_group wait_commands = COMMAND_GROUP(rows);
