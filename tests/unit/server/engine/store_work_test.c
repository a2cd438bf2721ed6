/* Tests of store_work: when the next turn has to begin. */
#include "server/engine/store_work.h"

#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { START = SERVER_WORLD_START, DUE = START + 1001 };

static struct server_world world;
static struct background *background;
static struct store_work *work;
static struct lag lag;

static void begin(void)
{
    lag = (struct lag){ 0 };
    server_world_init(&world, SERVER_WORLD_PLAIN);
    background = background_new(&world.clock);
    work = store_work_new(world.loop, &world.clock, &world.engine, background);
    ck_assert_ptr_nonnull(work);
    server_world_send(&world, 0, "SET k v PX 1000");
}

static void end(void)
{
    pace_forget(&lag);
    store_work_free(work);
    background_free(background);
    server_world_drop(&world);
}

static void turn_at(msec at)
{
    server_world_hold(&world, at);
    background_turn(background);
}

/* Of a clock that is not held; none is read here. */
static msec next(void)
{
    world.clock.stepped = false;
    msec at = store_work_next(work);
    world.clock.stepped = true;
    return at;
}

static size_t keys(void)
{
    return keyspace_count(store_database(world.world.store, 0));
}

START_TEST(a_turn_begins_when_a_key_is_due)
{
    begin();
    turn_at(START);
    ck_assert_int_eq(next(), DUE);
    turn_at(DUE);
    ck_assert_uint_eq(keys(), 0);
    ck_assert_int_eq(next(), NEVER);
    end();
}
END_TEST

START_TEST(none_begins_while_expiry_waits_for_a_client)
{
    begin();
    pace_filled(&world.engine.pace, &lag, START);
    turn_at(DUE);
    ck_assert_uint_eq(keys(), 1);
    ck_assert_int_eq(next(), START + PACE_MSEC + 1);
    turn_at(START + PACE_MSEC + 1);
    ck_assert_uint_eq(keys(), 0);
    end();
}
END_TEST

START_TEST(a_key_that_is_due_after_the_wait_is_not_forgotten)
{
    begin();
    server_world_send(&world, 0, "SET k v PX 20000");
    pace_filled(&world.engine.pace, &lag, START);
    turn_at(START);
    ck_assert_int_eq(next(), START + 20001);
    end();
}
END_TEST

START_TEST(expiry_waits_for_no_client_while_memory_is_exceeded)
{
    begin();
    world.conf.maxmemory = 1;
    pace_filled(&world.engine.pace, &lag, START);
    turn_at(START);
    ck_assert_int_eq(next(), DUE);
    turn_at(DUE);
    ck_assert_uint_eq(keys(), 0);
    end();
}
END_TEST

START_TEST(expiry_continues_when_the_client_has_read_enough)
{
    begin();
    pace_filled(&world.engine.pace, &lag, START);
    turn_at(DUE);
    pace_halved(&lag);
    ck_assert_int_eq(next(), DUE);
    turn_at(DUE);
    ck_assert_uint_eq(keys(), 0);
    end();
}
END_TEST

START_TEST(a_policy_that_waits_begins_a_turn_after_the_wait)
{
    begin();
    server_world_send(&world, 0, "POLICY SET k MAXTTL 500");
    pace_filled(&world.engine.pace, &lag, START);
    turn_at(START);
    ck_assert_int_eq(next(), START + PACE_MSEC + 1);
    pace_forget(&lag);
    turn_at(START);
    ck_assert_int_eq(next(), START + 501);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_turn_begins_when_a_key_is_due,
        none_begins_while_expiry_waits_for_a_client,
        a_key_that_is_due_after_the_wait_is_not_forgotten,
        expiry_waits_for_no_client_while_memory_is_exceeded,
        expiry_continues_when_the_client_has_read_enough,
        a_policy_that_waits_begins_a_turn_after_the_wait,
        NULL,
    };
    return suite_of("store_work", tests);
}
