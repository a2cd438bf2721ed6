/* commands: see commands.h. A command of ours that blocks becomes a blocked client of the host,
 * which calls serve_blocked when one of the keys is ready. */
#include "server/module/commands.h"

#include <stdio.h>

#include "server/cmd/cmd.h"
#include "server/cmd/dehydrator/dehydrator.h"
#include "server/cmd/geo/geo.h"
#include "server/cmd/hash/hash.h"
#include "server/cmd/member/member.h"
#include "server/cmd/set/set.h"
#include "server/cmd/zset/zset.h"
#include "server/disk/effect/effect_text.h"
#include "server/module/api/command_info.h"
#include "server/module/api/reply.h"
#include "server/module/api/stream_readers.h"
#include "server/module/values/canonical.h"
#include "server/module/values/due_values.h"
#include "server/module/values/held_value.h"
#include "server/module/values/lent_keys.h"
#include "store/mem/mem.h"
#include "store/txn/apply.h"

static const struct command_group *const dehydrator_groups[] = {
    &dehydrator_commands,
    &dehydrator_due_commands,
    &dehydrator_claim_commands,
    &dehydrator_look_commands,
};

static const struct command_group *const collection_groups[] = {
    &set_commands,        &set_algebra_commands, &hash_commands,          &zset_commands,
    &zset_pop_commands,   &zset_range_commands,  &zset_algebra_commands,  &hash_expire_commands,
    &set_expire_commands, &zset_expire_commands, &other_servers_commands, &set_scan_commands,
    &hash_scan_commands,  &zset_scan_commands,   &geo_commands,           &geo_search_commands,
};

/* Commands that the module leaves out. BZTSMOVE pushes to a list, and lists belong to the host. For
 * the others, positions do not suffice to find all keys, and the host lets a command open only keys
 * whose positions it was told. */
static const char *const left_out[] = { "BZTSMOVE", "GEORADIUS", "GEORADIUSBYMEMBER",
                                        "REDE.FAIRCLAIM", "REDE.FAIRINFO" };

enum { FEW = 16, LEFT_OUT = sizeof(left_out) / sizeof(left_out[0]) };

static struct commands *commands;

/* The arguments of one call; a few are on the stack. */
struct arguments {
    struct bytes *all;
    struct bytes few[FEW];
};

static void arguments_begin(struct arguments *args, RedisModuleString **argv, int argc)
{
    args->all = argc <= FEW ? args->few : mem_alloc((size_t)argc * sizeof(*args->all));
    for (int i = 0; i < argc; i++)
        args->all[i] = api_bytes(argv[i]);
}

static void arguments_end(struct arguments *args)
{
    if (args->all != args->few) mem_free(args->all);
}

/* Runs a call on the lent keys. A read must not remove expired members, because this node may be a
 * replica. */
static void run_call(struct call *call, msec now)
{
    struct txn txn;
    txn_begin(&txn, lent_keys_store(), now, FROM_CLIENT);
    txn.no_expiry = txn.no_purge = !(call->command.row->flags & WRITE);
    txn_call(&txn, 0);
    call->txn = &txn;
    call_run(call);
    txn_commit(&txn);
}

static void close_all(struct lent_keys *lent)
{
    lent_keys_take_back(lent);
    if (lent->writes) due_values_note_lent(lent);
    lent_keys_close(lent);
}

static void open_all(struct lent_keys *lent, RedisModuleCtx *ctx, const struct call *call,
                     RedisModuleString **argv)
{
    int few[FEW];
    int *positions = call->argc <= FEW ? few : mem_alloc((size_t)call->argc * sizeof(*positions));
    int count = command_keys(call->command.row, call->argc, call->argv, positions);
    lent_keys_begin(lent, ctx, call->command.row->flags & WRITE);
    lent->verbatim = !stream_readers_exist(ctx);
    for (int i = 0; i < count; i++)
        lent_keys_open(lent, argv[positions[i]]);
    if (positions != few) mem_free(positions);
}

struct wait {
    enum type type;
    enum no_answer no_answer; /* ANSWER_NULL or ANSWER_EMPTY */
};

