/* zset: random programs, compared with a plain array of scores and deadlines that is sorted before
 * each comparison. */
#include "store/type/zset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { MEMBERS = 400 };

struct text {
    char data[128];
};

/* How members are spelled. */
static enum style { NUMBERS, IDS, NAMES, HEX, WORDS, STYLES } style;

static struct bytes member_of(struct text *text, int n)
{
    static const char *const formats[] = {
        [IDS] = "%09u", [NAMES] = "item:%07u", [HEX] = "%012x", [WORDS] = "a-word-%u-and-more"
    };
    unsigned spread = (unsigned)n * 2654435761u % 100000000;
    int len = style == NUMBERS ? snprintf(text->data, sizeof(text->data), "%0*d",
                                          n % 50 == 49 ? 80 : 1 + n % 9, n)
                               : snprintf(text->data, sizeof(text->data), formats[style], spread);
    return bytes_of(text->data, (size_t)len);
}

/* ---- the model ----------------------------------------------------------------------------- */

struct row {
    int member;
    bool in;
    double score;
    msec at;
};

static struct row model[MEMBERS];  /* by number */
static struct row sorted[MEMBERS]; /* the members in the set, by rank */
static size_t model_count;

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    struct text ta, tb;
    if (a->score != b->score) return a->score < b->score ? -1 : 1;
    return bytes_compare(member_of(&ta, a->member), member_of(&tb, b->member));
}

static void sort_model(void)
{
    model_count = 0;
    for (int n = 0; n < MEMBERS; n++)
        if (model[n].in) sorted[model_count++] = model[n];
    qsort(sorted, model_count, sizeof(sorted[0]), compare_rows);
}

static void assert_row(const struct row *row, struct bytes member, double score, msec at)
{
    struct text text;
    ck_assert_msg(bytes_equal(member, member_of(&text, row->member)), "not %d", row->member);
    ck_assert(score == row->score && signbit(score) == signbit(row->score));
    ck_assert_int_eq(at, row->at);
}

static void assert_ranks(const struct zset *zset)
{
    struct text text;
    struct zset_iter iter;
    struct bytes member;
    double score;
    size_t rank;
    zset_iter_at(&iter, zset, 0);
    for (size_t i = 0; i < model_count; i++) {
        ck_assert(zset_iter_next(&iter, &member, &score));
        assert_row(&sorted[i], member, score, iter.at);
        ck_assert(zset_rank(zset, member_of(&text, sorted[i].member), &rank));
        ck_assert_uint_eq(rank, i);
    }
    ck_assert(!zset_iter_next(&iter, &member, &score));
    ck_assert(!zset_iter_prev(&iter, &member, &score));
    zset_iter_at(&iter, zset, model_count - (model_count > 0));
    for (size_t i = model_count; i-- > 0;) {
        ck_assert(zset_iter_prev(&iter, &member, &score));
        assert_row(&sorted[i], member, score, iter.at);
    }
    ck_assert(!zset_iter_prev(&iter, &member, &score));
    ck_assert(!zset_iter_next(&iter, &member, &score));
    zset_iter_at(&iter, zset, model_count);
    ck_assert(!zset_iter_prev(&iter, &member, &score));
}

static void assert_below_score(const struct zset *zset, double score)
{
    size_t below = 0, or_equal = 0;
    for (size_t i = 0; i < model_count; i++) {
        below += sorted[i].score < score;
        or_equal += sorted[i].score <= score;
    }
    ck_assert_uint_eq(zset_below_score(zset, score, false), below);
    ck_assert_uint_eq(zset_below_score(zset, score, true), or_equal);
}

static void assert_below_member(const struct zset *zset, int n)
{
    struct text text, its;
    size_t below = 0, or_equal = 0;
    for (size_t i = 0; i < model_count; i++) {
        int order = bytes_compare(member_of(&its, sorted[i].member), member_of(&text, n));
        below += order < 0;
        or_equal += order <= 0;
    }
    ck_assert_uint_eq(zset_below_member(zset, member_of(&text, n), false), below);
    ck_assert_uint_eq(zset_below_member(zset, member_of(&text, n), true), or_equal);
}

static bool count_visited(void *count, struct bytes member, msec at)
{
    ck_assert_uint_gt(member.len, 0);
    ck_assert_int_ne(at, NEVER);
    ++*(size_t *)count;
    return true;
}

static bool stop_at_once(void *count, struct bytes member, msec at)
{
    count_visited(count, member, at);
    return false;
}

