/* engine: see engine.h. Runs calls in an open transaction; engine_request.c takes them there. */
#include "server/engine/engine.h"

static bool note_read(void *ctx, const struct call *call, struct bytes key)
{
    tracking_note_read(ctx, call->session, key);
    return false;
}

void engine_note_reads(struct engine *engine, struct call *call)
{
    unsigned flags = call->command.row->flags;
    if ((flags & (READONLY | RUNS_SCRIPT)) == READONLY && tracking_wants_reads(call->session))
        call_any_key(call, note_read, engine->hooks->tracking);
}

void engine_call(struct engine *engine, struct call *call)
{
    txn_call(call->txn, call->session->db);
    struct observer *observer = engine->observer;
    unsigned flags = call->command.row->flags;
    struct txn *txn = call->txn;
    /* A replica removes expired data by itself only where a command writes; all other removals
     * arrive from the master. */
    txn->on_replica = engine->role.replica;
    txn->no_purge = engine->role.replica && !(flags & WRITE);
    txn->no_expiry = txn->no_purge || (pause_is_on(&engine->pause) && (flags & READONLY) &&
                                       engine_keeps_data(engine, txn->now));
    engine->stats->commands++;
    int64_t began = observer != NULL ? observe_begin(observer) : 0;
    call_run(call);
    engine_note_reads(engine, call);
    if (observer != NULL) observe_end(observer, call, began);
    if (call->failed) engine->stats->errors++;
}

void engine_answered(struct session *session)
{
    if (session->reply_mode == REPLY_SKIPPING)
        session->reply_mode = REPLY_ON;
    else if (session->reply_mode == REPLY_SKIP_NEXT)
        session->reply_mode = REPLY_SKIPPING;
    session->out.mute = session->reply_mode == REPLY_OFF || session->reply_mode == REPLY_SKIPPING;
}
