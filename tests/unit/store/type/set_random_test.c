/* set: random steps, compared with an array of the names that are in the set and their
 * deadlines. */
#include "store/type/set.h"

#include <stdio.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { NAMES = 1500 };

/* Name n: every third is no number; the longest are long. Borrowed until the next call. */
static struct bytes name_of(int n)
{
    static char text[128];
    int len = n % 3 == 0 ? snprintf(text, sizeof(text), "name-%0*d", n % 90, n)
                         : snprintf(text, sizeof(text), "%d", n);
    return bytes_of(text, (size_t)len);
}

static int number_of(struct bytes name)
{
    char text[128] = { 0 };
    int n, skip = name.data[0] == 'n' ? 5 : 0;
    memcpy(text, name.data, name.len);
    ck_assert_int_eq(sscanf(text + skip, "%d", &n), 1);
    ck_assert(bytes_equal(name, name_of(n)));
    return n;
}

/* Members count with the sizes that the allocator gave, the table with the sizes requested. */
static void assert_bytes(size_t bytes, size_t held)
{
    ck_assert_uint_le(bytes, held);
    ck_assert_uint_le(held, bytes + bytes / 16 + 128);
}

/* ---- random steps against an array ---- */

struct model {
    bool in[NAMES];
    msec at[NAMES]; /* of those that are in */
    size_t count, expiring;
};

static void model_put(struct model *model, int n, msec at)
{
    model->expiring -= model->in[n] && model->at[n] != NEVER;
    model->expiring += at != NEVER;
    model->count += !model->in[n];
    model->in[n] = true;
    model->at[n] = at;
}

static void model_remove(struct model *model, int n)
{
    model->expiring -= model->at[n] != NEVER;
    model->count--;
    model->in[n] = false;
}

static void assert_members(const struct set *set, const struct model *model)
{
    struct set_iter iter;
    struct bytes member;
    size_t seen = 0;
    set_iter_begin(&iter, set);
    for (; set_iter_next(&iter, &member); seen++) {
        int n = number_of(member);
        ck_assert(model->in[n]);
        ck_assert_int_eq(iter.at, model->at[n]);
    }
    ck_assert_uint_eq(seen, model->count);
    for (int n = 0; n < NAMES; n++) {
        msec at = 0;
        ck_assert_msg(set_has(set, name_of(n)) == model->in[n], "name %d", n);
        ck_assert(set_deadline(set, name_of(n), &at) == model->in[n]);
        ck_assert(!model->in[n] || at == model->at[n]);
    }
}

struct visited {
    const struct model *model;
    msec until;
    size_t count;
    bool seen[NAMES];
};

static bool visit_due(void *ctx, struct bytes member, msec at)
{
    struct visited *visited = ctx;
    int n = number_of(member);
    ck_assert(!visited->seen[n] && visited->model->in[n]);
    ck_assert_int_eq(at, visited->model->at[n]);
    ck_assert_int_le(at, visited->until);
    visited->seen[n] = true;
    visited->count++;
    return true;
}

static void assert_due(const struct set *set, const struct model *model, msec until)
{
    struct visited visited = { .model = model, .until = until };
    size_t due = 0;
    for (int n = 0; n < NAMES; n++)
        due += model->in[n] && model->at[n] != NEVER && model->at[n] <= until;
    expiring_each_until(set_expiring(set), until, visit_due, &visited);
    ck_assert_uint_eq(visited.count, due);
}

static void assert_deadlines(const struct set *set, const struct model *model)
{
    struct bytes member;
    msec at, first = NEVER, latest = INT64_MIN;
    for (int n = 0; n < NAMES; n++) {
        if (!model->in[n] || model->at[n] == NEVER) continue;
        if (model->at[n] < first) first = model->at[n];
        if (model->at[n] > latest) latest = model->at[n];
    }
    ck_assert_uint_eq(expiring_count(set_expiring(set)), model->expiring);
    ck_assert_int_eq(expiring_last(set_expiring(set)), latest);
    ck_assert(expiring_first(set_expiring(set), &member, &at) == (model->expiring > 0));
    if (model->expiring == 0) return;
    ck_assert_int_eq(at, first);
    ck_assert_int_eq(model->at[number_of(member)], first);
    assert_due(set, model, first);
    assert_due(set, model, first + (latest - first) / 2);
    assert_due(set, model, NEVER);
}

