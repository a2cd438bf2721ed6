/* BZTSPOP and BZTSMOVE: which members they take, and when blocked clients get theirs. The clock
 * starts at 1000 s and is stepped by milliseconds. */
#include "server/cmd/call/pause.h"
#include "server/engine/unblock.h"
#include "store/base/number.h"
#include "tests/support/caller.h"
#include "tests/support/rng.h"
#include "tests/support/scene.h"
#include "tests/support/suite.h"

enum { START = SERVER_WORLD_START };

/* ---- what is taken --------------------------------------------------------------------------- */

START_TEST(due_members_are_popped_lowest_first)
{
    SCENE({ 'a', "ZADD z 900 b 800.5 a 1000 c 1000.001 d inf e -inf f", ":6|" },
          { 'a', "BZTSPOP z 2 0", "*4|$1|f|$4|-inf|$1|a|$5|800.5|" },
          { 'a', "BZTSPOP z 100 0", "*4|$1|b|$3|900|$1|c|$4|1000|" },
          { 'a', "BZTSPOP z 100 0", "" }, { PASS("1") }, { 'a', NULL, "*2|$1|d|$8|1000.001|" },
          { 'b', "BZTSPOP z 1 0.1", "" }, { PASS("100") }, { 'b', NULL, "*-1|" },
          { 'b', "ZRANGE z 0 -1", "*1|$1|e|" });
}
END_TEST

START_TEST(pairs_are_replied_as_by_zpopmin)
{
    begin();
    server_world_session(&world, 0)->out.version = 3;
    says("ZADD z 1 a 2 b", ":2|");
    says("BZTSPOP z 2 0", "*2|*2|$1|a|,1|*2|$1|b|,2|");
    says("ZADD z 1 a 2 b", ":2|");
    says("ZPOPMIN z 2", "*2|*2|$1|a|,1|*2|$1|b|,2|");
    end();
}
END_TEST

START_TEST(moved_members_go_to_the_tail_in_their_order)
{
    SCENE({ 'a', "ZADD z 900 b 800 a 1000.002 c", ":3|" }, { 'a', "RPUSH l x", ":1|" },
          { 'a', "BZTSMOVE z l 10 0", "*2|$1|a|$1|b|" },
          { 'a', "LRANGE l 0 -1", "*3|$1|x|$1|a|$1|b|" }, { 'a', "BZTSMOVE z new 1 0", "" },
          { 'b', "BLPOP new 0", "" }, { PASS("2") }, { 'a', NULL, "*1|$1|c|" },
          { 'b', NULL, "*2|$3|new|$1|c|" }, { 'a', "EXISTS z new", ":0|" });
}
END_TEST

START_TEST(popped_and_moved_members_are_published_as_events)
{
    begin();
    says("ZADD z 900 b 800 a 2000 c", ":3|");
    expect_reply_and_events("BZTSMOVE z l 10 0", "*2|$1|a|$1|b|", "new:l rpush:l zpopmin:z ");
    expect_reply_and_events("BZTSPOP z 10 0.1", "", "");
    server_world_step(&world, 2000000);
    ck_assert_str_eq(shown(server_world_heard(&world, 0)), "*-1|");
    expect_reply_and_events("BZTSPOP z 10 0", "*2|$1|c|$4|2000|", "zpopmin:z del:z ");
    end();
}
END_TEST

START_TEST(arguments_are_refused_in_redis_words)
{
    begin();
    says("SET s string", "+OK|");
    says("ZADD z 1 a", ":1|");
    static const struct step refused[] = {
        { "BZTSPOP z 1", ARITY("bztspop") },
        { "BZTSPOP z 0 0", "ERR count should be greater than 0" },
        { "BZTSPOP z -1 0", "ERR count should be greater than 0" },
        { "BZTSPOP z x x", "ERR count should be greater than 0" },
        { "BZTSPOP z 1 x", "ERR timeout is not a float or out of range" },
        { "BZTSPOP z 1 -1", "ERR timeout is negative" },
        { "BZTSPOP s 1 0", WRONGTYPE },
        { "BZTSMOVE z l 1", ARITY("bztsmove") },
        { "BZTSMOVE z l 0 0", "ERR count should be greater than 0" },
        { "BZTSMOVE z l 1 -1", "ERR timeout is negative" },
        { "BZTSMOVE s l 1 0", WRONGTYPE },
        { "BZTSMOVE z s 1 0", WRONGTYPE },
        { "BZTSMOVE z z 1 0", WRONGTYPE },
    };
    REFUSED(refused);
    end();
}
END_TEST

