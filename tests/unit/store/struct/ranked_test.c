/* ranked: order, ranks, ranges, steps and shape, against a sorted array of pointers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/mem/mem.h"
#include "store/struct/ranked.h"
#include "store/struct/ranked_node.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

/* Not inlined: gcc would warn of the branch for long members, which a short one never takes. */
static __attribute__((noinline)) struct ranked_member *member_made(double score, struct bytes data,
                                                                   bool has_expiry)
{
    struct ranked_member *m = malloc(ranked_size(data.len, has_expiry));
    ranked_member_init(m, score, data, has_expiry);
    return m;
}

static struct ranked_member *member_new(double score, struct bytes data)
{
    return member_made(score, data, false);
}

static struct ranked_member *member_numbered(double score, size_t number)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%zu", number);
    return member_new(score, bytes_of(text, (size_t)len));
}

static int compare_members(const struct ranked_member *a, const struct ranked_member *b)
{
    if (a->score != b->score) return a->score < b->score ? -1 : 1;
    return bytes_compare(ranked_bytes(a), ranked_bytes(b));
}

/* The model. */
enum { MODEL_MAX = 4000 };
struct model {
    struct ranked_member *members[MODEL_MAX];
    size_t count;
};

/* The index of a member, or the index to insert it at. */
static size_t model_rank(const struct model *model, const struct ranked_member *m)
{
    size_t i = 0;
    while (i < model->count && compare_members(model->members[i], m) < 0)
        i++;
    return i;
}

static void model_insert(struct model *model, size_t i, struct ranked_member *m)
{
    memmove(&model->members[i + 1], &model->members[i], (model->count - i) * sizeof(m));
    model->members[i] = m;
    model->count++;
}

static struct ranked_member *model_remove(struct model *model, size_t i)
{
    struct ranked_member *m = model->members[i];
    model->count--;
    memmove(&model->members[i], &model->members[i + 1], (model->count - i) * sizeof(m));
    return m;
}

static void add_both(struct ranked *ranked, struct model *model, struct ranked_member *m)
{
    size_t rank = model_rank(model, m);
    if (rank < model->count && compare_members(model->members[rank], m) == 0) {
        free(m);
        return;
    }
    model_insert(model, rank, m);
    ranked_add(ranked, m);
    ck_assert_uint_eq(ranked_rank(ranked, m), rank);
}

static void remove_both(struct ranked *ranked, struct model *model, size_t rank)
{
    struct ranked_member *m = model_remove(model, rank);
    ranked_remove(ranked, m);
    free(m); /* the tree must not access it any more */
}

static void drop_both(struct ranked *ranked, struct model *model)
{
    ranked_drop(ranked);
    ck_assert_uint_eq(mem_used(), 0);
    while (model->count > 0)
        free(model->members[--model->count]);
}

static void compare_below(const struct ranked *ranked, const struct model *model, double score)
{
    size_t below = 0, or_equal = 0;
    for (size_t i = 0; i < model->count; i++) {
        below += model->members[i]->score < score;
        or_equal += model->members[i]->score <= score;
    }
    ck_assert_uint_eq(ranked_below_score(ranked, score, false), below);
    ck_assert_uint_eq(ranked_below_score(ranked, score, true), or_equal);
}

/* Steps on and back from a rank. */
static void compare_steps(const struct ranked *ranked, const struct model *model, size_t rank)
{
    struct ranked_iter iter;
    ranked_iter_at(&iter, ranked, rank);
    for (size_t i = rank; i < model->count; i++)
        ck_assert_ptr_eq(ranked_iter_next(&iter), model->members[i]);
    ck_assert_ptr_null(ranked_iter_next(&iter));
    ranked_iter_at(&iter, ranked, rank);
    for (size_t i = rank + 1; i > 0 && rank < model->count; i--)
        ck_assert_ptr_eq(ranked_iter_prev(&iter), model->members[i - 1]);
    ck_assert_ptr_null(ranked_iter_prev(&iter));
}

static void compare_ranks(const struct ranked *ranked, const struct model *model, size_t rank)
{
    struct ranked_member *m = rank < model->count ? model->members[rank] : NULL;
    ck_assert_ptr_eq(ranked_at(ranked, rank), m);
    if (m != NULL) ck_assert_uint_eq(ranked_rank(ranked, m), rank);
}

