/* timeline: random programs, compared with a sorted array. */
#include <stdlib.h>
#include <string.h>

#include "store/mem/mem.h"
#include "store/struct/timeline.h"
#include "store/struct/timeline_state.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

struct thing {
    struct timeline_node node;
    msec at;
};

enum { MODEL_MAX = 1200 };

/* Everything armed, in order. */
struct model {
    struct thing *sorted[MODEL_MAX];
    size_t count;
};

/* The first position that is later. */
static size_t model_after(const struct model *model, msec at)
{
    size_t low = 0;
    for (size_t high = model->count; low < high;) {
        size_t mid = (low + high) / 2;
        if (model->sorted[mid]->at > at)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static void model_insert(struct model *model, struct thing *thing, msec at)
{
    size_t i = model_after(model, at);
    memmove(&model->sorted[i + 1], &model->sorted[i], (model->count - i) * sizeof(thing));
    model->sorted[i] = thing;
    model->count++;
    thing->at = at;
}

static void model_remove(struct model *model, const struct thing *thing)
{
    size_t i = 0;
    while (model->sorted[i] != thing)
        i++;
    model->count--;
    memmove(&model->sorted[i], &model->sorted[i + 1], (model->count - i) * sizeof(thing));
}

static void check_from(const struct timeline *tl, const struct model *model, msec at)
{
    size_t after = model_after(model, at), from = at == INT64_MIN ? 0 : model_after(model, at - 1);
    ck_assert_uint_eq(timeline_count_until(tl, at), after);
    msec found = 0;
    struct timeline_node *m = timeline_after(tl, at, &found);
    ck_assert_ptr_eq(m, after < model->count ? &model->sorted[after]->node : NULL);
    if (m != NULL) ck_assert_int_eq(found, model->sorted[after]->at);
    struct timeline_walk walk;
    timeline_walk_from(&walk, tl, at);
    for (size_t i = from; i < model->count && i < from + 100; i++) {
        ck_assert_ptr_eq(timeline_walk_next(&walk, &found), &model->sorted[i]->node);
        ck_assert_int_eq(found, model->sorted[i]->at);
    }
    timeline_walk_end(&walk);
}

static void check_whole(const struct timeline *tl, const struct model *model)
{
    struct timeline_walk walk;
    struct timeline_node *m;
    msec at;
    size_t i = 0;
    timeline_walk_begin(&walk, tl);
    for (; (m = timeline_walk_next(&walk, &at)) != NULL; i++) {
        ck_assert_ptr_eq(m, &model->sorted[i]->node);
        ck_assert_int_eq(at, model->sorted[i]->at);
        ck_assert_int_eq(at, timeline_at(tl, m));
    }
    ck_assert_uint_eq(i, model->count);
    timeline_walk_end(&walk);
}

/* A phase mostly adds or mostly removes. Its instants follow a clock, or are few, random, extreme,
 * or so far apart that few or many of them are within the span of a leaf. */
struct phase {
    unsigned adds, pops, kind;
    msec clock;
};

static msec instant_of(struct phase *phase, struct rng *rng)
{
    static const msec extremes[] = { INT64_MIN, INT64_MIN + 1, -1, 0, INSTANT_MAX, INT64_MAX };
    switch (phase->kind) {
    case 0: return phase->clock += rng_between(rng, 0, 1);
    case 1: return rng_between(rng, 0, 3);
    case 2: return rng_between(rng, 0, 100000);
    case 3: return (phase->clock += rng_between(rng, 0, 1)) + rng_between(rng, 0, 3) * 500;
    case 4: return rng_between(rng, -9, 9) * UINT32_MAX + rng_between(rng, -2, 2);
    case 5: return rng_between(rng, 0, 1000) * (TIMELINE_SPAN / 40) + rng_between(rng, 0, 2);
    default: return extremes[rng_below(rng, 6)];
    }
}

static void model_step(struct timeline *tl, struct model *model, struct thing **things,
                       struct phase *phase, struct rng *rng)
{
    struct thing **slot = &things[rng_below(rng, MODEL_MAX)];
    struct thing *thing = *slot;
    bool armed = timeline_node_armed(&thing->node);
    if (rng_chance(rng, phase->pops)) {
        struct thing *first = model->count == 0 ? NULL : model->sorted[0];
        msec now = rng_chance(rng, 80) ? INT64_MAX : instant_of(phase, rng);
        if (first != NULL && first->at > now) first = NULL;
        ck_assert_ptr_eq(timeline_pop_due(tl, now), first == NULL ? NULL : &first->node);
        if (first != NULL) model_remove(model, first);
    } else if (armed && rng_chance(rng, 5)) {
        struct thing *now = malloc(sizeof(*now));
        *now = *thing;
        timeline_moved(tl, &thing->node, &now->node);
        for (size_t i = 0; i < model->count; i++)
            if (model->sorted[i] == thing) model->sorted[i] = now;
        free(thing);
        *slot = now;
    } else if (rng_chance(rng, phase->adds)) {
        msec at = instant_of(phase, rng);
        if (armed) model_remove(model, thing);
        model_insert(model, thing, at);
        timeline_move(tl, &thing->node, at);
    } else {
        if (armed) model_remove(model, thing);
        timeline_cancel(tl, &thing->node);
    }
}

START_TEST(random_programs_match_sorted_array)
{
    enum { STEPS = 8000, PHASE = 500 };
    static struct thing *things[MODEL_MAX];
    static struct model model;
    struct phase phase = { .adds = 50 };
    struct timeline tl;
    struct rng rng;
    rng_init(&rng, test_seed());
    timeline_init(&tl);
    for (size_t i = 0; i < MODEL_MAX; i++) {
        things[i] = malloc(sizeof(*things[i]));
        timeline_node_init(&things[i]->node);
    }
    for (int i = 0; i < STEPS; i++) {
        if (i % PHASE == 0) {
            phase.adds = (unsigned)rng_between(&rng, 5, 100);
            phase.pops = rng_chance(&rng, 50) ? 0 : (unsigned)rng_between(&rng, 0, 70);
            phase.kind = (unsigned)rng_below(&rng, 7);
        }
        model_step(&tl, &model, things, &phase, &rng);
        timeline_check(&tl);
        ck_assert_uint_eq(timeline_count(&tl), model.count);
        ck_assert_int_eq(timeline_next(&tl), model.count == 0 ? NEVER : model.sorted[0]->at);
        check_from(&tl, &model, instant_of(&phase, &rng));
        if (model.count > 0) {
            uint32_t nth = (uint32_t)rng_below(&rng, model.count);
            ck_assert_ptr_eq(timeline_nth(&tl, nth), &model.sorted[nth]->node);
            ck_assert_ptr_eq(timeline_first(&tl), &model.sorted[0]->node);
        }
        if (i % 100 == 0) check_whole(&tl, &model);
    }
    timeline_drop(&tl);
    ck_assert_uint_eq(mem_used(), 0);
    for (size_t i = 0; i < MODEL_MAX; i++)
        free(things[i]);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_programs_match_sorted_array,
        NULL,
    };
    return suite_of("timeline_random", tests);
}