START_TEST(commands_do_not_block_in_a_transaction)
{
    SCENE({ 'a', "ZADD z 1000.005 a", ":1|" }, { 'a', "MULTI", "+OK|" },
          { 'a', "BZTSPOP z 1 0", "+QUEUED|" }, { 'a', "BZTSMOVE z l 1 0", "+QUEUED|" },
          { 'a', "BZTSPOP none 1 0", "+QUEUED|" }, { 'a', "EXEC", "*3|*-1|*-1|*-1|" },
          { PASS("5") }, { 'a', "BZTSPOP z 1 0", "*2|$1|a|$8|1000.005|" });
}
END_TEST

/* ---- the time of wake-ups
 * ------------------------------------------------------------------------------------ */

/* Returns the instant at which a client that waits for a member with this score gets it. */
static msec wakes_at(const char *score)
{
    char line[64];
    snprintf(line, sizeof(line), "ZADD z %s m", score);
    says(line, ":1|");
    says("BZTSPOP z 1 0", "");
    return blocked_next_wake(world.hooks.blocked);
}

static void take_at(msec at)
{
    server_world_step(&world, at - 1);
    ck_assert_str_eq(shown(server_world_heard(&world, 0)), "");
    server_world_step(&world, at);
    ck_assert_str_ne(shown(server_world_heard(&world, 0)), "");
}

START_TEST(a_score_in_milliseconds_is_due_in_that_millisecond)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    begin();
    for (int i = 0; i < 3000; i++) {
        char score[32];
        msec at = i % 2 == 0 ? 1700000000000 + rng_between(&rng, 1, 1000000000000)
                             : world.world.now + rng_between(&rng, 2, 5000);
        snprintf(score, sizeof(score), "%lld.%03lld", (long long)(at / 1000),
                 (long long)(at % 1000));
        server_world_hold(&world, at - 1 - rng_between(&rng, 0, 1));
        ck_assert_msg(wakes_at(score) == at, "%s wakes at %lld", score,
                      (long long)blocked_next_wake(world.hooks.blocked));
        take_at(at);
    }
    end();
}
END_TEST

START_TEST(a_finer_score_is_due_in_the_next_millisecond)
{
    begin();
    ck_assert_int_eq(wakes_at("1000.0001"), START + 1);
    take_at(START + 1);
    ck_assert_int_eq(wakes_at("1000.0011"), START + 2);
    take_at(START + 2);
    ck_assert_int_eq(wakes_at("1000.0029999"), START + 3);
    take_at(START + 3);
    end();
}
END_TEST

START_TEST(a_score_beyond_the_last_instant_wakes_no_client)
{
    static const char *const scores[] = { "inf", "1e300", "9223372036854775807" };
    for (size_t i = 0; i < COUNT(scores); i++) {
        begin();
        ck_assert_int_eq(wakes_at(scores[i]), NEVER);
        ck_assert_int_eq(blocked_next_due(world.hooks.blocked), NEVER);
        end();
    }
}
END_TEST

START_TEST(a_member_due_at_the_timeout_is_popped)
{
    SCENE({ 'e', "ZADD z 1000.005 a", ":1|" }, { 'a', "BZTSPOP z 1 0.004", "" },
          { 'b', "BZTSPOP z 1 0.005", "" }, { 'c', "BZTSPOP z 1 0.005", "" }, { PASS("5") },
          { 'a', NULL, "*-1|" }, { 'b', NULL, "*2|$1|a|$8|1000.005|" }, { 'c', NULL, "*-1|" });
}
END_TEST

/* ---- earlier and later ----------------------------------------------------------------------- */

