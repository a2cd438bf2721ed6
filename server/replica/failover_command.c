/* failover_command: see failover_command.h. Checks in the order of Redis. */
#include "server/replica/failover_command.h"

#include <string.h>

#include "server/cmd/call/args.h"
#include "server/cmd/call/call.h"
#include "server/replica/replication.h"

static bool parse(struct call *call, struct failover_goal *goal)
{
    for (int i = 1; i < call->argc; i++) {
        int left = call->argc - 1 - i;
        if (arg_is(call, i, "TIMEOUT") && left >= 1 && goal->ttl == 0) {
            if (!arg_int64(call, ++i, &goal->ttl)) return false;
            if (goal->ttl <= 0) {
                fail(call, ERR_FAILOVER_TIMEOUT);
                return false;
            }
        } else if (arg_is(call, i, "TO") && left >= 2 && goal->host[0] == '\0') {
            struct bytes host = call->argv[i + 1];
            if (!arg_int64(call, i + 2, &goal->port)) return false;
            /* A name that is too long matches no replica; "" would mean any replica. */
            if (host.len == 0 || host.len >= sizeof(goal->host)) host = LIT("?");
            memcpy(goal->host, host.data, host.len);
            i += 2;
        } else if (arg_is(call, i, "FORCE") && !goal->force) {
            goal->force = true;
        } else {
            fail(call, ERR_SYNTAX);
            return false;
        }
    }
    return true;
}

/* False: *why is the error. */
static bool may_begin(struct call *call, struct failover_goal *goal, enum error *why)
{
    struct replication *replication = call->context;
    const struct failover *failover = replication_failover(replication);
    enum failover_target target = TARGET_ONLINE;
    bool has_host = goal->host[0] != '\0';
    if (has_host) target = failover_target(failover, goal);
    if (failover_state(failover) != FAILOVER_NONE)
        *why = ERR_FAILOVER_BUSY;
    else if (replication_report(replication).follows)
        *why = ERR_FAILOVER_REPLICA;
    else if (replicas_count(replication_replicas(replication)) == 0)
        *why = ERR_FAILOVER_ALONE;
    else if (goal->force && (goal->ttl == 0 || !has_host))
        *why = ERR_FAILOVER_FORCE;
    else if (target == TARGET_UNKNOWN)
        *why = ERR_FAILOVER_TARGET;
    else if (target == TARGET_NOT_ONLINE)
        *why = ERR_FAILOVER_OFFLINE;
    else
        return true;
    return false;
}

void cmd_failover(struct call *call)
{
    struct replication *replication = call->context;
    struct failover_goal goal = { .ttl = 0 };
    enum error why;
    if (call->argc == 2 && arg_is(call, 1, "ABORT")) {
        struct failover *failover = replication_failover(replication);
        if (failover_state(failover) == FAILOVER_NONE) {
            fail(call, ERR_NO_FAILOVER);
            return;
        }
        failover_abort(failover, "aborted by FAILOVER ABORT");
        reply_ok(call);
        return;
    }
    if (!parse(call, &goal)) return;
    if (!may_begin(call, &goal, &why)) {
        fail(call, why);
        return;
    }
    failover_begin(replication_failover(replication), &goal);
    replication_ask(replication);
    reply_ok(call);
}
