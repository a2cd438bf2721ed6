/* zset_range_args: see zset_range_args.h. */
#include "server/cmd/zset/zset_range_args.h"

#include <math.h>
#include <stdlib.h>

#include "server/cmd/call/args.h"
#include "server/cmd/call/error.h"
#include "store/base/number.h"
#include "store/mem/mem.h"

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

bool range_parse_bounds(struct call *call, struct range *range, int low, int high)
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

bool range_parse(struct call *call, struct range *range, int first)
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

struct span range_find(const struct zset *zset, const struct range *range)
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

struct span range_find_limited(const struct zset *zset, const struct range *range)
{
    struct span span = range_find(zset, range);
    return range->by == BY_RANK ? span : span_limited(span, range->skip, range->limit);
}
