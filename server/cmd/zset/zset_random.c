/* zset_random: ZRANDMEMBER. */
#include <stdlib.h>

#include "server/cmd/call/args.h"
#include "server/cmd/call/call.h"
#include "server/cmd/call/command.h"
#include "server/cmd/call/error.h"
#include "server/cmd/sample.h"
#include "server/cmd/zset/zset.h"
#include "server/cmd/zset/zset_span.h"
#include "store/mem/mem.h"
#include "store/txn/txn.h"

/* A sample of distinct members that contains at least 1/DENSE_PART of them is chosen by one walk
 * over all members. A smaller one is drawn by random ranks, because then few ranks repeat. */
enum { DENSE_PART = 3 };

struct zset_sample {
    struct call *call;
    const struct zset *zset;
    size_t wanted;
    bool with_scores;
};

static size_t draw_rank(const struct zset_sample *sample)
{
    return (size_t)(random_next(&sample->call->txn->store->random) % zset_count(sample->zset));
}

static void reply_sampled(const struct zset_sample *sample, struct bytes member, double score)
{
    if (sample->with_scores) resp_pair(sample->call->out);
    reply_bytes(sample->call, member);
    if (sample->with_scores) resp_double(sample->call->out, score);
}

static void reply_at_rank(const struct zset_sample *sample, size_t rank)
{
    struct zset_iter iter;
    struct bytes member;
    double score;
    zset_iter_at(&iter, sample->zset, rank);
    zset_iter_next(&iter, &member, &score);
    reply_sampled(sample, member, score);
}

static void reply_any_ranks(const struct zset_sample *sample)
{
    for (size_t i = 0; i < sample->wanted; i++)
        reply_at_rank(sample, draw_rank(sample));
}

static int compare_ranks(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Draws again for each repeated rank, until all are different. */
static void reply_distinct_ranks(struct zset_sample *sample)
{
    size_t *ranks = mem_alloc(sample->wanted * sizeof(*ranks)), kept = 0;
    while (kept < sample->wanted) {
        while (kept < sample->wanted)
            ranks[kept++] = draw_rank(sample);
        qsort(ranks, kept, sizeof(*ranks), compare_ranks);
        kept = 0;
        for (size_t i = 0; i < sample->wanted; i++)
            if (kept == 0 || ranks[kept - 1] != ranks[i]) ranks[kept++] = ranks[i];
    }
    for (size_t i = 0; i < sample->wanted; i++)
        reply_at_rank(sample, ranks[i]);
    mem_free(ranks);
}

static void reply_random_zset_members(struct call *call, int64_t count, bool with_scores)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_ZSET, &entry)) return;
    if (entry == NULL || count == 0) {
        resp_array(call->out, 0);
        return;
    }
    /* DIFFERS: Redis sets no limit, and draws until it is out of memory. (doc/differs.md) */
    if (fail_if(call, count < -SAMPLE_DRAWS_MAX, ERR_OUT_OF_RANGE)) return;
    struct zset_sample sample = { .call = call,
                                  .zset = entry->object.zset,
                                  .with_scores = with_scores };
    sample.wanted = (size_t)(count < 0 ? -count : count);
    size_t all = zset_count(sample.zset);
    if (count > 1 && sample.wanted >= all) { /* highest first, as in Redis */
        struct span span = span_all(sample.zset);
        span.reverse = true;
        span_reply(call, sample.zset, &span, with_scores ? SCORES_PAIRED : SCORES_NONE);
        return;
    }
    if (with_scores)
        resp_pairs(call->out, sample.wanted);
    else
        resp_array(call->out, sample.wanted);
    if (count < 0) {
        reply_any_ranks(&sample);
        return;
    }
    if (sample.wanted < all / DENSE_PART) {
        reply_distinct_ranks(&sample);
        return;
    }

    /* Selection sampling (Knuth, The Art of Computer Programming 3.4.2, algorithm S). */
    struct zset_iter iter;
    struct bytes member;
    double score;
    size_t left = sample.wanted, unseen = all;
    zset_iter_at(&iter, sample.zset, 0);
    while (left > 0 && zset_iter_next(&iter, &member, &score)) {
        if (random_next(&call->txn->store->random) % unseen-- >= left) continue;
        reply_sampled(&sample, member, score);
        left--;
    }
}

static void cmd_zrandmember(struct call *call)
{
    int64_t count;
    bool with_scores = call->argc > 3;
    if (call->argc == 2) {
        struct entry *entry;
        if (!find_typed_counted(call, 1, TYPE_ZSET, &entry)) return;
        if (entry == NULL)
            resp_null(call->out);
        else
            reply_any_ranks(
                &(struct zset_sample){ .call = call, .zset = entry->object.zset, .wanted = 1 });
        return;
    }
    if (!sample_read_count(call, 2, &count)) return;
    if (fail_if(call, call->argc > 4 || (with_scores && !arg_is(call, 3, "WITHSCORES")),
                ERR_SYNTAX))
        return;
    if (fail_if(call, with_scores && (count < -INT64_MAX / 2 || count > INT64_MAX / 2),
                ERR_OUT_OF_RANGE))
        return;
    reply_random_zset_members(call, count, with_scores);
}

static const struct command rows[] = {
    ROW("ZRANDMEMBER", cmd_zrandmember, -2, READONLY, .keys = KEY_FIRST,
        .tips = "nondeterministic_output", .since = "6.2.0",
        .replies = REPLIES(
            "bulk: a member", "null: there is no such key",
            "[bulk ...]: with count: members; if it is negative, one may occur more than once",
            REPLY_WITHSCORES),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_OUT_OF_RANGE, ERR_NOT_BETWEEN),
        .complexity = "O(M*log(N)) where N is the number of members in the sorted set and M the "
                      "number returned.",
        .syntax = "key [count [WITHSCORES]]",
        .summary = "Returns random members of a sorted set: count distinct ones, or -count "
                   "independent draws."),
};

const struct command_group zset_random_commands = COMMAND_GROUP("sorted-set", rows);
