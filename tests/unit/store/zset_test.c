/* zset: against a plain array of scores, sorted anew for every comparison. */
#include "store/zset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { MEMBERS = 400 };

struct text {
    char data[128];
};

static struct bytes member_of(struct text *text, int n)
{
    int len = snprintf(text->data, sizeof(text->data), "%0*d", n % 50 == 49 ? 80 : 1 + n % 9, n);
    return bytes_of(text->data, (size_t)len);
}

struct row {
    int member;
    bool in;
    double score;
};

static struct row model[MEMBERS];  /* by number */
static struct row sorted[MEMBERS]; /* those that are in, by rank */
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

static double draw_score(struct rng *rng)
{
    static const double odd[] = { 0.0, -0.0, (double)INFINITY, -(double)INFINITY, 1e300, -5e-324 };
    if (rng_chance(rng, 15)) return odd[rng_below(rng, sizeof(odd) / sizeof(odd[0]))];
    return (double)rng_between(rng, -20, 20) / 4;
}

static void assert_row(const struct row *row, struct bytes member, double score)
{
    struct text text;
    ck_assert_msg(bytes_equal(member, member_of(&text, row->member)), "not %d", row->member);
    ck_assert(score == row->score);
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
        assert_row(&sorted[i], member, score);
        ck_assert(zset_rank(zset, member_of(&text, sorted[i].member), &rank));
        ck_assert_uint_eq(rank, i);
    }
    ck_assert(!zset_iter_next(&iter, &member, &score));
    zset_iter_at(&iter, zset, model_count - (model_count > 0));
    for (size_t i = model_count; i-- > 0;) {
        ck_assert(zset_iter_prev(&iter, &member, &score));
        assert_row(&sorted[i], member, score);
    }
    ck_assert(!zset_iter_prev(&iter, &member, &score));
}

static void assert_below(const struct zset *zset, double score)
{
    size_t below = 0, or_equal = 0;
    for (size_t i = 0; i < model_count; i++) {
        below += sorted[i].score < score;
        or_equal += sorted[i].score <= score;
    }
    ck_assert_uint_eq(zset_below_score(zset, score, false), below);
    ck_assert_uint_eq(zset_below_score(zset, score, true), or_equal);
}

/* The members are counted by what the allocator gave, the table by what was asked for. */
static void assert_bytes(size_t bytes, size_t held)
{
    ck_assert_uint_le(bytes, held);
    ck_assert_uint_le(held, bytes + bytes / 16 + 128);
}

static void assert_member(const struct zset *zset, int n)
{
    struct text text;
    double score;
    size_t rank;
    bool has = zset_score(zset, member_of(&text, n), &score);
    ck_assert(has == model[n].in);
    ck_assert(zset_rank(zset, member_of(&text, n), &rank) == has);
    if (has) ck_assert(score == model[n].score && signbit(score) == signbit(model[n].score));
}

static void put(struct zset *zset, int n, double score)
{
    struct text text;
    zset_put(zset, member_of(&text, n), score);
    bool same = model[n].in && model[n].score == score; /* -0 does not replace 0 */
    model[n] = (struct row){ n, true, same ? model[n].score : score };
}

static void cut(struct rng *rng, struct zset *zset)
{
    sort_model();
    size_t from = rng_below(rng, model_count + 1);
    size_t to = from + rng_below(rng, (model_count - from) / 4 + 1);
    zset_remove_ranks(zset, from, to);
    for (size_t i = from; i < to; i++)
        model[sorted[i].member].in = false;
}

