/* zset_range: commands that read, count, remove, store or pop a range of a sorted set. The range
 * consists of ranks, of scores, or of members in lexicographical order. */
#include <math.h>
#include <stdlib.h>

#include "server/cmd/call/args.h"
#include "server/cmd/zset/zset.h"
#include "server/cmd/zset/zset_span.h"
#include "store/base/number.h"
#include "store/mem/mem.h"

/* ---- parsing a range ------------------------------------------------------------------------- */

enum range_by { BY_OPEN, BY_RANK, BY_SCORE, BY_LEX };  /* OPEN: by an option; default RANK */
enum range_way { WAY_OPEN, WAY_FORWARD, WAY_REVERSE }; /* OPEN: by an option; default FORWARD */
enum lex_kind { LEX_MEMBER, LEX_LOWEST, LEX_HIGHEST }; /* "[a" and "(a", "-", "+" */

struct bound {
    int64_t index;
    double score;
    enum lex_kind lex;
    struct bytes member;
    bool exclusive;
};

struct range {
    enum range_by by;
    enum range_way way;
    bool is_stored; /* the option WITHSCORES is refused */
    struct bound low, high;
    int64_t skip, limit; /* limit < 0 for no limit; skip < 0 for an empty range */
    bool with_scores;
};

/* Parses a bound as Redis does, with strtod. A bound is allowed more than a score: it may be empty,
 * begin with spaces, end at a NUL, or exceed the range of a double. */
static bool parse_score_bound(struct bytes text, struct bound *bound)
{
    if (text.len > 0 && text.data[0] == '(') {
        bound->exclusive = true;
        text = bytes_of(text.data + 1, text.len - 1);
    }
    if (number_parse_double(text.data, text.len, &bound->score)) return true;
    char small[64], *end;
    char *copy = text.len < sizeof(small) ? small : mem_alloc(text.len + 1);
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    bound->score = strtod(copy, &end);
    bool good = *end == '\0' && !isnan(bound->score);
    if (copy != small) mem_free(copy);
    return good;
}

static bool parse_lex_bound(struct bytes text, struct bound *bound)
{
    if (text.len == 0) return false;
    char kind = text.data[0];
    if (kind == '-' || kind == '+') {
        bound->lex = kind == '-' ? LEX_LOWEST : LEX_HIGHEST;
        return text.len == 1 || text.data[1] == '\0';
    }
    bound->member = bytes_of(text.data + 1, text.len - 1);
    bound->exclusive = kind == '(';
    return kind == '(' || kind == '[';
}

/* Parses the bounds at arguments `low` and `high`. Returns false after sending an error. */
static bool range_parse_bounds(struct call *call, struct range *range, int low, int high)
{
    struct bytes min = call->argv[low], max = call->argv[high];
    bool good = true;
    switch (range->by) {
    case BY_SCORE:
        good = parse_score_bound(min, &range->low) && parse_score_bound(max, &range->high);
        if (!good) fail(call, ERR_MIN_MAX_FLOAT);
        return good;
    case BY_LEX:
        good = parse_lex_bound(min, &range->low) && parse_lex_bound(max, &range->high);
        if (!good) fail(call, ERR_MIN_MAX_LEX);
        return good;
    case BY_OPEN:
    case BY_RANK: break;
    }
    return arg_int64(call, low, &range->low.index) && arg_int64(call, high, &range->high.index);
}

/* Parses the two bounds at `first` and first + 1, then the options up to the last argument. The
 * caller sets by, way and is_stored first. Returns false after sending an error. */
static bool range_parse(struct call *call, struct range *range, int first)
{
    range->limit = -1;
    for (int i = first + 2; i < call->argc; i++) {
        if (!range->is_stored && arg_is(call, i, "WITHSCORES")) {
            range->with_scores = true;
        } else if (arg_is(call, i, "LIMIT") && call->argc - i > 2) {
            if (!arg_int64(call, i + 1, &range->skip)) return false;
            if (!arg_int64(call, i + 2, &range->limit)) return false;
            i += 2;
        } else if (range->way == WAY_OPEN && arg_is(call, i, "REV")) {
            range->way = WAY_REVERSE;
        } else if (range->by == BY_OPEN && arg_is(call, i, "BYSCORE")) {
            range->by = BY_SCORE;
        } else if (range->by == BY_OPEN && arg_is(call, i, "BYLEX")) {
            range->by = BY_LEX;
        } else {
            return fail(call, ERR_SYNTAX);
        }
    }
    if (range->by == BY_OPEN) range->by = BY_RANK;
    if (range->limit != -1 && range->by == BY_RANK) return fail(call, ERR_LIMIT_ALONE);
    if (range->with_scores && range->by == BY_LEX) return fail(call, ERR_WITHSCORES_LEX);
    /* In a reverse range of scores or members the high bound comes first. */
    bool high_first = range->way == WAY_REVERSE && range->by != BY_RANK;
    return range_parse_bounds(call, range, first + high_first, first + !high_first);
}

