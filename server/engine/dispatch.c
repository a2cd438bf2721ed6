/* dispatch: see dispatch.h. The checks are in the order of Redis 7.0, because clients can see it.
 */
#include "server/engine/dispatch.h"

#include <stdio.h>
#include <string.h>

#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "server/base/log.h"
#include "server/engine/react/pubsub.h"
#include "server/engine/rights.h"
#include "server/engine/role_gate.h"
#include "server/engine/serve.h"
#include "server/engine/slot_gate.h"
#include "store/base/ensure.h"
#include "store/sweep/evict.h"
#include "store/mem/mem.h"
#include "store/base/encoding_limits.h"
#include "store/txn/txn.h"

enum {
    ECHO_MAX = 128,           /* of the client's bytes in an error line */
    ECHO_SIZE = ECHO_MAX + 4, /* the last argument is cut, but keeps its quotes */
    NAME_SIZE = 128,
    REASON_SIZE = 256,
    EVICTIONS_PER_CALL = 64,
    RECLAIM_PER_EVICTION = 256,
};

void dispatch_configure(struct dispatch *dispatch)
{
    const struct conf *conf = dispatch->conf;
    struct store *store = dispatch->store;
    store->counts_access = evict_counts_access((enum evict_policy)conf->maxmemory_policy);
    store->access_log_factor = (unsigned)conf->lfu_log_factor;
    store->access_decay_minutes = (unsigned)conf->lfu_decay_time;
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
    dispatch->evicting = true; /* a lower limit takes effect at once */
}

/* ---- refusing ------------------------------------------------------------------------------- */

/* A precision for "%.*s", which also ends at a NUL, as in Redis. */
static int at_most(struct bytes text, size_t max)
{
    return (int)(text.len < max ? text.len : max);
}

static void fail_unknown(struct call *call)
{
    char name[ECHO_MAX + 1], args[ECHO_SIZE + 1];
    size_t len = 0;
    snprintf(name, sizeof(name), "%.*s", at_most(call->argv[0], ECHO_MAX), call->argv[0].data);
    args[0] = '\0';
    for (int i = 1; i < call->argc && len < ECHO_MAX; i++)
        len += (size_t)snprintf(args + len, sizeof(args) - len, "'%.*s' ",
                                at_most(call->argv[i], ECHO_MAX - len), call->argv[i].data);
    failf(call, ERR_UNKNOWN_COMMAND, name, args);
}

static void fail_unknown_subcommand(struct call *call)
{
    char name[ECHO_MAX + 1];
    snprintf(name, sizeof(name), "%.*s", at_most(call->argv[1], ECHO_MAX), call->argv[1].data);
    failf(call, ERR_UNKNOWN_SUBCOMMAND, name, call->command.parent->name);
}

/* A refused EXEC ends its MULTI and replies the reason. */
static void abort_exec(struct dispatch *dispatch, struct call *call, enum error error)
{
    static const char plain_code[] = "ERR ";
    char name[NAME_SIZE], reason[REASON_SIZE];
    command_full_name(call->command, name, sizeof(name));
    snprintf(reason, sizeof(reason), error_text(error), name);
    size_t skip = strncmp(reason, plain_code, strlen(plain_code)) == 0 ? strlen(plain_code) : 0;
    multi_drop(call->session);
    watch_forget(dispatch->watch, call->session);
    failf(call, ERR_EXEC_REFUSED, reason + skip);
}

static bool refuse_call(struct dispatch *dispatch, struct call *call, enum error error)
{
    if (call->command.row->flags & RUNS_QUEUE)
        abort_exec(dispatch, call, error);
    else
        fail_named(call, error);
    return true;
}

/* ---- gates ---------------------------------------------------------------------------------- */

static bool is_unknown(struct call *call)
{
    if (call->command.row != NULL) return false;
    if (call->command.parent != NULL)
        fail_unknown_subcommand(call);
    else
        fail_unknown(call);
    return true;
}

static bool lacks_rights(struct dispatch *dispatch, struct call *call)
{
    enum acl_where where = call->session->multi != NULL ? ACL_IN_MULTI : ACL_TOPLEVEL;
    enum acl_verdict verdict = rights_check(dispatch, call, where);
    if (verdict == ACL_ALLOWED) return false;
    return refuse_call(dispatch, call, rights_error(verdict));
}