static void assert_deadlines(const struct zset *zset, msec until)
{
    struct bytes member;
    double score;
    msec first = NEVER, latest = INT64_MIN, at, its;
    size_t expiring = 0, through = 0, visited = 0;
    for (size_t i = 0; i < model_count; i++) {
        if (sorted[i].at == NEVER) continue;
        expiring++;
        if (sorted[i].at < first) first = sorted[i].at;
        if (sorted[i].at > latest) latest = sorted[i].at;
        through += sorted[i].at <= until;
    }
    ck_assert_uint_eq(expiring_count(zset_expiring(zset)), expiring);
    ck_assert(expiring_first(zset_expiring(zset), &member, &at) == (expiring > 0));
    if (expiring > 0) {
        ck_assert_int_eq(at, first);
        ck_assert(zset_score(zset, member, &score));
        ck_assert(zset_deadline(zset, member, &its));
        ck_assert_int_eq(its, first);
    }
    ck_assert_int_eq(expiring_last(zset_expiring(zset)), latest);
    expiring_each_until(zset_expiring(zset), until, count_visited, &visited);
    ck_assert_uint_eq(visited, through);
    visited = 0;
    expiring_each_until(zset_expiring(zset), until, stop_at_once, &visited);
    ck_assert_uint_eq(visited, through > 0);
}

/* Members count with the sizes that the allocator gave, the table with the sizes requested. */
static void assert_bytes(size_t bytes, size_t held)
{
    ck_assert_uint_le(bytes, held);
    ck_assert_uint_le(held, bytes + bytes / 16 + 256);
}

static void assert_member(const struct zset *zset, int n)
{
    struct text text;
    double score;
    size_t rank;
    msec at;
    bool has = zset_score(zset, member_of(&text, n), &score);
    ck_assert(has == model[n].in);
    ck_assert(zset_rank(zset, member_of(&text, n), &rank) == has);
    ck_assert(zset_deadline(zset, member_of(&text, n), &at) == has);
    if (has) assert_row(&model[n], member_of(&text, n), score, at);
}

/* ---- random programs ----------------------------------------------------------------------- */

struct program {
    struct rng rng;
    struct zset *zset;
    int members;       /* the number of the model's members in use */
    bool one_score;    /* all scores are equal, so that bytes decide the order */
    bool times;        /* scores are times, which grow */
    double last;       /* time */
    unsigned grow;     /* percent of steps that put */
    unsigned expiring; /* percent of deadlines among those drawn */
};

static double draw_score(struct program *p)
{
    static const double odd[] = { 0.0,
                                  -0.0,
                                  (double)INFINITY,
                                  -(double)INFINITY,
                                  1e300,
                                  -5e-324,
                                  1 << 23,
                                  -300,
                                  1700000000123,
                                  0x1p53,
                                  0x1p55 };
    if (p->one_score) return 7;
    if (p->times && !rng_chance(&p->rng, 2)) {
        p->last += (double)(rng_next(&p->rng) >> rng_between(&p->rng, 40, 60));
        return p->last;
    }
    if (rng_chance(&p->rng, 15)) return odd[rng_below(&p->rng, sizeof(odd) / sizeof(odd[0]))];
    return (double)rng_between(&p->rng, -20, 20) / 4;
}

static msec draw_at(struct program *p)
{
    if (!rng_chance(&p->rng, p->expiring)) return NEVER;
    return rng_chance(&p->rng, 5) ? INSTANT_MAX : rng_between(&p->rng, -3, 300);
}

/* The member's bytes: a copy, or those inside the set or its iterator. */
static struct bytes name(struct program *p, struct text *text, int n)
{
    static struct zset_iter iter;
    struct bytes member = member_of(text, n);
    double score;
    size_t rank;
    if (rng_chance(&p->rng, 50) || !zset_rank(p->zset, member, &rank)) return member;
    zset_iter_at(&iter, p->zset, rank);
    ck_assert(zset_iter_next(&iter, &member, &score));
    return member;
}

static void put(struct program *p, int n)
{
    struct text text;
    struct row *row = &model[n];
    double score = draw_score(p);
    msec at = draw_at(p);
    zset_put(p->zset, name(p, &text, n), score, at);
    bool same = row->in && row->score == score; /* -0 does not replace 0 */
    *row = (struct row){ n, true, same ? row->score : score, at };
}

static void take(struct program *p, int n)
{
    struct text text;
    ck_assert(zset_remove(p->zset, name(p, &text, n)) == model[n].in);
    model[n].in = false;
}

static void expire(struct program *p, int n)
{
    struct text text;
    msec at = draw_at(p);
    ck_assert(zset_expire(p->zset, name(p, &text, n), at) == model[n].in);
    model[n].at = at;
}

static void cut(struct program *p)
{
    sort_model();
    size_t from = rng_below(&p->rng, model_count + 1);
    size_t to = from + rng_below(&p->rng, (model_count - from) / 4 + 1);
    zset_remove_ranks(p->zset, from, to);
    for (size_t i = from; i < to; i++)
        model[sorted[i].member].in = false;
}

