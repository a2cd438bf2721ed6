/* failover_command: see failover_command.h. Checks in the order of Redis. */
#include "server/replica/failover_command.h"

#include <string.h>

#include "server/cmd/call/args.h"
#include "server/cmd/call/call.h"
#include "server/engine/engine.h"
#include "server/engine/react/blocked.h"
#include "server/engine/unblock.h"
#include "server/replica/replication.h"
#include "store/mem/mem.h"

static bool parse(struct call *call, struct failover_goal *goal)
{
    for (int i = 1; i < call->argc; i++) {
        int left = call->argc - 1 - i;
        if (arg_is(call, i, "TIMEOUT") && left >= 1 && goal->ttl == 0) {
            if (!arg_int64(call, ++i, &goal->ttl)) return false;
            if (goal->ttl <= 0) return fail(call, ERR_FAILOVER_TIMEOUT);
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
            return fail(call, ERR_SYNTAX);
        }
    }
    return true;
}

/* May a failover to this target begin? If not, *why is the error. */
static bool may_begin(struct replication *replication, const struct failover_goal *goal,
                      enum failover_target target, enum error *why)
{
    if (failover_state(replication_failover(replication)) != FAILOVER_NONE)
        *why = ERR_FAILOVER_BUSY;
    else if (replication_report(replication).follows)
        *why = ERR_FAILOVER_REPLICA;
    else if (replicas_count(replication_replicas(replication)) == 0)
        *why = ERR_FAILOVER_ALONE;
    else if (goal->force && (goal->ttl == 0 || goal->host[0] == '\0'))
        *why = ERR_FAILOVER_FORCE;
    else if (target == TARGET_UNKNOWN)
        *why = ERR_FAILOVER_TARGET;
    else if (target == TARGET_NOT_ONLINE)
        *why = ERR_FAILOVER_OFFLINE;
    else
        return true;
    return false;
}

static void begin(struct replication *replication, const struct failover_goal *goal,
                  struct resp_writer *out)
{
    failover_begin(replication_failover(replication), goal);
    replication_ask(replication);
    resp_ok(out);
}

/* The client that waits until the name is resolved; other clients are served meanwhile. */
struct asker {
    struct replication *replication;
    struct session *session;
};

static void forget_asker(void *ctx)
{
    struct asker *asker = ctx;
    failover_stop_resolving(replication_failover(asker->replication));
    mem_free(asker);
}

/* Called when the name is resolved: begins the failover and replies to the client, or replies with
 * an error. Repeats all checks, because much may have changed since the request. */
static void answer_asker(void *ctx, enum failover_target target, const struct failover_goal *goal)
{
    const struct asker *asker = ctx;
    struct session *session = asker->session;
    enum error why;
    if (may_begin(asker->replication, goal, target, &why)) {
        begin(asker->replication, goal, &session->out);
        unblock_answered(session); /* frees the asker */
    } else {
        unblock_with_error(replication_engine(asker->replication), session, why);
    }
}

/* Replies to a client that CLIENT UNBLOCK ends without an error. */
static void give_up(void *ctx)
{
    const struct asker *asker = ctx;
    struct call call = { .out = &asker->session->out, .session = asker->session };
    fail(&call, ERR_FAILOVER_TARGET);
}

/* Begins to resolve the name of the target, and blocks the client until the result is known.
 * Returns false if the name can't be resolved now. */
static bool resolve(struct call *call, const struct failover_goal *goal)
{
    struct replication *replication = call->context;
    struct asker *asker;
    if (call->block == NULL) return false; /* in MULTI */
    asker = mem_alloc(sizeof(*asker));
    *asker = (struct asker){ .replication = replication, .session = call->session };
    if (!failover_resolve(replication_failover(replication), goal, answer_asker, asker)) {
        mem_free(asker);
        return false;
    }
    blocked_wait(
        replication_engine(replication)->blocked, call->session,
        &(struct blocked_wait){
            .reason = WAIT_REPLICAS, .gone = forget_asker, .late = give_up, .ctx = asker });
    return true;
}

void cmd_failover(struct call *call)
{
    struct replication *replication = call->context;
    struct failover_goal goal = { .ttl = 0 };
    enum error why;
    if (call->argc == 2 && arg_is(call, 1, "ABORT")) {
        struct failover *failover = replication_failover(replication);
        if (fail_if(call, failover_state(failover) == FAILOVER_NONE, ERR_NO_FAILOVER)) return;
        failover_abort(failover, "aborted by FAILOVER ABORT");
        reply_ok(call);
        return;
    }
    if (!parse(call, &goal)) return;
    enum failover_target target = TARGET_ONLINE;
    if (goal.host[0] != '\0') target = failover_target(replication_failover(replication), &goal);
    if (!may_begin(replication, &goal, target, &why))
        fail(call, why);
    else if (target != TARGET_MAYBE_NAMED)
        begin(replication, &goal, call->out);
    else if (!resolve(call, &goal))
        fail(call, ERR_FAILOVER_TARGET);
}
