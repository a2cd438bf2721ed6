/* zset_range: the commands of sorted sets that name a range: by rank, by score or by member bytes;
 * read, counted, removed or popped.
 * Knows how ranges are asked for and replied; refuses to know how they are found: each becomes one
 * span of ranks, whatever it was asked by. */
#include <math.h>
#include <stdlib.h>

#include "proto/number.h"
#include "server/args.h"
#include "server/call.h"
#include "server/cmd/cmd.h"
#include "server/command.h"
#include "server/error.h"
#include "store/mem.h"
#include "store/txn.h"
#include "store/zset.h"

/* ---- a range as it is asked for -------------------------------------------------------------- */

enum range_by { BY_OPEN, BY_RANK, BY_SCORE, BY_LEX };  /* OPEN: the arguments may say; else RANK */
enum range_way { WAY_OPEN, WAY_FORWARD, WAY_REVERSE }; /* OPEN: they may say; else FORWARD */
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
    struct bound low, high;
    int64_t skip, limit; /* limit < 0: all; skip < 0: none */
    bool with_scores;
};

/* Ranks [from, to), and in which order they are told. */
struct span {
    size_t from, to;
    bool reverse;
};

/* As strtod takes the text of a C string: unlike a score's, it may be empty, begin with spaces, lie
 * beyond what a double holds, and whatever stands behind a NUL does not count. */
static bool parse_limit_score(struct bytes text, double *score)
{
    if (number_parse_double(text.data, text.len, score)) return true;
    char small[64], *end;
    char *copy = text.len < sizeof(small) ? small : mem_alloc(text.len + 1);
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *score = strtod(copy, &end);
    bool good = *end == '\0' && !isnan(*score);
    if (copy != small) mem_free(copy);
    return good;
}

