/* engine: see engine.h. */
#include "server/engine/engine.h"

#include "server/base/log.h"
#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "server/disk/persist.h"
#include "server/engine/author.h"
#include "server/engine/gates.h"
#include "server/engine/preparing.h"
#include "server/engine/store_work.h"
#include "server/engine/unblock.h"
#include "store/base/encoding_limits.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/sweep/evict.h"
#include "store/txn/txn.h"

static size_t count_waiting(void *ctx, unsigned db, struct bytes key, size_t most)
{
    return blocked_waiting(ctx, db, key, TYPE_LEASE, most);
}

static void make_fair_ready(void *ctx, unsigned db, struct bytes prefix, struct bytes key)
{
    blocked_ready_under(ctx, db, prefix, key);
}

static void wake_prefix_at(void *ctx, unsigned db, struct bytes prefix, msec at)
{
    blocked_wake_prefix_at(ctx, db, prefix, at);
}

static bool waits_for_prefix(void *ctx, unsigned db, struct bytes prefix)
{
    return blocked_waits_for_prefix(ctx, db, prefix);
}

static void make_prefix_ready(void *ctx, unsigned db, struct bytes prefix)
{
    blocked_ready_prefix(ctx, db, prefix);
}

void engine_configure(struct engine *engine)
{
    const struct conf *conf = engine->conf;
    struct store *store = engine->store;
    store->counts_access = evict_counts_access((enum evict_policy)conf->maxmemory_policy);
    store->access_log_factor = (unsigned)conf->lfu_log_factor;
    store->access_decay_minutes = (unsigned)conf->lfu_decay_time;
    store->leases.max_ttl = conf->lease_max_ttl;
    store->leases.waiting = count_waiting;
    store->leases.ctx = engine->blocked;
    store->fair_hooks = (struct fair_hooks){ .ready = make_fair_ready,
                                             .ready_at = wake_prefix_at,
                                             .waits = waits_for_prefix,
                                             .done = make_prefix_ready,
                                             .ctx = engine->blocked };
    encoding_limits = (struct encoding_limits){
        .hash_fields = (size_t)conf->hash_max_entries,
        .hash_len = (size_t)conf->hash_max_value,
        .zset_members = (size_t)conf->zset_max_entries,
        .zset_len = (size_t)conf->zset_max_value,
        .intset_members = (size_t)conf->set_max_intset,
        .hll_sparse = (size_t)conf->hll_sparse_max,
        .stream_bytes = (size_t)conf->stream_max_bytes,
        .stream_entries = (size_t)conf->stream_max_entries,
    };
    if (!author_configure(engine))
        log_line(LOG_WARNING,
                 "Can't allocate %lld bytes: EXPIRY WHY records nothing. Lower why-memory",
                 (long long)engine->conf->why_memory);
    engine->evicting = true; /* in case maxmemory was lowered */
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* Must the request wait for the end of a pause or of the server, or until a key has settled? */
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
    bool prepares = row->prepares != NULL || (flags & RUNS_QUEUE); /* spares most requests a call */
    return (prepares && preparing_delays(engine, call)) || settle_delays(engine, call);
}

/* ---- running -------------------------------------------------------------------------------- */

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

