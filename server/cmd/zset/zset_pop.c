/* zset_pop: commands that take the lowest or highest members of the first of several sorted sets;
 * some block until there are some. ZPOPMIN and ZPOPMAX, for one key, are in zset_range.c. */
#include "server/call/args.h"
#include "server/cmd/blocking.h"
#include "server/cmd/cmd.h"

static void reply_next(struct call *call, struct zset_iter *iter, bool highest)
{
    struct bytes member;
    double score;
    if (highest)
        zset_iter_prev(iter, &member, &score);
    else
        zset_iter_next(iter, &member, &score);
    reply_bytes(call, member);
    resp_double(call->out, score);
}

/* Begins with the first one that is to be taken. */
static void begin(struct zset_iter *iter, const struct zset *zset, bool highest)
{
    zset_iter_at(iter, zset, highest ? zset_count(zset) - 1 : 0);
}

static void remove_end(struct call *call, struct entry *entry, bool highest, size_t count)
{
    size_t all = zset_count(entry->object.zset);
    txn_zset_remove_ranks(call->txn, entry, highest ? all - count : 0, highest ? all : count,
                          highest ? EVENT_ZPOPMAX : EVENT_ZPOPMIN);
}

/* [key, [[member, score] ...]], in both protocols */
static void take_many(struct call *call, const struct source *source, const struct multi_pop *pop)
{
    const struct zset *zset = source->entry->object.zset;
    struct zset_iter iter;
    size_t count = zset_count(zset);
    if ((uint64_t)pop->wanted < count) count = (size_t)pop->wanted;
    resp_array(call->out, 2);
    reply_bytes(call, source->key);
    resp_array(call->out, count);
    begin(&iter, zset, pop->back);
    for (size_t i = 0; i < count; i++) {
        resp_array(call->out, 2);
        reply_next(call, &iter, pop->back);
    }
    remove_end(call, source->entry, pop->back, count);
}

static void cmd_zmpop(struct call *call)
{
    struct multi_pop pop;
    struct source source;
    if (!arg_multi_pop(call, 1, "MIN", "MAX", &pop)) return;
    if (!find_source(call, TYPE_ZSET, pop.first, pop.count, &source)) return;
    if (source.entry != NULL)
        take_many(call, &source, &pop);
    else
        resp_null_array(call->out);
}

static void cmd_bzmpop(struct call *call)
{
    struct multi_pop pop;
    struct source source;
    msec until;
    if (!arg_multi_pop(call, 2, "MIN", "MAX", &pop)) return;
    if (!arg_timeout(call, 1, &until)) return;
    if (!find_source(call, TYPE_ZSET, pop.first, pop.count, &source)) return;
    if (source.entry != NULL)
        take_many(call, &source, &pop);
    else
        block_on(call,
                 &(struct block_request){
                     .first = pop.first, .count = pop.count, .type = TYPE_ZSET, .until = until });
}

/* [key, member, score] */
static void blocking_pop(struct call *call, bool highest)
{
    struct source source;
    struct zset_iter iter;
    msec until;
    int keys = call->argc - 2;
    if (!arg_timeout(call, call->argc - 1, &until)) return;
    if (!find_source(call, TYPE_ZSET, 1, keys, &source)) return;
    if (source.entry == NULL) {
        block_on(call, &(struct block_request){
                           .first = 1, .count = keys, .type = TYPE_ZSET, .until = until });
        return;
    }
    resp_array(call->out, 3);
    reply_bytes(call, source.key);
    begin(&iter, source.entry->object.zset, highest);
    reply_next(call, &iter, highest);
    remove_end(call, source.entry, highest, 1);
}

static void cmd_bzpopmin(struct call *call)
{
    blocking_pop(call, false);
}

static void cmd_bzpopmax(struct call *call)
{
    blocking_pop(call, true);
}

static const struct command rows[] = {
    { .name = "ZMPOP",
      .run = cmd_zmpop,
      .arity = -4,
      .flags = WRITE | MOVABLE_KEYS,
      .find_keys = find_pop_keys,
      .specs = { KEYS_COUNTED_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE) },
      .group = "sorted-set",
      .since = "7.0.0",
      .replies = REPLIES("[bulk [[bulk double] ...]]: the key, and members with their scores",
                         "null-array: all the sorted sets are empty"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NUMKEYS, ERR_COUNT_POSITIVE),
      .complexity = "O(K+M*log(N)), K keys, N members of the sorted set, M removed",
      .syntax = "numkeys key [key ...] <MIN | MAX> [COUNT count]",
      .summary = "Takes the lowest or highest members of the first sorted set that there is." },
    { .name = "BZPOPMIN",
      .run = cmd_bzpopmin,
      .arity = -3,
      .flags = WRITE | NOSCRIPT | BLOCKING | FAST,
      .keys = { .first = 1, .last = -2, .step = 1 },
      .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE,
      .group = "sorted-set",
      .since = "5.0.0",
      .replies = REPLIES("[bulk bulk double]: the key, the member and its score",
                         "null-array: the timeout ended"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT),
      .complexity = "O(log(N)), N members of the sorted set",
      .syntax = "key [key ...] timeout",
      .summary =
          "Takes the lowest member of the first sorted set that there is, or waits for one." },
    { .name = "BZPOPMAX",
      .run = cmd_bzpopmax,
      .arity = -3,
      .flags = WRITE | NOSCRIPT | BLOCKING | FAST,
      .keys = { .first = 1, .last = -2, .step = 1 },
      .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE,
      .group = "sorted-set",
      .since = "5.0.0",
      .replies = REPLIES("[bulk bulk double]: the key, the member and its score",
                         "null-array: the timeout ended"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT),
      .complexity = "O(log(N)), N members of the sorted set",
      .syntax = "key [key ...] timeout",
      .summary =
          "Takes the highest member of the first sorted set that there is, or waits for one." },
    { .name = "BZMPOP",
      .run = cmd_bzmpop,
      .arity = -5,
      .flags = WRITE | BLOCKING | MOVABLE_KEYS,
      .find_keys = find_blocking_pop_keys,
      .specs = { KEYS_COUNTED_AT(2, KEY_RW | KEY_ACCESS | KEY_DELETE) },
      .group = "sorted-set",
      .since = "7.0.0",
      .replies = REPLIES("[bulk [[bulk double] ...]]: the key, and members with their scores",
                         "null-array: the timeout ended"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_TIMEOUT_NEGATIVE, ERR_NUMKEYS,
                       ERR_TIMEOUT_FLOAT, ERR_COUNT_POSITIVE),
      .complexity = "O(K+M*log(N)), K keys, N members of the sorted set, M removed",
      .syntax = "timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
      .summary = "Takes the lowest or highest members of the first sorted set that there is, or "
                 "waits for one." },
};

const struct command_group zset_pop_commands = COMMAND_GROUP(rows);