static void free_wait(RedisModuleCtx *ctx, void *wait)
{
    (void)ctx;
    mem_free(wait);
}

/* API_ERR keeps the client blocked. */
static int serve_blocked(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct lent_keys lent;
    struct reply reply;
    const struct wait *wait = redis.GetBlockedClientPrivateData(ctx);
    RedisModuleString *name = redis.GetBlockedClientReadyKey(ctx);
    struct arguments args;
    arguments_begin(&args, argv, argc);
    struct bytes ready = api_bytes(name);
    struct block_request block = { 0 };
    struct resp_writer out = reply_begin(&reply, ctx, redis.GetContextFlags(ctx));
    struct call call = {
        .argc = argc, .argv = args.all, .out = &out, .block = &block, .ready = &ready
    };
    call.command = commands_find(commands, api_bytes(argv[0]));
    lent_keys_begin(&lent, ctx, true);
    lent_keys_open(&lent, name);
    const struct held_value *held = lent.keys[0].held;
    bool runs = held != NULL && held->object.type == wait->type;
    if (runs) run_call(&call, redis.Milliseconds());
    close_all(&lent);
    if (block.again != 0 && block.again != NEVER) due_values_wake(ctx, name, block.again);
    arguments_end(&args);
    return !runs || block.count > 0 ? API_ERR : API_OK;
}

static int end_blocked(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    (void)argv;
    (void)argc;
    const struct wait *wait = redis.GetBlockedClientPrivateData(ctx);
    return wait->no_answer == ANSWER_EMPTY ? redis.ReplyWithArray(ctx, 0)
                                           : redis.ReplyWithNullArray(ctx);
}

/* The host's shortest timeout is 1 ms; 0 means no timeout. */
static void block(RedisModuleCtx *ctx, RedisModuleString **argv, const struct block_request *block)
{
    msec timeout = 0;
    if (block->until != NEVER) {
        timeout = block->until - redis.Milliseconds();
        if (timeout < 1) timeout = 1;
    }
    struct wait *wait = mem_alloc(sizeof(*wait));
    *wait = (struct wait){ block->type, block->no_answer };
    if (block->again != 0 && block->again != NEVER)
        due_values_wake(ctx, argv[block->first], block->again);
    redis.BlockClientOnKeys(ctx, serve_blocked, end_blocked, free_wait, timeout,
                            &argv[block->first], block->count, wait);
}

/* ---- replicated effects ---------------------------------------------------------------------- */

/* Effects arrive as commands, from a master or from the append-only file. Their transaction has the
 * origin FROM_MASTER, so that nothing expires on access: the effects of expiry also come from
 * there. */

/* The commands that only a master or a file may send. */
static const char *const only_replayed[] = {
    "x.rede.push",    "x.rede.pushat", "x.rede.move",     "x.rede.pull",
    "x.rede.options", "x.rede.follow", "x.rede.unfollow", "x.rede.remember",
    "x.rede.forget",  "x.rede.pause",  "x.rede.rate",     "x.rede.cron",
};

static struct effect_reader reader; /* kept, because it has a table of names */

/* Does a call with these flags (GetContextFlags) come from a master or a file? */
static bool is_replicated(int flags)
{
    return flags & (CTX_REPLICATED | CTX_LOADING);
}

static bool apply_visited(void *txn, const struct effect *effect)
{
    return apply_effect(txn, effect);
}

static int replay(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct lent_keys lent;
    lent_keys_begin(&lent, ctx, true);
    lent.verbatim = true;
    lent_keys_open(&lent, argv[1]);
    bool good = !lent.keys[0].foreign;
    if (good) {
        const struct bytes prefix = LIT(CANONICAL_PREFIX);
        struct txn txn;
        struct bytes *args = mem_alloc((size_t)argc * sizeof(*args));
        for (int i = 0; i < argc; i++)
            args[i] = api_bytes(argv[i]);
        struct bytes name = args[0];
        if (name.len > prefix.len && bytes_equal(bytes_of(name.data, prefix.len), prefix))
            args[0] = bytes_of(name.data + prefix.len, name.len - prefix.len);
        txn_begin(&txn, lent_keys_store(), redis.Milliseconds(), FROM_MASTER);
        good = effect_text_read(argc, args, &reader, apply_visited, &txn);
        txn_commit(&txn);
        mem_free(args);
    }
    lent_keys_take_back(&lent);
    due_values_note_lent(&lent);
    lent_keys_close(&lent);
    if (!good) return redis.ReplyWithError(ctx, "ERR the effect does not fit the data");
    return redis.ReplyWithSimpleString(ctx, "OK");
}

