/* agenda: order, back positions and memory, against a plain array. */
#include <stdlib.h>

#include "store/agenda.h"
#include "store/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

/* The deadline is first, so its address is the thing's. */
struct thing {
    struct deadline deadline;
    msec at;
    uint64_t arrival; /* the model's own count */
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

START_TEST(equal_instants_come_in_the_order_of_arrival)
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
    static const msec instants[] = { INT64_MAX, INT64_MIN, 0, -1, 1, INSTANT_MAX };
    static const size_t order[] = { 1, 3, 2, 4, 5, 0 };
    struct thing things[6];
    struct agenda ag;
    agenda_init(&ag);
    things_init(things, 6);
    for (size_t i = 0; i < 6; i++)
        agenda_add(&ag, &things[i].deadline, instants[i]);
    for (size_t i = 0; i < 6; i++)
        ck_assert_ptr_eq(agenda_pop_due(&ag, INT64_MAX), &things[order[i]].deadline);
    agenda_drop(&ag);
}
END_TEST

START_TEST(cancelling_what_is_idle_does_nothing)
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

START_TEST(an_owner_that_moves_keeps_its_place)
{
    struct agenda ag;
    struct thing old[3], now;
    agenda_init(&ag);
    things_init(old, 3);
    for (size_t i = 0; i < 3; i++)
        agenda_add(&ag, &old[i].deadline, (msec)i);
    now = old[1];
    agenda_moved(&ag, &now.deadline);
    agenda_check(&ag);
    ck_assert_int_eq(agenda_at(&ag, &now.deadline), 1);
    agenda_pop_due(&ag, 0);
    ck_assert_ptr_eq(agenda_first(&ag), &now.deadline);
    agenda_drop(&ag);
}
END_TEST

/* One random step on one random thing. */
static void step(struct agenda *ag, struct thing *thing, struct rng *rng, uint64_t *arrivals)
{
    msec at = rng_between(rng, 0, 50);
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

START_TEST(random_programs_agree_with_the_model)
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
        msec now = rng_between(&rng, -1, 50);
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
        things[i].at = rng_between(&rng, 0, 1000);
        agenda_add(&ag, &things[i].deadline, things[i].at);
    }
    for (msec until = -1; until <= 1001; until += 37) {
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

START_TEST(memory_follows_the_count)
{
    enum { COUNT = 30000 };
    static struct thing things[COUNT];
    struct agenda ag;
    struct rng rng;
    rng_init(&rng, test_seed());
    agenda_init(&ag);
    things_init(things, COUNT);
    agenda_add(&ag, &things[0].deadline, 0);
    ck_assert_uint_le(agenda_bytes(&ag), 128);
    for (size_t i = 1; i < COUNT; i++)
        agenda_add(&ag, &things[i].deadline, rng_between(&rng, 0, 1000000));
    agenda_check(&ag);
    ck_assert_uint_le(agenda_bytes(&ag), COUNT * 24 + 4096 * 24 + 1024);
    for (size_t i = COUNT; i > 0; i--) {
        agenda_cancel(&ag, &things[i - 1].deadline);
        ck_assert_uint_le(agenda_bytes(&ag), 4 * 24 * i + 2 * 4096 * 24 + 1024);
        if (i % 1000 == 0) agenda_check(&ag);
    }
    ck_assert_uint_eq(agenda_bytes(&ag), 0);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(a_million_come_out_in_order)
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
        equal_instants_come_in_the_order_of_arrival,
        extreme_instants_are_kept_in_order,
        cancelling_what_is_idle_does_nothing,
        an_owner_that_moves_keeps_its_place,
        random_programs_agree_with_the_model,
        each_until_visits_exactly_those_that_are_due,
        a_walk_goes_in_order_and_changes_nothing,
        memory_follows_the_count,
        a_million_come_out_in_order,
        NULL,
    };
    return suite_of("agenda", tests);
}
