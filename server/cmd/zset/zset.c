/* zset: commands that add, remove and read given members of sorted sets, or draw random ones.
 * zset_range.c implements those on ranges of scores, ranks or members. */
#include "server/cmd/zset/zset.h"

#include <stdlib.h>

#include "server/cmd/call/args.h"
#include "server/cmd/member/member_args.h"
#include "server/cmd/sample.h"
#include "server/cmd/zset/zset_span.h"
#include "store/base/number.h"
#include "store/mem/mem.h"

/* ---- ZADD, ZADDEX and ZINCRBY ---------------------------------------------------------------- */

enum { ZADD, ZADDEX, ZINCRBY }; /* variants of the rows */

struct zadd {
    struct zput put;
    bool has_expiry; /* ZADDEX */
    struct member_life life;
    bool count_moved; /* CH */
    int first;        /* index of the argument with the first score */
    int pairs;
};

static enum arg_taken take_zadd_option(struct call *call, int *i, struct zadd *how)
{
    const struct {
        const char *word;
        bool *flag;
        bool unless_has_expiry;
    } options[] = {
        { .word = "NX", .flag = &how->put.only_new },
        { .word = "XX", .flag = &how->put.only_present },
        { .word = "CH", .flag = &how->count_moved },
        { .word = "INCR", .flag = &how->put.add, .unless_has_expiry = true },
        { .word = "GT", .flag = &how->put.only_greater },
        { .word = "LT", .flag = &how->put.only_less },
    };
    for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++) {
        if (!arg_is(call, *i, options[o].word) || (options[o].unless_has_expiry && how->has_expiry))
            continue;
        *options[o].flag = true;
        *i += 1;
        return ARG_TAKEN;
    }
    return how->has_expiry ? arg_member_life(call, i, &how->life) : ARG_OTHER;
}

/* Nearly all scores begin with a digit or a minus, and no option does. */
static bool is_surely_score(const struct call *call, int i)
{
    struct bytes arg = i < call->argc ? call->argv[i] : LIT("");
    return arg.len > 0 && ((arg.data[0] >= '0' && arg.data[0] <= '9') || arg.data[0] == '-');
}

static bool parse_zadd(struct call *call, struct zadd *how)
{
    enum arg_taken taken;
    how->first = 2;
    do
        taken = is_surely_score(call, how->first) ? ARG_OTHER
                                                  : take_zadd_option(call, &how->first, how);
    while (taken == ARG_TAKEN);
    if (taken == ARG_FAILED) return false;
    int i = how->first, rest = call->argc - i;
    /* The errors of ZADDEX name the missing part, where ZADD replies Redis' bare "syntax error". */
    if (how->has_expiry) {
        double score;
        if (!how->life.is_given && (rest == 0 || is_surely_score(call, i)))
            return fail(call, ERR_NO_DEADLINE);
        if (rest > 0 && !number_parse_double(call->argv[i].data, call->argv[i].len, &score))
            return failf(call, ERR_ZADDEX_ARGUMENT, arg_width(call, i), call->argv[i].data);
        if (rest == 0 || rest % 2 != 0) return fail(call, ERR_ZADDEX_PAIRS);
    }
    if (rest == 0 || rest % 2 != 0) return fail(call, ERR_SYNTAX);
    how->pairs = rest / 2;
    how->put.event = how->put.add ? EVENT_ZINCR : EVENT_ZADD;
    how->put.life =
        member_lifetime(call, &how->life, how->put.add || how->has_expiry ? LIFE(KEEP) : LIFE(ADD));
    const struct zput *put = &how->put;
    bool only_beyond = put->only_greater || put->only_less;
    if (put->only_new && put->only_present) return fail(call, ERR_ZADD_XX_NX);
    if ((put->only_new && only_beyond) || (put->only_greater && put->only_less))
        return fail(call, ERR_ZADD_GT_LT_NX);
    if (put->add && how->pairs > 1) return fail(call, ERR_ZADD_INCR_PAIR);
    return !how->has_expiry || how->life.is_given || fail(call, ERR_NO_DEADLINE);
}

/* If the given deadline has passed, a member that receives it is removed again at once: a new one
 * does not count as added, and an existing one counts as moved. */