static int run_replayed(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    if (is_replicated(redis.GetContextFlags(ctx)) && argc > 1) return replay(ctx, argv, argc);
    return redis.ReplyWithError(ctx, "ERR only a master or a file may use this command");
}

/* ---- our commands ---------------------------------------------------------------------------- */

static int run(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct arguments args;
    struct reply reply;
    arguments_begin(&args, argv, argc);
    int flags = redis.GetContextFlags(ctx);
    struct resp_writer out = reply_begin(&reply, ctx, flags);
    struct block_request request = { 0 };
    bool may_block = !(flags & (CTX_LUA | CTX_MULTI | CTX_DENY_BLOCKING));
    struct call call = {
        .argc = argc, .argv = args.all, .out = &out, .block = may_block ? &request : NULL
    };
    call.command = commands_find(commands, api_bytes(argv[0]));
    if (redis.IsKeysPositionRequest(ctx)) {
        command_info_report_keys(ctx, call.command.row, argc, args.all);
    } else if ((call.command.row->flags & WRITE) && is_replicated(flags)) {
        replay(ctx, argv, argc);
    } else {
        struct lent_keys lent;
        msec now = redis.Milliseconds();
        open_all(&lent, ctx, &call, argv);
        /* On a master even a read removes expired members, for which keys must be open for
         * writing. */
        if (!lent.writes && lent_keys_overdue(&lent, now)) {
            lent_keys_take_back(&lent);
            due_values_remove_overdue(ctx, &lent, now);
            lent_keys_close(&lent);
            open_all(&lent, ctx, &call, argv);
        }
        run_call(&call, now);
        close_all(&lent);
        if (request.count > 0) block(ctx, argv, &request);
    }
    arguments_end(&args);
    return API_OK;
}

/* Adds copies of our rows with the names that they have in the host. They are never freed. */
static bool add_group(RedisModuleCtx *ctx, const struct command_group *group, const char *prefix)
{
    struct command *rows = mem_alloc(group->count * sizeof(*rows));
    struct command_group added = { .name = group->name, .rows = rows };
    for (size_t i = 0; i < group->count; i++) {
        const struct command *row = &group->rows[i];
        size_t left = 0;
        while (left < LEFT_OUT && strcmp(left_out[left], row->name) != 0)
            left++;
        if (left < LEFT_OUT) continue;
        size_t size = strlen(prefix) + strlen(row->name) + 1;
        char *name = mem_alloc(size);
        snprintf(name, size, "%s%s", prefix, row->name);
        rows[added.count] = *row;
        rows[added.count].name = name;
        if (!command_info_register(ctx, &rows[added.count++], run)) return false;
    }
    commands_add(commands, &added, NULL);
    return true;
}

bool commands_start(RedisModuleCtx *ctx)
{
    due_values_init();
    lent_keys_init();
    stream_readers_start(ctx);
    commands = commands_new();
    effect_reader_init(&reader);
    bool good = held_value_start(ctx, due_values_unlinked);
    for (size_t i = 0; i < sizeof(only_replayed) / sizeof(only_replayed[0]); i++)
        good = good &&
               redis.CreateCommand(ctx, only_replayed[i], run_replayed, "write", 1, 1, 1) == API_OK;
    for (size_t i = 0; i < sizeof(dehydrator_groups) / sizeof(dehydrator_groups[0]); i++)
        good = good && add_group(ctx, dehydrator_groups[i], "");
    for (size_t i = 0; i < sizeof(collection_groups) / sizeof(collection_groups[0]); i++)
        good = good && add_group(ctx, collection_groups[i], CANONICAL_PREFIX);
    if (good) limits_start(ctx);
    return good;
}