static void run_call(struct engine *engine, struct call *call)
{
    struct observer *observer = engine->observer;
    unsigned flags = call->command.row->flags;
    struct txn *txn = call->txn;
    /* On a replica, only commands that write remove expired data; all other removals come from the
     * master. */
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

void engine_call(struct engine *engine, struct call *call)
{
    txn_call(call->txn, call->session->db);
    run_call(engine, call);
}

/* Blocks a call that found nothing. If a message about an expired key has closed the call's
 * session, does not block it, because an element served to that session would be lost. A call for a
 * prefix may have moved dead elements, and so changed keys under the prefix before its client
 * waited for them; fair_begin_wait makes up for that. */
static void block_caller(struct engine *engine, struct call *call)
{
    if (session_is_over(call->session)) {
        mem_free(call->block->argv);
        return;
    }
    struct call kept = *call;
    if (call->block->argv != NULL) kept.argv = call->block->argv;
    bool blocks = blocked_block(engine->blocked, &kept, call->block);
    mem_free(call->block->argv);
    if (blocks && call->block->is_prefix) {
        struct bytes prefix = call->argv[call->block->first];
        prefix.len--; /* without the '*' */
        fair_begin_wait(engine->store, call->session->db, prefix, call->txn->now);
    }
    if (blocks) return;
    engine->stats->errors++;
    fail(call, ERR_OOM);
}

enum { WAKE_BATCH = 64, HTTP_LOG_MSEC = 60 * 1000 };

static void run_alone(struct engine *engine, struct call *call)
{
    /* Blocked clients came before this request: first serve those whose keys have become ready by
     * time. */
    if (instant_due(blocked_next_wake(engine->blocked), clock_now(engine->clock)))
        unblock_due(engine, WAKE_BATCH);
    bool runs_others = call->command.row->flags & (RUNS_QUEUE | RUNS_SCRIPT);
    if (runs_others && engine->persist != NULL) persist_end_record(engine->persist);
    struct txn txn;
    struct block_request block = { 0 };
    txn_begin(&txn, engine->store, clock_now(engine->clock), FROM_CLIENT);
    txn_call(&txn, call->session->db);
    call->txn = &txn;
    call->block = &block;
    run_call(engine, call);
    txn_commit(&txn);
    if (block.count > 0) block_caller(engine, call);
    if (blocked_pending(engine->blocked)) unblock_ready(engine);

    /* CLOCK receives its reply, and the next request runs, only after all work that is due on the
     * way. */
    if (engine->clock->moves) {
        store_work_advance(engine->work);
        resp_integer(call->out, clock_now(engine->clock));
    }
}

/* CLIENT REPLY SKIP suppresses the reply of the next request. */
void engine_answered(struct session *session)
{
    if (session->reply_mode == REPLY_SKIPPING)
        session->reply_mode = REPLY_ON;
    else if (session->reply_mode == REPLY_SKIP_NEXT)
        session->reply_mode = REPLY_SKIPPING;
    session->out.mute = session->reply_mode == REPLY_OFF || session->reply_mode == REPLY_SKIPPING;
}

/* Is this one of the words with which lines of HTTP begin? The first letter is tested on its own,
 * because many frequent commands are as long as these words. */
static bool is_http_word(struct bytes word)
{
    if (word.len == 0) return false;
    switch (word.data[0]) {
    case 'p':
    case 'P': return bytes_is_word(word, "post");
    case 'h':
    case 'H': return bytes_is_word(word, "host:");
    default: return false;
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
     * Such a request has lines that begin with these words: close the connection before later lines
     * run. */
    if (is_http_word(argv[0])) {
        /* Logged once a minute, as in Redis, so that unauthenticated clients can't fill the log. */
        msec now = clock_now(engine->clock), age = now - engine->http_logged_at;
        if (age < 0 || age >= HTTP_LOG_MSEC) {
            engine->http_logged_at = now;
            log_line(
                LOG_WARNING,
                "Client %s closed: it sent an HTTP request, possibly forged by a web page. Set a "
                "password, and let only your clients reach the port",
                session->peer != NULL ? session->peer : "");
        }
        session_close(session);
        return true;
    }
    session->last_command = call.command.row;
    session->last_parent = call.command.row != NULL ? call.command.parent : NULL;
    if (engine->hooks->tracks && !engine->busy)
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
        /* This transaction is never committed, because that of the script is open. Of the commands
         * allowed here, only WATCH reads data; it sees expired keys and changes nothing. */
        struct txn txn;
        txn_begin(&txn, engine->store, clock_now(engine->clock), FROM_REPLAY);
        txn_call(&txn, call.session->db);
        call.txn = &txn;
        run_call(engine, &call);
        ensure(txn.changes == 0, "%s changed data while a script runs", call.command.row->name);
    } else {
        run_alone(engine, &call);
    }
    bool keeps = call.command.row != NULL && (call.command.row->flags & KEEPS_CACHING);
    if (session->multi == NULL && !keeps) tracking_end_caching(session);
    if (session->blocked == NULL) engine_answered(session);
    return true;
}
