/* dehydrators: see dehydrators.h. */
#include "server/module/dehydrators.h"

#include <stdio.h>

#include "server/call/error.h"
#include "server/cmd/cmd.h"
#include "server/module/canonical.h"
#include "server/module/held_value.h"
#include "server/module/one_key.h"
#include "server/module/reply.h"
#include "server/persist/format/effect_text.h"
#include "store/mem/mem.h"
#include "store/sweep/expiry.h"
#include "store/txn/apply.h"

enum { ANNOUNCED_AT_ONCE = 1 }; /* one key has one announcement */

static const struct command_group *const groups[] = {
    &dehydrator_commands,
    &dehydrator_due_commands,
    &dehydrator_look_commands,
};
/* The commands of effects that clients have no command for. */
static const char *const replayed[] = { "x.rede.push", "x.rede.pushat", "x.rede.move",
                                        "x.rede.pull" };

static struct commands *commands;
static struct due_keys due;

struct due_keys *dehydrators_due(void)
{
    return &due;
}

/* ---- when elements fall due ------------------------------------------------------------------ */

static struct bytes bytes_in(const RedisModuleString *text)
{
    struct bytes bytes;
    bytes.data = redis.StringPtrLen(text, &bytes.len);
    return bytes;
}

static void note(unsigned db, struct bytes name, struct due_at next)
{
    struct due_key *key = due_keys_find(&due, db, name);
    if (due_at_is_never(next)) {
        if (key != NULL) due_keys_forget(&due, db, key);
        return;
    }
    if (key == NULL) key = due_keys_add(&due, db, name);
    if (key != NULL) due_keys_set(&due, db, key, next);
}

static void note_result(const struct one_key *one)
{
    note((unsigned)redis.GetSelectedDb(one->ctx), bytes_in(one->name), one->next);
}

void dehydrators_note(unsigned db, struct bytes name, RedisModuleKey *key)
{
    const struct held_value *held = held_value_of(key);
    if (held != NULL) note(db, name, object_next_due(&held->object));
}