/* Inside MULTI every queued command needs memory, because the queue takes some. */
static bool wants_memory(const struct call *call, unsigned flags)
{
    if (flags & RUNS_QUEUE) return multi_flags(call->session) & GROWS;
    return (flags & GROWS) || (call->session->multi != NULL && !(flags & NOT_QUEUED));
}

/* Keys are evicted before a script runs, not between its commands. */
static bool runs_script(const struct call *call)
{
    unsigned flags = call->command.row->flags;
    if (flags & RUNS_QUEUE) flags |= multi_flags(call->session);
    return flags & RUNS_SCRIPT;
}

static bool is_over_limit(const struct dispatch *dispatch)
{
    int64_t limit = dispatch->conf->maxmemory;
    return limit > 0 && mem_used() - dispatch->uncounted > (uint64_t)limit;
}

/* For INFO: how long memory use exceeds maxmemory although keys are evicted. */
static void note_limit(struct dispatch *dispatch)
{
    struct spell *spell = &dispatch->stats->over_memory;
    int64_t now = clock_quick_usec(dispatch->clock);
    if (is_over_limit(dispatch))
        spell_begin(spell, now);
    else
        spell_end(spell, now);
}

/* Evicts up to `most` keys. False: no key may be evicted. */
static bool evict_keys(struct dispatch *dispatch, size_t most)
{
    enum evict_policy policy = (enum evict_policy)dispatch->conf->maxmemory_policy;
    struct txn txn;
    bool able = true;
    txn_begin(&txn, dispatch->store, clock_now(dispatch->clock), FROM_EVICTION);
    for (; able && most > 0 && is_over_limit(dispatch); most--) {
        if (reclaim_pending(&dispatch->store->reclaim))
            reclaim_run(&dispatch->store->reclaim, RECLAIM_PER_EVICTION);
        else
            able = evict_one(&txn, policy, (unsigned)dispatch->conf->maxmemory_samples);
    }
    txn_commit(&txn);
    note_limit(dispatch);
    return able;
}

/* Eviction that one call does not finish continues in the background. A replica evicts nothing: the
 * effects that its master sends must find the master's data. Nor does a pause, which the call may
 * have to wait for. */
static bool out_of_memory(struct dispatch *dispatch)
{
    if (mem_is_short()) return true; /* the system has no more */
    if (dispatch->role.replica && dispatch->conf->replica_ignore_maxmemory) return false;
    if (!is_over_limit(dispatch)) return false;
    if (dispatch_keeps_data(dispatch, clock_now(dispatch->clock))) return dispatch->role.replica;
    dispatch->evicting = evict_keys(dispatch, EVICTIONS_PER_CALL);
    return !dispatch->evicting;
}

bool dispatch_evict(struct dispatch *dispatch, size_t most)
{
    if (dispatch->stats->over_memory.since_usec != 0) note_limit(dispatch);
    if (!dispatch->evicting || dispatch->loading || dispatch->busy) return false;
    if (dispatch_keeps_data(dispatch, clock_now(dispatch->clock))) return false;
    if (is_over_limit(dispatch) && evict_keys(dispatch, most)) return true;
    dispatch->evicting = false;
    return false;
}

const char *dispatch_write_refusal(const struct dispatch *dispatch)
{
    return dispatch->persist != NULL ? persist_refusal(dispatch->persist) : NULL;
}

/* Refuse writes while persistence fails. PING is refused too, so that monitors notice, as in Redis.
 */
static bool is_unsafe_to_write(struct dispatch *dispatch, struct call *call)
{
    const char *why = dispatch_write_refusal(dispatch);
    if (why == NULL) return false;
    unsigned flags = call->command.row->flags;
    if (flags & RUNS_QUEUE) flags |= multi_flags(call->session);
    if (!(flags & (WRITE | TELLS_HEALTH))) return false;
    if (flags & RUNS_QUEUE) {
        multi_drop(call->session);
        watch_forget(dispatch->watch, call->session);
    }
    failf(call, ERR_MISCONF, why);
    return true;
}

