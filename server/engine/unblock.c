/* unblock: see unblock.h. */
#include "server/engine/unblock.h"
#include "server/engine/settle.h"

#include "server/cmd/call/call.h"
#include "server/engine/engine.h"
#include "server/engine/gates.h"
#include "server/engine/react/blocked.h"
#include "server/engine/rights.h"
#include "store/txn/txn.h"

void unblock_answered(struct session *session)
{
    engine_answered(session);
    session_wake(session);
}

static bool is_answered(struct engine *engine, struct txn *txn, const struct blocked_try *try)
{
    struct block_request block = { .looks_needed = try->looks_needed };
    struct call call = saved_call_again(try->call, try->session);
    call.txn = txn;
    call.block = &block;
    call.ready = &try->key;
    struct observer *observer = engine->observer;
    int64_t began = observer != NULL ? observe_now(observer) : 0;
    /* DIFFERS: if the user has lost the permission meanwhile, Redis 7.0 serves the client; here it
     * receives an error. (doc/differs.md) */
    enum acl_verdict verdict = rights_check(engine, &call, ACL_TOPLEVEL);
    if (verdict == ACL_ALLOWED)
        call_run(&call);
    else
        fail_named(&call, rights_error(verdict));
    if (verdict == ACL_ALLOWED && block.count == 0) engine_note_reads(engine, &call);
    if (observer != NULL) observe_again(observer, &call, began, try->time);
    if (call.failed) engine->stats->errors++;
    if (block.count > 0) blocked_skip_command(engine->blocked, try, block.again);
    return block.count == 0;
}

/* Has the client gone? If so, ends its wait now, as reading the end of its input would do later. */
static bool has_gone(struct session *session)
{
    if (session->has_gone == NULL || !session->has_gone(session)) return false;
    session_close(session);
    session_notify(session);
    return true;
}

void unblock_ready(struct engine *engine)
{
    enum { CATCH_UP = 64 }; /* keys under a prefix that one step moves into the ring */
    struct blocked_try try;
    enum pause_kind pause = pause_now(&engine->pause, clock_now(engine->clock));
    if (engine->role.replica) pause = PAUSE_NONE;
    if (pause == PAUSE_ALL) return;
    if (pause == PAUSE_NONE) blocked_wake_for_prefixes(engine->blocked, clock_now(engine->clock));
    while (blocked_next_try(engine->blocked, pause == PAUSE_WRITE, &try)) {
        /* A lease granted to a client that has gone would be lost until its end. */
        if (try.type == TYPE_LEASE && has_gone(try.session)) continue;
        /* The key becomes ready again when there are enough replicas. */
        bool lacks_replicas = try.type == TYPE_LEASE && gates_lacks_replicas(engine);
        if (try.is_prefix) {
            fair_catch_up(&engine->store->fair, try.db, try.key, clock_now(engine->clock),
                          CATCH_UP);
            if (blocked_defers(engine->blocked, &try)) continue;
        }
        if (lacks_replicas || settle_postpones(engine, &try)) {
            blocked_skip_key(engine->blocked);
            continue;
        }
        struct txn txn;
        txn_begin(&txn, engine->store, clock_now(engine->clock), FROM_CLIENT);
        txn_call(&txn, try.db);
        /* See expired data as on the first run. Writes can block on a writable replica. */
        bool reads = try.call->command.row->flags & READONLY;
        txn.no_expiry = txn.no_purge = engine->role.replica && reads;
        /* Run the command only if that can answer the client: if the key has the right type, if the
         * client wants an error otherwise (or_gone), or if the client waits for a prefix. */
        const struct entry *entry = try.is_prefix ? NULL : txn_find(&txn, try.key);
        if (entry == NULL && !try.is_prefix) blocked_skip_missing(engine->blocked);
        bool has_type = entry != NULL && entry->object.type == try.type;
        bool answered =
            (try.is_prefix || try.or_gone || has_type) && is_answered(engine, &txn, &try);
        txn_commit(&txn);
        if (answered) unblock_answered(try.session);
    }
}

/* Replies to a client that times out, unless it receives its reply in another way. */
static void reply_nothing(struct session *session)
{
    if (blocked_answers_late(session)) return;
    reply_no_answer(&session->out, blocked_no_answer(session));
}

/* Replies with the error or, if that is NULL, as at its timeout. */
static void unblock(struct engine *engine, struct session *session, const enum error *error)
{
    struct call_time time = { 0 };
    const struct saved_call *saved = blocked_call(session, &time);
    struct call call = { .out = &session->out, .session = session };
    if (saved != NULL) call = saved_call_again(saved, session);
    if (error != NULL) {
        fail(&call, *error);
        engine->stats->errors++;
    } else {
        reply_nothing(session);
    }
    if (engine->observer != NULL) observe_ended(engine->observer, &call, &time);
    unblock_answered(session);
}

bool unblock_client(struct engine *engine, struct session *session, bool with_error)
{
    static const enum error error = ERR_UNBLOCKED;
    if (session->blocked == NULL) return false;
    unblock(engine, session, with_error ? &error : NULL);
    return true;
}

void unblock_with_error(struct engine *engine, struct session *session, enum error error)
{
    if (session->blocked != NULL) unblock(engine, session, &error);
}

void unblock_and_close(struct engine *engine, struct session *session)
{
    if (session->blocked == NULL) return;
    unblock_with_error(engine, session, ERR_UNBLOCKED_BY_ROLE);
    session_close(session);
}

size_t unblock_due(struct engine *engine, size_t most)
{
    msec now = clock_now(engine->clock);
    struct blocked *blocked = engine->blocked;
    size_t count = 0;
    /* Data that expires in the same millisecond as a timeout comes before the timeout, because the
     * client may wait for the entry that this expiry adds to a log. A burst of expiry thus delays
     * only the timeouts of that millisecond. */
    bool expires = !engine->role.replica && pause_now(&engine->pause, now) == PAUSE_NONE;
    msec until = expires && store_next_due(engine->store) <= now ? instant_last_expired(now) : now;
    for (; count < most; count++) {
        struct session *late = blocked_first_timed_out(blocked, until);
        bool key_is_first = pause_now(&engine->pause, now) == PAUSE_NONE &&
                            blocked_next_wake(blocked) <= blocked_next_timeout(blocked);
        if (key_is_first && blocked_wake(blocked, now)) {
            unblock_ready(engine);
        } else if (late != NULL) {
            reply_nothing(late);
            unblock_answered(late);
        } else {
            break;
        }
    }
    return count;
}
