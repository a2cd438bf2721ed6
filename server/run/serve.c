/* serve: see serve.h. */
#include "server/run/serve.h"

#include "server/call/call.h"
#include "server/run/dispatch.h"
#include "server/call/error.h"
#include "server/react/waiters.h"
#include "store/txn/txn.h"

void serve_answered(struct session *session)
{
    waiters_forget(session);
    dispatch_answered(session);
    if (session->wake != NULL) session->wake(session);
}

/* ---- served ---------------------------------------------------------------------------------- */

/* Does the key hold the type that the client waits for? If the key is missing, skip all its
 * clients. */
static bool is_worth_a_run(struct dispatch *dispatch, struct txn *txn, const struct turn *turn)
{
    const struct entry *entry = txn_find(txn, turn->key);
    if (entry == NULL) waiters_skip_key(dispatch->waiters);
    return entry != NULL && entry->object.type == turn->type;
}

static bool is_answered(struct dispatch *dispatch, struct txn *txn, const struct turn *turn)
{
    struct wait wait = { 0 };
    struct call call = saved_call_again(turn->call, turn->session);
    call.txn = txn;
    call.wait = &wait;
    call.ready = &turn->key;
    txn->no_touch = turn->session->no_touch;
    commit_hooks_call(dispatch->hooks, turn->session);
    struct observer *observer = dispatch->observer;
    int64_t began = observer != NULL ? observe_now(observer) : 0;
    call.command.row->run(&call);
    if (observer != NULL) observe_again(observer, &call, began, turn->usec);
    if (call.failed) dispatch->stats->errors++;
    if (wait.count > 0) waiters_in_vain(dispatch->waiters, turn, wait.again);
    return wait.count == 0;
}

void serve_ready(struct dispatch *dispatch)
{
    struct turn turn;
    while (waiters_next_turn(dispatch->waiters, &turn)) {
        if (settle_postpones(dispatch, &turn)) {
            waiters_skip_key(dispatch->waiters);
            continue;
        }
        struct txn txn;
        commit_hooks_arm(dispatch->hooks);
        txn_begin(&txn, dispatch->store, clock_now(dispatch->clock), FROM_CLIENT);
        txn_call(&txn, turn.db);
        bool answered = is_worth_a_run(dispatch, &txn, &turn) && is_answered(dispatch, &txn, &turn);
        txn_commit(&txn);
        if (answered) serve_answered(turn.session);
    }
}

/* ---- not served ------------------------------------------------------------------------------ */

/* The reply to a client that times out. */
static void reply_nothing(struct session *session)
{
    if (waiters_wants_array(session))
        resp_array(&session->out, 0);
    else
        resp_null_array(&session->out);
}

static void answer_late(struct session *session)
{
    reply_nothing(session);
    serve_answered(session);
}

bool serve_unblock(struct dispatch *dispatch, struct session *session, bool with_error)
{
    if (session->waiting == NULL) return false;
    int64_t usec = 0;
    const struct saved_call *saved = waiters_call(session, &usec);
    struct call call = { .out = &session->out, .session = session };
    if (saved != NULL) call = saved_call_again(saved, session);
    if (with_error) {
        fail(&call, ERR_UNBLOCKED);
        dispatch->stats->errors++;
    } else {
        reply_nothing(session);
    }
    if (dispatch->observer != NULL) observe_ended(dispatch->observer, &call, usec);
    serve_answered(session);
    return true;
}

/* ---- by themselves --------------------------------------------------------------------------- */

/* Serves the first key that becomes ready by time, unless a client's timeout passes earlier. */
static bool wake_first(struct dispatch *dispatch, msec now)
{
    struct waiters *waiters = dispatch->waiters;
    if (pause_now(&dispatch->pause, now) != PAUSE_NONE) return false;
    if (waiters_next_wake(waiters) > waiters_next_late(waiters)) return false;
    return waiters_wake(waiters, now);
}

size_t serve_due(struct dispatch *dispatch, size_t most)
{
    msec now = clock_now(dispatch->clock);
    size_t count = 0;
    for (; count < most; count++) {
        struct session *late = waiters_first_due(dispatch->waiters, now);
        if (wake_first(dispatch, now))
            serve_ready(dispatch);
        else if (late != NULL)
            answer_late(late);
        else
            break;
    }
    return count;
}
