/* Tests of settle: delayed requests, the order of waking, and the amount of work. */
#include "server/engine/settle.h"

#include <stdio.h>

#include "server/engine/unblock.h"
#include "store/sweep/expiry.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { MANY = 5000, CALLERS = SERVER_WORLD_CALLERS, FILLER = CALLERS - 1, LATER = 1000 };

static struct server_world world;
static unsigned wakes[CALLERS], wake_order[64], woken;

static void wake(struct session *session)
{
    unsigned caller = (unsigned)((struct server_world_caller *)session - world.callers);
    wakes[caller]++;
    wake_order[woken++ % 64] = caller;
}

static void begin(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    world.engine.settle = settle_new(&world.engine);
    for (unsigned i = 0; i < CALLERS; i++) {
        wakes[i] = 0;
        world.callers[i].session.changed = wake;
    }
    woken = 0;
}

static void end(void)
{
    settle_check(world.engine.settle);
    for (unsigned i = 0; i < CALLERS; i++)
        session_end_wait(&world.callers[i].session);
    settle_free(world.engine.settle);
    world.engine.settle = NULL;
    server_world_drop(&world);
}

static bool is_delayed(unsigned caller)
{
    return world.callers[caller].session.delayed != NULL;
}

/* Sends a request and asserts that it is delayed without a reply. */
#define delays(caller, line)                                                                       \
    do {                                                                                           \
        ck_assert_uint_eq(server_world_send(&world, caller, line).len, 0);                         \
        ck_assert(is_delayed(caller));                                                             \
        settle_check(world.engine.settle);                                                         \
    } while (0)

#define answers(caller, line, reply)                                                               \
    do {                                                                                           \
        ck_assert_str_eq(server_world_send(&world, caller, line).data, reply);                     \
        ck_assert(!is_delayed(caller));                                                            \
    } while (0)

/* Many members that expire after START + LATER, and one without a deadline. */
static void fill(const char *how, const char *key, const char *rest)
{
    char line[128];
    for (int i = 0; i < MANY; i++) {
        snprintf(line, sizeof(line), "%s %s PXAT %d ", how, key, SERVER_WORLD_START + LATER);
        size_t len = strlen(line);
        snprintf(line + len, sizeof(line) - len, rest, i);
        server_world_send(&world, FILLER, line);
    }
}

static void fill_set(const char *key)
{
    char line[64];
    fill("SADDEX", key, "MEMBERS 1 m%d");
    snprintf(line, sizeof(line), "SADD %s stays", key);
    server_world_send(&world, FILLER, line);
}

static void fill_zset(const char *key, int score)
{
    char line[64];
    fill("ZADDEX", key, "99999999 m%d");
    snprintf(line, sizeof(line), "ZADD %s %d stays", key, score);
    server_world_send(&world, FILLER, line);
}

static void die(void)
{
    server_world_hold(&world, SERVER_WORLD_START + LATER + 1);
}

/* Runs slices, as the loop does, until no work is left. */
static unsigned run_slices(void)
{
    unsigned slices = 1;
    while (settle_slice(world.engine.settle, 100))
        slices++;
    settle_check(world.engine.settle);
    return slices;
}

START_TEST(a_request_is_delayed_until_its_key_is_settled)
{
    begin();
    fill_set("s");
    answers(0, "SCARD s", ":5001\r\n");
    die();
    delays(0, "SCARD s");
    ck_assert_uint_eq(settle_count(world.engine.settle), 1);
    answers(1, "SCARD other", ":0\r\n");
    run_slices();
    ck_assert(!is_delayed(0));
    ck_assert_uint_eq(wakes[0], 1);
    answers(0, "SCARD s", ":1\r\n");
    end();
}
END_TEST

START_TEST(sessions_are_woken_in_the_order_of_their_arrival)
{
    begin();
    fill_set("s");
    die();
    delays(2, "SCARD s");
    delays(0, "SMEMBERS s");
    delays(3, "SADD s x");
    delays(1, "DEL s");
    session_end_wait(&world.callers[0].session); /* its connection ends */
    run_slices();
    ck_assert_uint_eq(woken, 3);
    ck_assert_uint_eq(wake_order[0], 2);
    ck_assert_uint_eq(wake_order[1], 3);
    ck_assert_uint_eq(wake_order[2], 1);
    end();
}
END_TEST

START_TEST(settling_finishes_when_no_session_waits_any_more)
{
    begin();
    fill_set("s");
    die();
    delays(0, "SCARD s");
    session_end_wait(&world.callers[0].session);
    run_slices();
    ck_assert_uint_eq(woken, 0);
    const struct entry *entry = keyspace_find(&world.world.store->databases[0], LIT("s"));
    ck_assert_uint_eq(object_count(&entry->object), 1);
    end();
}
END_TEST

