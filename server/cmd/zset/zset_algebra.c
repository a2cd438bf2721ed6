/* zset_algebra: unions, intersections and differences of sorted sets, and of sets, whose members
 * count as 1.
 * Knows sources, weights and how scores become one; refuses to know how either type keeps its
 * members. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "proto/base/number.h"
#include "server/call/args.h"
#include "server/call/call.h"
#include "server/cmd/cmd.h"
#include "server/cmd/zset/zset_source.h"
#include "server/cmd/zset/zset_span.h"
#include "server/call/command.h"
#include "server/call/error.h"
#include "store/struct/dict.h"
#include "store/mem/mem.h"
#include "store/txn/txn.h"

struct source {
    const struct object *object; /* a set or a sorted set; NULL: there is none */
    size_t count;
    double weight;
    size_t place; /* among the arguments */
};

enum aggregate { AGGREGATE_SUM, AGGREGATE_MIN, AGGREGATE_MAX };
enum operation { UNION, INTER, DIFF };

/* What was asked for. */
struct algebra {
    enum operation operation;
    bool is_stored;  /* under argument 1 */
    bool only_count; /* ZINTERCARD */
    enum aggregate aggregate;
    bool with_scores;
    int64_t limit; /* of only_count; 0: none */
    struct source *sources;
    size_t count;
};

/* ---- sources --------------------------------------------------------------------------------- */

static bool find_score(const struct source *source, struct bytes member, double *score)
{
    return source->object != NULL && source_score(source->object, member, score);
}

