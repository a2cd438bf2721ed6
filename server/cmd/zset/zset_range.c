/* zset_range: commands that read, count, remove, store or pop a range of a sorted set. The range
 * consists of ranks, of scores, or of members in lexicographical order. */
#include "server/cmd/call/args.h"
#include "server/cmd/call/call.h"
#include "server/cmd/call/command.h"
#include "server/cmd/call/error.h"
#include "server/cmd/zset/zset.h"
#include "server/cmd/zset/zset_range_args.h"
#include "server/cmd/zset/zset_span.h"
#include "store/txn/txn.h"
#include "store/type/zset.h"

static void read_range(struct call *call, struct range range)
{
    struct entry *entry;
    if (!range_parse(call, &range, 2)) return;
    if (!find_typed_counted(call, 1, TYPE_ZSET, &entry)) return;
    if (entry == NULL) {
        resp_array(call->out, 0);
        return;
    }
    struct span span = range_find_limited(entry->object.zset, &range);
    span_reply(call, entry->object.zset, &span, range.with_scores ? SCORES_PAIRED : SCORES_NONE);
}

static void cmd_zrange(struct call *call)
{
    read_range(call, (struct range){ .by = BY_OPEN, .way = WAY_OPEN });
}

static void cmd_zrevrange(struct call *call)
{
    read_range(call, (struct range){ .by = BY_RANK, .way = WAY_REVERSE });
}

static void cmd_zrangebyscore(struct call *call)
{
    read_range(call, (struct range){ .by = BY_SCORE, .way = WAY_FORWARD });
}

static void cmd_zrevrangebyscore(struct call *call)
{
    read_range(call, (struct range){ .by = BY_SCORE, .way = WAY_REVERSE });
}

static void cmd_zrangebylex(struct call *call)
{
    read_range(call, (struct range){ .by = BY_LEX, .way = WAY_FORWARD });
}

static void cmd_zrevrangebylex(struct call *call)
{
    read_range(call, (struct range){ .by = BY_LEX, .way = WAY_REVERSE });
}

static void cmd_zrangestore(struct call *call)
{
    struct range range = { .by = BY_OPEN, .way = WAY_OPEN, .is_stored = true };
    struct entry *entry;
    if (!range_parse(call, &range, 3)) return;
    if (!find_typed_counted(call, 2, TYPE_ZSET, &entry)) return;
    struct object result = object_new(TYPE_ZSET);
    if (entry != NULL) {
        struct span span = range_find_limited(entry->object.zset, &range);
        struct zset_iter iter;
        struct bytes member;
        double score;
        zset_iter_at(&iter, entry->object.zset, span.from);
        for (size_t left = span_count(&span); left > 0; left--) {
            zset_iter_next(&iter, &member, &score);
            zset_put(result.zset, member, score, NEVER);
        }
    }
    resp_integer(call->out, (int64_t)object_count(&result));
    txn_key_store(call->txn, call->argv[1], result, EVENT_ZRANGESTORE);
}

static void count_range(struct call *call)
{
    struct range range = { .by = (enum range_by)call_variant(call) };
    struct entry *entry;
    if (!range_parse_bounds(call, &range, 2, 3)) return;
    if (!find_typed_counted(call, 1, TYPE_ZSET, &entry)) return;
    struct span span = { 0 };
    if (entry != NULL) span = range_find(entry->object.zset, &range);
    resp_integer(call->out, (int64_t)span_count(&span));
}

static void remove_range(struct call *call)
{
    static const enum event events[] = { [BY_RANK] = EVENT_ZREMRANGEBYRANK,
                                         [BY_SCORE] = EVENT_ZREMRANGEBYSCORE,
                                         [BY_LEX] = EVENT_ZREMRANGEBYLEX };
    struct range range = { .by = (enum range_by)call_variant(call) };
    struct entry *entry;
    if (!range_parse_bounds(call, &range, 2, 3)) return;
    if (!find_typed(call, 1, TYPE_ZSET, &entry)) return;
    struct span span = { 0 };
    if (entry != NULL) {
        span = range_find(entry->object.zset, &range);
        txn_zset_remove_ranks(call->txn, entry, span.from, span.to, events[range.by]);
    }
    resp_integer(call->out, (int64_t)span_count(&span));
}