START_TEST(a_new_earlier_member_wakes_clients_earlier)
{
    SCENE({ 'e', "ZADD z 1000.050 late", ":1|" }, { 'a', "BZTSPOP z 1 0", "" },
          { 'e', "ZADD z 1000.010 early", ":1|" }, { PASS("9") }, { 'a', NULL, "" }, { PASS("1") },
          { 'a', NULL, "*2|$5|early|$7|1000.01|" }, { 'a', "BZTSPOP z 1 0", "" },
          { 'e', "ZADD z 1000.010 now", ":1|" }, { 'a', NULL, "*2|$3|now|$7|1000.01|" },
          { 'a', "BZTSPOP z 1 0", "" }, { 'e', "ZINCRBY z -0.02 late", "$7|1000.03|" },
          { PASS("19") }, { 'a', NULL, "" }, { PASS("1") },
          { 'a', NULL, "*2|$4|late|$7|1000.03|" });
}
END_TEST

START_TEST(moved_and_removed_members_wake_no_client_at_the_old_time)
{
    SCENE({ 'e', "ZADD z 1000.010 a 1000.020 b", ":2|" }, { 'a', "BZTSPOP z 1 0", "" },
          { 'e', "ZADD z 1000.040 a", ":0|" }, { PASS("19") }, { 'a', NULL, "" },
          { 'e', "ZREM z b", ":1|" }, { PASS("20") }, { 'a', NULL, "" }, { PASS("1") },
          { 'a', NULL, "*2|$1|a|$7|1000.04|" }, { 'e', "ZADD z 1000.050 a", ":1|" },
          { 'a', "BZTSPOP z 1 0", "" }, { 'e', "ZPEXPIRE z 5 MEMBERS 1 a", "*1|:1|" },
          { PASS("100") }, { 'a', NULL, "" }, { 'e', "ZADD z 1 a", ":1|" },
          { 'a', NULL, "*2|$1|a|$1|1|" });
}
END_TEST

START_TEST(a_recreated_key_wakes_clients_at_its_new_time)
{
    SCENE({ 'e', "ZADD z 1000.010 a", ":1|" }, { 'a', "BZTSPOP z 1 0", "" },
          { 'e', "RENAME z y", "+OK|" }, { PASS("15") }, { 'a', NULL, "" },
          { 'e', "RENAME y z", "+OK|" }, { 'a', NULL, "*2|$1|a|$7|1000.01|" },
          { 'a', "BZTSPOP z 1 0", "" }, { 'e', "ZADD x 1000.020 b", ":1|" },
          { 'e', "COPY x z", ":1|" }, { PASS("4") }, { 'a', NULL, "" }, { PASS("1") },
          { 'a', NULL, "*2|$1|b|$7|1000.02|" }, { 'a', "BZTSPOP z 1 0", "" },
          { 'e', "ZADD z 1000.030 c", ":1|" }, { 'e', "MOVE z 1", ":1|" }, { PASS("20") },
          { 'a', NULL, "" }, { 'e', "SWAPDB 0 1", "+OK|" }, { 'a', NULL, "*2|$1|c|$7|1000.03|" },
          { 'a', "BZTSPOP z 1 0", "" }, { 'e', "ZADD z 1000.050 d", ":1|" },
          { 'e', "FLUSHALL", "+OK|" }, { PASS("20") }, { 'a', NULL, "" },
          { 'e', "ZADD z 1000.070 e", ":1|" }, { 'e', "PEXPIRE z 5", ":1|" }, { PASS("20") },
          { 'a', NULL, "" }, { 'e', "SET z string", "+OK|" }, { 'e', "DEL z", ":1|" },
          { 'e', "ZADD other 1000.090 f", ":1|" }, { 'e', "ZUNIONSTORE z 1 other", ":1|" },
          { PASS("9") }, { 'a', NULL, "" }, { PASS("1") }, { 'a', NULL, "*2|$1|f|$7|1000.09|" });
}
END_TEST