START_TEST(an_empty_tree_has_nothing_and_no_memory)
{
    struct ranked ranked;
    struct ranked_iter iter;
    ranked_init(&ranked);
    ck_assert_ptr_null(ranked_at(&ranked, 0));
    ck_assert_ptr_null(ranked_take(&ranked));
    ck_assert_uint_eq(ranked_below_score(&ranked, INFINITY, true), 0);
    ck_assert_uint_eq(ranked_below_member(&ranked, LIT("x"), true), 0);
    ranked_iter_at(&iter, &ranked, 0);
    ck_assert_ptr_null(ranked_iter_next(&iter));
    ck_assert_ptr_null(ranked_iter_prev(&iter));
    ranked_check(&ranked);
    ck_assert_uint_eq(ranked_bytes_used(&ranked), 0);
    ranked_drop(&ranked);
}
END_TEST

START_TEST(order_is_by_score_then_by_member_bytes)
{
    struct ranked_member *ordered[] = {
        member_new(-INFINITY, LIT("z")), member_new(-1, LIT("y")),  member_new(0.0, LIT("")),
        member_new(-0.0, LIT("\0")),     member_new(0.0, LIT("a")), member_new(-0.0, LIT("b")),
        member_new(1, LIT("a")),         member_new(1, LIT("aa")),  member_new(1, LIT("\xff")),
        member_new(INFINITY, LIT("a")),
    };
    size_t count = sizeof(ordered) / sizeof(*ordered);
    struct ranked ranked;
    ranked_init(&ranked);
    for (size_t i = 0; i < count; i++)
        ranked_add(&ranked, ordered[(i * 7 + 3) % count]);
    ranked_check(&ranked);
    for (size_t i = 0; i < count; i++) {
        ck_assert_ptr_eq(ranked_at(&ranked, i), ordered[i]);
        ck_assert_uint_eq(ranked_rank(&ranked, ordered[i]), i);
    }
    ck_assert_uint_eq(ranked_below_score(&ranked, 0.0, false), 2);
    ck_assert_uint_eq(ranked_below_score(&ranked, -0.0, true), 6);
    ck_assert_uint_eq(ranked_below_score(&ranked, -INFINITY, false), 0);
    ck_assert_uint_eq(ranked_below_score(&ranked, INFINITY, true), count);
    ranked_drop(&ranked);
    for (size_t i = 0; i < count; i++)
        free(ordered[i]);
}
END_TEST

/* `scores` different scores: few of them put the order on the members' bytes. */
static void random_program(uint64_t scores, size_t top, int steps)
{
    static struct model model;
    struct ranked ranked;
    struct rng rng;
    rng_init(&rng, test_seed() + scores);
    ranked_init(&ranked);
    bool growing = true;
    for (int i = 0; i < steps; i++) {
        if (model.count >= top) growing = false;
        if (model.count == 0) growing = true;
        if (model.count == 0 || rng_chance(&rng, growing ? 65 : 35))
            add_both(&ranked, &model,
                     member_numbered((double)rng_below(&rng, scores), rng_below(&rng, 10 * top)));
        else
            remove_both(&ranked, &model, rng_below(&rng, model.count));
        ranked_check(&ranked);
        compare_ranks(&ranked, &model, rng_below(&rng, model.count + 2));
        if (i % 10 == 0) compare_below(&ranked, &model, (double)rng_below(&rng, scores + 1) - 0.5);
        if (i % 10 == 5) compare_below(&ranked, &model, (double)rng_below(&rng, scores + 1));
        if (i % 50 == 0) compare_steps(&ranked, &model, rng_below(&rng, model.count + 2));
    }
    drop_both(&ranked, &model);
}

START_TEST(random_programs_match_model)
{
    random_program(100000, 200, 8000);
    random_program(100000, 1500, 8000);
}
END_TEST

START_TEST(random_programs_with_equal_scores_match_model)
{
    random_program(1, 200, 4000);
    random_program(7, 1000, 4000);
}
END_TEST

/* Changes a member's score, to one near its own or to any. */
static void rescore_both(struct ranked *ranked, struct model *model, size_t rank, double score)
{
    struct ranked_member *m = model_remove(model, rank);
    ranked_move(ranked, m, score);
    ck_assert_double_eq(m->score, score);
    /* Search the model without m, because it is out of order at its old rank. */
    size_t to = model_rank(model, m);
    model_insert(model, to, m);
    ck_assert_uint_eq(ranked_rank(ranked, m), to);
}