static void zadd_scored(struct call *call, const struct zadd *how, double *scores)
{
    for (int i = 0; i < how->pairs; i++) {
        if (!arg_double(call, how->first + 2 * i, &scores[i])) return;
        /* DIFFERS: Redis turns -0 into 0 only in a small sorted set; here -0 always becomes 0.
         * (doc/differs.md) */
        if (scores[i] == 0) scores[i] = 0;
    }
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_ZSET, &entry)) return;

    bool exists = entry != NULL || !how->put.only_present;
    bool past = member_life_is_past(call, &how->life);
    int64_t added = 0, moved = 0;
    double score = 0;                       /* the new score of the last member */
    enum zput_result result = ZPUT_REFUSED; /* for the last member */
    if (entry == NULL && exists)
        entry = (past ? txn_create_uncounted : txn_create)(call->txn, call->argv[1], TYPE_ZSET);
    for (int i = 0; exists && i < how->pairs; i++) {
        struct bytes member = call->argv[how->first + 2 * i + 1];
        score = scores[i];
        result = txn_zset_put(call->txn, entry, member, &score, &how->put);
        bool is_new = result == ZPUT_ADDED, is_old = result == ZPUT_MOVED || result == ZPUT_SAME;
        if (past && (is_new || (is_old && !how->life.keeps))) {
            txn_member_expire(call->txn, entry, member, how->life.at);
            result = is_new ? ZPUT_SAME : ZPUT_MOVED;
        }
        added += result == ZPUT_ADDED;
        moved += result == ZPUT_MOVED;
    }
    if (result == ZPUT_NAN)
        fail(call, ERR_SCORE_NAN);
    else if (!how->put.add)
        resp_integer(call->out, added + (how->count_moved ? moved : 0));
    else if (result == ZPUT_REFUSED)
        resp_null(call->out);
    else
        resp_double(call->out, score);
}

/* ZINCRBY is ZADD INCR. */
static void cmd_zadd(struct call *call)
{
    int variant = call_variant(call);
    struct zadd how = { .has_expiry = variant == ZADDEX, .put.add = variant == ZINCRBY };
    double on_stack[16], *scores = on_stack;
    if (!parse_zadd(call, &how)) return;
    size_t pairs = (size_t)how.pairs;
    if (pairs > sizeof(on_stack) / sizeof(on_stack[0])) scores = mem_alloc(pairs * sizeof(*scores));
    zadd_scored(call, &how, scores);
    if (scores != on_stack) mem_free(scores);
}

/* ---- ZREM, ZCARD, ZSCORE, ZRANK -------------------------------------------------------------- */

static void cmd_zrem(struct call *call)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_ZSET, &entry)) return;
    int64_t removed = 0;
    for (int i = 2; entry != NULL && i < call->argc; i++)
        removed += txn_zset_remove(call->txn, entry, call->argv[i]);
    resp_integer(call->out, removed);
}

static void cmd_zcard(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_ZSET, &entry)) return;
    resp_integer(call->out, entry == NULL ? 0 : (int64_t)zset_count(entry->object.zset));
}

static void reply_score(struct call *call, const struct entry *entry, struct bytes member)
{
    double score;
    if (entry != NULL && zset_score(entry->object.zset, member, &score))
        resp_double(call->out, score);
    else
        resp_null(call->out);
}

static void cmd_zscore(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_ZSET, &entry)) return;
    reply_score(call, entry, call->argv[2]);
}

static void cmd_zmscore(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_ZSET, &entry)) return;
    resp_array(call->out, (size_t)call->argc - 2);
    for (int i = 2; i < call->argc; i++)
        reply_score(call, entry, call->argv[i]);
}

/* ZRANK and ZREVRANK. */
static void reply_rank(struct call *call)
{
    bool from_the_end = call_variant(call);
    struct entry *entry;
    size_t rank;
    bool with_score = call->argc > 3;
    if (call->argc > 4) {
        fail_named(call, ERR_ARITY);
        return;
    }
    if (fail_if(call, with_score && !arg_is(call, 3, "WITHSCORE"), ERR_SYNTAX)) return;
    if (!find_typed_counted(call, 1, TYPE_ZSET, &entry)) return;
    if (entry == NULL || !zset_rank(entry->object.zset, call->argv[2], &rank)) {
        (with_score ? resp_null_array : resp_null)(call->out);
        return;
    }
    if (from_the_end) rank = zset_count(entry->object.zset) - 1 - rank;
    if (with_score) resp_array(call->out, 2);
    resp_integer(call->out, (int64_t)rank);
    if (with_score) reply_score(call, entry, call->argv[2]);
}