static void step(struct program *p)
{
    int n = (int)rng_below(&p->rng, (uint64_t)p->members);
    uint64_t die = rng_below(&p->rng, 100);
    if (die < p->grow)
        put(p, n);
    else if (die < p->grow + 15)
        expire(p, n);
    else if (die < 99)
        take(p, n);
    else
        cut(p);
    zset_check(p->zset);
    assert_member(p->zset, n);
}

static void assert_all(struct program *p)
{
    sort_model();
    ck_assert_uint_eq(zset_count(p->zset), model_count);
    assert_ranks(p->zset);
    assert_below_score(p->zset, draw_score(p));
    assert_below_score(p->zset, (double)INFINITY);
    assert_deadlines(p->zset, rng_between(&p->rng, -5, 310));
    if (p->one_score) assert_below_member(p->zset, (int)rng_below(&p->rng, MEMBERS));
}

static void program_begin(struct program *p, uint64_t seed)
{
    memset(model, 0, sizeof(model));
    style = NUMBERS;
    *p = (struct program){ .zset = zset_new(), .members = MEMBERS, .expiring = 50 };
    rng_init(&p->rng, seed);
}

START_TEST(random_steps_match_sorted_array)
{
    struct program p;
    size_t base = mem_used();
    program_begin(&p, test_seed());
    for (int i = 0; i < 6000; i++) {
        p.grow = i / 1500 % 2 == 0 ? 75 : 35;
        step(&p);
        assert_bytes(zset_bytes(p.zset), mem_used() - base);
        if (i % 50 == 0) assert_all(&p);
    }
    zset_free(p.zset);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

/* Many short programs: some stay small, some become large by count, by bytes, by a long member. */
START_TEST(growing_at_any_step_matches_array)
{
    struct program p;
    size_t base = mem_used();
    for (uint64_t round = 0; round < 60; round++) {
        program_begin(&p, test_seed() + round);
        p.members = 20 + (int)rng_below(&p.rng, 100);
        p.one_score = round % 3 == 0;
        p.grow = 40 + (unsigned)rng_below(&p.rng, 40);
        for (int i = 0; i < 200; i++) {
            step(&p);
            assert_bytes(zset_bytes(p.zset), mem_used() - base);
            if (i % 10 == 0) assert_all(&p);
        }
        zset_free(p.zset);
        ck_assert_uint_eq(mem_used(), base);
    }
}
END_TEST

/* Lists of ids with times as scores have a front, which other members, deadlines and scores change.
 */
START_TEST(lists_of_ids_match_array)
{
    struct program p;
    size_t base = mem_used();
    for (uint64_t round = 0; round < 100; round++) {
        program_begin(&p, test_seed() + round);
        style = (enum style)(round % STYLES);
        p.members = 10 + (int)rng_below(&p.rng, 60);
        p.times = true;
        p.last = ldexp(1, (int)rng_below(&p.rng, 54));
        p.expiring = round % 3 == 0 ? 1 : 0;
        p.grow = 50 + (unsigned)rng_below(&p.rng, 40);
        for (int i = 0; i < 400; i++) {
            step(&p);
            if (rng_chance(&p.rng, 1)) zset_put(p.zset, LIT("a stranger"), 1, NEVER);
            zset_check(p.zset);
            zset_remove(p.zset, LIT("a stranger"));
            if (i % 10 == 0) assert_all(&p);
        }
        zset_free(p.zset);
        ck_assert_uint_eq(mem_used(), base);
    }
}
END_TEST

START_TEST(add_and_put_give_same_position)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    struct zset *added = zset_new(), *put = zset_new();
    for (int i = 0; i < 2 * PACKED_MAX_COUNT; i++) {
        struct text text;
        double score = (double)rng_below(&rng, 10);
        msec at = rng_chance(&rng, 20) ? i : NEVER;
        zset_add(added, member_of(&text, i), score, at);
        zset_put(put, member_of(&text, i), score, at);
        zset_check(added);
        struct zset_iter a, b;
        struct bytes member, other;
        double other_score;
        zset_iter_at(&a, added, 0);
        zset_iter_at(&b, put, 0);
        while (zset_iter_next(&a, &member, &score)) {
            ck_assert(zset_iter_next(&b, &other, &other_score));
            ck_assert(bytes_equal(member, other) && score == other_score);
            ck_assert_int_eq(a.at, b.at);
        }
        ck_assert_str_eq(zset_encoding(added), zset_encoding(put));
    }
    zset_free(added);
    zset_free(put);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_steps_match_sorted_array,
        growing_at_any_step_matches_array,
        lists_of_ids_match_array,
        add_and_put_give_same_position,
        NULL,
    };
    return suite_of("zset_random", tests);
}