/* Scores for which a leaf finds no base: whole milliseconds, fractions near them, huge and infinite
 * numbers, and numbers that differ in their last bit. */
static double odd_score(struct rng *rng)
{
    double n = (double)rng_below(rng, 40);
    switch (rng_below(rng, 8)) {
    case 0: return 1.7e12 + n;
    case 1: return 1.7e12 + n / 1024;
    case 2: return 1e300 * (n - 20);
    case 3: return nextafter(1e17, n < 20 ? 0 : INFINITY);
    case 4: return n < 20 ? -INFINITY : INFINITY;
    case 5: return n * 0x1p-1074;
    case 6: return 1 + n * 0x1p-52;
    default: return -n * 1e-9;
    }
}

START_TEST(scores_of_all_magnitudes_match_model)
{
    static struct model model;
    struct ranked ranked;
    struct rng rng;
    rng_init(&rng, test_seed());
    ranked_init(&ranked);
    for (int i = 0; i < 12000; i++) {
        if (model.count < 20 || rng_chance(&rng, i < 6000 ? 60 : 45))
            add_both(&ranked, &model, member_numbered(odd_score(&rng), rng_below(&rng, 50)));
        else
            remove_both(&ranked, &model, rng_below(&rng, model.count));
        if (i % 8 == 0) {
            size_t rank = rng_below(&rng, model.count);
            double score = odd_score(&rng);
            struct ranked_member *other = member_new(score, ranked_bytes(model.members[rank]));
            size_t to = model_rank(&model, other);
            if (to == model.count || compare_members(model.members[to], other) != 0)
                rescore_both(&ranked, &model, rank, score);
            free(other);
        }
        ranked_check(&ranked);
        compare_below(&ranked, &model, odd_score(&rng));
        compare_ranks(&ranked, &model, rng_below(&rng, model.count + 2));
    }
    drop_both(&ranked, &model);
}
END_TEST

START_TEST(members_of_any_length_keep_bytes_and_deadline)
{
    static const size_t lengths[] = {
        0, 1, 253, 254, 255, 65536, RANKED_LEN24 - 1, RANKED_LEN24, RANKED_LEN24 + 1
    };
    char *text = malloc(RANKED_LEN24 + 1);
    memset(text, 'x', RANKED_LEN24 + 1);
    for (size_t i = 0; i < 2 * sizeof(lengths) / sizeof(*lengths); i++) {
        struct bytes data = bytes_of(text, lengths[i / 2]);
        struct ranked_member *m = member_made(7, data, i % 2 == 1);
        ck_assert_double_eq(m->score, 7);
        ck_assert(bytes_equal(ranked_bytes(m), data));
        ck_assert(ranked_has_expiry(m) == (i % 2 == 1));
        if (i % 2 == 1) {
            ranked_deadline(m)->slot = 5;
            ck_assert(bytes_equal(ranked_bytes(m), data));
            ck_assert_ptr_eq(ranked_of_deadline(ranked_deadline(m)), m);
        }
        free(m);
    }
    free(text);
}
END_TEST

/* Grows to depth 3 and 4, then shrinks by cutting at one end, the other, or the middle. */
START_TEST(removing_ranges_keeps_invariants)
{
    static struct model model;
    struct ranked ranked;
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 6; round++) {
        ranked_init(&ranked);
        for (size_t i = 0; i < MODEL_MAX; i++) {
            struct ranked_member *m = member_numbered((double)i, i);
            model_insert(&model, i, m);
            ranked_add(&ranked, m);
        }
        ck_assert_uint_ge(ranked.depth, 3);
        while (model.count > 0) {
            size_t rank = round % 3 == 0 ? 0 : round % 3 == 1 ? model.count - 1 : model.count / 2;
            for (size_t n = rng_below(&rng, 20); n > 0 && rank < model.count; n--)
                remove_both(&ranked, &model, rank);
            ranked_check(&ranked);
            compare_ranks(&ranked, &model, rng_below(&rng, model.count + 1));
        }
        drop_both(&ranked, &model);
    }
}
END_TEST

START_TEST(expiring_member_holds_deadline_before_bytes)
{
    struct ranked_member *plain = member_made(1, LIT("abc"), false);
    struct ranked_member *member = member_made(1, LIT("abc"), true);
    ck_assert_uint_eq(ranked_size(3, false), 12);
    ck_assert_uint_eq(ranked_size(3, true), 19);
    ck_assert(bytes_equal(ranked_bytes(plain), LIT("abc")));
    ck_assert(bytes_equal(ranked_bytes(member), LIT("abc")));
    ck_assert(!deadline_armed(ranked_deadline(member)));
    ck_assert_ptr_eq(ranked_of_deadline(ranked_deadline(member)), member);
    free(plain);
    free(member);
}
END_TEST