static bool parse_score_bound(struct bytes text, struct bound *bound)
{
    if (text.len > 0 && text.data[0] == '(') {
        bound->exclusive = true;
        text = bytes_of(text.data + 1, text.len - 1);
    }
    return parse_limit_score(text, &bound->score);
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

static bool parse_bounds(struct call *call, struct range *range, int low, int high)
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

enum option { OPTION_TAKEN, OPTION_UNKNOWN, OPTION_FAILED };

static enum option take_option(struct call *call, int *i, struct range *range)
{
    if (arg_is(call, *i, "WITHSCORES")) {
        range->with_scores = true;
    } else if (arg_is(call, *i, "LIMIT") && call->argc - *i > 2) {
        if (!arg_int64(call, *i + 1, &range->skip)) return OPTION_FAILED;
        if (!arg_int64(call, *i + 2, &range->limit)) return OPTION_FAILED;
        *i += 2;
    } else if (range->way == WAY_OPEN && arg_is(call, *i, "REV")) {
        range->way = WAY_REVERSE;
    } else if (range->by == BY_OPEN && arg_is(call, *i, "BYSCORE")) {
        range->by = BY_SCORE;
    } else if (range->by == BY_OPEN && arg_is(call, *i, "BYLEX")) {
        range->by = BY_LEX;
    } else {
        return OPTION_UNKNOWN;
    }
    return OPTION_TAKEN;
}

static bool parse_options(struct call *call, int first, struct range *range)
{
    for (int i = first; i < call->argc; i++) {
        enum option option = take_option(call, &i, range);
        if (option == OPTION_UNKNOWN) fail(call, ERR_SYNTAX);
        if (option != OPTION_TAKEN) return false;
    }
    if (range->by == BY_OPEN) range->by = BY_RANK;
    if (range->limit != -1 && range->by == BY_RANK) {
        fail(call, ERR_LIMIT_ALONE);
        return false;
    }
    if (range->with_scores && range->by == BY_LEX) {
        fail(call, ERR_WITHSCORES_LEX);
        return false;
    }
    return true;
}

/* A reverse range of scores or members names its high end first. */
static bool parse_range(struct call *call, struct range *range)
{
    range->limit = -1;
    if (!parse_options(call, 4, range)) return false;
    bool high_first = range->way == WAY_REVERSE && range->by != BY_RANK;
    return parse_bounds(call, range, high_first ? 3 : 2, high_first ? 2 : 3);
}

/* ---- the ranks that it means ----------------------------------------------------------------- */

static size_t below_lex(const struct zset *zset, const struct bound *bound, bool or_equal)
{
    if (bound->lex == LEX_LOWEST) return 0;
    if (bound->lex == LEX_HIGHEST) return zset_count(zset);
    return zset_below_member(zset, bound->member, or_equal);
}

static struct span find_span(const struct zset *zset, const struct range *range)
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

static struct span limited(struct span span, int64_t skip, int64_t limit)
{
    size_t count = span.to - span.from;
    size_t skipped = skip < 0 || (uint64_t)skip > count ? count : (size_t)skip;
    size_t taken = count - skipped;
    if (limit >= 0 && (uint64_t)limit < taken) taken = (size_t)limit;
    if (span.reverse)
        span.from = span.to - skipped - taken;
    else
        span.from += skipped;
    span.to = span.from + taken;
    return span;
}

/* ---- the reply ------------------------------------------------------------------------------- */

enum scores { SCORES_NONE, SCORES_FLAT, SCORES_PAIRED };

static void reply_span(struct call *call, const struct zset *zset, const struct span *span,
                       enum scores scores)
{
    size_t count = span->to - span->from;
    if (scores == SCORES_PAIRED)
        resp_pairs(call->out, count);
    else
        resp_array(call->out, scores == SCORES_NONE ? count : 2 * count);

    struct zset_iter iter;
    struct bytes member;
    double score;
    zset_iter_at(&iter, zset, span->reverse && count > 0 ? span->to - 1 : span->from);
    while (count-- > 0) {
        if (span->reverse)
            zset_iter_prev(&iter, &member, &score);
        else
            zset_iter_next(&iter, &member, &score);
        if (scores == SCORES_PAIRED) resp_pair(call->out);
        reply_bytes(call, member);
        if (scores != SCORES_NONE) resp_double(call->out, score);
    }
}

/* ---- read ------------------------------------------------------------------------------------ */

static void read_range(struct call *call, struct range range)
{
    struct entry *entry;
    if (!parse_range(call, &range)) return;
    if (!read_typed(call, 1, TYPE_ZSET, &entry)) return;
    if (entry == NULL) {
        resp_array(call->out, 0);
        return;
    }
    struct span span = find_span(entry->object.zset, &range);
    if (range.by != BY_RANK) span = limited(span, range.skip, range.limit);
    reply_span(call, entry->object.zset, &span, range.with_scores ? SCORES_PAIRED : SCORES_NONE);
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

/* ---- count ----------------------------------------------------------------------------------- */

static void count_range(struct call *call, enum range_by by)
{
    struct range range = { .by = by };
    struct entry *entry;
    if (!parse_bounds(call, &range, 2, 3)) return;
    if (!read_typed(call, 1, TYPE_ZSET, &entry)) return;
    struct span span = { 0 };
    if (entry != NULL) span = find_span(entry->object.zset, &range);
    resp_integer(call->out, (int64_t)(span.to - span.from));
}

static void cmd_zcount(struct call *call)
{
    count_range(call, BY_SCORE);
}

static void cmd_zlexcount(struct call *call)
{
    count_range(call, BY_LEX);
}

/* ---- remove ---------------------------------------------------------------------------------- */

static void remove_range(struct call *call, enum range_by by, enum event event)
{
    struct range range = { .by = by };
    struct entry *entry;
    if (!parse_bounds(call, &range, 2, 3)) return;
    if (!find_typed(call, 1, TYPE_ZSET, &entry)) return;
    struct span span = { 0 };
    if (entry != NULL) {
        span = find_span(entry->object.zset, &range);
        txn_zset_remove_ranks(call->txn, entry, span.from, span.to, event);
    }
    resp_integer(call->out, (int64_t)(span.to - span.from));
}

static void cmd_zremrangebyrank(struct call *call)
{
    remove_range(call, BY_RANK, EVENT_ZREMRANGEBYRANK);
}

static void cmd_zremrangebyscore(struct call *call)
{
    remove_range(call, BY_SCORE, EVENT_ZREMRANGEBYSCORE);
}

static void cmd_zremrangebylex(struct call *call)
{
    remove_range(call, BY_LEX, EVENT_ZREMRANGEBYLEX);
}

/* ---- pop ------------------------------------------------------------------------------------- */

static void pop(struct call *call, bool highest, enum event event)
{
    int64_t wanted = 1;
    struct entry *entry;
    if (call->argc > 3) {
        fail(call, ERR_SYNTAX);
        return;
    }
    bool counted = call->argc == 3;
    if (counted && !arg_range(call, 2, 0, INT64_MAX, &wanted, ERR_NOT_POSITIVE)) return;
    if (!find_typed(call, 1, TYPE_ZSET, &entry)) return;
    if (entry == NULL) {
        resp_array(call->out, 0);
        return;
    }
    struct span all = { 0, zset_count(entry->object.zset), highest };
    struct span span = limited(all, 0, wanted);
    reply_span(call, entry->object.zset, &span, counted ? SCORES_PAIRED : SCORES_FLAT);
    txn_zset_remove_ranks(call->txn, entry, span.from, span.to, event);
}

static void cmd_zpopmin(struct call *call)
{
    pop(call, false, EVENT_ZPOPMIN);
}

static void cmd_zpopmax(struct call *call)
{
    pop(call, true, EVENT_ZPOPMAX);
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define KEY_FIRST                                                                                  \
    {                                                                                              \
        .first = 1, .last = 1, .step = 1                                                           \
    }
#define COST_SEARCH  "O(log(N)), N members of the sorted set"
#define COST_RANGE   "O(log(N)+M), N members of the sorted set, M returned"
#define COST_REMOVAL "O(log(N)+M), N members of the sorted set, M removed"
#define COST_POP     "O(M*log(N)), N members of the sorted set, M removed"

static const struct command rows[] = {
    { .name = "ZRANGE",
      .run = cmd_zrange,
      .arity = -4,
      .flags = READONLY,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "1.2.0",
      .complexity = COST_RANGE,
      .syntax = "key start stop [BYSCORE|BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
      .summary = "Lists the members in a range of ranks, scores or member bytes." },
    { .name = "ZREVRANGE",
      .run = cmd_zrevrange,
      .arity = -4,
      .flags = READONLY,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "1.2.0",
      .complexity = COST_RANGE,
      .syntax = "key start stop [WITHSCORES]",
      .summary = "Lists the members in a range of ranks, counted from the highest." },
    { .name = "ZRANGEBYSCORE",
      .run = cmd_zrangebyscore,
      .arity = -4,
      .flags = READONLY,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "1.0.5",
      .complexity = COST_RANGE,
      .syntax = "key min max [WITHSCORES] [LIMIT offset count]",
      .summary = "Lists the members in a range of scores." },
    { .name = "ZREVRANGEBYSCORE",
      .run = cmd_zrevrangebyscore,
      .arity = -4,
      .flags = READONLY,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "2.2.0",
      .complexity = COST_RANGE,
      .syntax = "key max min [WITHSCORES] [LIMIT offset count]",
      .summary = "Lists the members in a range of scores, highest first." },
    { .name = "ZRANGEBYLEX",
      .run = cmd_zrangebylex,
      .arity = -4,
      .flags = READONLY,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "2.8.9",
      .complexity = COST_RANGE,
      .syntax = "key min max [LIMIT offset count]",
      .summary = "Lists the members in a range of bytes, where all scores are equal." },
    { .name = "ZREVRANGEBYLEX",
      .run = cmd_zrevrangebylex,
      .arity = -4,
      .flags = READONLY,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "2.8.9",
      .complexity = COST_RANGE,
      .syntax = "key max min [LIMIT offset count]",
      .summary = "Lists the members in a range of bytes, last first, where all scores are equal." },
    { .name = "ZCOUNT",
      .run = cmd_zcount,
      .arity = 4,
      .flags = READONLY | FAST,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "2.0.0",
      .complexity = COST_SEARCH,
      .syntax = "key min max",
      .summary = "Counts the members in a range of scores." },
    { .name = "ZLEXCOUNT",
      .run = cmd_zlexcount,
      .arity = 4,
      .flags = READONLY | FAST,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "2.8.9",
      .complexity = COST_SEARCH,
      .syntax = "key min max",
      .summary = "Counts the members in a range of bytes, where all scores are equal." },
    { .name = "ZREMRANGEBYRANK",
      .run = cmd_zremrangebyrank,
      .arity = 4,
      .flags = WRITE,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "2.0.0",
      .complexity = COST_REMOVAL,
      .syntax = "key start stop",
      .summary = "Removes the members in a range of ranks." },
    { .name = "ZREMRANGEBYSCORE",
      .run = cmd_zremrangebyscore,
      .arity = 4,
      .flags = WRITE,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "1.2.0",
      .complexity = COST_REMOVAL,
      .syntax = "key min max",
      .summary = "Removes the members in a range of scores." },
    { .name = "ZREMRANGEBYLEX",
      .run = cmd_zremrangebylex,
      .arity = 4,
      .flags = WRITE,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "2.8.9",
      .complexity = COST_REMOVAL,
      .syntax = "key min max",
      .summary = "Removes the members in a range of bytes, where all scores are equal." },
    { .name = "ZPOPMIN",
      .run = cmd_zpopmin,
      .arity = -2,
      .flags = WRITE | FAST,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "5.0.0",
      .complexity = COST_POP,
      .syntax = "key [count]",
      .summary = "Removes and returns the members with the lowest scores." },
    { .name = "ZPOPMAX",
      .run = cmd_zpopmax,
      .arity = -2,
      .flags = WRITE | FAST,
      .keys = KEY_FIRST,
      .group = "sorted-set",
      .since = "5.0.0",
      .complexity = COST_POP,
      .syntax = "key [count]",
      .summary = "Removes and returns the members with the highest scores." },
};

const struct command_group zset_range_commands = COMMAND_GROUP(rows);
