/* agenda: order, back positions and memory, against a plain array. */
#include <stdlib.h>

#include "store/mem/mem.h"
#include "store/struct/agenda.h"
#include "store/struct/agenda_slot.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

/* The deadline is first, so its address is the thing's. */
struct thing {
    struct deadline deadline;
    msec at;
    uint64_t arrival; /* order of arrival */
};

static struct thing *thing_of(struct deadline *d)
{
    return (struct thing *)(void *)d;
}

static void things_init(struct thing *things, size_t count)
{
    for (size_t i = 0; i < count; i++)
        deadline_init(&things[i].deadline);
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
        if (deadline_armed(&things[i].deadline) &&
            (first == NULL || thing_before(&things[i], first)))
            first = &things[i];
    return first;
}

START_TEST(an_empty_agenda_has_nothing_due_and_no_memory)
{
    struct agenda ag;
    agenda_init(&ag);
    ck_assert_int_eq(agenda_next(&ag), NEVER);
    ck_assert_ptr_null(agenda_first(&ag));
    ck_assert_ptr_null(agenda_pop_due(&ag, INT64_MAX));
    ck_assert_uint_eq(agenda_bytes(&ag), 0);
    agenda_check(&ag);
    agenda_drop(&ag);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(nothing_is_popped_before_it_is_due)
{
    struct agenda ag;
    struct thing thing;
    agenda_init(&ag);
    things_init(&thing, 1);
    agenda_add(&ag, &thing.deadline, 100);
    ck_assert_ptr_null(agenda_pop_due(&ag, 99));
    ck_assert(deadline_armed(&thing.deadline));
    ck_assert_ptr_eq(agenda_pop_due(&ag, 100), &thing.deadline);
    ck_assert(!deadline_armed(&thing.deadline));
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(equal_instants_keep_order_of_arrival)
{
    enum { COUNT = 1000 };
    static struct thing things[COUNT];
    struct agenda ag;
    agenda_init(&ag);
    things_init(things, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        agenda_add(&ag, &things[i].deadline, 7);
    /* A move counts as an arrival, even to the same instant. */
    agenda_move(&ag, &things[0].deadline, 7);
    for (size_t i = 1; i < COUNT; i++)
        ck_assert_ptr_eq(agenda_pop_due(&ag, 7), &things[i].deadline);
    ck_assert_ptr_eq(agenda_pop_due(&ag, 7), &things[0].deadline);
    agenda_drop(&ag);
}
END_TEST

START_TEST(extreme_instants_are_kept_in_order)
{
    static const msec instants[] = {
        INT64_MIN,    INT64_MIN + 1, -NEAR_MAX,    -1,           0,           1,
        NEAR_MAX - 1, NEAR_MAX,      NEAR_MAX + 1, 2 * NEAR_MAX, INSTANT_MAX, INT64_MAX,
    };
    enum { COUNT = sizeof(instants) / sizeof(instants[0]) };
    struct thing things[COUNT];
    struct agenda ag;
    agenda_init(&ag);
    things_init(things, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        size_t one = (i * 5 + 3) % COUNT; /* in no order */
        agenda_add(&ag, &things[one].deadline, instants[one]);
        agenda_check(&ag);
    }
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_int_eq(agenda_at(&ag, &things[i].deadline), instants[i]);
        ck_assert_int_eq(agenda_next(&ag), instants[i]);
        if (i > 0) ck_assert_ptr_null(agenda_pop_due(&ag, instants[i] - 1));
        ck_assert_ptr_eq(agenda_pop_due(&ag, instants[i]), &things[i].deadline);
    }
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(far_instants_take_and_give_memory)
{
    struct agenda ag;
    struct thing thing;
    agenda_init(&ag);
    things_init(&thing, 1);
    agenda_add(&ag, &thing.deadline, NEAR_MAX);
    size_t near = agenda_bytes(&ag);
    agenda_move(&ag, &thing.deadline, NEAR_MAX + 1);
    ck_assert_uint_eq(agenda_bytes(&ag), near + 16);
    agenda_move(&ag, &thing.deadline, -1);
    ck_assert_uint_eq(agenda_bytes(&ag), near + 16);
    agenda_move(&ag, &thing.deadline, 0);
    ck_assert_uint_eq(agenda_bytes(&ag), near);
    agenda_move(&ag, &thing.deadline, INSTANT_MAX);
    agenda_cancel(&ag, &thing.deadline);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(cancelling_idle_deadline_does_nothing)
{
    struct agenda ag;
    struct thing thing;
    agenda_init(&ag);
    things_init(&thing, 1);
    agenda_cancel(&ag, &thing.deadline);
    agenda_add(&ag, &thing.deadline, 1);
    agenda_cancel(&ag, &thing.deadline);
    agenda_cancel(&ag, &thing.deadline);
    ck_assert_uint_eq(agenda_count(&ag), 0);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(moved_owner_keeps_position)
{
    static const msec instants[] = { 1, NEAR_MAX + 1, -1 };
    for (size_t k = 0; k < 3; k++) {
        struct agenda ag;
        struct thing old[3], now;
        agenda_init(&ag);
        things_init(old, 3);
        for (size_t i = 0; i < 3; i++)
            agenda_add(&ag, &old[i].deadline, instants[k] + (msec)i);
        now = old[1];
        agenda_moved(&ag, &now.deadline);
        agenda_check(&ag);
        ck_assert_int_eq(agenda_at(&ag, &now.deadline), instants[k] + 1);
        agenda_pop_due(&ag, instants[k]);
        ck_assert_ptr_eq(agenda_first(&ag), &now.deadline);
        agenda_drop(&ag);
        ck_assert_uint_eq(mem_used(), 0);
    }
}
END_TEST

START_TEST(renumbering_arrivals_keeps_order)
{
    enum { COUNT = 1000, BEFORE = 700 };
    static struct thing things[COUNT];
    struct agenda ag;
    struct rng rng;
    rng_init(&rng, test_seed());
    agenda_init(&ag);
    things_init(things, COUNT);
    ag.arrivals = ARRIVALS_MAX - BEFORE;
    for (size_t i = 0; i < COUNT; i++) {
        things[i].arrival = i;
        things[i].at = rng_chance(&rng, 20) ? -5 : rng_between(&rng, 0, 3);
        agenda_add(&ag, &things[i].deadline, things[i].at);
        if (i + 1 == BEFORE) ck_assert_uint_eq(ag.arrivals, ARRIVALS_MAX);
    }
    ck_assert_uint_eq(ag.arrivals, COUNT);
    agenda_check(&ag);
    /* A move renumbers too. */
    ag.arrivals = ARRIVALS_MAX;
    things[7].arrival = COUNT;
    agenda_move(&ag, &things[7].deadline, things[7].at);
    ck_assert_uint_eq(ag.arrivals, COUNT + 1);
    agenda_check(&ag);
    for (size_t i = 0; i < COUNT; i++) {
        struct thing *first = model_first(things, COUNT);
        ck_assert_ptr_eq(agenda_pop_due(&ag, 3), &first->deadline);
    }
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(empty_agenda_restarts_arrival_numbers)
{
    struct agenda ag;
    struct thing thing;
    agenda_init(&ag);
    things_init(&thing, 1);
    for (int i = 0; i < 10; i++) {
        agenda_add(&ag, &thing.deadline, i);
        ck_assert_uint_eq(ag.arrivals, 1);
        agenda_cancel(&ag, &thing.deadline);
    }
}
END_TEST

/* Many equal instants, and some near and beyond the limits of a slot. */
static msec draw_instant(struct rng *rng)
{
    static const msec ends[] = { INT64_MIN + 10, 0, NEAR_MAX, INT64_MAX - 10 };
    if (rng_chance(rng, 70)) return rng_between(rng, 0, 50);
    return ends[rng_below(rng, 4)] + rng_between(rng, -3, 3);
}

/* One random step on one random thing. */
static void step(struct agenda *ag, struct thing *thing, struct rng *rng, uint64_t *arrivals)
{
    msec at = draw_instant(rng);
    if (ag->arrivals < ARRIVALS_MAX / 2 && rng_chance(rng, 2))
        ag->arrivals = ARRIVALS_MAX - rng_below(rng, 4);
    if (rng_chance(rng, 30)) {
        agenda_cancel(ag, &thing->deadline);
        return;
    }
    if (!deadline_armed(&thing->deadline) && rng_chance(rng, 50))
        agenda_add(ag, &thing->deadline, at);
    else
        agenda_move(ag, &thing->deadline, at);
    thing->at = at;
    thing->arrival = (*arrivals)++;
}

START_TEST(random_programs_match_model)
{
    enum { COUNT = 100, STEPS = 20000 };
    static struct thing things[COUNT];
    struct agenda ag;
    struct rng rng;
    uint64_t arrivals = 0;
    rng_init(&rng, test_seed());
    agenda_init(&ag);
    things_init(things, COUNT);
    for (int i = 0; i < STEPS; i++) {
        struct thing *first = model_first(things, COUNT);
        ck_assert_ptr_eq(agenda_first(&ag), first == NULL ? NULL : &first->deadline);
        ck_assert_int_eq(agenda_next(&ag), first == NULL ? NEVER : first->at);
        msec now = draw_instant(&rng);
        if (rng_chance(&rng, 30)) {
            struct deadline *popped = agenda_pop_due(&ag, now);
            ck_assert_ptr_eq(popped, first == NULL || first->at > now ? NULL : &first->deadline);
        } else {
            step(&ag, &things[rng_below(&rng, COUNT)], &rng, &arrivals);
        }
        agenda_check(&ag);
    }
    agenda_drop(&ag);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

struct visits {
    size_t count, stop_after;
    msec latest;
};

static bool count_visit(void *ctx, struct deadline *d, msec at)
{
    struct visits *visits = ctx;
    visits->count++;
    ck_assert_int_eq(thing_of(d)->at, at);
    if (at > visits->latest) visits->latest = at;
    return visits->count < visits->stop_after;
}

START_TEST(each_until_visits_exactly_those_that_are_due)
{
    enum { COUNT = 10000 };
    static struct thing things[COUNT];
    struct agenda ag;
    struct rng rng;
    rng_init(&rng, test_seed());
    agenda_init(&ag);
    things_init(things, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        things[i].at = rng_between(&rng, -100, 900);
        agenda_add(&ag, &things[i].deadline, things[i].at);
    }
    for (msec until = -101; until <= 901; until += 37) {
        size_t due = 0;
        for (size_t i = 0; i < COUNT; i++)
            due += things[i].at <= until;
        struct visits visits = { 0, SIZE_MAX, INT64_MIN };
        agenda_each_until(&ag, until, count_visit, &visits);
        ck_assert_uint_eq(visits.count, due);
        ck_assert_int_le(visits.latest, until);
    }
    struct visits visits = { 0, 5, INT64_MIN };
    agenda_each_until(&ag, 1000, count_visit, &visits);
    ck_assert_uint_eq(visits.count, 5);
    agenda_drop(&ag);
}
END_TEST

START_TEST(search_finds_the_first_later_deadline_in_any_steps)
{
    enum { COUNT = 600 };
    struct agenda ag;
    struct thing things[COUNT];
    struct rng rng;
    rng_init(&rng, test_seed());
    agenda_init(&ag);
    things_init(things, COUNT);
    for (int count = 0; count < COUNT; count++) {
        msec after = rng_between(&rng, -1, 1001), wanted = NEVER;
        size_t passed = 0, steps = 0, budget = 1 + rng_below(&rng, 40);
        for (int i = 0; i < count; i++) {
            passed += things[i].at <= after;
            if (things[i].at > after && things[i].at < wanted) wanted = things[i].at;
        }
        struct agenda_search search = { 0 };
        while (!agenda_search_after(&ag, after, &search, budget, &steps))
            continue;
        ck_assert_int_eq(search.first, wanted);
        ck_assert_uint_le(steps, 4 * passed + 1);
        things[count].at = rng_chance(&rng, 1) ? INSTANT_MAX - count : rng_between(&rng, 0, 1000);
        agenda_add(&ag, &things[count].deadline, things[count].at);
    }
    agenda_drop(&ag);
}
END_TEST

START_TEST(search_ends_however_often_the_agenda_changes)
{
    enum { COUNT = 2000 };
    struct agenda ag;
    struct thing things[COUNT];
    size_t steps = 0, changes = 0;
    struct agenda_search search = { 0 };
    agenda_init(&ag);
    things_init(things, COUNT);
    for (int i = 0; i < COUNT; i++)
        agenda_add(&ag, &things[i].deadline, i);
    while (!agenda_search_after(&ag, 1500, &search, 10, &steps)) {
        agenda_move(&ag, &things[changes % 1000].deadline, 1000 - (msec)changes);
        if (changes == 3) agenda_cancel(&ag, &things[1501].deadline);
        changes++;
    }
    ck_assert_int_eq(search.first, 1502);
    ck_assert_uint_ge(changes, 5);
    ck_assert_uint_le(changes, 10);
    agenda_drop(&ag);
}
END_TEST

START_TEST(search_begins_anew_after_agenda_was_emptied_and_refilled)
{
    enum { COUNT = 2000, LATER = 10000 };
    static struct thing things[COUNT];
    struct agenda ag;
    size_t steps = 0;
    struct agenda_search search = { 0 };
    agenda_init(&ag);
    things_init(things, COUNT);
    for (int i = 0; i < COUNT; i++)
        agenda_add(&ag, &things[i].deadline, i);
    ck_assert(!agenda_search_after(&ag, 1500, &search, 1000, &steps));
    for (int i = 0; i < COUNT; i++)
        agenda_cancel(&ag, &things[i].deadline);
    for (int i = 0; i < COUNT; i++)
        agenda_add(&ag, &things[i].deadline, LATER + i);
    ck_assert(agenda_search_after(&ag, 1500, &search, 1000, &steps));
    ck_assert_int_eq(search.first, LATER);
    agenda_drop(&ag);
}
END_TEST

START_TEST(search_begins_anew_after_arrivals_were_renumbered)
{
    enum { COUNT = 100 };
    struct thing things[COUNT];
    struct agenda ag;
    size_t steps = 0;
    struct agenda_search search = { 0 };
    agenda_init(&ag);
    things_init(things, COUNT);
    for (int i = 0; i < COUNT; i++)
        agenda_add(&ag, &things[i].deadline, 10 * i);
    agenda_move(&ag, &things[0].deadline, 0);
    ck_assert(!agenda_search_after(&ag, 500, &search, 40, &steps));
    /* Change a slot that the search has passed. */
    uint64_t arrivals = ag.arrivals;
    ag.arrivals = ARRIVALS_MAX;
    agenda_move(&ag, &things[COUNT - 1].deadline, 505);
    ck_assert_uint_eq(ag.arrivals, arrivals);
    while (!agenda_search_after(&ag, 500, &search, 40, &steps))
        continue;
    ck_assert_int_eq(search.first, 505);
    agenda_drop(&ag);
}
END_TEST

START_TEST(a_walk_goes_in_order_and_changes_nothing)
{
    enum { COUNT = 5000 };
    static struct thing things[COUNT];
    static struct deadline *walked[COUNT];
    struct agenda ag;
    struct agenda_walk walk;
    struct rng rng;
    msec at = 0;
    rng_init(&rng, test_seed());
    agenda_init(&ag);
    things_init(things, COUNT);
    agenda_walk_begin(&walk, &ag);
    ck_assert_ptr_null(agenda_walk_next(&walk, &at));
    agenda_walk_end(&walk);
    for (size_t i = 0; i < COUNT; i++)
        agenda_add(&ag, &things[i].deadline, rng_between(&rng, 0, 100));
    agenda_walk_begin(&walk, &ag);
    for (size_t i = 0; i < COUNT; i++) {
        walked[i] = agenda_walk_next(&walk, &at);
        ck_assert_ptr_nonnull(walked[i]);
        ck_assert_int_eq(at, agenda_at(&ag, walked[i]));
    }
    ck_assert_ptr_null(agenda_walk_next(&walk, &at));
    agenda_walk_end(&walk);
    agenda_check(&ag);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_ptr_eq(agenda_pop_due(&ag, 100), walked[i]);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(memory_is_proportional_to_count)
{
    enum { COUNT = 30000 };
    static struct thing things[COUNT];
    struct agenda ag;
    struct rng rng;
    rng_init(&rng, test_seed());
    agenda_init(&ag);
    things_init(things, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        agenda_add(&ag, &things[i].deadline, rng_between(&rng, 0, 1000000));
        ck_assert_uint_le(agenda_bytes(&ag), i < 5 ? 136 : 20 * (i + 4) + 8);
    }
    agenda_check(&ag);
    ck_assert_uint_le(mem_used(), agenda_bytes(&ag) + 4096);
    for (size_t i = COUNT; i > 0; i--) {
        ck_assert_uint_le(agenda_bytes(&ag), 4 * 16 * (i + 3) + 512 * 16 + 1024);
        agenda_cancel(&ag, &things[i - 1].deadline);
        if (i % 1000 == 0) agenda_check(&ag);
    }
    ck_assert_uint_eq(agenda_bytes(&ag), 0);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

/* Deadlines that fill three segments. */
enum { DROPPED = 1500 };

static void fill_to_drop(struct agenda *ag, msec at)
{
    /* The owners may be freed before their agenda. */
    struct thing *things = malloc(DROPPED * sizeof(*things));
    agenda_init(ag);
    things_init(things, DROPPED);
    for (size_t i = 0; i < DROPPED; i++)
        agenda_add(ag, &things[i].deadline, at);
    free(things);
}

START_TEST(an_agenda_is_dropped_in_slices)
{
    struct agenda ag;
    fill_to_drop(&ag, 1);
    size_t work = 0, slices = 0, used = mem_used();
    ck_assert(!agenda_drop_some(&ag, &work));
    ck_assert_uint_eq(mem_used(), used);
    for (bool gone = false; !gone; slices++) {
        work = 1;
        gone = agenda_drop_some(&ag, &work);
        ck_assert_uint_eq(work, 0);
        ck_assert_uint_le(mem_used() + 7 * 1024, used);
        used = mem_used();
    }
    ck_assert_uint_eq(slices, 3);
    ck_assert_uint_eq(mem_used(), 0);
    ck_assert_uint_eq(agenda_count(&ag), 0);
    agenda_check(&ag);
    work = 5;
    ck_assert(agenda_drop_some(&ag, &work));
    ck_assert_uint_eq(work, 5);
    fill_to_drop(&ag, 1);
    ck_assert(agenda_drop_some(&ag, &work));
    ck_assert_uint_eq(work, 2);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(far_instants_are_dropped_in_slices_too)
{
    struct agenda ag;
    fill_to_drop(&ag, -1);
    size_t work = 100, slices = 1;
    while (!agenda_drop_some(&ag, &work)) {
        ck_assert_uint_eq(work, 0);
        work = 100;
        slices++;
    }
    ck_assert_uint_eq(slices, 3);
    ck_assert_uint_eq(mem_used(), 0);
    fill_to_drop(&ag, NEAR_MAX + 1);
    agenda_drop(&ag);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(million_deadlines_pop_in_order)
{
    enum { COUNT = 1000000 };
    struct thing *things = calloc(COUNT, sizeof(*things));
    struct agenda ag;
    struct rng rng;
    rng_init(&rng, test_seed());
    agenda_init(&ag);
    things_init(things, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        agenda_add(&ag, &things[i].deadline, things[i].at = rng_between(&rng, 0, COUNT / 2));
    agenda_check(&ag);
    struct deadline *d;
    struct thing *last = NULL;
    size_t popped = 0;
    for (; (d = agenda_pop_due(&ag, COUNT)) != NULL; popped++) {
        struct thing *thing = thing_of(d);
        if (last != NULL)
            ck_assert(last->at < thing->at || (last->at == thing->at && last < thing));
        last = thing;
    }
    ck_assert_uint_eq(popped, COUNT);
    ck_assert_uint_eq(mem_used(), 0);
    free(things);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        an_empty_agenda_has_nothing_due_and_no_memory,
        nothing_is_popped_before_it_is_due,
        equal_instants_keep_order_of_arrival,
        extreme_instants_are_kept_in_order,
        far_instants_take_and_give_memory,
        cancelling_idle_deadline_does_nothing,
        moved_owner_keeps_position,
        renumbering_arrivals_keeps_order,
        empty_agenda_restarts_arrival_numbers,
        random_programs_match_model,
        each_until_visits_exactly_those_that_are_due,
        search_finds_the_first_later_deadline_in_any_steps,
        search_ends_however_often_the_agenda_changes,
        search_begins_anew_after_agenda_was_emptied_and_refilled,
        search_begins_anew_after_arrivals_were_renumbered,
        a_walk_goes_in_order_and_changes_nothing,
        memory_is_proportional_to_count,
        an_agenda_is_dropped_in_slices,
        far_instants_are_dropped_in_slices_too,
        million_deadlines_pop_in_order,
        NULL,
    };
    return suite_of("agenda", tests);
}