static size_t below_lex(const struct zset *zset, const struct bound *bound, bool or_equal)
{
    if (bound->lex == LEX_LOWEST) return 0;
    if (bound->lex == LEX_HIGHEST) return zset_count(zset);
    return zset_below_member(zset, bound->member, or_equal);
}

static struct span range_find(const struct zset *zset, const struct range *range)
{
    const struct bound *low = &range->low, *high = &range->high;
    size_t count = zset_count(zset);
    struct span span = { .reverse = range->way == WAY_REVERSE };
    switch (range->by) {
    case BY_SCORE:
        span.from = zset_below_score(zset, low->score, low->exclusive);
        span.to = zset_below_score(zset, high->score, !high->exclusive);
        break;
    case BY_LEX:
        span.from = below_lex(zset, low, low->exclusive);
        span.to = below_lex(zset, high, !high->exclusive);
        break;
    case BY_OPEN:
    case BY_RANK:
        clip_range(low->index, high->index, count, &span.from, &span.to);
        if (!span.reverse) break;
        span = (struct span){ count - span.to, count - span.from, true };
        break;
    }
    if (span.from > span.to) span.from = span.to;
    return span;
}

/* Finds the members in the range and, unless it is one of ranks, applies skip and limit to them. */
static struct span range_find_limited(const struct zset *zset, const struct range *range)
{
    struct span span = range_find(zset, range);
    return range->by == BY_RANK ? span : span_limited(span, range->skip, range->limit);
}

/* ---- the commands ---------------------------------------------------------------------------- */

/* The variant of a row of read_range. */
#define RANGE(by, way) (4 * (by) + (way))

static void read_range(struct call *call)
{
    int variant = call_variant(call);
    struct range range = { .by = (enum range_by)(variant / 4),
                           .way = (enum range_way)(variant % 4) };
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
    ROW("ZRANGE", read_range, -4, READONLY, .variant = RANGE(BY_OPEN, WAY_OPEN), .keys = KEY_FIRST,
        .since = "1.2.0", .replies = REPLIES("[bulk ...]: the members", REPLY_WITHSCORES),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_MIN_MAX_FLOAT,
                         ERR_MIN_MAX_LEX, ERR_LIMIT_ALONE, ERR_WITHSCORES_LEX),
        .complexity = COST_RANGE,
        .syntax = "key start stop [BYSCORE|BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
        .summary = "Returns the members of a sorted set in a range of ranks, scores or "
                   "lexicographical order."),
    ROW("ZREVRANGE", read_range, -4, READONLY, .variant = RANGE(BY_RANK, WAY_REVERSE),
        .keys = KEY_FIRST, .since = "1.2.0",
        .replies = REPLIES("[bulk ...]: the members", REPLY_WITHSCORES),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER), .complexity = COST_RANGE,
        .syntax = "key start stop [WITHSCORES]",
        .summary = "Returns the members of a sorted set in a range of ranks, by descending score."),
    ROW("ZRANGEBYSCORE", read_range, -4, READONLY, .variant = RANGE(BY_SCORE, WAY_FORWARD),
        .keys = KEY_FIRST, .since = "1.0.5",
        .replies = REPLIES("[bulk ...]: the members", REPLY_WITHSCORES),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_MIN_MAX_FLOAT),
        .complexity = COST_RANGE, .syntax = "key min max [WITHSCORES] [LIMIT offset count]",
        .summary = "Returns the members of a sorted set in a range of scores."),
    ROW("ZREVRANGEBYSCORE", read_range, -4, READONLY, .variant = RANGE(BY_SCORE, WAY_REVERSE),
        .keys = KEY_FIRST, .since = "2.2.0",
        .replies = REPLIES("[bulk ...]: the members", REPLY_WITHSCORES),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_MIN_MAX_FLOAT),
        .complexity = COST_RANGE, .syntax = "key max min [WITHSCORES] [LIMIT offset count]",
        .summary =
            "Returns the members of a sorted set in a range of scores, by descending score."),
    ROW("ZRANGEBYLEX", read_range, -4, READONLY, .variant = RANGE(BY_LEX, WAY_FORWARD),
        .keys = KEY_FIRST, .since = "2.8.9", .replies = REPLIES("[bulk ...]: the members"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_MIN_MAX_LEX),
        .complexity = COST_RANGE, .syntax = "key min max [LIMIT offset count]",
        .summary =
            "Returns the members of a sorted set in a lexicographical range. All scores must "
            "be equal."),
    ROW("ZREVRANGEBYLEX", read_range, -4, READONLY, .variant = RANGE(BY_LEX, WAY_REVERSE),
        .keys = KEY_FIRST, .since = "2.8.9", .replies = REPLIES("[bulk ...]: the members"),
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