static msec draw_deadline(struct rng *rng)
{
    return rng_chance(rng, 50) ? NEVER : rng_between(rng, 0, 1000);
}

static void step_add(struct rng *rng, struct set *set, struct model *model, int n)
{
    msec at = draw_deadline(rng);
    ck_assert(set_add(set, name_of(n), at) == !model->in[n]);
    if (!model->in[n]) model_put(model, n, at);
}

static void step_remove(struct set *set, struct model *model, int n)
{
    ck_assert(set_remove(set, name_of(n)) == model->in[n]);
    if (model->in[n]) model_remove(model, n);
}

/* Half of the time with the bytes inside the set. */
static void step_expire(struct rng *rng, struct set *set, struct model *model, int n)
{
    msec at = draw_deadline(rng);
    if (model->count > 0 && rng_chance(rng, 50)) {
        struct bytes member = set_random(set, rng_draw, rng);
        n = number_of(member);
        ck_assert(set_expire(set, member, at));
    } else {
        ck_assert(set_expire(set, name_of(n), at) == model->in[n]);
    }
    if (model->in[n]) model_put(model, n, at);
}

static void step_drop_first(struct set *set, struct model *model)
{
    struct bytes member;
    msec at;
    if (!expiring_first(set_expiring(set), &member, &at)) return;
    int n = number_of(member);
    ck_assert(set_remove(set, member));
    model_remove(model, n);
}

static void step(struct rng *rng, struct set *set, struct model *model, int n, unsigned grow)
{
    unsigned draw = (unsigned)rng_below(rng, 100);
    if (draw < 30)
        step_expire(rng, set, model, n);
    else if (draw < 32)
        step_drop_first(set, model);
    else if (rng_chance(rng, grow))
        step_add(rng, set, model, n);
    else
        step_remove(set, model, n);
}

START_TEST(random_steps_match_array)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    static struct model model;
    memset(&model, 0, sizeof(model));
    size_t base = mem_used();
    struct set *set = set_new();
    for (int i = 0; i < 8000; i++) {
        step(&rng, set, &model, (int)rng_below(&rng, NAMES), i / 2000 % 2 == 0 ? 80 : 20);
        ck_assert_uint_eq(set_count(set), model.count);
        if (i % 10 == 0) set_check(set);
        assert_bytes(set_bytes(set), mem_used() - base);
        if (i % 400 != 0) continue;
        assert_members(set, &model);
        assert_deadlines(set, &model);
    }
    set_free(set);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

/* By stride: all names; numbers; the shortest words, too few to fill one; words up to the
 * longest. */
START_TEST(growing_set_matches_array)
{
    static const int strides[] = { 1, 3, 90, 6 }, offsets[] = { 0, 1, 0, 0 };
    static struct model model;
    struct rng rng;
    rng_init(&rng, test_seed());
    size_t base = mem_used();
    for (int round = 0; round < 24; round++) {
        int stride = strides[round % 4], offset = offsets[round % 4];
        uint64_t names = (uint64_t)((NAMES - offset) / stride);
        if (names > 130) names = 130;
        struct set *set = set_new();
        memset(&model, 0, sizeof(model));
        for (int i = 0; i < 250; i++) {
            int n = (int)rng_below(&rng, names) * stride + offset;
            step(&rng, set, &model, n, i < 180 ? 75 : 30);
            set_check(set);
            ck_assert_uint_eq(set_count(set), model.count);
            ck_assert_uint_eq(expiring_count(set_expiring(set)), model.expiring);
            assert_bytes(set_bytes(set), mem_used() - base);
            if (i % 50 != 0) continue;
            assert_members(set, &model);
            assert_deadlines(set, &model);
        }
        set_free(set);
        ck_assert_uint_eq(mem_used(), base);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_steps_match_array,
        growing_set_matches_array,
        NULL,
    };
    return suite_of("set_random", tests);
}