/* The command's flags; of EXEC, those of its queue, too. */
static unsigned all_flags(const struct call *call)
{
    unsigned flags = call->command.row->flags;
    return flags & RUNS_QUEUE ? flags | multi_flags(call->session) : flags;
}

static bool may_not_write_here(struct dispatch *dispatch, struct call *call)
{
    enum error why;
    return role_refuses_writes(dispatch, &why) && (all_flags(call) & WRITE) &&
           refuse_call(dispatch, call, why);
}

static bool is_too_stale(const struct dispatch *dispatch, const struct call *call)
{
    if (!role_is_too_stale(dispatch)) return false;
    if (call->command.row->flags & RUNS_QUEUE) return multi_needs_data(call->session);
    return !(call->command.row->flags & STALE);
}

static bool is_subscribed_only(const struct session *session)
{
    return !resp_has_push(&session->out) && session_subscriptions(session) > 0;
}

static enum error busy_error(const struct dispatch *dispatch)
{
    return dispatch->busy == BUSY_FUNCTION ? ERR_BUSY_FUNCTION : ERR_BUSY_SCRIPT;
}

void dispatch_fail_busy(const struct dispatch *dispatch, struct call *call)
{
    fail(call, busy_error(dispatch));
}

/* May evict keys, and keeps for the script what it found. Neither while a script runs. */
static bool lacks_memory(struct dispatch *dispatch, struct call *call)
{
    if (dispatch->busy) return false;
    if (wants_memory(call, call->command.row->flags) && out_of_memory(dispatch)) return true;
    if (runs_script(call)) dispatch->script_lacks_memory = out_of_memory(dispatch);
    return false;
}

/* True: the call was refused, and the error is replied. */
static bool is_refused(struct dispatch *dispatch, struct call *call)
{
    if (is_unknown(call)) return true;
    const struct command *row = call->command.row;
    if (!command_fits_arity(row, call->argc)) return refuse_call(dispatch, call, ERR_ARITY);
    if (!(row->flags & NO_AUTH) && dispatch_needs_auth(dispatch, call->session))
        return refuse_call(dispatch, call, ERR_NOAUTH);
    if (call->session->multi != NULL && (row->flags & NO_MULTI))
        return refuse_call(dispatch, call, ERR_NO_MULTI);
    if (rights_are_limited(call->session) && lacks_rights(dispatch, call)) return true;
    if (slot_gate_refuses(dispatch, call)) return true;
    if (lacks_memory(dispatch, call)) return refuse_call(dispatch, call, ERR_OOM);
    if (is_unsafe_to_write(dispatch, call)) return true;
    if (may_not_write_here(dispatch, call)) return true;
    if (!(row->flags & WHILE_SUBSCRIBED) && is_subscribed_only(call->session))
        return refuse_call(dispatch, call, ERR_SUBSCRIBED);
    if (call->session->monitoring && (row->flags & (WRITE | READONLY | MAY_REPLICATE)))
        return refuse_call(dispatch, call, ERR_MONITOR_KEYS);
    if (is_too_stale(dispatch, call)) return refuse_call(dispatch, call, ERR_MASTERDOWN);
    if (dispatch->loading && !(row->flags & LOADING))
        return refuse_call(dispatch, call, ERR_LOADING);
    if (dispatch->busy && !(row->flags & ALLOW_BUSY))
        return refuse_call(dispatch, call, busy_error(dispatch));
    return false;
}

/* Any pause delays commands that would change data, also before they are queued. */
static bool is_held_up(struct dispatch *dispatch, const struct call *call)
{
    unsigned flags = call->command.row->flags;
    enum pause_kind kind = pause_now(&dispatch->pause, clock_now(dispatch->clock));
    if (kind == PAUSE_NONE || (flags & WHILE_PAUSED)) return false;
    if (flags & RUNS_QUEUE) flags |= multi_flags(call->session);
    return kind == PAUSE_ALL || (flags & (WRITE | MAY_REPLICATE));
}

/* ---- keys of a call ---------------------------------------------------------------------------
 */

