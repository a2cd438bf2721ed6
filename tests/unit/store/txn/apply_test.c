/* apply: the effects of random mutator calls rebuild the same store. */
#include "store/sweep/expiry.h"
#include "store/sweep/policy_walk.h"
#include "store/txn/apply.h"
#include "tests/support/random_call.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

static struct world world;
static struct rng rng;

/* As on a server that is a replica for a while. Some clocks are behind. */
static void hide_some(void)
{
    if (rng_chance(&rng, 50)) return;
    store_hide(world.store, world.now - rng_between(&rng, 0, 3), (size_t)rng_below(&rng, 20));
    store_check(world.store);
}

static void random_program(uint64_t seed, int steps, bool hides)
{
    rng_init(&rng, seed);
    world_init(&world);
    for (int i = 0; i < steps; i++) {
        struct txn *txn = world_begin(&world);
        for (uint64_t calls = 1 + rng_below(&rng, 4); calls > 0; calls--)
            random_call(txn, &rng);
        world_commit(&world);
        world.now += rng_between(&rng, 0, 3);
        if (rng_chance(&rng, 30)) expiry_run(world.store, world.now, 3);
        if (rng_chance(&rng, 30)) policy_walk_run(world.store, world.now, 5);
        if (hides) hide_some();
    }
    expiry_run(world.store, world.now, SIZE_MAX);
    struct store *copy = world_replay(&world);
    struct digest live = store_digest(world.store, world.now);
    struct digest replayed = store_digest(copy, world.now);
    ck_assert_msg(live.high == replayed.high && live.low == replayed.low, "seed %llu differs",
                  (unsigned long long)seed);
    store_free(copy);
    world_drop(&world);
}

START_TEST(replayed_effects_build_the_same_store)
{
    uint64_t seed = test_seed();
    for (int i = 0; i < 40; i++)
        random_program(seed + (uint64_t)i, 300, false);
}
END_TEST

START_TEST(hiding_expired_keys_changes_no_effect)
{
    uint64_t seed = test_seed();
    for (int i = 0; i < 40; i++)
        random_program(seed + (uint64_t)i, 300, true);
}
END_TEST

/* As on a replica whose clock is ahead: keys expire in its eyes before their master's effects come.
 */
static struct store *replay_hiding(void)
{
    struct store *copy = store_new(world.store->database_count);
    struct txn txn;
    txn_begin(&txn, copy, world.now, FROM_MASTER);
    for (size_t i = 0; i < world.effect_count; i++) {
        ck_assert(apply_effect(&txn, &world.effects[i].effect));
        if (rng_chance(&rng, 70)) continue;
        txn_call(&txn, 0); /* ends the effect's call */
        store_hide(copy, world.now, (size_t)rng_below(&rng, 20));
        store_check(copy);
    }
    txn_commit(&txn);
    return copy;
}

START_TEST(a_replica_applies_effects_to_hidden_keys)
{
    uint64_t seed = test_seed();
    for (int i = 0; i < 10; i++) {
        rng_init(&rng, seed + (uint64_t)i);
        world_init(&world);
        for (int step = 0; step < 100; step++) {
            random_call(world_begin(&world), &rng);
            world_commit(&world);
            world.now += rng_between(&rng, 0, 3);
        }
        world.now += 50;
        struct store *copy = replay_hiding();
        struct digest live = store_digest(world.store, world.now);
        struct digest replayed = store_digest(copy, world.now);
        ck_assert(live.high == replayed.high && live.low == replayed.low);
        store_free(copy);
        world_drop(&world);
    }
}
END_TEST

START_TEST(digest_depends_on_values_scores_deadlines_and_order)
{
    world_init(&world);
    world_set(&world, "a", "1", NEVER);
    struct digest before = store_digest(world.store, world.now);
    world_set(&world, "a", "1", world.now + 10);
    struct digest with_deadline = store_digest(world.store, world.now);
    ck_assert(before.low != with_deadline.low && before.high != with_deadline.high);
    struct digest expired = store_digest(world.store, world.now + 11);
    ck_assert(expired.low == 0 && expired.high == 0);
    world_set(&world, "a", "1", NEVER);
    struct digest again = store_digest(world.store, world.now);
    ck_assert(again.low == before.low && again.high == before.high);
    world_zadd(&world, "z", 1, "m");
    struct digest one = store_digest(world.store, world.now);
    world_zadd(&world, "z", 2, "m");
    ck_assert(one.low != store_digest(world.store, world.now).low);
    world_drop(&world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        replayed_effects_build_the_same_store,
        hiding_expired_keys_changes_no_effect,
        a_replica_applies_effects_to_hidden_keys,
        digest_depends_on_values_scores_deadlines_and_order,
        NULL,
    };
    return suite_of("apply", tests);
}
