/* replay: see replay.h. The transaction has the origin FROM_MASTER, so that nothing expires on
 * access: the effects of expiry also come from the master or the file. */
#include "server/module/values/replay.h"

#include "server/disk/effect/effect_text.h"
#include "server/module/values/canonical.h"
#include "server/module/values/due_values.h"
#include "server/module/values/lent_keys.h"
#include "store/mem/mem.h"
#include "store/txn/apply.h"

static const char *const only_replayed[] = {
    "x.rede.push",    "x.rede.pushat", "x.rede.move",     "x.rede.pull",
    "x.rede.options", "x.rede.follow", "x.rede.unfollow", "x.rede.remember",
    "x.rede.forget",  "x.rede.pause",  "x.rede.rate",     "x.rede.cron",
};

static struct effect_reader reader; /* kept, because it has a table of names */

bool replay_is_replicated(int flags)
{
    return flags & (CTX_REPLICATED | CTX_LOADING);
}

static bool apply_visited(void *txn, const struct effect *effect)
{
    return apply_effect(txn, effect);
}

int replay_run(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
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
    if (replay_is_replicated(redis.GetContextFlags(ctx)) && argc > 1)
        return replay_run(ctx, argv, argc);
    return redis.ReplyWithError(ctx, "ERR only a master or a file may use this command");
}

bool replay_start(RedisModuleCtx *ctx)
{
    effect_reader_init(&reader);
    for (size_t i = 0; i < sizeof(only_replayed) / sizeof(only_replayed[0]); i++)
        if (redis.CreateCommand(ctx, only_replayed[i], run_replayed, "write", 1, 1, 1) != API_OK)
            return false;
    return true;
}
