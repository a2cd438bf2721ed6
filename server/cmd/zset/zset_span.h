/* zset_span: a range of ranks of a sorted set, and the reply with its members. zset_range
 * converts ranges of scores and of members to spans. */
#pragma once

#include "server/cmd/call/call.h"
#include "store/type/zset.h"

/* The ranks [from, to). */
struct span {
    size_t from, to;
    bool reverse; /* reply with the highest rank first */
};

static inline size_t span_count(const struct span *span)
{
    return span->to - span->from;
}

/* Returns the span of all members, lowest first. */
struct span span_all(const struct zset *zset);
/* Leaves out the first `skip` members, in the order of the reply, and keeps at most `limit` of the
 * rest. With limit < 0 there is no limit; with skip < 0 the result is empty. */
struct span span_limited(struct span span, int64_t skip, int64_t limit);

/* FLAT is member, score, member, score; PAIRED is the same in RESP2, and pairs in RESP3. */
enum span_scores { SCORES_NONE, SCORES_FLAT, SCORES_PAIRED };

/* The forms of a reply with WITHSCORES, for REPLIES. */
#define REPLY_WITHSCORES                                                                           \
    "RESP2 [bulk bulk ...]: with WITHSCORES: members, each followed by its score",                 \
        "RESP3 [[bulk double] ...]: with WITHSCORES: members with their scores"

/* Replies with the members as one array. O(log n + members) */
void span_reply(struct call *call, const struct zset *zset, const struct span *span,
                enum span_scores scores);