START_TEST(a_zset_is_what_a_sorted_array_says_after_any_random_steps)
{
    struct rng rng;
    struct text text;
    size_t base = mem_used();
    rng_init(&rng, test_seed());
    struct zset *zset = zset_new();
    for (int i = 0; i < 6000; i++) {
        int n = (int)rng_below(&rng, MEMBERS);
        uint64_t die = rng_below(&rng, 100);
        if (die < (i / 1500 % 2 == 0 ? 80 : 40)) {
            put(zset, n, draw_score(&rng));
        } else if (die < 99) {
            ck_assert(zset_remove(zset, member_of(&text, n)) == model[n].in);
            model[n].in = false;
        } else {
            cut(&rng, zset);
        }
        zset_check(zset);
        assert_member(zset, n);
        assert_bytes(zset_bytes(zset), mem_used() - base);
        if (i % 50 != 0) continue;
        sort_model();
        ck_assert_uint_eq(zset_count(zset), model_count);
        assert_ranks(zset);
        assert_below(zset, draw_score(&rng));
    }
    zset_free(zset);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

static void put_number(struct zset *zset, int n, double score)
{
    char text[16];
    snprintf(text, sizeof(text), "%08d", n);
    zset_put(zset, bytes_of(text, 8), score);
}

START_TEST(members_of_one_score_are_found_by_their_bytes)
{
    struct zset *zset = zset_new();
    for (int i = 0; i < 200; i++)
        put_number(zset, 2 * i, 1);
    ck_assert_uint_eq(zset_below_member(zset, LIT("00000100"), false), 50);
    ck_assert_uint_eq(zset_below_member(zset, LIT("00000100"), true), 51);
    ck_assert_uint_eq(zset_below_member(zset, LIT("00000101"), true), 51);
    ck_assert_uint_eq(zset_below_member(zset, LIT(""), true), 0);
    ck_assert_uint_eq(zset_below_member(zset, LIT("a"), false), 200);
    zset_free(zset);
}
END_TEST

static void tally_member(void *ctx, struct bytes member, double score)
{
    unsigned *seen = ctx;
    ck_assert_uint_eq(member.len, 8);
    seen[(int)score]++;
}

START_TEST(a_scan_sees_every_member_with_its_score)
{
    struct zset *zset = zset_new();
    unsigned seen[300] = { 0 };
    uint64_t cursor = 0;
    for (int i = 0; i < 300; i++)
        put_number(zset, i, i);
    do
        cursor = zset_scan(zset, cursor, tally_member, seen);
    while (cursor != 0);
    for (int i = 0; i < 300; i++)
        ck_assert_uint_eq(seen[i], 1);
    zset_free(zset);
}
END_TEST

START_TEST(at_most_128_short_members_are_called_listpack)
{
    char text[65];
    memset(text, 'x', sizeof(text));
    struct zset *zset = zset_new();
    for (int i = 0; i < 127; i++)
        put_number(zset, i, 0);
    zset_put(zset, bytes_of(text, 64), 1);
    zset_put(zset, bytes_of(text, 64), 2);
    ck_assert_str_eq(zset_encoding(zset), "listpack");
    put_number(zset, 128, 0);
    zset_remove_ranks(zset, 0, 100);
    ck_assert_str_eq(zset_encoding(zset), "skiplist");
    zset_free(zset);
    zset = zset_new();
    zset_put(zset, bytes_of(text, 65), 1);
    ck_assert_str_eq(zset_encoding(zset), "skiplist");
    zset_free(zset);
}
END_TEST

START_TEST(freeing_in_slices_gives_all_memory_back)
{
    size_t base = mem_used(), slices = 0, work;
    struct zset *zset = zset_new();
    for (int i = 0; i < 100000; i++)
        put_number(zset, i, i * 7919 % 100003);
    zset_check(zset);
    printf("zset: %.2f bytes for a member of 8\n", (double)zset_bytes(zset) / 100000);
    do {
        work = 1000;
        slices++;
    } while (!zset_free_some(zset, &work));
    ck_assert_uint_ge(slices, 100);
    ck_assert_uint_le(slices, 201);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_zset_is_what_a_sorted_array_says_after_any_random_steps,
        members_of_one_score_are_found_by_their_bytes,
        a_scan_sees_every_member_with_its_score,
        at_most_128_short_members_are_called_listpack,
        freeing_in_slices_gives_all_memory_back,
        NULL,
    };
    return suite_of("zset", tests);
}