/* True as soon as `look` returns true for one of the keys. */
static bool any_key(struct dispatch *dispatch, const struct call *call,
                    bool (*look)(struct dispatch *dispatch, const struct call *call,
                                 struct bytes key))
{
    int *positions = mem_alloc((size_t)call->argc * sizeof(*positions));
    int count = command_keys(call->command.row, call->argc, call->argv, positions);
    bool found = false;
    for (int i = 0; i < count && !found; i++)
        found = look(dispatch, call, call->argv[positions[i]]);
    mem_free(positions);
    return found;
}

/* ---- running -------------------------------------------------------------------------------- */

static bool note_read(struct dispatch *dispatch, const struct call *call, struct bytes key)
{
    tracking_note_read(dispatch->hooks->tracking, call->session, key);
    return false;
}

/* The client may now cache the keys that it has read. */
static void note_reads(struct dispatch *dispatch, const struct call *call)
{
    any_key(dispatch, call, note_read);
}

/* ---- room ----------------------------------------------------------------------------------- */

enum { LARGE = 1 << 20 }; /* bytes; smaller needs are met by the memory reserve */

/* Room for a copy of the value and for its journal record. */
static bool has_room_twice(size_t bytes)
{
    return bytes < LARGE || mem_has_room(2 * bytes);
}

static bool key_has_no_room(struct dispatch *dispatch, const struct call *call, struct bytes key)
{
    (void)dispatch;
    struct entry *entry = keyspace_find(call->txn->ks, key);
    return entry != NULL && !has_room_twice(object_bytes(&entry->object));
}

/* Nothing is evicted during a command, so a command that needs much memory is refused if there is
 * not enough. The memory reserve covers its smaller needs. */
static bool lacks_room(struct dispatch *dispatch, const struct call *call)
{
    unsigned flags = call->command.row->flags;
    size_t bytes = 0;
    for (int i = 1; (flags & GROWS) && i < call->argc; i++)
        bytes += call->argv[i].len;
    return !has_room_twice(bytes) || ((flags & COPIES) && any_key(dispatch, call, key_has_no_room));
}

/* On a replica only commands that write remove what has expired, not even WATCH does. */
static void set_expiry(struct dispatch *dispatch, const struct call *call)
{
    unsigned flags = call->command.row->flags;
    struct txn *txn = call->txn;
    txn->no_purge = dispatch->role.replica && !(flags & WRITE);
    txn->no_expiry = txn->no_purge || (pause_is_on(&dispatch->pause) && (flags & READONLY) &&
                                       dispatch_keeps_data(dispatch, txn->now));
    if (flags & NAMES_MEMBERS) txn_names_members(txn, call->argv + 1, (size_t)call->argc - 1);
}

static void run_call(struct dispatch *dispatch, struct call *call)
{
    call->txn->caller = call->session;
    call->txn->no_touch = call->session->no_touch;
    set_expiry(dispatch, call);
    dispatch->stats->commands++;
    struct observer *observer = dispatch->observer;
    int64_t began = observer != NULL ? observe_begin(observer) : 0;
    if (lacks_room(dispatch, call))
        fail(call, ERR_OOM);
    else
        call->command.row->run(call);
    if (call->failed) txn_call_failed(call->txn);
    /* A script reads by the commands that it calls. */
    bool reads = (call->command.row->flags & (READONLY | RUNS_SCRIPT)) == READONLY;
    if (reads && tracking_wants_reads(call->session)) note_reads(dispatch, call);
    if (observer != NULL) observe_end(observer, call, began);
    if (call->failed) dispatch->stats->errors++;
}

void dispatch_call(struct dispatch *dispatch, struct call *call)
{
    txn_call(call->txn, call->session->db);
    run_call(dispatch, call);
}

/* Blocks a call that found nothing and changed nothing. */
static void block_caller(struct dispatch *dispatch, struct call *call)
{
    struct call kept = *call;
    if (call->block->argv != NULL) kept.argv = call->block->argv;
    bool blocks = blocked_block(dispatch->blocked, &kept, call->block);
    mem_free(call->block->argv);
    if (blocks) return;
    dispatch->stats->errors++;
    fail(call, ERR_OOM);
}

enum { WAKE_BATCH = 64 };

