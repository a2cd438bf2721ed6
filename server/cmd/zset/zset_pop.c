/* zset_pop: commands that pop the lowest or highest members of the first sorted set that exists
 * among several keys. The forms that begin with BZ block until one exists. ZPOPMIN and ZPOPMAX, for
 * a single key, are in zset_range.c. */
#include "server/cmd/block.h"
#include "server/cmd/call/args.h"
#include "server/cmd/zset/zset.h"

static void reply_popped(struct call *call, struct zset_iter *iter, bool highest)
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

/* Begins at the first member to pop. */
static void iter_begin_at_end(struct zset_iter *iter, const struct zset *zset, bool highest)
{
    zset_iter_at(iter, zset, highest ? zset_count(zset) - 1 : 0);
}

static void remove_popped(struct call *call, struct entry *entry, bool highest, size_t count)
{
    size_t all = zset_count(entry->object.zset);
    txn_zset_remove_ranks(call->txn, entry, highest ? all - count : 0, highest ? all : count,
                          highest ? EVENT_ZPOPMAX : EVENT_ZPOPMIN);
}

/* Pops members and replies with [key, [[member, score] ...]], in both protocols. */
static void pop_zset_to_array(struct call *call, const struct source *source,
                              const struct multi_pop *pop)
{
    const struct zset *zset = source->entry->object.zset;
    struct zset_iter iter;
    size_t count = zset_count(zset);
    if ((uint64_t)pop->wanted < count) count = (size_t)pop->wanted;
    resp_array(call->out, 2);
    reply_bytes(call, source->key);
    resp_array(call->out, count);
    iter_begin_at_end(&iter, zset, pop->back);
    for (size_t i = 0; i < count; i++) {
        resp_array(call->out, 2);
        reply_popped(call, &iter, pop->back);
    }
    remove_popped(call, source->entry, pop->back, count);
}

static void cmd_zmpop(struct call *call)
{
    run_multi_pop(call, TYPE_ZSET, "MIN", "MAX", false, pop_zset_to_array);
}

static void cmd_bzmpop(struct call *call)
{
    run_multi_pop(call, TYPE_ZSET, "MIN", "MAX", true, pop_zset_to_array);
}

/* BZPOPMIN and BZPOPMAX: the reply is [key, member, score]. */
static void blocking_zset_pop(struct call *call)
{
    bool highest = call_variant(call);
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
    iter_begin_at_end(&iter, source.entry->object.zset, highest);
    reply_popped(call, &iter, highest);
    remove_popped(call, source.entry, highest, 1);
}

static const struct command rows[] = {
    ROW("ZMPOP", cmd_zmpop, -4, WRITE | MOVABLE_KEYS, .find_keys = find_pop_keys,
        .specs = { KEYS_COUNTED_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE) }, .since = "7.0.0",
        .replies = REPLIES("[bulk [[bulk double] ...]]: the key, and members with their scores",
                           "null-array: all the sorted sets are empty"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NUMKEYS, ERR_COUNT_POSITIVE),
        .complexity = "O(K+M*log(N)) where K is the number of keys, N the number of members in the "
                      "sorted set and M the number removed.",
        .syntax = "numkeys key [key ...] <MIN | MAX> [COUNT count]",
        .summary = "Removes and returns the members with the lowest or highest scores of the first "
                   "non-empty sorted set."),
    ROW("BZPOPMIN", blocking_zset_pop, -3, WRITE | NOSCRIPT | BLOCKING | FAST, .variant = false,
        .keys = { .first = 1, .last = -2, .step = 1 },
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "5.0.0",
        .replies = REPLIES("[bulk bulk double]: the key, the member and its score",
                           "null-array: the timeout was reached"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT),
        .complexity = "O(log(N)) where N is the number of members in the sorted set.",
        .syntax = "key [key ...] timeout",
        .summary = "Removes and returns the member with the lowest score of the first non-empty "
                   "sorted set, or blocks until one is available."),
    ROW("BZPOPMAX", blocking_zset_pop, -3, WRITE | NOSCRIPT | BLOCKING | FAST, .variant = true,
        .keys = { .first = 1, .last = -2, .step = 1 },
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "5.0.0",
        .replies = REPLIES("[bulk bulk double]: the key, the member and its score",
                           "null-array: the timeout was reached"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT),
        .complexity = "O(log(N)) where N is the number of members in the sorted set.",
        .syntax = "key [key ...] timeout",
        .summary = "Removes and returns the member with the highest score of the first non-empty "
                   "sorted set, or blocks until one is available."),
    ROW("BZMPOP", cmd_bzmpop, -5, WRITE | BLOCKING | MOVABLE_KEYS,
        .find_keys = find_blocking_pop_keys,
        .specs = { KEYS_COUNTED_AT(2, KEY_RW | KEY_ACCESS | KEY_DELETE) }, .since = "7.0.0",
        .replies = REPLIES("[bulk [[bulk double] ...]]: the key, and members with their scores",
                           "null-array: the timeout was reached"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_TIMEOUT_NEGATIVE, ERR_NUMKEYS,
                         ERR_TIMEOUT_FLOAT, ERR_COUNT_POSITIVE),
        .complexity = "O(K+M*log(N)) where K is the number of keys, N the number of members in the "
                      "sorted set and M the number removed.",
        .syntax = "timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
        .summary = "Removes and returns the members with the lowest or highest scores of the first "
                   "non-empty sorted set, or blocks until one is available."),
};

const struct command_group zset_pop_commands = COMMAND_GROUP("sorted-set", rows);