/* Reallocates a member, with or without room for a deadline. */
static void move_both(struct ranked *ranked, struct model *model, size_t rank)
{
    struct ranked_member *old = model->members[rank];
    struct ranked_member *now = member_made(old->score, ranked_bytes(old), !ranked_has_expiry(old));
    ranked_moved(ranked, old, now);
    model->members[rank] = now;
    free(old); /* the tree must not access it any more */
}

START_TEST(moved_member_keeps_rank)
{
    static struct model model;
    struct ranked ranked;
    struct rng rng;
    rng_init(&rng, test_seed());
    ranked_init(&ranked);
    for (size_t i = 0; i < 3000; i++)
        add_both(&ranked, &model, member_numbered((double)rng_below(&rng, 5), i));
    for (size_t i = 0; i < model.count; i++) {
        move_both(&ranked, &model, i);
        if (i % 50 == 0) ranked_check(&ranked);
    }
    while (model.count > 0) {
        move_both(&ranked, &model, rng_below(&rng, model.count));
        remove_both(&ranked, &model, rng_below(&rng, model.count));
        compare_ranks(&ranked, &model, rng_below(&rng, model.count + 1));
        if (model.count % 50 == 0) ranked_check(&ranked);
    }
    drop_both(&ranked, &model);
}
END_TEST

/* Adds `count` members, changes scores, and removes the members. */
static void moving_program(uint64_t scores, size_t count, int steps)
{
    static struct model model;
    struct ranked ranked;
    struct rng rng;
    rng_init(&rng, test_seed() + scores);
    ranked_init(&ranked);
    for (size_t i = 0; i < count; i++)
        add_both(&ranked, &model, member_numbered((double)rng_below(&rng, scores), i));
    for (int i = 0; i < steps; i++) {
        size_t rank = rng_below(&rng, model.count);
        double near = model.members[rank]->score + (double)rng_below(&rng, 1 + scores / count) - 1;
        double ends[] = { -(double)i, (double)(scores + (uint64_t)i) };
        unsigned way = (unsigned)rng_below(&rng, 8);
        rescore_both(&ranked, &model, rank,
                     way < 2   ? ends[way]
                     : way < 5 ? near
                               : (double)rng_below(&rng, scores));
        ck_assert_uint_eq(ranked.count, model.count);
        if (i % 8 == 0) ranked_check(&ranked);
        if (i % 500 == 0) compare_steps(&ranked, &model, rng_below(&rng, model.count));
    }
    for (size_t i = 0; i < model.count; i++)
        compare_ranks(&ranked, &model, i);
    drop_both(&ranked, &model);
}

START_TEST(random_score_changes_match_model)
{
    moving_program(1000000, 1, 20);
    moving_program(1000000, 60, 1000);
    moving_program(1000000, 3000, 6000);
    moving_program(3, 500, 2000);
}
END_TEST

START_TEST(below_member_works_with_equal_scores)
{
    struct ranked_member *members[1000];
    struct ranked ranked;
    char text[8];
    ranked_init(&ranked);
    for (size_t i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "%03zu", (i * 7) % 1000);
        members[i] = member_new(5, bytes_of(text, 3));
        ranked_add(&ranked, members[i]);
    }
    for (size_t i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "%03zu", i);
        ck_assert_uint_eq(ranked_below_member(&ranked, bytes_of(text, 3), false), i);
        ck_assert_uint_eq(ranked_below_member(&ranked, bytes_of(text, 3), true), i + 1);
        text[3] = '0'; /* a member between this one and the next */
        ck_assert_uint_eq(ranked_below_member(&ranked, bytes_of(text, 4), false), i + 1);
    }
    ck_assert_uint_eq(ranked_below_member(&ranked, LIT(""), true), 0);
    ck_assert_uint_eq(ranked_below_member(&ranked, LIT("x"), true), 1000);
    ranked_drop(&ranked);
    for (size_t i = 0; i < 1000; i++)
        free(members[i]);
}
END_TEST

