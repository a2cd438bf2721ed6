/* zset_time: BZTSPOP and BZTSMOVE, for sorted sets whose scores are Unix times in seconds, with
 * fractions. A member is due when its score is at most the current time. Both commands take members
 * that are due, and block until there are any. */
#include <math.h>

#include "server/cmd/block.h"
#include "server/cmd/call/args.h"
#include "server/cmd/zset/zset.h"
#include "server/cmd/zset/zset_span.h"

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

/* Parses the arguments: key ... count timeout. Returns false after sending an error. */
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

const struct command_group zset_time_commands = COMMAND_GROUP("sorted-set", rows);
