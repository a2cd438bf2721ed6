/* zset_algebra: ZUNION, ZINTER, ZDIFF, their STORE forms and ZINTERCARD. A source may also be a
 * set, whose members all have the score 1. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "server/cmd/call/args.h"
#include "server/cmd/zset/zset.h"
#include "server/cmd/zset/zset_span.h"
#include "store/base/number.h"
#include "store/mem/mem.h"
#include "store/struct/dict.h"

/* ---- sets and sorted sets as sources --------------------------------------------------------- */

/* An iterator over a set, in no particular order, or over a sorted set, lowest score first. The
 * object must not change during the iteration. */
struct source_iter {
    bool is_set;
    struct set_iter set;
    struct zset_iter zset;
};

static void source_iter_begin(struct source_iter *iter, const struct object *object)
{
    iter->is_set = object->type == TYPE_SET;
    if (iter->is_set)
        set_iter_begin(&iter->set, object->set);
    else
        zset_iter_at(&iter->zset, object->zset, 0);
}

static bool source_iter_next(struct source_iter *iter, struct bytes *member, double *score)
{
    *score = 1;
    return iter->is_set ? set_iter_next(&iter->set, member)
                        : zset_iter_next(&iter->zset, member, score);
}

/* ---- the algebra ----------------------------------------------------------------------------- */

struct source {
    const struct object *object; /* a set or a sorted set; NULL if the key is missing */
    size_t count;
    double weight;
    size_t index; /* its index among the keys of the call */
};

enum aggregate { AGGREGATE_SUM, AGGREGATE_MIN, AGGREGATE_MAX };
enum operation { UNION, INTER, DIFF };
enum { CARD = DIFF + 1 }; /* variant of the row of ZINTERCARD; the others are operations */

struct algebra {
    enum operation operation;
    bool is_stored;  /* the result is stored at argument 1 */
    bool only_count; /* ZINTERCARD */
    enum aggregate aggregate;
    bool with_scores;
    int64_t limit; /* limit of only_count; 0 for no limit */
    struct source *sources;
    size_t count;
};

static bool find_score(const struct source *source, struct bytes member, double *score)
{
    const struct object *object = source->object;
    *score = 1;
    if (object == NULL) return false;
    return object->type == TYPE_SET ? set_has(object->set, member)
                                    : zset_score(object->zset, member, score);
}