START_TEST(iterator_can_change_direction)
{
    struct ranked_member *members[100];
    struct ranked ranked;
    struct ranked_iter iter;
    ranked_init(&ranked);
    for (size_t i = 0; i < 100; i++)
        ranked_add(&ranked, members[i] = member_numbered((double)i, i));
    ranked_iter_at(&iter, &ranked, 40);
    for (size_t i = 40; i < 70; i++)
        ck_assert_ptr_eq(ranked_iter_next(&iter), members[i]);
    for (size_t i = 70; i > 10; i--)
        ck_assert_ptr_eq(ranked_iter_prev(&iter), members[i]);
    ck_assert_ptr_eq(ranked_iter_next(&iter), members[10]);
    ranked_iter_at(&iter, &ranked, 100);
    ck_assert_ptr_null(ranked_iter_prev(&iter));
    ranked_drop(&ranked);
    for (size_t i = 0; i < 100; i++)
        free(members[i]);
}
END_TEST

START_TEST(take_removes_highest_first)
{
    static struct model model;
    struct ranked ranked;
    struct rng rng;
    rng_init(&rng, test_seed());
    ranked_init(&ranked);
    for (size_t i = 0; i < 3000; i++)
        add_both(&ranked, &model, member_numbered((double)rng_below(&rng, 1000), i));
    while (model.count > 0) {
        struct ranked_member *m = ranked_take(&ranked);
        ck_assert_ptr_eq(m, model_remove(&model, model.count - 1));
        free(m);
        if (model.count % 10 == 0) ranked_check(&ranked);
        /* Also change the tree in other ways, mainly at the thin right edge. */
        if (rng_chance(&rng, 5) && model.count > 0) remove_both(&ranked, &model, model.count - 1);
        if (rng_chance(&rng, 5) && model.count > 0)
            remove_both(&ranked, &model, rng_below(&rng, model.count));
        if (rng_chance(&rng, 5)) add_both(&ranked, &model, member_numbered(2000, model.count));
        ranked_check(&ranked);
    }
    ck_assert_ptr_null(ranked_take(&ranked));
    drop_both(&ranked, &model);
}
END_TEST