START_TEST(a_client_that_timed_out_takes_nothing)
{
    begin();
    static const struct act acts[] = {
        { 'e', "ZADD z 1000.010 a 1000.030 b", ":2|" },
        { 'a', "BZTSPOP z 1 0", "" },
        { 'b', "BZTSPOP z 1 0.009", "" },
        { 'c', "BZTSPOP z 1 0", "" },
    };
    play(acts, COUNT(acts));
    ck_assert(unblock_client(&world.engine, server_world_session(&world, 0), true));
    static const struct act then[] = {
        { 'a', NULL, "-UNBLOCKED client unblocked via CLIENT UNBLOCK|" },
        { PASS("20") },
        { 'b', NULL, "*-1|" },
        { 'c', NULL, "*2|$1|a|$7|1000.01|" },
        { 'c', "BZTSPOP z 1 0", "" },
    };
    play(then, COUNT(then));
    session_end_wait(server_world_session(&world, 2));
    ck_assert_int_eq(blocked_next_due(world.hooks.blocked), NEVER);
    static const struct act last[] = { { PASS("20") }, { 'e', "ZCARD z", ":1|" } };
    play(last, COUNT(last));
    end();
}
END_TEST

START_TEST(a_pause_delays_pops_but_not_timeouts)
{
    begin();
    static const struct act acts[] = {
        { 'e', "ZADD z 1000.010 a", ":1|" },
        { 'a', "BZTSPOP z 1 0.020", "" },
        { 'b', "BZTSPOP z 1 0", "" },
    };
    play(acts, COUNT(acts));
    pause_begin(&world.engine.pause, PAUSE_WRITE, START + 50);
    static const struct act then[] = {
        { PASS("15") },    { 'a', NULL, "" },     { 'b', NULL, "" },
        { PASS("5") },     { 'a', NULL, "*-1|" }, { PASS("30") },
        { 'b', NULL, "" }, { PASS("1") },         { 'b', NULL, "*2|$1|a|$7|1000.01|" },
    };
    play(then, COUNT(then));
    end();
}
END_TEST

/* ---- several --------------------------------------------------------------------------------- */

START_TEST(clients_are_served_in_order_across_commands)
{
    SCENE({ 'e', "ZADD z 1000.010 m 1000.020 n 1000.030 o 1000.040 p", ":4|" },
          { 'a', "BZTSPOP z 1 0", "" }, { 'b', "BZTSMOVE z l 1 0", "" },
          { 'c', "BZTSPOP z 5 0", "" }, { 'd', "BZTSMOVE z l 1 0", "" }, { PASS("10") },
          { 'a', NULL, "*2|$1|m|$7|1000.01|" }, { 'a', "BZTSPOP z 1 0", "" }, { PASS("20") },
          { 'b', NULL, "*1|$1|n|" }, { 'c', NULL, "*2|$1|o|$7|1000.03|" }, { PASS("9") },
          { 'd', NULL, "" }, { PASS("1") }, { 'd', NULL, "*1|$1|p|" }, { 'b', "BZPOPMIN z 0", "" },
          { 'c', "BZTSPOP z 2 0", "" }, { 'e', "ZADD z 1000.050 q 1000.060 r 1000.070 s", ":3|" },
          { 'b', NULL, "*3|$1|z|$1|q|$7|1000.05|" }, { PASS("20") },
          { 'a', NULL, "*2|$1|r|$18|1000.0599999999999|" }, { PASS("10") },
          { 'c', NULL, "*2|$1|s|$18|1000.0700000000001|" });
}
END_TEST

START_TEST(a_destination_that_changed_type_is_an_error_when_due)
{
    SCENE({ 'e', "ZADD z 1000.010 m", ":1|" }, { 'a', "BZTSMOVE z l 1 0", "" },
          { 'b', "BZTSPOP z 1 0", "" }, { 'e', "SET l string", "+OK|" },
          { 'e', "ZADD z 1000.020 n", ":1|" }, { PASS("9") }, { 'a', NULL, "" }, { PASS("1") },
          { 'a', NULL, "-" WRONGTYPE "|" }, { 'b', NULL, "*2|$1|m|$7|1000.01|" });
}
END_TEST

