/* zset_span: see zset_span.h. */
#include "server/cmd/zset/zset_span.h"

struct span span_all(const struct zset *zset)
{
    return (struct span){ .to = zset_count(zset) };
}

struct span span_limited(struct span span, int64_t skip, int64_t limit)
{
    size_t count = span_count(&span);
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

void span_reply(struct call *call, const struct zset *zset, const struct span *span,
                enum span_scores scores)
{
    size_t count = span_count(span);
    if (scores == SCORES_PAIRED)
        resp_pairs(call->out, count);
    else
        resp_array(call->out, scores == SCORES_NONE ? count : 2 * count);

    struct zset_iter iter;
    struct bytes member;
    double score = 0, *wanted = scores != SCORES_NONE ? &score : NULL;
    zset_iter_at(&iter, zset, span->reverse && count > 0 ? span->to - 1 : span->from);
    while (count-- > 0) {
        if (span->reverse)
            zset_iter_prev(&iter, &member, wanted);
        else
            zset_iter_next(&iter, &member, wanted);
        if (scores == SCORES_PAIRED) resp_pair(call->out);
        reply_bytes(call, member);
        if (scores != SCORES_NONE) resp_double(call->out, score);
    }
}