bool dehydrators_announce(RedisModuleCtx *ctx, msec now)
{
    unsigned db;
    struct one_key one;
    const struct due_key *key = due_keys_first(&due, now, &db);
    if (key == NULL) return false;
    RedisModuleString *name = redis.CreateString(ctx, key->name, key->len);
    redis.SelectDb(ctx, (int)db);
    one_key_open(&one, ctx, name, true);
    expiry_run(one_key_store(&one), now, ANNOUNCED_AT_ONCE);
    one_key_close(&one, false);
    note(db, bytes_in(name), one.next);
    redis.FreeString(ctx, name);
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static struct bytes *arguments(RedisModuleString **argv, int argc)
{
    struct bytes *args = mem_alloc((size_t)argc * sizeof(*args));
    for (int i = 0; i < argc; i++)
        args[i] = bytes_in(argv[i]);
    return args;
}

/* Replicas, and masters that load a file, leave it to a master to announce what is due. */
static bool is_passive(RedisModuleCtx *ctx)
{
    int flags = redis.GetContextFlags(ctx);
    return !(flags & CTX_MASTER) || flags & CTX_LOADING;
}

static void run_call(RedisModuleCtx *ctx, struct call *call, struct store *store)
{
    struct txn txn;
    txn_begin(&txn, store, redis.Milliseconds(), FROM_CLIENT);
    txn.no_expiry = txn.no_purge = is_passive(ctx);
    txn_call(&txn, 0);
    call->txn = &txn;
    call->command.row->run(call);
    if (call->failed) txn_call_failed(&txn);
    txn_commit(&txn);
}

/* Runs a call of our rows, and replies; `call` has its arguments. */
static void run_on_key(RedisModuleCtx *ctx, RedisModuleString *name, struct call *call)
{
    struct one_key one;
    struct reply reply;
    struct resp_writer out = reply_begin(&reply, ctx);
    reply.null_is_array = call->command.row->flags & BLOCKING;
    call->out = &out;
    if (!command_fits_arity(call->command.row, call->argc)) {
        fail_named(call, ERR_ARITY);
        return;
    }
    one_key_open(&one, ctx, name, call->command.row->flags & WRITE);
    run_call(ctx, call, one_key_store(&one));
    one_key_close(&one, true);
    if (one.writes && !one.foreign) note_result(&one);
}

/* ---- blocked clients ------------------------------------------------------------------------- */

static int serve_blocked(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct bytes *args = arguments(argv, argc);
    struct block_request block = { 0 };
    struct call call = { .argc = argc, .argv = args, .block = &block, .ready = &args[1] };
    call.command = commands_find(commands, args[0]);
    run_on_key(ctx, argv[1], &call);
    mem_free(args);
    return block.count > 0 ? API_ERR : API_OK; /* an error: it stays blocked */
}

static int end_blocked(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    (void)argc;
    if (bytes_is_word(bytes_in(argv[0]), "REDE.CLAIM")) return redis.ReplyWithArray(ctx, 0);
    return redis.ReplyWithNullArray(ctx);
}

/* The engine waits for at least 1 ms; 0 means for ever. */
static void block(RedisModuleCtx *ctx, RedisModuleString **argv, const struct block_request *block)
{
    msec timeout = 0;
    if (block->until != NEVER) {
        timeout = block->until - redis.Milliseconds();
        if (timeout < 1) timeout = 1;
    }
    redis.BlockClientOnKeys(ctx, serve_blocked, end_blocked, NULL, timeout, &argv[1], 1, NULL);
}

/* ---- commands -------------------------------------------------------------------------------- */

static int run(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct bytes *args = arguments(argv, argc);
    struct block_request request = { 0 };
    bool may_block = !(redis.GetContextFlags(ctx) & (CTX_LUA | CTX_MULTI | CTX_DENY_BLOCKING));
    struct call call = { .argc = argc, .argv = args, .block = may_block ? &request : NULL };
    call.command = commands_find(commands, args[0]);
    run_on_key(ctx, argc > 1 ? argv[1] : NULL, &call);
    if (request.count > 0) block(ctx, argv, &request);
    mem_free(args);
    return API_OK;
}

static bool apply_visited(void *txn, const struct effect *effect)
{
    return apply_effect(txn, effect);
}

/* Of a master or a file, that is of this module: no client may send it. */
static int replay(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct one_key one;
    struct effect_reader reader;
    struct txn txn;
    if (!(redis.GetContextFlags(ctx) & (CTX_REPLICATED | CTX_LOADING)) || argc < 2)
        return redis.ReplyWithError(ctx, "ERR only a master or a file may use this command");
    struct bytes *args = arguments(argv, argc);
    one_key_open(&one, ctx, argv[1], true);
    effect_reader_init(&reader);
    txn_begin(&txn, one_key_store(&one), redis.Milliseconds(), FROM_REPLAY);
    bool good = !one.foreign && effect_text_read(argc, args, &reader, apply_visited, &txn);
    txn_commit(&txn);
    one_key_close(&one, false);
    if (!one.foreign) note_result(&one);
    mem_free(args);
    if (!good) return redis.ReplyWithError(ctx, "ERR the effect does not fit the data");
    redis.ReplicateVerbatim(ctx);
    return redis.ReplyWithSimpleString(ctx, "OK");
}

static bool register_row(RedisModuleCtx *ctx, const struct command *row)
{
    char flags[64];
    snprintf(flags, sizeof(flags), "%s%s%s%s", row->flags & WRITE ? "write" : "readonly",
             row->flags & GROWS ? " deny-oom" : "", row->flags & FAST ? " fast" : "",
             row->flags & NOSCRIPT ? " deny-script" : "");
    return redis.CreateCommand(ctx, row->name, run, flags, 1, 1, 1) == API_OK;
}

bool dehydrators_start(RedisModuleCtx *ctx)
{
    bool good = held_value_start(ctx);
    due_keys_init(&due);
    one_key_init();
    commands = commands_new();
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        commands_add(commands, groups[g], NULL);
        for (size_t i = 0; i < groups[g]->count; i++)
            good = good && register_row(ctx, &groups[g]->rows[i]);
    }
    for (size_t i = 0; i < sizeof(replayed) / sizeof(replayed[0]); i++)
        good = good && redis.CreateCommand(ctx, replayed[i], replay, "write", 1, 1, 1) == API_OK;
    return good;
}