static void pop_zset(struct call *call)
{
    bool highest = call_variant(call);
    int64_t wanted = 1;
    struct entry *entry;
    if (fail_if(call, call->argc > 3, ERR_SYNTAX)) return;
    bool counted = call->argc == 3;
    if (counted && !arg_range(call, 2, 0, INT64_MAX, &wanted, ERR_NOT_POSITIVE)) return;
    if (!find_typed(call, 1, TYPE_ZSET, &entry)) return;
    if (entry == NULL) {
        resp_array(call->out, 0);
        return;
    }
    struct span span = span_all(entry->object.zset);
    span.reverse = highest;
    span = span_limited(span, 0, wanted);
    span_reply(call, entry->object.zset, &span, counted ? SCORES_PAIRED : SCORES_FLAT);
    txn_zset_remove_ranks(call->txn, entry, span.from, span.to,
                          highest ? EVENT_ZPOPMAX : EVENT_ZPOPMIN);
}

#define COST_SEARCH "O(log(N)) where N is the number of members in the sorted set."
#define COST_RANGE                                                                                 \
    "O(log(N)+M) where N is the number of members in the sorted set and M the number returned."
#define COST_REMOVAL                                                                               \
    "O(log(N)+M) where N is the number of members in the sorted set and M the number removed."
#define COST_POP                                                                                   \
    "O(M*log(N)) where N is the number of members in the sorted set and M the number removed."