START_TEST(a_key_that_is_moved_from_can_be_the_next_ones_destination)
{
    SCENE({ 'a', "BZTSMOVE z l 2 0", "" }, { 'b', "BLMOVE l m LEFT RIGHT 0", "" },
          { 'c', "BLPOP m 0", "" }, { 'e', "ZADD z 1000.010 x 1000.010 y 1000.010 w", ":3|" },
          { PASS("10") }, { 'a', NULL, "*2|$1|w|$1|x|" }, { 'b', NULL, "$1|w|" },
          { 'c', NULL, "*2|$1|m|$1|w|" }, { 'e', "LRANGE l 0 -1", "*1|$1|x|" },
          { 'e', "ZCARD z", ":1|" });
}
END_TEST

enum { CROWD = 100 };

static void ask(struct session *session, const char *line)
{
    struct bytes argv[8];
    int argc = 0;
    for (const char *word = line;; word++) {
        argv[argc] = bytes_of(word, strcspn(word, " "));
        word += argv[argc++].len;
        if (*word == '\0') break;
    }
    engine_request(&world.engine, session, commands_match(world.engine.commands, argc, argv), argc,
                   argv);
}

START_TEST(of_a_hundred_blocked_clients_the_first_is_served)
{
    static struct caller crowd[CROWD];
    begin();
    says("ZADD z 1000.010 a 1000.020 b 1000.030 c", ":3|");
    for (int i = 0; i < CROWD; i++) {
        caller_init(&crowd[i]);
        ask(&crowd[i].session, "BZTSPOP z 1 0");
    }
    for (int i = 0; i < 3; i++) {
        server_world_step(&world, START + 10 * (i + 1) - 1);
        ck_assert_str_eq(caller_heard(&crowd[i]), "");
        unsigned before = (unsigned)world.world.commits;
        server_world_step(&world, START + 10 * (i + 1));
        /* One takes it, one looks in vain for all; where nothing is left not even that. */
        ck_assert_uint_le((unsigned)world.world.commits - before, 4);
        ck_assert_str_ne(caller_heard(&crowd[i]), "");
        ck_assert_uint_eq(blocked_count(world.hooks.blocked), (size_t)(CROWD - i - 1));
        /* All that is kept for the others is one instant. */
        ck_assert_int_eq(blocked_next_due(world.hooks.blocked),
                         i < 2 ? START + 10 * (i + 2) : NEVER);
    }
    for (int i = 0; i < CROWD; i++) {
        ck_assert_str_eq(caller_heard(&crowd[i]), "");
        caller_drop(&crowd[i], world.hooks.watch, world.pubsub);
    }
    end();
}
END_TEST

/* ---- against a model ------------------------------------------------------------------------- */

enum { KEYS = 3, MEMBERS = 6, WAITERS = SERVER_WORLD_CALLERS - 1, STEPS = 4000 };

struct model {
    msec scores[KEYS][MEMBERS]; /* 0: no such member */
    struct {
        bool waits;
        int key;
        uint64_t arrival;
        msec until;
    } who[WAITERS];
    uint64_t arrivals;
    char expected[WAITERS][TEXT_SIZE];
};

static int model_head(const struct model *model, int key)
{
    int head = -1;
    for (int i = 0; i < MEMBERS; i++)
        if (model->scores[key][i] != 0 &&
            (head < 0 || model->scores[key][i] < model->scores[key][head]))
            head = i;
    return head;
}

static int model_first_waiter(const struct model *model, int key)
{
    int first = -1;
    for (int i = 0; i < WAITERS; i++)
        if (model->who[i].waits && model->who[i].key == key &&
            (first < 0 || model->who[i].arrival < model->who[first].arrival))
            first = i;
    return first;
}

static void model_serve(struct model *model, int key, msec now)
{
    for (;;) {
        int head = model_head(model, key), first = model_first_waiter(model, key);
        if (head < 0 || first < 0 || model->scores[key][head] > now) return;
        char score[NUMBER_DOUBLE_MAX_CHARS + 1];
        score[number_print_double(score, (double)model->scores[key][head] / 1000)] = '\0';
        snprintf(model->expected[first], TEXT_SIZE, "*2|$1|%c|$%zu|%s|", 'a' + head, strlen(score),
                 score);
        model->scores[key][head] = 0;
        model->who[first].waits = false;
    }
}