/* ---- ZRANDMEMBER ----------------------------------------------------------------------------- */

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
        /* Draw again for each repeated rank, until all are different. */
        size_t *ranks = mem_alloc(sample.wanted * sizeof(*ranks)), kept = 0;
        while (kept < sample.wanted) {
            while (kept < sample.wanted)
                ranks[kept++] = draw_rank(&sample);
            qsort(ranks, kept, sizeof(*ranks), compare_ranks);
            kept = 0;
            for (size_t i = 0; i < sample.wanted; i++)
                if (kept == 0 || ranks[kept - 1] != ranks[i]) ranks[kept++] = ranks[i];
        }
        for (size_t i = 0; i < sample.wanted; i++)
            reply_at_rank(&sample, ranks[i]);
        mem_free(ranks);
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

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct command rows[] = {
    ROW("ZADD", cmd_zadd, -4, WRITE | GROWS | FAST, .variant = ZADD, .keys = KEY_FIRST,
        .since = "1.2.0",
        .replies = REPLIES(
            "integer: the number of members added; with CH, of members added or with a "
            "changed score",
            "double: with INCR: the new score", "null: with INCR: the condition did not hold"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_FLOAT, ERR_SCORE_NAN, ERR_ZADD_XX_NX,
                         ERR_ZADD_GT_LT_NX, ERR_ZADD_INCR_PAIR),
        .complexity = "O(M*log(N)) where M is the number of members given and N the number in the "
                      "sorted set.",
        .syntax = "key [NX|XX] [GT|LT] [CH] [INCR] score member [score member ...]",
        .summary = "Adds one or more members to a sorted set, or updates their scores. Creates the "
                   "key if it does not exist."),
    ROW("ZADDEX", cmd_zadd, -6, WRITE | GROWS | FAST, .variant = ZADDEX, .keys = KEY_FIRST,
        .since = "0.1.0",
        .replies =
            REPLIES("integer: the number of members added; with CH, of members added, with a "
                    "changed score, or removed because the deadline has passed"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_NOT_FLOAT, ERR_BAD_EXPIRE,
                         ERR_EXPIRE_NEGATIVE, ERR_ONE_DEADLINE, ERR_NO_DEADLINE,
                         ERR_ZADDEX_ARGUMENT, ERR_ZADDEX_PAIRS, ERR_ZADD_XX_NX, ERR_ZADD_GT_LT_NX),
        .complexity = "O(M*log(N)) where M is the number of members given and N the number in the "
                      "sorted set.",
        .syntax =
            "key <EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT "
            "unix-time-milliseconds> [KEEPTTL] [NX|XX] [GT|LT] [CH] score member [score member "
            "...]",
        .summary =
            "Adds members with a deadline to a sorted set, or updates their scores. Existing "
            "members receive the deadline too, unless KEEPTTL is given."),
    ROW("ZINCRBY", cmd_zadd, 4, WRITE | GROWS | FAST, .variant = ZINCRBY, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "1.2.0",
        .replies = REPLIES("double: the new score"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_FLOAT, ERR_SCORE_NAN),
        .complexity = "O(log(N)) where N is the number of members in the sorted set.",
        .syntax = "key increment member",
        .summary =
            "Increments the score of a member of a sorted set. A missing member counts as 0."),
    ROW("ZREM", cmd_zrem, -3, WRITE | FAST, .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_DELETE,
        .since = "1.2.0", .replies = REPLIES("integer: the number of members removed"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(M*log(N)) where M is the number of members given and N the number in the "
                      "sorted set.",
        .syntax = "key member [member ...]",
        .summary = "Removes one or more members from a sorted set."),
    ROW("ZCARD", cmd_zcard, 2, READONLY | FAST, .keys = KEY_FIRST, .key_flags = KEY_RO,
        .since = "1.2.0",
        .replies = REPLIES("integer: the number of members, 0 if there is no such key"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the number of members in a sorted set."),
    ROW("ZSCORE", cmd_zscore, 3, READONLY | FAST | NAMES_MEMBERS, .keys = KEY_FIRST,
        .since = "1.2.0",
        .replies = REPLIES("double: the score", "null: there is no such key or member"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key member",
        .summary = "Returns the score of a member of a sorted set."),
    ROW("ZMSCORE", cmd_zmscore, -3, READONLY | FAST | NAMES_MEMBERS, .keys = KEY_FIRST,
        .since = "6.2.0",
        .replies = REPLIES("[double|null ...]: the scores; null where there is no such member"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(M) where M is the number of members given.",
        .syntax = "key member [member ...]",
        .summary = "Returns the scores of one or more members of a sorted set."),
    ROW("ZRANK", reply_rank, -3, READONLY | FAST, .variant = false, .keys = KEY_FIRST,
        .since = "2.0.0",
        .replies = REPLIES("integer: the rank, from 0", "null: there is no such key or member",
                           "[integer double]: with WITHSCORE: the rank and the score",
                           "null-array: with WITHSCORE: there is no such key or member"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX),
        .complexity = "O(log(N)) where N is the number of members in the sorted set.",
        .syntax = "key member [WITHSCORE]",
        .summary = "Returns the rank of a member of a sorted set, by ascending score."),
    ROW("ZREVRANK", reply_rank, -3, READONLY | FAST, .variant = true, .keys = KEY_FIRST,
        .since = "2.0.0",
        .replies = REPLIES("integer: the rank, from 0", "null: there is no such key or member",
                           "[integer double]: with WITHSCORE: the rank and the score",
                           "null-array: with WITHSCORE: there is no such key or member"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX),
        .complexity = "O(log(N)) where N is the number of members in the sorted set.",
        .syntax = "key member [WITHSCORE]",
        .summary = "Returns the rank of a member of a sorted set, by descending score."),
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

const struct command_group zset_commands = COMMAND_GROUP("sorted-set", rows);
