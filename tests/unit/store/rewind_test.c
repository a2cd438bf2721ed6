/* rewind: elements that are no longer due after the clock was set back are announced again. */
#include "store/rewind.h"

#include <stdio.h>

#include "store/sweep/expiry.h"
#include "store/txn/txn_dehydrator.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

enum { KEYS = 1000, BATCH = 64, AN_HOUR = 3600 * 1000 };

static struct bytes name_of(int n)
{
    static char name[16];
    return bytes_of(name, (size_t)snprintf(name, sizeof(name), "d%d", n));
}

static void push(struct world *world, unsigned db, struct bytes key, msec at)
{
    const struct stage stage = { .at = at };
    struct txn *txn = world_begin(world);
    txn_call(txn, db);
    txn_rede_push(txn, txn_create(txn, key, TYPE_DEHYDRATOR), LIT("id"), LIT("p"), &stage);
    world_commit(world);
}

static void run_until(struct world *world, msec now)
{
    world->now = now;
    while (rewind_run(&world->store->rewind, now, BATCH))
        continue;
    while (expiry_run(world->store, now, BATCH) >= BATCH)
        continue;
}

static size_t count_announced(struct world *world)
{
    size_t count = 0;
    for (size_t i = 0; i < world->effect_count; i++)
        count += world->effects[i].effect.event == EVENT_REDE_DUE;
    world_forget(world);
    return count;
}

START_TEST(clock_set_back_announces_elements_again)
{
    struct world world;
    world_init(&world);
    msec start = world.now;
    for (int n = 0; n < KEYS; n++)
        push(&world, (unsigned)n % 3, name_of(n), start + 1 + n);
    run_until(&world, start + AN_HOUR);
    ck_assert_uint_eq(count_announced(&world), KEYS);
    ck_assert_int_eq(store_next_due(world.store), NEVER);
    run_until(&world, start + 500);
    ck_assert_uint_eq(count_announced(&world), 0);
    ck_assert_int_eq(store_next_due(world.store), start + 501);
    run_until(&world, start + AN_HOUR);
    ck_assert_uint_eq(count_announced(&world), KEYS - 500);
    store_check(world.store);
    world_drop(&world);
}
END_TEST

/* Announces the elements of all keys, in database 1, an hour too early. */
static void announce_early(struct world *world)
{
    world_init(world);
    msec start = world->now;
    for (int n = 0; n < KEYS; n++)
        push(world, 1, name_of(n), start + 1);
    run_until(world, start + AN_HOUR);
    ck_assert_uint_eq(count_announced(world), KEYS);
    world->now = start;
}

static void rename_or_move(struct world *world, int n)
{
    struct txn *txn = world_begin(world);
    txn_call(txn, 1);
    struct entry *entry = txn_find(txn, name_of(n));
    if (n % 2 == 0)
        txn_key_rename(txn, entry, name_of(KEYS + n));
    else
        ck_assert(txn_key_move(txn, entry, 0));
    world_commit(world);
}

START_TEST(a_walk_misses_no_key_that_is_renamed_or_moved)
{
    struct world world;
    announce_early(&world);
    for (int n = 0; n < KEYS; n++) {
        rewind_run(&world.store->rewind, world.now, 1);
        rename_or_move(&world, n);
    }
    count_announced(&world);
    run_until(&world, world.now + 1);
    ck_assert_uint_eq(count_announced(&world), KEYS);
    world_drop(&world);
}
END_TEST

START_TEST(a_walk_misses_no_key_when_databases_change_places)
{
    struct world world;
    announce_early(&world);
    ck_assert(rewind_run(&world.store->rewind, world.now, 100));
    struct txn *txn = world_begin(&world);
    txn_swap(txn, 1, 0);
    world_commit(&world);
    run_until(&world, world.now + 1);
    ck_assert_uint_eq(count_announced(&world), KEYS);
    world_drop(&world);
}
END_TEST

START_TEST(no_walk_while_clock_runs_forward)
{
    struct world world;
    world_init(&world);
    push(&world, 0, LIT("d"), world.now + 1);
    ck_assert(!rewind_run(&world.store->rewind, world.now, 1));
    run_until(&world, world.now + 1);
    ck_assert(!rewind_run(&world.store->rewind, world.now, 1));
    ck_assert(!rewind_run(&world.store->rewind, world.now + 1, 1));
    ck_assert(rewind_run(&world.store->rewind, world.now - 1, 1));
    world_drop(&world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        clock_set_back_announces_elements_again,
        a_walk_misses_no_key_that_is_renamed_or_moved,
        a_walk_misses_no_key_when_databases_change_places,
        no_walk_while_clock_runs_forward,
        NULL,
    };
    return suite_of("rewind", tests);
}
