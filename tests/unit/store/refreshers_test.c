/* refreshers: one client at a time has the right to make a value, for a span of time. */
#include "store/refreshers.h"

#include <stdio.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

static struct world world;

static struct keyspace *first_database(void)
{
    return &world.store->databases[0];
}

static bool is_held(const char *key)
{
    return refresher_until(first_database(), text(key), world.now) != 0;
}

START_TEST(a_right_ends_at_its_instant)
{
    world_init(&world);
    refresher_begin(first_database(), text("k"), world.now + 10);
    ck_assert_int_eq(refreshers_next(world.store), world.now + 10);
    world.now += 9;
    ck_assert(is_held("k"));
    ck_assert(!is_held("other"));
    ck_assert_uint_eq(refreshers_run(world.store, world.now, 10), 0);
    world.now++;
    ck_assert(!is_held("k"));
    ck_assert_uint_eq(refreshers_run(world.store, world.now, 10), 1);
    ck_assert_int_eq(refreshers_next(world.store), NEVER);
    ck_assert_ptr_null(first_database()->refreshers);
    world_drop(&world);
}
END_TEST

/* The rights are those of a model, also while their table grows, shrinks and is shifted. */
START_TEST(random_rights_match_model)
{
    enum { KEYS = 700, STEPS = 20000 };
    static msec model[KEYS];
    struct rng rng;
    rng_init(&rng, test_seed());
    memset(model, 0, sizeof(model));
    world_init(&world);
    for (int step = 0; step < STEPS; step++) {
        unsigned number = (unsigned)rng_below(&rng, KEYS);
        char key[80];
        snprintf(key, sizeof(key), "%s%u",
                 number % 3 == 0 ? "a long name of a key, longer than " : "k", number);
        unsigned dice = (unsigned)rng_below(&rng, 100);
        if (dice < 60) {
            model[number] = world.now + 1 + (msec)rng_below(&rng, 2000);
            refresher_begin(first_database(), text(key), model[number]);
        } else if (dice < 75) {
            ck_assert_int_eq(refresher_end(first_database(), text(key)), model[number] != 0);
            model[number] = 0;
        } else if (dice < 99) {
            world.now += (msec)rng_below(&rng, 20);
            size_t ended = 0;
            for (int i = 0; i < KEYS; i++) {
                bool ends = model[i] != 0 && model[i] <= world.now;
                ended += ends;
                if (ends) model[i] = 0;
            }
            size_t some = refreshers_run(world.store, world.now, 3);
            ck_assert_uint_eq(some + refreshers_run(world.store, world.now, SIZE_MAX), ended);
        } else {
            msec by = (msec)rng_below(&rng, 2000) - 1000;
            refreshers_shift(world.store, by);
            world.now += by;
            for (int i = 0; i < KEYS; i++)
                if (model[i] != 0) model[i] += by;
        }
        ck_assert_int_eq(refresher_until(first_database(), text(key), world.now), model[number]);
        if (step % 100 == 0) store_check(world.store);
    }
    world_drop(&world);
}
END_TEST

static void begin_right(void)
{
    refresher_begin(first_database(), text("k"), world.now + 1000);
}

START_TEST(time_that_removes_a_value_leaves_the_right)
{
    world_init(&world);
    world_set(&world, "k", "v", world.now);
    begin_right();
    world.now++;
    ck_assert(!world_has(&world, "k"));
    ck_assert(is_held("k"));
    world_set(&world, "k", "v", NEVER);
    ck_assert(!is_held("k"));
    begin_right();
    txn_key_drop(world_begin(&world), txn_find(&world.txn, text("k")), EVENT_EVICTED);
    world_commit(&world);
    ck_assert(is_held("k"));
    world_drop(&world);
}
END_TEST

START_TEST(who_gives_up_is_recorded_for_those_who_wait)
{
    world_init(&world);
    begin_right();
    txn_refresh_give_up(world_begin(&world), text("k"));
    txn_refresh_give_up(&world.txn, text("k"));
    world_commit(&world);
    ck_assert(!is_held("k"));
    ck_assert_uint_eq(world.effect_count, 1);
    ck_assert_int_eq(world.effects[0].effect.kind, EFFECT_DROP);
    ck_assert_int_eq(world.effects[0].effect.event, EVENT_NONE);
    struct store *replayed = world_replay(&world);
    store_free(replayed);
    world_drop(&world);
}
END_TEST

static void flush(void)
{
    txn_flush(world_begin(&world), 0);
    world_commit(&world);
    world_forget(&world);
    while (reclaim_run(&world.store->reclaim, 10))
        continue;
}

START_TEST(a_flushed_database_has_no_rights)
{
    world_init(&world);
    flush();
    size_t base = mem_used();
    begin_right();
    ck_assert_uint_gt(mem_used(), base);
    flush();
    ck_assert(!is_held("k"));
    ck_assert_uint_eq(mem_used(), base);
    begin_right();
    world_drop(&world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_right_ends_at_its_instant,
        random_rights_match_model,
        time_that_removes_a_value_leaves_the_right,
        who_gives_up_is_recorded_for_those_who_wait,
        a_flushed_database_has_no_rights,
        NULL,
    };
    return suite_of("refreshers", tests);
}
