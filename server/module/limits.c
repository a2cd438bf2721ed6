/* limits: CL.THROTTLE, CL.THROTTLEMS and CL.WINDOW on strings of the host.
 *
 * The commands' functions in server/cmd need a store. All calls share one with a single database:
 * each copies the host's string into it, runs there as in the daemon, and leaves it empty. If the
 * call has changed the string, a SET of the host with PXAT writes it back. Replicas and the
 * append-only file receive that SET, and the host sends its events `set` and `expire`. */
#include "server/module/commands.h"

#include "server/cmd/call/call.h"
#include "server/cmd/string/string.h"
#include "server/module/api/command_info.h"
#include "server/module/api/reply.h"
#include "store/guest.h"
#include "store/txn/txn.h"

enum { RECLAIM_WORK = 1024 };

static struct commands *commands;
static struct store *store;

static int run_limit(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    enum { ARGUMENTS_MAX = 8 };
    struct bytes args[ARGUMENTS_MAX] = { { NULL, 0 } }, text;
    if (argc < 2 || argc > ARGUMENTS_MAX) return redis.WrongArity(ctx);
    for (int i = 0; i < argc; i++)
        args[i] = api_bytes(argv[i]);
    struct txn txn;
    struct reply reply;
    struct resp_writer out = reply_begin(&reply, ctx, redis.GetContextFlags(ctx));
    struct call call = { .argc = argc, .argv = args, .out = &out, .txn = &txn };
    call.command = commands_find(commands, args[0]);
    txn_begin(&txn, store, redis.Milliseconds(), FROM_CLIENT);
    txn_call(&txn, 0);

    RedisModuleKey *key = redis.OpenKey(ctx, argv[1], KEY_READ);
    int type = redis.KeyType(key);
    if (type == KEYTYPE_STRING) {
        text.data = redis.StringDMA(key, &text.len, KEY_READ);
        const struct string_set how = { .at = NEVER, .event = EVENT_SET };
        txn_string_set(&txn, args[1], text, &how);
    } else if (type != KEYTYPE_EMPTY) {
        /* An empty list represents the value, so that the command replies WRONGTYPE. */
        guest_lend(store, args[1], object_new(TYPE_LIST));
    }
    redis.CloseKey(key);

    uint64_t before = txn.changes;
    call_run(&call);
    struct entry *entry = keyspace_find(store_database(store, 0), args[1]);
    if (entry != NULL && txn.changes > before) {
        text = object_text(&entry->object);
        long long at = entry_expires_at(store_database(store, 0), entry);
        RedisModuleCallReply *set =
            redis.Call(ctx, "SET", "!sbcl", argv[1], text.data, text.len, "PXAT", at);
        if (set != NULL) redis.FreeCallReply(set);
    }
    if (entry != NULL) txn_key_drop(&txn, entry, EVENT_DEL);
    txn_commit(&txn);
    while (reclaim_run(&store->reclaim, RECLAIM_WORK))
        continue;
    return API_OK;
}

static void add_limits(RedisModuleCtx *ctx, const struct command_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (!command_info_register(ctx, &group->rows[i], run_limit))
            redis.Log(ctx, "notice",
                      "%s is not registered: another module has a command of that name",
                      group->rows[i].name);
    commands_add(commands, group, NULL);
}

void limits_start(RedisModuleCtx *ctx)
{
    commands = commands_new();
    store = store_new(1);
    tokens_disable(&store->tokens);
    add_limits(ctx, &throttle_commands);
    add_limits(ctx, &window_commands);
}