static int compare_counts(const void *a, const void *b)
{
    const struct source *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Parses the option at *i and moves *i to the argument after the option. Returns false after
 * sending an error. */
static bool take_algebra_option(struct call *call, struct algebra *a, int *i)
{
    int at = *i;
    size_t left = (size_t)(call->argc - at - 1);
    bool scored = a->operation != DIFF && !a->only_count;
    if (scored && left >= a->count && arg_is(call, at, "WEIGHTS")) {
        for (size_t s = 0; s < a->count; s++) {
            struct bytes text = call->argv[at + 1 + (int)s];
            if (!number_parse_double(text.data, text.len, &a->sources[s].weight))
                return fail(call, ERR_WEIGHT);
        }
        *i = at + 1 + (int)a->count;
        return true;
    }
    *i = at + 2;
    if (scored && left >= 1 && arg_is(call, at, "AGGREGATE")) {
        static const char *const words[] = { "SUM", "MIN", "MAX" };
        int found = arg_word(call, at + 1, words, 3);
        if (found < 0) return fail(call, ERR_SYNTAX);
        a->aggregate = (enum aggregate)found;
        return true;
    }
    if (a->only_count && left >= 1 && arg_is(call, at, "LIMIT"))
        return arg_range(call, at + 1, 0, LONG_MAX, &a->limit, ERR_LIMIT_NEGATIVE);
    *i = at + 1;
    if (!a->is_stored && !a->only_count && arg_is(call, at, "WITHSCORES")) {
        a->with_scores = true;
        return true;
    }
    return fail(call, ERR_SYNTAX);
}

/* As in Redis, infinity * 0 and infinity - infinity count as 0. */
static double nan_to_0(double score)
{
    return isnan(score) ? 0 : score;
}

static double aggregate_scores(enum aggregate aggregate, double score, double other)
{
    switch (aggregate) {
    case AGGREGATE_SUM: return nan_to_0(score + other);
    case AGGREGATE_MIN: return other < score ? other : score;
    case AGGREGATE_MAX: return other > score ? other : score;
    }
    return score;
}

/* A weight may turn 0 into -0. A reply shows -0, but a stored score becomes 0. */
static void add_to_zset(const struct algebra *a, struct zset *result, struct bytes member,
                        double score)
{
    zset_put(result, member, a->is_stored && score == 0 ? 0 : score, NEVER);
}

struct sum {
    struct bytes member;
    double score;
};

static struct bytes sum_key(const void *sum)
{
    return ((const struct sum *)sum)->member;
}

static const struct dict_type sums_type = { .key = sum_key };

static void unite_zsets(const struct algebra *a, struct zset *result)
{
    size_t most = 0;
    for (size_t i = 0; i < a->count; i++)
        most += a->sources[i].count;
    if (most == 0) return;
    struct dict found;
    struct outbuf texts;
    struct sum *sums = mem_alloc(most * sizeof(*sums)), *last = sums;
    dict_init(&found, &sums_type);
    outbuf_init(&texts);
    for (size_t i = 0; i < a->count; i++) {
        struct source_iter iter;
        struct bytes member;
        double score;
        if (a->sources[i].count == 0) continue;
        source_iter_begin(&iter, a->sources[i].object);
        while (source_iter_next(&iter, &member, &score)) {
            score = nan_to_0(a->sources[i].weight * score);
            struct sum *sum = dict_find(&found, member);
            if (sum != NULL) {
                sum->score = aggregate_scores(a->aggregate, sum->score, score);
                continue;
            }
            if (!iter.is_set) member = zset_iter_keep(&iter.zset, member, &texts);
            *last = (struct sum){ member, score };
            dict_add(&found, last++);
        }
    }
    dict_drop(&found);
    for (const struct sum *sum = sums; sum < last; sum++)
        add_to_zset(a, result, sum->member, sum->score);
    outbuf_drop(&texts);
    mem_free(sums);
}

/* Returns the number of members; with only_count, at most the limit. */
static int64_t intersect_zsets(const struct algebra *a, struct zset *result)
{
    const struct source *walked = &a->sources[0];
    struct source_iter iter;
    struct bytes member;
    double own;
    int64_t count = 0;
    if (walked->count == 0) return 0;
    source_iter_begin(&iter, walked->object);
    while (source_iter_next(&iter, &member, &own)) {
        double score = nan_to_0(walked->weight * own);
        bool in_all = true;
        for (size_t i = 1; in_all && i < a->count; i++) {
            double other = own;
            bool is_walked = a->sources[i].object == walked->object; /* a key that is given twice */
            in_all = is_walked || find_score(&a->sources[i], member, &other);
            if (in_all) score = aggregate_scores(a->aggregate, score, other * a->sources[i].weight);
        }
        if (!in_all) continue;
        count++;
        if (a->only_count && count == a->limit) break;
        if (!a->only_count) add_to_zset(a, result, member, score);
    }
    return count;
}

/* Looks up the members of the first source in the others or, if that takes fewer look-ups, the
 * members of the others in the first. */
static void subtract_zsets(const struct algebra *a, struct zset *result)
{
    const struct source *first = &a->sources[0];
    struct source_iter iter;
    struct bytes member;
    double score, other;
    size_t others = 0, lookups = first->count;
    if (lookups == 0) return;
    if (__builtin_mul_overflow(lookups, a->count - 1, &lookups)) lookups = SIZE_MAX;
    for (size_t i = 1; i < a->count; i++)
        others += a->sources[i].count;
    struct set *shared = others < lookups / 2 ? set_new() : NULL;
    for (size_t i = 1; shared != NULL && i < a->count; i++) {
        if (a->sources[i].count == 0) continue;
        source_iter_begin(&iter, a->sources[i].object);
        while (source_iter_next(&iter, &member, &score))
            if (find_score(first, member, &other)) set_add(shared, member, NEVER);
    }
    source_iter_begin(&iter, first->object);
    while (source_iter_next(&iter, &member, &score)) {
        bool is_shared = shared != NULL && set_has(shared, member);
        for (size_t i = 1; shared == NULL && !is_shared && i < a->count; i++)
            is_shared = find_score(&a->sources[i], member, &other);
        if (!is_shared) add_to_zset(a, result, member, score);
    }
    if (shared != NULL) set_free(shared);
}

static void compute_zset_operation(struct call *call, struct algebra *a)
{
    static const enum event events[] = {
        [UNION] = EVENT_ZUNIONSTORE,
        [INTER] = EVENT_ZINTERSTORE,
        [DIFF] = EVENT_ZDIFFSTORE,
    };
    if (a->operation != DIFF) qsort(a->sources, a->count, sizeof(*a->sources), compare_counts);
    if (a->only_count) {
        resp_integer(call->out, intersect_zsets(a, NULL));
        return;
    }
    struct object result = object_new(TYPE_ZSET);
    switch (a->operation) {
    case UNION: unite_zsets(a, result.zset); break;
    case INTER: intersect_zsets(a, result.zset); break;
    case DIFF: subtract_zsets(a, result.zset); break;
    }
    if (a->is_stored) {
        size_t count = object_count(&result);
        txn_key_store(call->txn, call->argv[1], result, events[a->operation]);
        resp_integer(call->out, (int64_t)count);
        return;
    }
    struct span span = span_all(result.zset);
    span_reply(call, result.zset, &span, a->with_scores ? SCORES_PAIRED : SCORES_NONE);
    object_free(&result);
}

static void run_zset_operation(struct call *call)
{
    int variant = call_variant(call);
    struct algebra a = { .operation = variant == CARD ? INTER : (enum operation)variant,
                         .is_stored = call->command.row->flags & WRITE,
                         .only_count = variant == CARD };
    int at = a.is_stored ? 2 : 1;
    int64_t count;
    if (!arg_int64(call, at, &count)) return;
    if (count < 1) {
        fail_named(call, ERR_NO_INPUT_KEY);
        return;
    }
    if (fail_if(call, count > call->argc - at - 1, ERR_SYNTAX)) return;
    a.count = (size_t)count;
    a.sources = mem_alloc(a.count * sizeof(*a.sources));
    bool ok = true;
    for (size_t i = 0; ok && i < a.count; i++) {
        struct bytes key = call->argv[at + 1 + (int)i];
        const struct entry *entry = txn_find_counted(call->txn, key);
        a.sources[i] = (struct source){ .weight = 1, .index = i };
        if (entry == NULL) continue;
        a.sources[i].object = &entry->object;
        a.sources[i].count = object_count(&entry->object);
        ok = entry->object.type == TYPE_SET || entry->object.type == TYPE_ZSET ||
             fail(call, ERR_WRONGTYPE);
    }
    for (int i = at + 1 + (int)count; ok && i < call->argc;)
        ok = take_algebra_option(call, &a, &i);
    if (ok) compute_zset_operation(call, &a);
    mem_free(a.sources);
}

enum {
    READS = READONLY | MOVABLE_KEYS | COPIES,
    STORES = WRITE | GROWS | MOVABLE_KEYS | COPIES,
};
#define READ_KEYS .specs = { KEYS_COUNTED_AT(1, KEY_RO | KEY_ACCESS) }
#define STORE_KEYS                                                                                 \
    .keys = KEY_FIRST,                                                                             \
    .specs = { KEY_AT(1, KEY_OW | KEY_UPDATE), KEYS_COUNTED_AT(2, KEY_RO | KEY_ACCESS) }
#define COST_UNION                                                                                 \
    "O(N+M*log(M)) where N is the total number of members in all sets and M the number in the "    \
    "result."
#define COST_INTER                                                                                 \
    "O(N*K+M*log(M)) where N is the number of members in the smallest sorted set, K the number "   \
    "of sorted sets and M the number of members in the result."
#define COST_DIFF                                                                                  \
    "O(N*K+M*log(M)) in the worst case, where N is the number of members in the first sorted "     \
    "set, K the number of sorted sets and M the number of members in the result."
#define JOINED "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM|MIN|MAX>]"

static const struct command rows[] = {
    ROW("ZUNION", run_zset_operation, -3, READS, .variant = UNION, READ_KEYS, .since = "6.2.0",
        .replies = REPLIES("[bulk ...]: the members of the result", REPLY_WITHSCORES),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY, ERR_WEIGHT),
        .complexity = COST_UNION, .syntax = JOINED " [WITHSCORES]",
        .summary = "Returns the union of sorted sets."),
    ROW("ZINTER", run_zset_operation, -3, READS, .variant = INTER, READ_KEYS, .since = "6.2.0",
        .replies = REPLIES("[bulk ...]: the members of the result", REPLY_WITHSCORES),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY, ERR_WEIGHT),
        .complexity = COST_INTER, .syntax = JOINED " [WITHSCORES]",
        .summary = "Returns the intersection of sorted sets."),
    ROW("ZDIFF", run_zset_operation, -3, READS, .variant = DIFF, READ_KEYS, .since = "6.2.0",
        .replies = REPLIES("[bulk ...]: the members of the result", REPLY_WITHSCORES),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY),
        .complexity = COST_DIFF, .syntax = "numkeys key [key ...] [WITHSCORES]",
        .summary = "Returns the members of the first sorted set that are in none of the others."),
    ROW("ZUNIONSTORE", run_zset_operation, -4, STORES, .variant = UNION, STORE_KEYS,
        .since = "2.0.0", .replies = REPLIES("integer: the number of members of the result"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY, ERR_WEIGHT),
        .complexity = COST_UNION, .syntax = "destination " JOINED,
        .summary = "Stores the union of sorted sets in a key."),
    ROW("ZINTERSTORE", run_zset_operation, -4, STORES, .variant = INTER, STORE_KEYS,
        .since = "2.0.0", .replies = REPLIES("integer: the number of members of the result"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY, ERR_WEIGHT),
        .complexity = COST_INTER, .syntax = "destination " JOINED,
        .summary = "Stores the intersection of sorted sets in a key."),
    ROW("ZDIFFSTORE", run_zset_operation, -4, STORES, .variant = DIFF, STORE_KEYS, .since = "6.2.0",
        .replies = REPLIES("integer: the number of members of the result"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY),
        .complexity = COST_DIFF, .syntax = "destination numkeys key [key ...]",
        .summary =
            "Stores in a key the members of the first sorted set that are in none of the others."),
    ROW("ZINTERCARD", run_zset_operation, -3, READS, .variant = CARD, READ_KEYS, .since = "7.0.0",
        .replies =
            REPLIES("integer: the number of members in all of the sorted sets, at most LIMIT"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_INPUT_KEY,
                         ERR_LIMIT_NEGATIVE),
        .complexity =
            "O(N*K) where N is the number of members in the smallest sorted set and K the "
            "number of sorted sets.",
        .syntax = "numkeys key [key ...] [LIMIT limit]",
        .summary =
            "Returns the number of members in the intersection of sorted sets, up to a limit."),
};

const struct command_group zset_algebra_commands = COMMAND_GROUP("sorted-set", rows);