static void run_alone(struct dispatch *dispatch, struct call *call)
{
    /* Serve the blocked clients whose keys are ready at this time before a request that comes now.
     */
    if (instant_due(blocked_next_wake(dispatch->blocked), clock_now(dispatch->clock)))
        serve_due(dispatch, WAKE_BATCH);
    struct txn txn;
    struct block_request block = { 0 };
    txn_begin(&txn, dispatch->store, clock_now(dispatch->clock), FROM_CLIENT);
    txn_call(&txn, call->session->db);
    call->txn = &txn;
    call->block = &block;
    run_call(dispatch, call);
    txn_commit(&txn);
    if (block.count > 0) block_caller(dispatch, call);
    if (blocked_pending(dispatch->blocked)) serve_ready(dispatch);
}

/* The transaction of the script is open. Only WATCH looks at data here: it finds expired keys, and
 * changes nothing. */
static void run_while_busy(struct dispatch *dispatch, struct call *call)
{
    struct txn txn;
    txn_begin(&txn, dispatch->store, clock_now(dispatch->clock), FROM_REPLAY);
    txn_call(&txn, call->session->db);
    call->txn = &txn;
    run_call(dispatch, call);
    ensure(txn.changes == 0, "%s changed data while a script runs", call->command.row->name);
}

/* Must the request wait for the end of a pause, or of work on a key? */
static bool is_put_off(struct dispatch *dispatch, const struct call *call)
{
    if (dispatch->busy) return false;
    if (pause_is_on(&dispatch->pause) && is_held_up(dispatch, call)) return true;
    bool runs = call->session->multi == NULL || (call->command.row->flags & RUNS_QUEUE);
    return runs && settle_delays(dispatch, call);
}

static void queue_call(struct dispatch *dispatch, struct call *call)
{
    if (multi_queue(call->session, call)) {
        resp_status(call->out, "QUEUED");
        return;
    }
    multi_break(call->session);
    dispatch->stats->errors++;
    fail(call, ERR_OOM);
}

/* CLIENT REPLY SKIP suppresses the reply of the next request. */
void dispatch_answered(struct session *session)
{
    if (session->reply_mode == REPLY_SKIPPING)
        session->reply_mode = REPLY_ON;
    else if (session->reply_mode == REPLY_SKIP_NEXT)
        session->reply_mode = REPLY_SKIPPING;
    session->out.mute = session->reply_mode == REPLY_OFF || session->reply_mode == REPLY_SKIPPING;
}

/* A web page can make a browser connect to us. HTTP request lines begin with these words; the lines
 * that follow must not run. */
static bool is_http(struct bytes name)
{
    return bytes_is_word(name, "post") || bytes_is_word(name, "host:");
}

bool dispatch_request(struct dispatch *dispatch, struct session *session,
                      struct command_ref command, int argc, const struct bytes *argv)
{
    ensure(session->blocked == NULL, "session %llu waits", (unsigned long long)session->id);
    struct call call = {
        .command = command, .argc = argc, .argv = argv, .out = &session->out, .session = session
    };
    call.context = call.command.context;
    if (is_http(argv[0])) {
        log_line(LOG_WARNING,
                 "Client %s closed: it sent an HTTP request, possibly forged by a web page. Set a "
                 "password, and let only clients of yours reach the port",
                 session->peer != NULL ? session->peer : "");
        session->close_after_reply = true;
        return true;
    }
    session->last_command = call.command.row;
    session->last_parent = call.command.row != NULL ? call.command.parent : NULL;
    if (dispatch->hooks->tracks && !dispatch->busy)
        tracking_limit(dispatch->hooks->tracking, (size_t)dispatch->conf->tracking_table_max_keys);
    if (is_refused(dispatch, &call)) {
        multi_break(session);
        dispatch->stats->errors++;
        if (dispatch->observer != NULL) observe_rejected(dispatch->observer, &call);
    } else if (is_put_off(dispatch, &call)) {
        return false;
    } else if (session->multi != NULL && !(call.command.row->flags & NOT_QUEUED)) {
        queue_call(dispatch, &call);
    } else if (dispatch->busy) {
        run_while_busy(dispatch, &call);
    } else {
        run_alone(dispatch, &call);
    }
    bool keeps = call.command.row != NULL && (call.command.row->flags & KEEPS_CACHING);
    if (session->multi == NULL && !keeps) tracking_end_caching(session);
    if (session->blocked == NULL) dispatch_answered(session);
    return true;
}
