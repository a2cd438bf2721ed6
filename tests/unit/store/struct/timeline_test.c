/* timeline: order, positions, walks, the shape of the tree, and memory. */
#include <stdlib.h>

#include "store/mem/mem.h"
#include "store/struct/timeline.h"
#include "store/struct/timeline_state.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

/* The node is first, so its address is the thing's. */
struct thing {
    struct timeline_node node;
    msec at;
    uint64_t arrival; /* order of arrival */
};

static struct thing *thing_of(struct timeline_node *m)
{
    return (struct thing *)(void *)m;
}

static void things_init(struct thing *things, size_t count)
{
    for (size_t i = 0; i < count; i++)
        timeline_node_init(&things[i].node);
}

static bool thing_before(const struct thing *a, const struct thing *b)
{
    return a->at < b->at || (a->at == b->at && a->arrival < b->arrival);
}

/* The first armed thing in the model, or NULL. */
static struct thing *model_first(struct thing *things, size_t count)
{
    struct thing *first = NULL;
    for (size_t i = 0; i < count; i++)
        if (timeline_node_armed(&things[i].node) &&
            (first == NULL || thing_before(&things[i], first)))
            first = &things[i];
    return first;
}

START_TEST(an_empty_timeline_has_nothing_due_and_no_memory)
{
    struct timeline tl;
    timeline_init(&tl);
    ck_assert_int_eq(timeline_next(&tl), NEVER);
    ck_assert_ptr_null(timeline_first(&tl));
    ck_assert_ptr_null(timeline_pop_due(&tl, INT64_MAX));
    ck_assert_uint_eq(timeline_bytes(&tl), 0);
    timeline_check(&tl);
    timeline_drop(&tl);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(nothing_is_popped_before_it_is_due)
{
    struct timeline tl;
    struct thing thing;
    timeline_init(&tl);
    things_init(&thing, 1);
    timeline_add(&tl, &thing.node, 100);
    ck_assert_ptr_null(timeline_pop_due(&tl, 99));
    ck_assert(timeline_node_armed(&thing.node));
    ck_assert_ptr_eq(timeline_pop_due(&tl, 100), &thing.node);
    ck_assert(!timeline_node_armed(&thing.node));
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(equal_instants_keep_order_of_arrival)
{
    enum { COUNT = 1000 };
    static struct thing things[COUNT];
    struct timeline tl;
    timeline_init(&tl);
    things_init(things, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        timeline_add(&tl, &things[i].node, 7);
    /* A move counts as an arrival, even to the same instant. */
    timeline_move(&tl, &things[0].node, 7);
    for (size_t i = 1; i < COUNT; i++)
        ck_assert_ptr_eq(timeline_pop_due(&tl, 7), &things[i].node);
    ck_assert_ptr_eq(timeline_pop_due(&tl, 7), &things[0].node);
    timeline_drop(&tl);
}
END_TEST

START_TEST(extreme_instants_are_kept_in_order)
{
    static const msec instants[] = { INT64_MAX, INT64_MIN, 0, -1, 1, INSTANT_MAX };
    static const size_t order[] = { 1, 3, 2, 4, 5, 0 };
    struct thing things[6];
    struct timeline tl;
    timeline_init(&tl);
    things_init(things, 6);
    for (size_t i = 0; i < 6; i++)
        timeline_add(&tl, &things[i].node, instants[i]);
    for (size_t i = 0; i < 6; i++)
        ck_assert_ptr_eq(timeline_pop_due(&tl, INT64_MAX), &things[order[i]].node);
    timeline_drop(&tl);
}
END_TEST

/* More than 2^32 ms apart, in any order: no two fit one leaf. */
START_TEST(instants_months_apart_are_kept_in_order)
{
    enum { COUNT = 500 };
    static struct thing things[COUNT];
    for (size_t step = 1; step < COUNT; step += 166) {
        struct timeline tl;
        timeline_init(&tl);
        things_init(things, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            size_t n = i * step % COUNT;
            timeline_add(&tl, &things[n].node, (msec)n * ((msec)UINT32_MAX + 1) - 5);
            timeline_check(&tl);
        }
        for (size_t i = 0; i < COUNT; i++) {
            ck_assert_int_eq(timeline_at(&tl, &things[i].node),
                             (msec)i * ((msec)UINT32_MAX + 1) - 5);
            ck_assert_ptr_eq(timeline_nth(&tl, (uint32_t)i), &things[i].node);
        }
        for (size_t i = 0; i < COUNT; i++)
            ck_assert_ptr_eq(timeline_pop_due(&tl, INT64_MAX), &things[i].node);
        ck_assert_uint_eq(mem_used(), 0);
    }
}
END_TEST

START_TEST(cancelling_idle_deadline_does_nothing)
{
    struct timeline tl;
    struct thing thing;
    timeline_init(&tl);
    things_init(&thing, 1);
    timeline_cancel(&tl, &thing.node);
    timeline_add(&tl, &thing.node, 1);
    timeline_cancel(&tl, &thing.node);
    timeline_cancel(&tl, &thing.node);
    ck_assert_uint_eq(timeline_count(&tl), 0);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(moved_owner_keeps_position)
{
    struct timeline tl;
    struct thing old[3], now;
    timeline_init(&tl);
    things_init(old, 3);
    for (size_t i = 0; i < 3; i++)
        timeline_add(&tl, &old[i].node, (msec)i);
    now = old[1];
    timeline_moved(&tl, &old[1].node, &now.node);
    timeline_check(&tl);
    ck_assert_int_eq(timeline_at(&tl, &now.node), 1);
    timeline_pop_due(&tl, 0);
    ck_assert_ptr_eq(timeline_first(&tl), &now.node);
    timeline_drop(&tl);
}
END_TEST

/* One random step on one random thing. */
static void step(struct timeline *tl, struct thing *thing, struct rng *rng, uint64_t *arrivals)
{
    msec at = rng_between(rng, 0, 50);
    if (rng_chance(rng, 30)) {
        timeline_cancel(tl, &thing->node);
        return;
    }
    if (!timeline_node_armed(&thing->node) && rng_chance(rng, 50))
        timeline_add(tl, &thing->node, at);
    else
        timeline_move(tl, &thing->node, at);
    thing->at = at;
    thing->arrival = (*arrivals)++;
}

START_TEST(random_programs_match_model)
{
    enum { COUNT = 100, STEPS = 3000 };
    static struct thing things[COUNT];
    struct timeline tl;
    struct rng rng;
    uint64_t arrivals = 0;
    rng_init(&rng, test_seed());
    timeline_init(&tl);
    things_init(things, COUNT);
    for (int i = 0; i < STEPS; i++) {
        struct thing *first = model_first(things, COUNT);
        ck_assert_ptr_eq(timeline_first(&tl), first == NULL ? NULL : &first->node);
        ck_assert_int_eq(timeline_next(&tl), first == NULL ? NEVER : first->at);
        msec now = rng_between(&rng, -1, 50);
        if (rng_chance(&rng, 30)) {
            struct timeline_node *popped = timeline_pop_due(&tl, now);
            ck_assert_ptr_eq(popped, first == NULL || first->at > now ? NULL : &first->node);
        } else {
            step(&tl, &things[rng_below(&rng, COUNT)], &rng, &arrivals);
        }
        timeline_check(&tl);
    }
    timeline_drop(&tl);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(a_walk_goes_in_order_and_changes_nothing)
{
    enum { COUNT = 5000 };
    static struct thing things[COUNT];
    static struct timeline_node *walked[COUNT];
    struct timeline tl;
    struct timeline_walk walk;
    struct rng rng;
    msec at = 0;
    rng_init(&rng, test_seed());
    timeline_init(&tl);
    things_init(things, COUNT);
    timeline_walk_begin(&walk, &tl);
    ck_assert_ptr_null(timeline_walk_next(&walk, &at));
    timeline_walk_end(&walk);
    for (size_t i = 0; i < COUNT; i++)
        timeline_add(&tl, &things[i].node, rng_between(&rng, 0, 100));
    timeline_walk_begin(&walk, &tl);
    for (size_t i = 0; i < COUNT; i++) {
        walked[i] = timeline_walk_next(&walk, &at);
        ck_assert_ptr_nonnull(walked[i]);
        ck_assert_int_eq(at, timeline_at(&tl, walked[i]));
    }
    ck_assert_ptr_null(timeline_walk_next(&walk, &at));
    timeline_walk_end(&walk);
    timeline_check(&tl);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_ptr_eq(timeline_pop_due(&tl, 100), walked[i]);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(memory_is_proportional_to_count)
{
    enum { COUNT = 30000 };
    static struct thing things[COUNT];
    struct timeline tl;
    struct rng rng;
    rng_init(&rng, test_seed());
    timeline_init(&tl);
    things_init(things, COUNT);
    timeline_add(&tl, &things[0].node, 0);
    ck_assert_uint_le(timeline_bytes(&tl), 128);
    for (size_t i = 1; i < COUNT; i++)
        timeline_add(&tl, &things[i].node, rng_between(&rng, 0, 1000000));
    timeline_check(&tl);
    ck_assert_uint_le(timeline_bytes(&tl), COUNT * 24 + 4096 * 24 + 1024);
    for (size_t i = COUNT; i > 0; i--) {
        timeline_cancel(&tl, &things[i - 1].node);
        ck_assert_uint_le(timeline_bytes(&tl), 4 * 24 * i + 2 * 4096 * 24 + 1024);
        if (i % 1000 == 0) timeline_check(&tl);
    }
    ck_assert_uint_eq(timeline_bytes(&tl), 0);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(tree_of_three_levels_pops_in_order)
{
    enum { COUNT = 150000 };
    struct thing *things = calloc(COUNT, sizeof(*things));
    struct timeline tl;
    struct rng rng;
    rng_init(&rng, test_seed());
    timeline_init(&tl);
    things_init(things, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        timeline_add(&tl, &things[i].node, things[i].at = rng_between(&rng, 0, COUNT / 2));
    timeline_check(&tl);
    ck_assert_uint_eq(tl.tree.height, 3);
    struct timeline_node *m;
    struct thing *last = NULL;
    size_t popped = 0;
    for (; (m = timeline_pop_due(&tl, COUNT)) != NULL; popped++) {
        struct thing *thing = thing_of(m);
        if (last != NULL)
            ck_assert(last->at < thing->at || (last->at == thing->at && last < thing));
        last = thing;
    }
    ck_assert_uint_eq(popped, COUNT);
    ck_assert_uint_eq(mem_used(), 0);
    free(things);
}
END_TEST

static void cancel_from_to(struct timeline *tl, struct thing *things, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        timeline_cancel(tl, &things[i].node);
}

START_TEST(merged_inner_node_finds_slots_at_its_front)
{
    enum {
        NODE = TIMELINE_LEAF_MAX * COUNTED_INNER_MAX(sizeof(struct timeline_branch)),
        COUNT = 3 * NODE
    };
    static struct thing things[COUNT];
    struct timeline tl;
    timeline_init(&tl);
    things_init(things, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        timeline_add(&tl, &things[i].node, (msec)i);
    /* Remove the first leaf of the second node, and add an instant that belonged to that leaf. */
    cancel_from_to(&tl, things, NODE, NODE + TIMELINE_LEAF_MAX);
    timeline_add(&tl, &things[NODE + 1].node, NODE + 1);
    /* Leave so few slots in the first two nodes that they are merged. */
    ck_assert_uint_eq(((const struct counted_inner *)tl.tree.root)->count, 3);
    cancel_from_to(&tl, things, NODE * 3 / 2, NODE * 2);
    cancel_from_to(&tl, things, 0, NODE * 4 / 5);
    ck_assert_uint_eq(((const struct counted_inner *)tl.tree.root)->count, 2);
    timeline_check(&tl);
    ck_assert_uint_eq(timeline_count_until(&tl, NODE + 1), NODE - NODE * 4 / 5 + 1);
    timeline_drop(&tl);
}
END_TEST

/* A model would be too slow for this many slots: checks that positions, instants and counts agree.
 */
static void check_position(const struct timeline *tl, uint32_t i)
{
    struct thing *thing = thing_of(timeline_nth(tl, i));
    ck_assert_int_eq(timeline_at(tl, &thing->node), thing->at);
    size_t before = timeline_count_until(tl, thing->at - 1);
    size_t after = timeline_count_until(tl, thing->at);
    ck_assert(before <= i && i < after);
    ck_assert_int_eq(thing_of(timeline_nth(tl, (uint32_t)before))->at, thing->at);
    struct timeline_walk walk;
    msec at;
    timeline_walk_from(&walk, tl, thing->at);
    ck_assert_ptr_eq(timeline_walk_next(&walk, &at), timeline_nth(tl, (uint32_t)before));
    timeline_walk_end(&walk);
}

/* Random steps, of which `adds` percent add or move a node. */
static void steps(struct timeline *tl, struct thing *things, size_t count, int steps, unsigned adds,
                  struct rng *rng)
{
    for (int i = 0; i < steps; i++) {
        struct thing *thing = &things[rng_below(rng, count)];
        if (rng_chance(rng, adds))
            timeline_move(tl, &thing->node, thing->at = rng_between(rng, 0, 100000));
        else
            timeline_cancel(tl, &thing->node);
    }
    timeline_check(tl);
    for (int i = 0; i < 50; i++)
        check_position(tl, (uint32_t)rng_below(rng, timeline_count(tl)));
}

START_TEST(deep_tree_keeps_counts)
{
    enum { COUNT = 180000 };
    struct thing *things = calloc(COUNT, sizeof(*things));
    struct timeline tl;
    struct rng rng;
    rng_init(&rng, test_seed());
    timeline_init(&tl);
    things_init(things, COUNT);
    for (int i = 0; i < 4; i++)
        steps(&tl, things, COUNT, COUNT / 2, 95, &rng);
    ck_assert_uint_eq(tl.tree.height, 3);
    for (int i = 0; i < 4; i++)
        steps(&tl, things, COUNT, COUNT, 2, &rng);
    ck_assert_uint_lt(tl.tree.height, 3);
    timeline_drop(&tl);
    ck_assert_uint_eq(mem_used(), 0);
    free(things);
}
END_TEST

static double bytes_each(const struct timeline *tl)
{
    return (double)timeline_bytes(tl) / timeline_count(tl);
}

START_TEST(slot_takes_at_most_14_bytes_in_any_order)
{
    enum { COUNT = 50000 };
    struct thing *things = calloc(COUNT, sizeof(*things));
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int kind = 0; kind < 5; kind++) {
        struct timeline tl;
        timeline_init(&tl);
        things_init(things, COUNT);
        for (msec i = 0; i < COUNT; i++) {
            const msec at[] = { i, rng_between(&rng, 0, COUNT), i + rng_between(&rng, 0, 9) * 2000,
                                i + rng_between(&rng, 0, 999) * 200, -i };
            timeline_add(&tl, &things[i].node, at[kind]);
        }
        timeline_check(&tl);
        ck_assert_msg(bytes_each(&tl) <= 14, "%.2f bytes, kind %d", bytes_each(&tl), kind);
        for (size_t i = 0; i < COUNT; i += 2)
            timeline_cancel(&tl, &things[i].node);
        timeline_check(&tl);
        ck_assert_msg(bytes_each(&tl) <= 21, "%.2f bytes, kind %d", bytes_each(&tl), kind);
        timeline_drop(&tl);
    }
    free(things);
}
END_TEST

START_TEST(sliced_drop_respects_budget)
{
    enum { COUNT = 50000 };
    static struct thing things[COUNT];
    struct timeline tl;
    struct rng rng;
    rng_init(&rng, test_seed());
    timeline_init(&tl);
    things_init(things, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        timeline_add(&tl, &things[i].node, rng_between(&rng, 0, 10000));
    size_t slices = 0, work = 7;
    for (; !timeline_drop_some(&tl, &work); slices++) {
        ck_assert_uint_eq(work, 0);
        work = 7;
    }
    ck_assert_uint_gt(slices, COUNT / 64 / 7);
    ck_assert_uint_eq(mem_used(), 0);
    ck_assert_uint_eq(timeline_count(&tl), 0);
    timeline_check(&tl);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        an_empty_timeline_has_nothing_due_and_no_memory,
        nothing_is_popped_before_it_is_due,
        equal_instants_keep_order_of_arrival,
        extreme_instants_are_kept_in_order,
        instants_months_apart_are_kept_in_order,
        cancelling_idle_deadline_does_nothing,
        moved_owner_keeps_position,
        random_programs_match_model,
        a_walk_goes_in_order_and_changes_nothing,
        memory_is_proportional_to_count,
        tree_of_three_levels_pops_in_order,
        deep_tree_keeps_counts,
        merged_inner_node_finds_slots_at_its_front,
        slot_takes_at_most_14_bytes_in_any_order,
        sliced_drop_respects_budget,
        NULL,
    };
    return suite_of("timeline", tests);
}
