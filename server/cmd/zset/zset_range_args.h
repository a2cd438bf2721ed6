/* zset_range_args: a range of a sorted set as it is asked for, and the ranks that it means.
 * What ZRANGE, its older forms, ZRANGESTORE, ZCOUNT and ZREMRANGEBY... share. */
#ifndef SERVER_CMD_ZSET_ZSET_RANGE_ARGS_H
#define SERVER_CMD_ZSET_ZSET_RANGE_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/call/call.h"
#include "server/cmd/zset/zset_span.h"
#include "store/base/bytes.h"
#include "store/type/zset.h"

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
    bool is_stored; /* WITHSCORES means nothing then */
    struct bound low, high;
    int64_t skip, limit; /* limit < 0: all; skip < 0: none */
    bool with_scores;
};

/* Both return false after replying the error. */

/* The bounds at `first` and behind it, then the options to the end. by and way are as the command
 * has them. */
bool range_parse(struct call *call, struct range *range, int first);
/* The bounds alone, for a command without options. */
bool range_parse_bounds(struct call *call, struct range *range, int low, int high);

/* The members in the range. O(log n) */
struct span range_find(const struct zset *zset, const struct range *range);
/* The same without what skip and limit leave out: for a range that range_parse has read. */
struct span range_find_limited(const struct zset *zset, const struct range *range);

#endif
