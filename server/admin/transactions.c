/* transactions: MULTI, EXEC, DISCARD, WATCH and UNWATCH. Depends on server/engine/multi.h, which
 * keeps the queue, and on server/engine/react/watch.h. */
#include "server/admin/admin.h"
#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "server/engine/multi.h"

static void cmd_multi(struct call *call)
{
    if (fail_if(call, call->session->multi != NULL, ERR_MULTI_NESTED)) return;
    multi_begin(call->session);
    reply_ok(call);
}

static void end_transaction(struct engine *engine, struct session *session)
{
    multi_drop(session);
    watch_forget(engine->watch, session);
}

static void cmd_discard(struct call *call)
{
    if (fail_if(call, call->session->multi == NULL, ERR_DISCARD_ALONE)) return;
    end_transaction(call->context, call->session);
    reply_ok(call);
}

/* Marks the session as touched if the key has expired since WATCH. The look-up may also remove
 * expired members of the key; that change marks the session, too. */
static void check_watched_key(void *ctx, unsigned db, struct bytes key, bool existed)
{
    struct call *call = ctx;
    txn_call(call->txn, db);
    if (txn_find_without_lru(call->txn, key) == NULL && existed)
        call->session->watch_touched = true;
}

static void cmd_exec(struct call *call)
{
    struct engine *engine = call->context;
    struct session *session = call->session;
    if (fail_if(call, session->multi == NULL, ERR_EXEC_ALONE)) return;
    watch_each(session, check_watched_key, call);
    if (multi_broken(session)) {
        fail(call, ERR_EXECABORT);
        end_transaction(engine, session);
    } else if (session->watch_touched) {
        if (multi_flags(call) & (WRITE | MAY_REPLICATE)) call->txn->may_write = true;
        resp_null_array(call->out);
        end_transaction(engine, session);
    } else {
        /* Forget the keys before the queue runs: its own changes must not mark the session. */
        watch_forget(engine->watch, session);
        multi_run(engine, call);
    }
}

static void cmd_watch(struct call *call)
{
    struct engine *engine = call->context;
    struct session *session = call->session;
    if (fail_if(call, session->multi != NULL, ERR_WATCH_IN_MULTI)) return;
    for (int i = 1; i < call->argc && !session->watch_touched; i++) {
        bool exists = txn_find_without_lru(call->txn, call->argv[i]) != NULL;
        watch_add(engine->watch, session, session->db, call->argv[i], exists);
    }
    reply_ok(call);
}

static void cmd_unwatch(struct call *call)
{
    struct engine *engine = call->context;
    watch_forget(engine->watch, call->session);
    reply_ok(call);
}

enum { MULTI_FLAGS = NOSCRIPT | LOADING | STALE | FAST | ALLOW_BUSY };

static const struct command rows[] = {
    ROW("MULTI", cmd_multi, 1, MULTI_FLAGS | NOT_QUEUED, .acl = ACL_TRANSACTION, .since = "1.2.0",
        .replies = REPLIES("OK: commands are queued from now on"),
        .errors = ERRORS(ERR_MULTI_NESTED), .complexity = "O(1)", .syntax = "",
        .summary = "Begins a transaction: the commands that follow are queued."),
    ROW("EXEC", cmd_exec, 1, NOSCRIPT | LOADING | STALE | SKIP_SLOWLOG | NOT_QUEUED | RUNS_QUEUE,
        .acl = ACL_TRANSACTION, .since = "1.2.0",
        .replies = REPLIES("[any ...]: the replies of the queued commands",
                           "null-array: a watched key was changed, nothing ran"),
        .errors = ERRORS(ERR_EXEC_ALONE, ERR_EXECABORT, ERR_EXEC_REFUSED),
        .complexity = "Depends on the queued commands.", .syntax = "",
        .summary =
            "Runs all queued commands as one transaction, unless a watched key has changed."),
    ROW("DISCARD", cmd_discard, 1, MULTI_FLAGS | NOT_QUEUED, .acl = ACL_TRANSACTION,
        .since = "2.0.0", .replies = REPLIES("OK: the queue was dropped"),
        .errors = ERRORS(ERR_DISCARD_ALONE),
        .complexity = "O(N) where N is the number of commands queued.", .syntax = "",
        .summary = "Ends a transaction without running the queued commands."),
    ROW("WATCH", cmd_watch, -2, MULTI_FLAGS | NOT_QUEUED, .acl = ACL_TRANSACTION,
        .keys = { .first = 1, .last = -1, .step = 1 }, .key_flags = KEY_RO, .since = "2.2.0",
        .replies = REPLIES("OK: the keys are watched"), .errors = ERRORS(ERR_WATCH_IN_MULTI),
        .complexity = "O(1) for each key.", .syntax = "key [key ...]",
        .summary = "Makes the next EXEC fail if one of the keys is changed before it."),
    ROW("UNWATCH", cmd_unwatch, 1, MULTI_FLAGS, .acl = ACL_TRANSACTION, .since = "2.2.0",
        .replies = REPLIES("OK: no key is watched"),
        .complexity = "O(N) where N is the number of keys watched.", .syntax = "",
        .summary = "Stops watching all keys."),
};

const struct command_group transaction_commands = COMMAND_GROUP("transactions", rows);