static void model_end_waits(struct model *model, msec now)
{
    for (int i = 0; i < WAITERS; i++) {
        if (!model->who[i].waits || model->who[i].until > now) continue;
        model->who[i].waits = false;
        snprintf(model->expected[i], TEXT_SIZE, "*-1|");
    }
}

static void step_wait(struct rng *rng, struct model *model, int caller)
{
    char line[64];
    int key = (int)rng_below(rng, KEYS);
    int ttl = rng_chance(rng, 50) ? 0 : (int)rng_between(rng, 1, 30);
    snprintf(line, sizeof(line), "BZTSPOP %d 1 0.%03d", key, ttl);
    ask(server_world_session(&world, (unsigned)caller), line);
    model->who[caller].waits = true;
    model->who[caller].key = key;
    model->who[caller].arrival = model->arrivals++;
    model->who[caller].until = ttl > 0 ? world.world.now + ttl : NEVER;
    model_serve(model, key, world.world.now);
}

static void step_change(struct rng *rng, struct model *model)
{
    char line[64];
    int key = (int)rng_below(rng, KEYS), member = (int)rng_below(rng, MEMBERS);
    msec at = 0;
    if (rng_chance(rng, 25)) {
        snprintf(line, sizeof(line), "ZREM %d %c", key, 'a' + member);
    } else {
        do /* no two at once: their order is another test's */
            at = world.world.now + rng_between(rng, -3, 30);
        while (at % MEMBERS != member);
        snprintf(line, sizeof(line), "ZADD %d %lld.%03lld %c", key, (long long)(at / 1000),
                 (long long)(at % 1000), 'a' + member);
    }
    server_world_send(&world, WAITERS, line);
    model->scores[key][member] = at;
    model_serve(model, key, world.world.now);
}

static void step_clock(struct rng *rng, struct model *model)
{
    for (int64_t left = rng_between(rng, 1, 12); left > 0; left--) {
        server_world_step(&world, world.world.now + 1);
        for (int key = 0; key < KEYS; key++)
            model_serve(model, key, world.world.now);
        model_end_waits(model, world.world.now);
    }
}

START_TEST(every_client_gets_what_a_model_predicts_to_the_ms)
{
    struct rng rng;
    static struct model model;
    memset(&model, 0, sizeof(model));
    rng_init(&rng, test_seed());
    begin();
    for (int step = 0; step < STEPS; step++) {
        int caller = (int)rng_below(&rng, WAITERS);
        if (rng_chance(&rng, 30))
            step_clock(&rng, &model);
        else if (!model.who[caller].waits && rng_chance(&rng, 50))
            step_wait(&rng, &model, caller);
        else
            step_change(&rng, &model);
        blocked_check(world.hooks.blocked);
        for (int i = 0; i < WAITERS; i++) {
            ck_assert_str_eq(shown(server_world_heard(&world, (unsigned)i)), model.expected[i]);
            ck_assert_int_eq(server_world_session(&world, (unsigned)i)->blocked != NULL,
                             model.who[i].waits);
            model.expected[i][0] = '\0';
        }
    }
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        due_members_are_popped_lowest_first,
        pairs_are_replied_as_by_zpopmin,
        moved_members_go_to_the_tail_in_their_order,
        popped_and_moved_members_are_published_as_events,
        arguments_are_refused_in_redis_words,
        commands_do_not_block_in_a_transaction,
        a_score_in_milliseconds_is_due_in_that_millisecond,
        a_finer_score_is_due_in_the_next_millisecond,
        a_score_beyond_the_last_instant_wakes_no_client,
        a_member_due_at_the_timeout_is_popped,
        a_new_earlier_member_wakes_clients_earlier,
        moved_and_removed_members_wake_no_client_at_the_old_time,
        a_recreated_key_wakes_clients_at_its_new_time,
        a_client_that_timed_out_takes_nothing,
        a_pause_delays_pops_but_not_timeouts,
        clients_are_served_in_order_across_commands,
        a_destination_that_changed_type_is_an_error_when_due,
        a_key_that_is_moved_from_can_be_the_next_ones_destination,
        of_a_hundred_blocked_clients_the_first_is_served,
        every_client_gets_what_a_model_predicts_to_the_ms,
        NULL,
    };
    return suite_of("zset_time", tests);
}
