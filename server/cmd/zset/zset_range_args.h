/* zset_range_args: parses a range of ranks, scores or members, and finds the ranks of the members
 * in it. ZRANGE and its older forms, ZRANGESTORE, ZCOUNT, ZLEXCOUNT and ZREMRANGEBY... share it. */
#pragma once

#include "server/cmd/call/call.h"
#include "server/cmd/zset/zset_span.h"
#include "store/base/bytes.h"
#include "store/type/zset.h"

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

/* Parses the two bounds at `first` and first + 1, then the options up to the last argument. The
 * caller sets by, way and is_stored first. Returns false after sending an error. */
bool range_parse(struct call *call, struct range *range, int first);
/* Parses only the bounds, for a command without options. Returns false after sending an error. */
bool range_parse_bounds(struct call *call, struct range *range, int low, int high);

/* Finds the members in the range. O(log n) */
struct span range_find(const struct zset *zset, const struct range *range);
/* Finds the members in the range and, unless it is one of ranks, applies skip and limit to them.
 * range_parse must have parsed the range. */
struct span range_find_limited(const struct zset *zset, const struct range *range);