START_TEST(small_tree_takes_little_memory)
{
    struct ranked_member *members[30];
    struct ranked ranked;
    ranked_init(&ranked);
    for (size_t i = 0; i < 30; i++) {
        ranked_add(&ranked, members[i] = member_numbered((double)i, i));
        ck_assert_uint_le(ranked_bytes_used(&ranked), 36 + 16 * i);
        ranked_check(&ranked);
    }
    for (size_t i = 30; i > 0; i--) {
        ranked_remove(&ranked, members[i - 1]);
        ranked_check(&ranked);
        ck_assert_uint_le(ranked_bytes_used(&ranked), 96 + 14 * i);
        free(members[i - 1]);
    }
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

/* Changes many scores; the tree must not need more memory. */
static void move_many(struct ranked *ranked, char *block, size_t count, struct rng *rng)
{
    for (size_t n = 0; n < count; n++) {
        struct ranked_member *m =
            (struct ranked_member *)(void *)(block + rng_below(rng, count) * 32);
        ranked_move(ranked, m, (double)rng_below(rng, count));
    }
    ranked_check(ranked);
}

/* In order, backwards, at random, by fractions and by time: bytes per member. */
START_TEST(million_members_take_little_memory)
{
#ifdef __SANITIZE_ADDRESS__
    enum { COUNT = 100000 }; /* the same averages, at a tenth of the time */
#else
    enum { COUNT = 1000000 };
#endif
    static const double most[] = { 10.7, 10.7, 11, 11, 10.7 };
    char *block = malloc(COUNT * 32);
    struct rng rng;
    rng_init(&rng, test_seed());
    for (size_t way = 0; way < sizeof(most) / sizeof(*most); way++) {
        struct ranked ranked;
        ranked_init(&ranked);
        for (size_t i = 0; i < COUNT; i++) {
            struct ranked_member *m = (struct ranked_member *)(void *)(block + i * 32);
            double scores[] = { (double)i, -(double)i, (double)rng_below(&rng, COUNT),
                                (double)rng_next(&rng) * 0x1p-64, 1.7e12 + 40 * (double)i };
            char text[16];
            int len = snprintf(text, sizeof(text), "%zu", i);
            ranked_member_init(m, scores[way], bytes_of(text, (size_t)len), false);
            ranked_add(&ranked, m);
        }
        ranked_check(&ranked);
        ck_assert_double_le((double)ranked_bytes_used(&ranked), most[way] * COUNT);
        if (way == 2) move_many(&ranked, block, COUNT, &rng);
        ck_assert_double_le((double)ranked_bytes_used(&ranked), most[way] * COUNT);
        for (size_t i = 0; i < COUNT; i++)
            ranked_remove(&ranked, (struct ranked_member *)(void *)(block + i * 32));
        ck_assert_uint_eq(mem_used(), 0);
    }
    free(block);
}
END_TEST

/* ---- defragmentation ------------------------------------------------------------------------- */

static struct ranked_member *stay(void *ctx, struct ranked_member *m)
{
    (void)ctx;
    return m;
}

static size_t nodes_under(struct ranked_node *node)
{
    size_t nodes = 1;
    for (unsigned i = 0; node->height > 0 && i < node->count; i++)
        nodes += nodes_under(ranked_node_child(node, i));
    return nodes;
}

START_TEST(a_relocation_moves_every_node_and_the_root_once)
{
    enum { COUNT = 3000 };
    struct ranked ranked;
    ranked_init(&ranked);
    for (size_t i = 0; i < COUNT; i++)
        ranked_add(&ranked, member_numbered((double)(i % 100), i));
    const struct ranked_node *root = ranked.root;
    struct relocation relocation = { .left = SIZE_MAX };
    mem_all_sparse(true);
    size_t rank = 0;
    do
        rank = ranked_relocate(&ranked, rank, &relocation, stay, NULL);
    while (rank > 0);
    mem_all_sparse(false);
    ranked_check(&ranked);
    ck_assert_ptr_ne(ranked.root, root);
    ck_assert_uint_gt(ranked.root->height, 0);
    ck_assert_uint_eq(relocation.moved, nodes_under(ranked.root));
    ck_assert_uint_eq(relocation.kept, 0);
    while (ranked.count > 0)
        free(ranked_take(&ranked));
}
END_TEST

/* ---- members in order ------------------------------------------------------------------------ */

/* Most members go to the end: higher ones, equals with higher bytes, and moved ones. */
START_TEST(trees_that_grow_at_the_end_match_model)
{
    static struct model model;
    struct rng rng;
    rng_init(&rng, test_seed());
    for (unsigned round = 0; round < 6; round++) {
        struct ranked ranked;
        ranked_init(&ranked);
        double highest = 0;
        for (unsigned i = 0; i < 6000 && model.count < MODEL_MAX; i++) {
            uint64_t way = rng_below(&rng, round < 3 ? 1000 : 20);
            double score = highest;
            if (way == 0 && highest > 0) score = (double)rng_below(&rng, (uint64_t)highest);
            if (way > 0 && way % 3 == 0) score = highest += 1;
            if ((way == 1 || way == 2) && model.count > 0) {
                size_t last = model.count - 1;
                remove_both(&ranked, &model, way == 1 ? last : rng_below(&rng, model.count));
            } else if (way == 4 && model.count > 0) {
                struct ranked_member *m = model_remove(&model, rng_below(&rng, model.count));
                ranked_move(&ranked, m, highest += 1);
                model_insert(&model, model.count, m);
            } else if (way == 5 && model.count > 0) {
                ck_assert_ptr_eq(ranked_take(&ranked), model.members[model.count - 1]);
                free(model_remove(&model, model.count - 1));
            } else {
                add_both(&ranked, &model, member_numbered(score, 100000 + i));
            }
            if (i % 64 == 0) ranked_check(&ranked);
        }
        ranked_check(&ranked);
        for (size_t i = 0; i < model.count; i++)
            ck_assert_ptr_eq(ranked_at(&ranked, i), model.members[i]);
        drop_both(&ranked, &model);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        an_empty_tree_has_nothing_and_no_memory,
        order_is_by_score_then_by_member_bytes,
        random_programs_match_model,
        random_programs_with_equal_scores_match_model,
        scores_of_all_magnitudes_match_model,
        removing_ranges_keeps_invariants,
        members_of_any_length_keep_bytes_and_deadline,
        expiring_member_holds_deadline_before_bytes,
        moved_member_keeps_rank,
        random_score_changes_match_model,
        below_member_works_with_equal_scores,
        iterator_can_change_direction,
        take_removes_highest_first,
        small_tree_takes_little_memory,
        million_members_take_little_memory,
        a_relocation_moves_every_node_and_the_root_once,
        trees_that_grow_at_the_end_match_model,
        NULL,
    };
    return suite_of("ranked", tests);
}