START_TEST(a_master_that_becomes_a_replica_removes_nothing_more)
{
    begin();
    fill_set("s");
    die();
    delays(0, "SCARD s");
    settle_slice(world.engine.settle, 100);
    const struct entry *entry = keyspace_find(&world.world.store->databases[0], LIT("s"));
    size_t left = object_count(&entry->object);
    ck_assert_uint_gt(left, 1000);
    world.engine.role.replica = true;
    run_slices();
    ck_assert_uint_eq(object_count(&entry->object), left);
    ck_assert(!is_delayed(0));
    answers(0, "SCARD s", ":1\r\n");
    end();
}
END_TEST

START_TEST(a_deleted_key_delays_no_session)
{
    begin();
    fill_set("s");
    fill_set("t");
    die();
    delays(0, "SCARD s");
    delays(1, "SCARD t");
    answers(FILLER, "SELECT 1", "+OK\r\n");
    answers(FILLER, "SWAPDB 0 1", "+OK\r\n");
    answers(FILLER, "FLUSHALL", "+OK\r\n");
    run_slices();
    ck_assert(!is_delayed(0) && !is_delayed(1));
    answers(0, "SCARD s", ":0\r\n");
    end();
}
END_TEST

START_TEST(a_transaction_is_delayed_as_a_whole)
{
    begin();
    fill_set("s");
    fill_set("t");
    answers(0, "MULTI", "+OK\r\n");
    answers(0, "SET k 1", "+QUEUED\r\n");
    answers(0, "SCARD s", "+QUEUED\r\n");
    die();
    answers(0, "SCARD t", "+QUEUED\r\n");
    delays(0, "EXEC");
    answers(1, "GET k", "$-1\r\n");
    run_slices(); /* both keys */
    answers(0, "EXEC", "*3\r\n+OK\r\n:1\r\n:1\r\n");
    end();
}
END_TEST

START_TEST(a_transaction_that_will_not_run_is_not_delayed)
{
    begin();
    fill_set("s");
    answers(0, "MULTI", "+OK\r\n");
    answers(0, "SCARD s", "+QUEUED\r\n");
    die();
    ck_assert_int_eq(server_world_send(&world, 0, "SCARD").data[0], '-');
    ck_assert_int_eq(server_world_send(&world, 0, "EXEC").data[0], '-');
    ck_assert(!is_delayed(0));
    end();
}
END_TEST

START_TEST(a_transaction_is_delayed_for_the_database_it_selects)
{
    begin();
    answers(FILLER, "SELECT 3", "+OK\r\n");
    fill_set("s");
    answers(0, "MULTI", "+OK\r\n");
    answers(0, "SELECT 3", "+QUEUED\r\n");
    answers(0, "SCARD s", "+QUEUED\r\n");
    die();
    delays(0, "EXEC");
    run_slices();
    answers(0, "EXEC", "*2\r\n+OK\r\n:1\r\n");
    end();
}
END_TEST

START_TEST(a_key_overwritten_in_another_database_is_not_settled)
{
    begin();
    answers(FILLER, "SELECT 1", "+OK\r\n");
    fill_set("s");
    answers(0, "SET a x", "+OK\r\n");
    die();
    uint64_t before = world.world.store->stats.expired_members;
    answers(0, "COPY a s DB 1", ":0\r\n");
    answers(0, "COPY a s DB 1 REPLACE", ":1\r\n");
    ck_assert_uint_eq(world.world.store->stats.expired_members, before);
    answers(FILLER, "GET s", "$1\r\nx\r\n");
    end();
}
END_TEST

START_TEST(sort_reads_one_field_and_leaves_the_rest)
{
    begin();
    fill("HSETEX", "h1", "FIELDS 1 m%d x");
    answers(0, "HSET h1 stays y", ":1\r\n");
    answers(0, "RPUSH l 1", ":1\r\n");
    die();
    answers(0, "SORT l BY nosort GET h*->stays GET h*->m7", "*2\r\n$1\r\ny\r\n$-1\r\n");
    ck_assert_uint_eq(world.world.store->stats.expired_members, 0);
    end();
}
END_TEST

START_TEST(a_read_during_a_pause_is_delayed_and_answered_in_it)
{
    begin();
    fill_set("s");
    answers(FILLER, "CLIENT PAUSE 100000 WRITE", "+OK\r\n");
    die();
    delays(0, "SCARD s");
    run_slices();
    answers(0, "SCARD s", ":1\r\n");
    end();
}
END_TEST