static int compare_counts(const void *a, const void *b)
{
    const struct source *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Looks the sources up; false: one is of another type. */
static bool read_sources(struct call *call, struct algebra *a, int first)
{
    for (size_t i = 0; i < a->count; i++) {
        struct bytes key = call->argv[first + (int)i];
        const struct entry *entry = txn_read(call->txn, key);
        a->sources[i] = (struct source){ .weight = 1, .place = i };
        if (entry == NULL) continue;
        const struct object *object = &entry->object;
        if (!source_is_possible(object)) {
            fail(call, ERR_WRONGTYPE);
            return false;
        }
        a->sources[i].object = object;
        a->sources[i].count = object_count(object);
    }
    return true;
}

static bool read_weights(struct call *call, struct algebra *a, int first)
{
    for (size_t i = 0; i < a->count; i++) {
        struct bytes text = call->argv[first + (int)i];
        if (number_parse_double(text.data, text.len, &a->sources[i].weight)) continue;
        fail(call, ERR_WEIGHT);
        return false;
    }
    return true;
}

static bool read_aggregate(struct call *call, struct algebra *a, int i)
{
    static const char *const words[] = { "SUM", "MIN", "MAX" };
    for (unsigned w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
        if (!arg_is(call, i, words[w])) continue;
        a->aggregate = (enum aggregate)w;
        return true;
    }
    fail(call, ERR_SYNTAX);
    return false;
}

/* Takes the option at *i, which moves behind it; false: an error was replied. */
static bool take_option(struct call *call, struct algebra *a, int *i)
{
    int at = *i;
    size_t behind = (size_t)(call->argc - at - 1);
    bool scored = a->operation != DIFF && !a->only_count;
    *i += 2;
    if (scored && behind >= a->count && arg_is(call, at, "WEIGHTS")) {
        *i = at + 1 + (int)a->count;
        return read_weights(call, a, at + 1);
    }
    if (scored && behind >= 1 && arg_is(call, at, "AGGREGATE"))
        return read_aggregate(call, a, at + 1);
    if (a->only_count && behind >= 1 && arg_is(call, at, "LIMIT"))
        return arg_range(call, at + 1, 0, LONG_MAX, &a->limit, ERR_LIMIT_NEGATIVE);
    *i = at + 1;
    if (!a->is_stored && !a->only_count && arg_is(call, at, "WITHSCORES")) {
        a->with_scores = true;
        return true;
    }
    fail(call, ERR_SYNTAX);
    return false;
}

static bool parse(struct call *call, struct algebra *a, int first)
{
    if (!read_sources(call, a, first)) return false;
    int i = first + (int)a->count;
    while (i < call->argc)
        if (!take_option(call, a, &i)) return false;
    return true;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* An infinity times 0, and an infinity less itself, count as 0. */
static double number_or_0(double score)
{
    return isnan(score) ? 0 : score;
}

static double joined(enum aggregate aggregate, double score, double other)
{
    switch (aggregate) {
    case AGGREGATE_SUM: return number_or_0(score + other);
    case AGGREGATE_MIN: return other < score ? other : score;
    case AGGREGATE_MAX: return other > score ? other : score;
    }
    return score;
}

/* A stored score has one zero, as everywhere; a reply shows the -0 that a weight may make. */
static void keep(const struct algebra *a, struct zset *result, struct bytes member, double score)
{
    zset_put(result, member, a->is_stored && score == 0 ? 0 : score, NEVER);
}

/* ---- union ----------------------------------------------------------------------------------- */

struct sum {
    struct bytes member;
    double score;
};

static struct bytes sum_key(const void *sum)
{
    return ((const struct sum *)sum)->member;
}

static const struct dict_type sums_type = { .key = sum_key };

/* Adds the source's members to the sums; `last` is the first free one, and afterwards again. */
static struct sum *add_up(const struct algebra *a, const struct source *source, struct dict *found,
                          struct sum *last)
{
    struct source_iter iter;
    struct bytes member;
    double score;
    source_iter_begin(&iter, source->object);
    while (source_iter_next(&iter, &member, &score)) {
        score = number_or_0(source->weight * score);
        struct sum *sum = dict_find(found, member);
        if (sum != NULL) {
            sum->score = joined(a->aggregate, sum->score, score);
            continue;
        }
        *last = (struct sum){ member, score };
        dict_add(found, last++);
    }
    return last;
}

static void unite(const struct algebra *a, struct zset *result)
{
    size_t room = 0;
    for (size_t i = 0; i < a->count; i++)
        room += a->sources[i].count;
    if (room == 0) return;

    struct dict found;
    struct sum *sums = mem_alloc(room * sizeof(*sums)), *last = sums;
    dict_init(&found, &sums_type);
    for (size_t i = 0; i < a->count; i++)
        if (a->sources[i].count > 0) last = add_up(a, &a->sources[i], &found, last);
    dict_drop(&found);
    for (const struct sum *sum = sums; sum < last; sum++)
        keep(a, result, sum->member, sum->score);
    mem_free(sums);
}

/* ---- intersection ---------------------------------------------------------------------------- */

/* The member's score over all sources; false: one has it not. */
static bool score_in_all(const struct algebra *a, struct bytes member, double *score)
{
    *score = number_or_0(a->sources[0].weight * *score);
    for (size_t i = 1; i < a->count; i++) {
        double other;
        if (!find_score(&a->sources[i], member, &other)) return false;
        *score = joined(a->aggregate, *score, other * a->sources[i].weight);
    }
    return true;
}

/* Returns how many there are; of only_count, no more than the limit. */
static int64_t intersect(const struct algebra *a, struct zset *result)
{
    struct source_iter iter;
    struct bytes member;
    double score;
    int64_t count = 0;
    if (a->sources[0].count == 0) return 0;
    source_iter_begin(&iter, a->sources[0].object);
    while (source_iter_next(&iter, &member, &score)) {
        if (!score_in_all(a, member, &score)) continue;
        count++;
        if (a->only_count && count == a->limit) break;
        if (!a->only_count) keep(a, result, member, score);
    }
    return count;
}

/* ---- difference ------------------------------------------------------------------------------ */

static bool is_elsewhere(const struct algebra *a, struct bytes member)
{
    double score;
    for (size_t i = 1; i < a->count; i++)
        if (find_score(&a->sources[i], member, &score)) return true;
    return false;
}

/* The members of the first source that the others have. */
static struct set *shared_members(const struct algebra *a)
{
    struct source_iter iter;
    struct bytes member;
    double score;
    struct set *shared = set_new();
    for (size_t i = 1; i < a->count; i++) {
        if (a->sources[i].count == 0) continue;
        source_iter_begin(&iter, a->sources[i].object);
        while (source_iter_next(&iter, &member, &score))
            if (find_score(&a->sources[0], member, &score)) set_add(shared, member, NEVER);
    }
    return shared;
}

/* With `shared`, if it is there, instead of looks at every source. */
static void keep_unique(const struct algebra *a, const struct set *shared, struct zset *result)
{
    struct source_iter iter;
    struct bytes member;
    double score;
    source_iter_begin(&iter, a->sources[0].object);
    while (source_iter_next(&iter, &member, &score))
        if (shared != NULL ? !set_has(shared, member) : !is_elsewhere(a, member))
            keep(a, result, member, score);
}

/* Looks up each member of the first source in the others or, where those are small, all of theirs
 * in the first. */
static void subtract(const struct algebra *a, struct zset *result)
{
    size_t others = 0, looks = a->sources[0].count;
    if (looks == 0) return;
    if (__builtin_mul_overflow(looks, a->count - 1, &looks)) looks = SIZE_MAX;
    for (size_t i = 1; i < a->count; i++)
        others += a->sources[i].count;
    struct set *shared = others < looks / 2 ? shared_members(a) : NULL;
    keep_unique(a, shared, result);
    if (shared != NULL) set_free(shared);
}

/* ---- the commands ---------------------------------------------------------------------------- */

static void reply(struct call *call, const struct algebra *a, struct object result)
{
    size_t count = object_count(&result);
    if (a->is_stored) {
        static const enum event events[] = {
            [UNION] = EVENT_ZUNIONSTORE,
            [INTER] = EVENT_ZINTERSTORE,
            [DIFF] = EVENT_ZDIFFSTORE,
        };
        txn_key_store(call->txn, call->argv[1], result, events[a->operation]);
        resp_integer(call->out, (int64_t)count);
        return;
    }
    struct span span = span_all(result.zset);
    span_reply(call, result.zset, &span, a->with_scores ? SCORES_PAIRED : SCORES_NONE);
    object_free(&result);
}

static void compute(struct call *call, struct algebra *a)
{
    if (a->operation != DIFF) qsort(a->sources, a->count, sizeof(*a->sources), compare_counts);
    if (a->only_count) {
        resp_integer(call->out, intersect(a, NULL));
        return;
    }
    struct object result = object_new(TYPE_ZSET);
    switch (a->operation) {
    case UNION: unite(a, result.zset); break;
    case INTER: intersect(a, result.zset); break;
    case DIFF: subtract(a, result.zset); break;
    }
    reply(call, a, result);
}

static void run(struct call *call, struct algebra a)
{
    int at = a.is_stored ? 2 : 1;
    int64_t count;
    if (!arg_int64(call, at, &count)) return;
    if (count < 1) {
        fail_named(call, ERR_NO_INPUT_KEY);
        return;
    }
    if (count > call->argc - at - 1) {
        fail(call, ERR_SYNTAX);
        return;
    }
    a.count = (size_t)count;
    a.sources = mem_alloc(a.count * sizeof(*a.sources));
    if (parse(call, &a, at + 1)) compute(call, &a);
    mem_free(a.sources);
}

static void cmd_zunion(struct call *call)
{
    run(call, (struct algebra){ .operation = UNION });
}

static void cmd_zinter(struct call *call)
{
    run(call, (struct algebra){ .operation = INTER });
}

static void cmd_zdiff(struct call *call)
{
    run(call, (struct algebra){ .operation = DIFF });
}

static void cmd_zunionstore(struct call *call)
{
    run(call, (struct algebra){ .operation = UNION, .is_stored = true });
}

static void cmd_zinterstore(struct call *call)
{
    run(call, (struct algebra){ .operation = INTER, .is_stored = true });
}

static void cmd_zdiffstore(struct call *call)
{
    run(call, (struct algebra){ .operation = DIFF, .is_stored = true });
}

static void cmd_zintercard(struct call *call)
{
    run(call, (struct algebra){ .operation = INTER, .only_count = true });
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define READ_KEYS                                                                                  \
    .flags = READONLY | MOVABLE_KEYS | COPIES, .specs = { KEYS_COUNTED_AT(1, KEY_RO | KEY_ACCESS) }
#define STORE_KEYS                                                                                 \
    .flags = WRITE | GROWS | MOVABLE_KEYS | COPIES, .keys = KEY_FIRST,                             \
    .specs = { KEY_AT(1, KEY_OW | KEY_UPDATE), KEYS_COUNTED_AT(2, KEY_RO | KEY_ACCESS) }
#define COST_UNION "O(N+M*log(M)), N members of all the sets, M in the result"
#define COST_INTER "O(N*K+M*log(M)), N members of the smallest of K sorted sets, M in the result"
#define COST_DIFF  "O(N*K+M*log(M)) at worst, N members of the first of K sets, M in the result"
#define JOINED     "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM|MIN|MAX>]"

static const struct command rows[] = {
    { .name = "ZUNION",
      .run = cmd_zunion,
      .arity = -3,
      READ_KEYS,
      .group = "sorted-set",
      .since = "6.2.0",
      .replies =
          REPLIES("[bulk ...]: the members of the result",
                  "RESP2 [bulk bulk ...]: with WITHSCORES: members, each followed by its score",
                  "RESP3 [[bulk double] ...]: with WITHSCORES: members with their scores"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY, ERR_WEIGHT),
      .complexity = COST_UNION,
      .syntax = JOINED " [WITHSCORES]",
      .summary = "Lists the members of any of several sorted sets." },
    { .name = "ZINTER",
      .run = cmd_zinter,
      .arity = -3,
      READ_KEYS,
      .group = "sorted-set",
      .since = "6.2.0",
      .replies =
          REPLIES("[bulk ...]: the members of the result",
                  "RESP2 [bulk bulk ...]: with WITHSCORES: members, each followed by its score",
                  "RESP3 [[bulk double] ...]: with WITHSCORES: members with their scores"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY, ERR_WEIGHT),
      .complexity = COST_INTER,
      .syntax = JOINED " [WITHSCORES]",
      .summary = "Lists the members that all of several sorted sets have." },
    { .name = "ZDIFF",
      .run = cmd_zdiff,
      .arity = -3,
      READ_KEYS,
      .group = "sorted-set",
      .since = "6.2.0",
      .replies =
          REPLIES("[bulk ...]: the members of the result",
                  "RESP2 [bulk bulk ...]: with WITHSCORES: members, each followed by its score",
                  "RESP3 [[bulk double] ...]: with WITHSCORES: members with their scores"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY),
      .complexity = COST_DIFF,
      .syntax = "numkeys key [key ...] [WITHSCORES]",
      .summary = "Lists the members of the first sorted set that no other one has." },
    { .name = "ZUNIONSTORE",
      .run = cmd_zunionstore,
      .arity = -4,
      STORE_KEYS,
      .group = "sorted-set",
      .since = "2.0.0",
      .replies = REPLIES("integer: the number of members of the result"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY, ERR_WEIGHT),
      .complexity = COST_UNION,
      .syntax = "destination " JOINED,
      .summary = "Stores the members of any of several sorted sets." },
    { .name = "ZINTERSTORE",
      .run = cmd_zinterstore,
      .arity = -4,
      STORE_KEYS,
      .group = "sorted-set",
      .since = "2.0.0",
      .replies = REPLIES("integer: the number of members of the result"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY, ERR_WEIGHT),
      .complexity = COST_INTER,
      .syntax = "destination " JOINED,
      .summary = "Stores the members that all of several sorted sets have." },
    { .name = "ZDIFFSTORE",
      .run = cmd_zdiffstore,
      .arity = -4,
      STORE_KEYS,
      .group = "sorted-set",
      .since = "6.2.0",
      .replies = REPLIES("integer: the number of members of the result"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY),
      .complexity = COST_DIFF,
      .syntax = "destination numkeys key [key ...]",
      .summary = "Stores the members of the first sorted set that no other one has." },
    { .name = "ZINTERCARD",
      .run = cmd_zintercard,
      .arity = -3,
      READ_KEYS,
      .group = "sorted-set",
      .since = "7.0.0",
      .replies = REPLIES("integer: the number of members in all of the sorted sets, at most LIMIT"),
      .errors =
          ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY, ERR_LIMIT_NEGATIVE),
      .complexity = "O(N*K), N members of the smallest of K sorted sets",
      .syntax = "numkeys key [key ...] [LIMIT limit]",
      .summary = "Counts the members that all of several sorted sets have." },
};

const struct command_group zset_algebra_commands = COMMAND_GROUP(rows);
