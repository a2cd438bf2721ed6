/* zset_pop: commands that pop the lowest or highest members of the first sorted set that exists
 * among several keys, or the members whose score, a time, is due. The forms that begin with BZ
 * block until there are any. ZPOPMIN and ZPOPMAX, for a single key, are in zset_range.c. */
#include <math.h>

#include "server/cmd/block.h"
#include "server/cmd/call/args.h"
#include "server/cmd/zset/zset.h"
#include "server/cmd/zset/zset_span.h"

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
    run_multi_pop(call, TYPE_ZSET, "MIN", "MAX", pop_zset_to_array);
}

/* BZPOPMIN and BZPOPMAX. */
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

/* ---- BZTSPOP and BZTSMOVE -------------------------------------------------------------------- */

/* These commands are for sorted sets whose scores are Unix times in seconds, with fractions. A
 * member is due when its score is at most the current time. Both commands take members that are
 * due, and block until there are any. */

/* Converts an instant to seconds, as the double that a client receives for it when it divides its
 * milliseconds by 1000. Few such doubles are exact, but if both sides round alike, a member is due
 * exactly in its millisecond. */
static double seconds_of(msec at)
{
    return (double)at / 1000;
}

struct take {
    int64_t most;
    msec until;
    struct entry *from;
    struct span span; /* the members to take; empty if none is due */
};

/* Parses "key ... count timeout" and finds the members that are due. Returns false after sending an
 * error. */
static bool read_take(struct call *call, struct take *take)
{
    struct source source;
    int count = call->argc - 2;
    *take = (struct take){ 0 };
    if (!arg_range(call, count, 1, INT64_MAX, &take->most, ERR_COUNT_POSITIVE)) return false;
    if (!arg_timeout(call, count + 1, &take->until)) return false;
    if (!find_source(call, TYPE_ZSET, 1, 1, &source)) return false;
    take->from = source.entry;
    if (take->from == NULL) return true;
    take->span.to = zset_below_score(take->from->object.zset, seconds_of(call->txn->now), true);
    take->span = span_limited(take->span, 0, take->most);
    return true;
}

static void block_until_score_due(struct call *call, const struct take *take)
{
    struct block_request block = {
        .first = 1, .count = 1, .type = TYPE_ZSET, .until = take->until, .again = NEVER
    };
    if (take->from != NULL) {
        struct zset_iter iter;
        struct bytes member;
        double lowest = 0;
        zset_iter_at(&iter, take->from->object.zset, 0);
        zset_iter_next(&iter, &member, &lowest);

        /* The first instant after now at which the lowest score is due. */
        double about = ceil(lowest * 1000);
        if (about < (double)INSTANT_MAX) {
            msec at = (msec)about, now = call->txn->now;
            if (seconds_of(at) < lowest) at++; /* the product was rounded down */
            if (at - 1 > now && seconds_of(at - 1) >= lowest) at--; /* the product was rounded up */
            block.again = instant_past(at, now) ? instant_next(now) : at;
        }
    }
    block_on(call, &block);
}

static void cmd_bztspop(struct call *call)
{
    struct take take;
    if (!read_take(call, &take)) return;
    if (span_count(&take.span) == 0) {
        block_until_score_due(call, &take);
        return;
    }
    span_reply(call, take.from->object.zset, &take.span, SCORES_PAIRED);
    txn_zset_remove_ranks(call->txn, take.from, take.span.from, take.span.to, EVENT_ZPOPMIN);
}

/* BZTSMOVE: moves the members that are due to the tail of a list, lowest score first. As in BLMOVE,
 * the type of the destination is checked only once there is a member to move. */
static void cmd_bztsmove(struct call *call)
{
    struct take take;
    struct entry *to;
    struct zset_iter iter;
    struct bytes member;
    double score;
    if (!read_take(call, &take)) return;
    size_t left = span_count(&take.span);
    if (left == 0) {
        block_until_score_due(call, &take);
        return;
    }
    if (!find_typed(call, 2, TYPE_LIST, &to)) return;
    to = entry_or_new(call, 2, to, TYPE_LIST);
    resp_array(call->out, left);
    zset_iter_at(&iter, take.from->object.zset, take.span.from);
    for (; left > 0 && zset_iter_next(&iter, &member, &score); left--) {
        reply_bytes(call, member);
        txn_list_push(call->txn, to, LIST_TAIL, member);
    }
    txn_zset_remove_ranks(call->txn, take.from, take.span.from, take.span.to, EVENT_ZPOPMIN);
}

static const struct command rows[] = {
    ROW("ZMPOP", cmd_zmpop, -4, WRITE | MOVABLE_KEYS, .variant = false,
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
    ROW("BZMPOP", cmd_zmpop, -5, WRITE | BLOCKING | MOVABLE_KEYS, .variant = true,
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
    ROW("BZTSPOP", cmd_bztspop, 4, WRITE | NOSCRIPT | BLOCKING | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "0.1.0",
        .replies = REPLIES("RESP2 [bulk bulk ...]: members, each followed by its score",
                           "RESP3 [[bulk double] ...]: members with their scores",
                           "null-array: the timeout was reached"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT, ERR_COUNT_POSITIVE),
        .complexity = "O(log(N)+M) where N is the number of members in the sorted set and M the "
                      "number removed.",
        .syntax = "key count timeout",
        .summary = "Removes and returns the members whose scores are at most the current Unix time "
                   "in seconds, lowest first, or blocks until there is one."),
    ROW("BZTSMOVE", cmd_bztsmove, 5, WRITE | GROWS | NOSCRIPT | BLOCKING,
        .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
        .since = "0.1.0",
        .replies = REPLIES("[bulk ...]: the members that were moved",
                           "null-array: the timeout was reached"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT, ERR_COUNT_POSITIVE),
        .complexity = "O(log(N)+M) where N is the number of members in the sorted set and M the "
                      "number moved.",
        .syntax = "key destination count timeout",
        .summary = "Moves the members whose scores are at most the current Unix time in seconds to "
                   "the tail of a list, lowest first, or blocks until there is one."),
};

const struct command_group zset_pop_commands = COMMAND_GROUP("sorted-set", rows);
