/* zset_span: a range of ranks of a sorted set, and its reply. Every kind of range becomes one. */
#ifndef SERVER_CMD_ZSET_ZSET_SPAN_H
#define SERVER_CMD_ZSET_ZSET_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/call/call.h"
#include "store/type/zset.h"

/* Ranks [from, to), and in which order they are replied. */
struct span {
    size_t from, to;
    bool reverse;
};

static inline size_t span_count(const struct span *span)
{
    return span->to - span->from;
}

/* All members, lowest first. */
struct span span_all(const struct zset *zset);
/* Without the first `skip`, and at most `limit`, in the order of the reply. limit < 0: all; skip <
 * 0: none. */
struct span span_limited(struct span span, int64_t skip, int64_t limit);

/* FLAT: member, score, member, score; PAIRED: the same in RESP2, pairs in RESP3. */
enum span_scores { SCORES_NONE, SCORES_FLAT, SCORES_PAIRED };

/* One array of the members. O(log n + members) */
void span_reply(struct call *call, const struct zset *zset, const struct span *span,
                enum span_scores scores);

#endif