static const struct command rows[] = {
    ROW("ZRANGE", cmd_zrange, -4, READONLY, .keys = KEY_FIRST, .since = "1.2.0",
        .replies = REPLIES("[bulk ...]: the members", REPLY_WITHSCORES),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_MIN_MAX_FLOAT,
                         ERR_MIN_MAX_LEX, ERR_LIMIT_ALONE, ERR_WITHSCORES_LEX),
        .complexity = COST_RANGE,
        .syntax = "key start stop [BYSCORE|BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
        .summary = "Returns the members of a sorted set in a range of ranks, scores or "
                   "lexicographical order."),
    ROW("ZREVRANGE", cmd_zrevrange, -4, READONLY, .keys = KEY_FIRST, .since = "1.2.0",
        .replies = REPLIES("[bulk ...]: the members", REPLY_WITHSCORES),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER), .complexity = COST_RANGE,
        .syntax = "key start stop [WITHSCORES]",
        .summary = "Returns the members of a sorted set in a range of ranks, by descending score."),
    ROW("ZRANGEBYSCORE", cmd_zrangebyscore, -4, READONLY, .keys = KEY_FIRST, .since = "1.0.5",
        .replies = REPLIES("[bulk ...]: the members", REPLY_WITHSCORES),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_MIN_MAX_FLOAT),
        .complexity = COST_RANGE, .syntax = "key min max [WITHSCORES] [LIMIT offset count]",
        .summary = "Returns the members of a sorted set in a range of scores."),
    ROW("ZREVRANGEBYSCORE", cmd_zrevrangebyscore, -4, READONLY, .keys = KEY_FIRST, .since = "2.2.0",
        .replies = REPLIES("[bulk ...]: the members", REPLY_WITHSCORES),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_MIN_MAX_FLOAT),
        .complexity = COST_RANGE, .syntax = "key max min [WITHSCORES] [LIMIT offset count]",
        .summary =
            "Returns the members of a sorted set in a range of scores, by descending score."),
    ROW("ZRANGEBYLEX", cmd_zrangebylex, -4, READONLY, .keys = KEY_FIRST, .since = "2.8.9",
        .replies = REPLIES("[bulk ...]: the members"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_MIN_MAX_LEX),
        .complexity = COST_RANGE, .syntax = "key min max [LIMIT offset count]",
        .summary =
            "Returns the members of a sorted set in a lexicographical range. All scores must "
            "be equal."),
    ROW("ZREVRANGEBYLEX", cmd_zrevrangebylex, -4, READONLY, .keys = KEY_FIRST, .since = "2.8.9",
        .replies = REPLIES("[bulk ...]: the members"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_MIN_MAX_LEX),
        .complexity = COST_RANGE, .syntax = "key max min [LIMIT offset count]",
        .summary = "Returns the members of a sorted set in a lexicographical range, in reverse "
                   "order. All scores must be equal."),
    ROW("ZRANGESTORE", cmd_zrangestore, -5, WRITE | GROWS | COPIES,
        .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_OW | KEY_UPDATE), KEY_AT(2, KEY_RO | KEY_ACCESS) },
        .since = "6.2.0", .replies = REPLIES("integer: the number of members stored"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_MIN_MAX_FLOAT,
                         ERR_MIN_MAX_LEX, ERR_LIMIT_ALONE),
        .complexity = "O(log(N)+M*log(M)) where N is the number of members in the source and M the "
                      "number stored.",
        .syntax = "destination source min max [BYSCORE|BYLEX] [REV] [LIMIT offset count]",
        .summary = "Copies a range of a sorted set, by rank, score or lexicographical order, to "
                   "another sorted set."),
    ROW("ZCOUNT", count_range, 4, READONLY | FAST, .variant = BY_SCORE, .keys = KEY_FIRST,
        .since = "2.0.0", .replies = REPLIES("integer: the number of members in the range"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_MIN_MAX_FLOAT), .complexity = COST_SEARCH,
        .syntax = "key min max",
        .summary = "Returns the number of members of a sorted set in a range of scores."),
    ROW("ZLEXCOUNT", count_range, 4, READONLY | FAST, .variant = BY_LEX, .keys = KEY_FIRST,
        .since = "2.8.9", .replies = REPLIES("integer: the number of members in the range"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_MIN_MAX_LEX), .complexity = COST_SEARCH,
        .syntax = "key min max",
        .summary = "Returns the number of members of a sorted set in a lexicographical range. All "
                   "scores must be equal."),
    ROW("ZREMRANGEBYRANK", remove_range, 4, WRITE, .variant = BY_RANK, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_DELETE, .since = "2.0.0",
        .replies = REPLIES("integer: the number of members removed"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER), .complexity = COST_REMOVAL,
        .syntax = "key start stop",
        .summary = "Removes the members of a sorted set in a range of ranks."),
    ROW("ZREMRANGEBYSCORE", remove_range, 4, WRITE, .variant = BY_SCORE, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_DELETE, .since = "1.2.0",
        .replies = REPLIES("integer: the number of members removed"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_MIN_MAX_FLOAT), .complexity = COST_REMOVAL,
        .syntax = "key min max",
        .summary = "Removes the members of a sorted set in a range of scores."),
    ROW("ZREMRANGEBYLEX", remove_range, 4, WRITE, .variant = BY_LEX, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_DELETE, .since = "2.8.9",
        .replies = REPLIES("integer: the number of members removed"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_MIN_MAX_LEX), .complexity = COST_REMOVAL,
        .syntax = "key min max",
        .summary =
            "Removes the members of a sorted set in a lexicographical range. All scores must "
            "be equal."),
    ROW("ZPOPMIN", pop_zset, -2, WRITE | FAST, .variant = false, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "5.0.0",
        .replies = REPLIES("[bulk double]: the member and its score", "[]: there is no such key",
                           "RESP2 [bulk bulk ...]: with count: members, each followed by its score",
                           "RESP3 [[bulk double] ...]: with count: members with their scores"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_POSITIVE), .complexity = COST_POP,
        .syntax = "key [count]",
        .summary = "Removes and returns the members of a sorted set with the lowest scores."),
    ROW("ZPOPMAX", pop_zset, -2, WRITE | FAST, .variant = true, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "5.0.0",
        .replies = REPLIES("[bulk double]: the member and its score", "[]: there is no such key",
                           "RESP2 [bulk bulk ...]: with count: members, each followed by its score",
                           "RESP3 [[bulk double] ...]: with count: members with their scores"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_POSITIVE), .complexity = COST_POP,
        .syntax = "key [count]",
        .summary = "Removes and returns the members of a sorted set with the highest scores."),
};

const struct command_group zset_range_commands = COMMAND_GROUP("sorted-set", rows);
