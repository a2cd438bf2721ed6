/* engine_request: takes a request through the gates to its commit. */
#include "server/base/log.h"
#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "server/disk/persist.h"
#include "server/engine/engine.h"
#include "server/engine/gates.h"
#include "server/engine/multi.h"
#include "server/engine/settle.h"
#include "server/engine/store_work.h"
#include "server/engine/unblock.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/txn/txn.h"

static bool must_wait(struct engine *engine, const struct call *call)
{
    const struct command *row = call->command.row;
    unsigned flags = row->flags;
    if (engine->stopping) return true;
    if (engine->busy) return false;
    if (pause_is_on(&engine->pause)) {
        /* Any pause delays commands that change data, even those that MULTI would queue. */
        enum pause_kind kind = pause_now(&engine->pause, clock_now(engine->clock));
        bool exempt = kind == PAUSE_NONE || (flags & WHILE_PAUSED);
        if (!exempt && (kind == PAUSE_ALL || (multi_flags(call) & (WRITE | MAY_REPLICATE))))
            return true;
    }
    bool runs = call->session->multi == NULL || (flags & RUNS_QUEUE);
    if (!runs) return false;
    bool prepares =
        row->prepares != NULL || (flags & RUNS_QUEUE); /* a cheap test before the call below */
    return (prepares && preparing_delays(&engine->preparing, call)) || settle_delays(engine, call);
}

enum { WAKE_BATCH = 64, HTTP_LOG_MSEC = 60 * 1000 };

static void run_alone(struct engine *engine, struct call *call)
{
    /* Blocked clients came before this request, so first serve those whose keys have meanwhile
     * become ready by time. */
    if (instant_due(blocked_next_wake(engine->blocked), clock_now(engine->clock)))
        unblock_due(engine, WAKE_BATCH);
    bool runs_others = call->command.row->flags & (RUNS_QUEUE | RUNS_SCRIPT);
    if (runs_others && engine->persist != NULL) persist_end_record(engine->persist);
    struct txn txn;
    struct block_request block = { 0 };
    txn_begin(&txn, engine->store, clock_now(engine->clock), FROM_CLIENT);
    call->txn = &txn;
    call->block = &block;
    engine_call(engine, call);
    txn_commit(&txn);
    if (block.count > 0 && session_is_over(call->session)) {
        /* A message about a key that expired during the call may have closed the call's session.
         * Such a session is not blocked, because an element served to it would be lost. */
        mem_free(block.argv);
    } else if (block.count > 0) {
        struct call kept = *call;
        if (block.argv != NULL) kept.argv = block.argv;
        bool blocks = blocked_block(engine->blocked, &kept, &block);
        mem_free(block.argv);
        if (!blocks) {
            engine->stats->errors++;
            fail(call, ERR_OOM);
        } else if (block.kind != BLOCK_FOR_KEY) {
            /* The call may have moved dead elements, and so changed keys under its prefix before
             * the client waited for them; fair_begin_wait catches up on these changes. */
            struct bytes prefix = call->argv[block.first];
            prefix.len--; /* without the '*' */
            fair_begin_wait(&engine->store->fair, call->session->db, prefix, txn.now);
        }
    }
    if (blocked_pending(engine->blocked)) unblock_ready(engine);

    /* CLOCK moves the clock. All work that becomes due on the way is done before CLOCK is answered
     * and before the next request runs. */
    if (engine->clock->moves) {
        store_work_advance(engine->work);
        resp_integer(call->out, clock_now(engine->clock));
    }
}

/* Logs at most one a minute, as in Redis, so that unauthenticated clients can't fill the log. */
static void log_http(struct engine *engine, const struct session *session)
{
    msec now = clock_now(engine->clock), age = now - engine->http_logged_at;
    if (age < 0 || age >= HTTP_LOG_MSEC) {
        engine->http_logged_at = now;
        log_line(LOG_WARNING,
                 "Client %s closed: it sent an HTTP request, possibly forged by a web page. Set a "
                 "password, and let only your clients reach the port",
                 session->peer != NULL ? session->peer : "");
    }
}

bool engine_request(struct engine *engine, struct session *session, struct command_ref command,
                    int argc, const struct bytes *argv)
{
    ensure(session->state == SESSION_SERVING, "session %llu is in state %d",
           (unsigned long long)session->id, session->state);
    struct call call = {
        .command = command, .argc = argc, .argv = argv, .out = &session->out, .session = session
    };
    call.context = call.command.context;
    /* A web page can make a browser send an HTTP request to this port, with commands in its body.
     * Lines of such a request begin with these words: close it before later lines run. */
    if (bytes_is_word(argv[0], "post") || bytes_is_word(argv[0], "host:")) {
        log_http(engine, session);
        session_close(session);
        return true;
    }
    session->last_command = call.command.row;
    session->last_parent = call.command.row != NULL ? call.command.parent : NULL;
    if ((engine->hooks->uses & USES_TRACKING) && !engine->busy)
        tracking_limit(engine->hooks->tracking, (size_t)engine->conf->tracking_table_max_keys);
    if (gates_refuse(engine, &call)) {
        engine->stats->errors++;
        if (engine->observer != NULL) observe_rejected(engine->observer, &call);
    } else if (must_wait(engine, &call)) {
        return false;
    } else if (session->multi != NULL && !(call.command.row->flags & NOT_QUEUED)) {
        if (multi_queue(session, &call)) {
            resp_status(call.out, "QUEUED");
        } else {
            multi_break(session);
            engine->stats->errors++;
            fail(&call, ERR_OOM);
        }
    } else if (engine->busy) {
        /* The script's transaction is open, so this one only serves for reading and is never
         * committed. Of the commands allowed here, only WATCH reads data; it sees expired keys and
         * changes nothing. */
        struct txn txn;
        txn_begin(&txn, engine->store, clock_now(engine->clock), FROM_REPLAY);
        call.txn = &txn;
        engine_call(engine, &call);
        ensure(txn.changes == 0, "%s changed data while a script runs", call.command.row->name);
    } else {
        run_alone(engine, &call);
    }
    bool keeps = call.command.row != NULL && (call.command.row->flags & KEEPS_CACHING);
    if (session->multi == NULL && !keeps) tracking_end_caching(session);
    if (session->blocked == NULL) engine_answered(session);
    return true;
}