START_TEST(a_blocked_client_is_served_when_the_key_is_settled)
{
    begin();
    fill_zset("z", (SERVER_WORLD_START + LATER) / 1000);
    server_world_send(&world, 0, "BZTSPOP z 1 0");
    server_world_send(&world, 1, "BZTSPOP z 1 0");
    ck_assert(world.callers[0].session.blocked != NULL);
    die();
    unblock_due(&world.engine, 64);
    ck_assert_uint_eq(server_world_heard(&world, 0).len, 0);
    ck_assert_uint_eq(world.world.store->stats.expired_members, 0);
    run_slices();
    unblock_due(&world.engine, 64);
    ck_assert_str_eq(server_world_heard(&world, 0).data, "*2\r\n$5\r\nstays\r\n$4\r\n1001\r\n");
    ck_assert(world.callers[1].session.blocked != NULL);
    end();
}
END_TEST

START_TEST(a_blocked_client_whose_other_key_is_slow_is_postponed)
{
    begin();
    fill_set("s");
    server_world_send(&world, 0, "BLMOVE l s LEFT LEFT 0");
    server_world_send(&world, 1, "BLPOP l 0");
    die();
    answers(FILLER, "RPUSH l a b", ":2\r\n");
    answers(FILLER, "RPUSH l c", ":3\r\n");
    ck_assert_uint_eq(world.world.store->stats.expired_members, 0);
    ck_assert_uint_eq(server_world_heard(&world, 1).len, 0); /* the first one comes first */
    run_slices();
    unblock_due(&world.engine, 64);
    ck_assert_int_eq(server_world_heard(&world, 0).data[0], '-'); /* WRONGTYPE */
    ck_assert_str_eq(server_world_heard(&world, 1).data, "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
    end();
}
END_TEST

START_TEST(a_blocked_reader_of_streams_is_served_after_it_was_postponed)
{
    begin();
    server_world_send(&world, 0, "XREAD BLOCK 0 STREAMS x s $ $");
    fill_set("s");
    die();
    answers(FILLER, "XADD x 1-1 f v", "$3\r\n1-1\r\n");
    ck_assert_uint_eq(server_world_heard(&world, 0).len, 0);
    run_slices();
    unblock_due(&world.engine, 64);
    ck_assert_str_eq(
        server_world_heard(&world, 0).data,
        "*1\r\n*2\r\n$1\r\nx\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n");
    end();
}
END_TEST

START_TEST(counting_keys_is_delayed_while_many_keys_are_expired)
{
    char line[64];
    begin();
    for (int i = 0; i < MANY; i++) {
        snprintf(line, sizeof(line), "SET k%d x PXAT %d", i, SERVER_WORLD_START + LATER);
        server_world_send(&world, FILLER, line);
    }
    answers(FILLER, "SET stays x", "+OK\r\n");
    answers(3, "MULTI", "+OK\r\n");
    answers(3, "DBSIZE", "+QUEUED\r\n");
    die();
    delays(0, "DBSIZE");
    delays(1, "INFO keyspace");
    delays(2, "RANDOMKEY");
    delays(3, "EXEC");
    ck_assert_int_eq(server_world_send(&world, FILLER, "INFO memory").data[0], '$');
    ck_assert(!settle_slice(world.engine.settle, 100));
    ck_assert(is_delayed(0));
    expiry_run(world.world.store, world.world.now, MANY - 500);
    ck_assert(settle_slice(world.engine.settle, 100)); /* wakes them */
    ck_assert(!settle_slice(world.engine.settle, 100));
    answers(0, "DBSIZE", ":1\r\n");
    answers(2, "RANDOMKEY", "$5\r\nstays\r\n");
    answers(3, "EXEC", "*1\r\n:1\r\n");
    end();
}
END_TEST

START_TEST(a_pause_lets_delayed_counts_continue)
{
    char line[64];
    begin();
    for (int i = 0; i < MANY; i++) {
        snprintf(line, sizeof(line), "SET k%d x PXAT %d", i, SERVER_WORLD_START + LATER);
        server_world_send(&world, FILLER, line);
    }
    die();
    delays(0, "DBSIZE");
    answers(FILLER, "CLIENT PAUSE 100000 WRITE", "+OK\r\n");
    run_slices();
    answers(0, "DBSIZE", ":0\r\n");
    ck_assert_uint_eq(store_count(world.world.store), MANY);
    end();
}
END_TEST

START_TEST(an_add_to_a_far_too_long_sorted_set_comes_after_the_cut)
{
    char line[64];
    begin();
    for (int i = 0; i < MANY; i++) {
        snprintf(line, sizeof(line), "ZADD z %d m%d", i, i);
        server_world_send(&world, FILLER, line);
    }
    answers(FILLER, "POLICY SET z MAXLEN 2000", "+OK\r\n");
    delays(0, "ZADD z 9999 new");
    delays(1, "ZCARD z");
    run_slices();
    answers(1, "ZCARD z", ":2000\r\n");
    answers(0, "ZADD z 9999 new", ":1\r\n");
    answers(0, "ZRANGE z 0 0", "*1\r\n$5\r\nm3001\r\n");
    end();
}
END_TEST

/* ---- counting where nothing may remove expired keys ---- */

static void fill_keys(int count)
{
    char line[64];
    for (int i = 0; i < count; i++) {
        snprintf(line, sizeof(line), "SET k%d v PXAT %d", i, SERVER_WORLD_START + LATER);
        server_world_send(&world, FILLER, line);
    }
}

static size_t to_hide(void)
{
    return store_count_to_hide(world.world.store, world.clock.now, SIZE_MAX);
}

/* Counts after this visit no expired key. */
static void ck_counting_waits_for_hiding(void)
{
    die();
    ck_assert_uint_eq(to_hide(), MANY);
    delays(0, "DBSIZE");
    delays(1, "EXPIRY NEXT");
    delays(2, "RANDOMKEY");
    ck_assert_uint_gt(run_slices(), MANY / 100);
    ck_assert_uint_eq(to_hide(), 0);
    answers(0, "DBSIZE", ":1\r\n");
    answers(1, "EXPIRY NEXT", "*0\r\n");
    answers(2, "RANDOMKEY", "$5\r\nstays\r\n");
    ck_assert_uint_eq(store_count(world.world.store), MANY + 1);
}

START_TEST(counting_on_a_replica_waits_until_keys_are_hidden)
{
    begin();
    fill_keys(MANY);
    answers(0, "SET stays v", "+OK\r\n");
    world.engine.role.replica = true;
    ck_counting_waits_for_hiding();
    end();
}
END_TEST

START_TEST(counting_during_a_pause_waits_until_keys_are_hidden)
{
    begin();
    fill_keys(MANY);
    answers(0, "SET stays v", "+OK\r\n");
    answers(0, "CLIENT PAUSE 100000 WRITE", "+OK\r\n");
    ck_counting_waits_for_hiding();
    answers(0, "CLIENT UNPAUSE", "+OK\r\n");
    delays(0, "DBSIZE"); /* now until they are removed */
    expiry_run(world.world.store, world.clock.now, SIZE_MAX);
    run_slices();
    answers(0, "DBSIZE", ":1\r\n");
    ck_assert_uint_eq(store_count(world.world.store), 1);
    end();
}
END_TEST

START_TEST(a_few_expired_keys_delay_no_count_on_a_replica)
{
    begin();
    fill_keys(900);
    world.engine.role.replica = true;
    die();
    answers(0, "DBSIZE", ":0\r\n");
    answers(0, "RANDOMKEY", "$-1\r\n");
    ck_assert_uint_eq(to_hide(), 0);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_request_is_delayed_until_its_key_is_settled,
        sessions_are_woken_in_the_order_of_their_arrival,
        settling_finishes_when_no_session_waits_any_more,
        a_master_that_becomes_a_replica_removes_nothing_more,
        counting_on_a_replica_waits_until_keys_are_hidden,
        counting_during_a_pause_waits_until_keys_are_hidden,
        a_few_expired_keys_delay_no_count_on_a_replica,
        a_deleted_key_delays_no_session,
        a_transaction_is_delayed_as_a_whole,
        a_transaction_that_will_not_run_is_not_delayed,
        a_transaction_is_delayed_for_the_database_it_selects,
        a_key_overwritten_in_another_database_is_not_settled,
        sort_reads_one_field_and_leaves_the_rest,
        a_read_during_a_pause_is_delayed_and_answered_in_it,
        a_blocked_client_is_served_when_the_key_is_settled,
        a_blocked_client_whose_other_key_is_slow_is_postponed,
        a_blocked_reader_of_streams_is_served_after_it_was_postponed,
        counting_keys_is_delayed_while_many_keys_are_expired,
        a_pause_lets_delayed_counts_continue,
        an_add_to_a_far_too_long_sorted_set_comes_after_the_cut,
        NULL,
    };
    return suite_of("settle", tests);
}
