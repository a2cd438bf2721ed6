/* zset_random: members of sorted sets drawn by lot.
 * Knows ranks and lots; refuses to know how a rank is found. */
#include <stdlib.h>

#include "server/call/args.h"
#include "server/call/call.h"
#include "server/cmd/cmd.h"
#include "server/cmd/sample.h"
#include "server/cmd/zset/zset_span.h"
#include "server/call/command.h"
#include "server/call/error.h"
#include "store/mem/mem.h"
#include "store/txn/txn.h"

/* A sample of at least this part of all is chosen in one walk over all of them; a smaller one by
 * draws, of which few come twice. */
enum { DENSE_PART = 3 };

struct lots {
    struct call *call;
    const struct zset *zset;
    size_t wanted;
    bool with_scores;
};

static size_t draw(const struct lots *lots)
{
    return (size_t)(random_next(&lots->call->txn->store->random) % zset_count(lots->zset));
}

static void announce(const struct lots *lots)
{
    if (lots->with_scores)
        resp_pairs(lots->call->out, lots->wanted);
    else
        resp_array(lots->call->out, lots->wanted);
}

static void give(const struct lots *lots, struct bytes member, double score)
{
    if (lots->with_scores) resp_pair(lots->call->out);
    reply_bytes(lots->call, member);
    if (lots->with_scores) resp_double(lots->call->out, score);
}

static void give_rank(const struct lots *lots, size_t rank)
{
    struct zset_iter iter;
    struct bytes member;
    double score;
    zset_iter_at(&iter, lots->zset, rank);
    zset_iter_next(&iter, &member, &score);
    give(lots, member, score);
}

static void give_any(const struct lots *lots)
{
    for (size_t i = 0; i < lots->wanted; i++)
        give_rank(lots, draw(lots));
}

/* Selection sampling (Knuth, The Art of Computer Programming 3.4.2, algorithm S). */
static void give_by_walk(const struct lots *lots)
{
    struct zset_iter iter;
    struct bytes member;
    double score;
    size_t left = lots->wanted, unseen = zset_count(lots->zset);
    zset_iter_at(&iter, lots->zset, 0);
    while (left > 0 && zset_iter_next(&iter, &member, &score)) {
        if (random_next(&lots->call->txn->store->random) % unseen-- >= left) continue;
        give(lots, member, score);
        left--;
    }
}

static int compare_ranks(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static size_t without_twins(size_t *ranks, size_t count)
{
    size_t kept = 0;
    qsort(ranks, count, sizeof(*ranks), compare_ranks);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || ranks[kept - 1] != ranks[i]) ranks[kept++] = ranks[i];
    return kept;
}

/* What was drawn twice is drawn anew, until all are different. */
static void give_by_draws(const struct lots *lots)
{
    size_t *ranks = mem_alloc(lots->wanted * sizeof(*ranks));
    for (size_t drawn = 0; drawn < lots->wanted;) {
        while (drawn < lots->wanted)
            ranks[drawn++] = draw(lots);
        drawn = without_twins(ranks, drawn);
    }
    for (size_t i = 0; i < lots->wanted; i++)
        give_rank(lots, ranks[i]);
    mem_free(ranks);
}

static void give_distinct(const struct lots *lots)
{
    announce(lots);
    if (lots->wanted < zset_count(lots->zset) / DENSE_PART)
        give_by_draws(lots);
    else
        give_by_walk(lots);
}

/* All of them come highest first, as in Redis. */
static void give_all(const struct lots *lots)
{
    struct span span = span_all(lots->zset);
    span.reverse = true;
    span_reply(lots->call, lots->zset, &span, lots->with_scores ? SCORES_PAIRED : SCORES_NONE);
}

static void show_one(struct call *call)
{
    struct entry *entry;
    if (!read_typed(call, 1, TYPE_ZSET, &entry)) return;
    if (entry == NULL) {
        resp_null(call->out);
        return;
    }
    struct lots lots = { .call = call, .zset = entry->object.zset, .wanted = 1 };
    give_any(&lots);
}

static void show_some(struct call *call, int64_t count, bool with_scores)
{
    struct entry *entry;
    if (!read_typed(call, 1, TYPE_ZSET, &entry)) return;
    if (entry == NULL || count == 0) {
        resp_array(call->out, 0);
        return;
    }
    /* DIFFERS: Redis draws until its memory ends. (doc/differs.md) */
    if (count < -SAMPLE_DRAWS_MAX) {
        fail(call, ERR_OUT_OF_RANGE);
        return;
    }
    struct lots lots = { .call = call, .zset = entry->object.zset, .with_scores = with_scores };
    lots.wanted = (size_t)(count < 0 ? -count : count);
    if (count < 0) {
        announce(&lots);
        give_any(&lots);
    } else if (count > 1 && lots.wanted >= zset_count(lots.zset)) {
        give_all(&lots);
    } else {
        give_distinct(&lots);
    }
}

static void cmd_zrandmember(struct call *call)
{
    int64_t count;
    bool with_scores = call->argc > 3;
    if (call->argc == 2) {
        show_one(call);
        return;
    }
    if (!sample_read_count(call, 2, &count)) return;
    if (call->argc > 4 || (with_scores && !arg_is(call, 3, "WITHSCORES"))) {
        fail(call, ERR_SYNTAX);
        return;
    }
    if (with_scores && (count < -INT64_MAX / 2 || count > INT64_MAX / 2)) {
        fail(call, ERR_OUT_OF_RANGE);
        return;
    }
    show_some(call, count, with_scores);
}

static const struct command rows[] = {
    { .name = "ZRANDMEMBER",
      .run = cmd_zrandmember,
      .arity = -2,
      .flags = READONLY,
      .keys = KEY_FIRST,
      .tips = "nondeterministic_output",
      .group = "sorted-set",
      .since = "6.2.0",
      .replies =
          REPLIES("bulk: a member", "null: there is no such key",
                  "[bulk ...]: with count: members; a negative count may name one repeatedly",
                  "RESP2 [bulk bulk ...]: with WITHSCORES: members, each followed by its score",
                  "RESP3 [[bulk double] ...]: with WITHSCORES: members with their scores"),
      .errors =
          ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_OUT_OF_RANGE, ERR_NOT_BETWEEN),
      .complexity = "O(M*log(N)), N members of the sorted set, M given",
      .syntax = "key [count [WITHSCORES]]",
      .summary = "Gives members of a sorted set drawn by lot: count different ones, or -count "
                 "draws." },
};

const struct command_group zset_random_commands = COMMAND_GROUP(rows);
