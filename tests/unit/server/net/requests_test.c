/* Tests of requests: sessions whose bytes come from the test, in any pieces, and whose replies stay
 * in their buffer. */
#include "server/net/requests.h"

#include <string.h>

#include "server/engine/session_reset.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { PEOPLE = 5, MIB = 1 << 20, FULL = 5 };

struct person {
    struct session session; /* first: its address is the person's */
    struct outbuf out;
    struct requests requests;
    struct limits limits;
    unsigned ran;
    bool closed;
    char heard[256];
};

static struct server_world world;
static struct all_limits *limits;
static struct all_requests *all;
static struct person people[PEOPLE];

/* ---- the owner ------------------------------------------------------------------------------- */

static size_t no_bytes(const struct session *session)
{
    (void)session;
    return 0;
}

static bool is_busy(const struct session *session)
{
    return requests_are_busy(&((const struct person *)session)->requests);
}

static void close_person(struct session *session)
{
    ((struct person *)session)->closed = true;
    session_end(session);
}

static void note_ran(struct session *session)
{
    ((struct person *)session)->ran++;
}

static void forget_pause(struct session *session)
{
    requests_forget_pause(&((struct person *)session)->requests);
}

static void pause_person(struct session *session)
{
    session_wait(session, WAIT_PAUSE, forget_pause);
}

static void on_change(struct session *session)
{
    requests_wake(&((struct person *)session)->requests);
}

static void begin(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    limits = all_limits_new(
        &(struct limits_wiring){ .loop = world.loop,
                                 .clock = &world.clock,
                                 .conf = &world.conf,
                                 .engine = &world.engine,
                                 .stats = &world.stats,
                                 .owner = { no_bytes, is_busy, close_person, note_ran } });
    all = all_requests_new(
        &(struct requests_wiring){ .loop = world.loop,
                                   .clock = &world.clock,
                                   .conf = &world.conf,
                                   .engine = &world.engine,
                                   .stats = &world.stats,
                                   .owner = { close_person, note_ran, pause_person } });
    for (int i = 0; i < PEOPLE; i++) {
        struct person *person = &people[i];
        *person = (struct person){ .ran = 0 };
        outbuf_init(&person->out);
        session_init(&person->session, &person->out);
        person->session.id = 100 + (uint64_t)i;
        person->session.peer = "127.0.0.1:7";
        person->session.changed = on_change;
        person->session.authenticated = true;
        acl_begin_session(world.engine.acl, &person->session);
        limits_init(&person->limits, limits, &person->session);
        requests_init(&person->requests, all, &person->session, &person->limits);
    }
}

static void check_all(void)
{
    struct requests_tally tally = { 0 };
    for (int i = 0; i < PEOPLE; i++)
        requests_check(&people[i].requests, &tally);
    all_requests_check(all, &tally);
}

static void end(void)
{
    check_all();
    for (int i = 0; i < PEOPLE; i++) {
        session_drop(&people[i].session, world.hooks.watch, world.pubsub, world.hooks.tracking,
                     world.observer.monitor);
        requests_drop(&people[i].requests);
        limits_drop(&people[i].limits);
        outbuf_drop(&people[i].out);
    }
    all_requests_free(all);
    all_limits_free(limits);
    server_world_drop(&world);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Brings as many of the bytes as there is room for now. */
static size_t bring(int i, const char *data, size_t len)
{
    struct requests_room room = requests_room(&people[i].requests);
    if (room.kind == ROOM_NONE) return 0;
    if (len > room.size) len = room.size;
    memcpy(room.data, data, len);
    requests_got(&people[i].requests, &room, len);
    return len;
}

static void say(int i, const char *text)
{
    ck_assert_uint_eq(bring(i, text, strlen(text)), strlen(text));
}

static void turn(void)
{
    loop_poll(world.loop);
    check_all();
    all_requests_run(all);
    check_all();
}

static const char *hear(int i)
{
    struct person *person = &people[i];
    size_t len = person->out.len < sizeof(person->heard) ? person->out.len : 0;
    ck_assert_uint_eq(len, person->out.len);
    outbuf_copy(&person->out, person->heard);
    person->heard[len] = '\0';
    outbuf_consume(&person->out, len);
    return person->heard;
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST(requests_run_at_the_end_of_the_turn_in_which_they_came)
{
    begin();
    say(0, "SET k v\r\nGET k\r\n");
    ck_assert(requests_are_busy(&people[0].requests));
    ck_assert_str_eq(hear(0), "");
    turn();
    ck_assert_str_eq(hear(0), "+OK\r\n$1\r\nv\r\n");
    ck_assert_uint_eq(people[0].ran, 1);
    ck_assert_uint_eq(all_requests_number(all), 2);
    ck_assert_uint_eq(requests_usage(&people[0].requests).used, 0);
    end();
}
END_TEST

START_TEST(connections_run_in_the_order_in_which_they_came)
{
    begin();
    say(2, "RPUSH l c\r\n");
    say(0, "RPUSH l a\r\n");
    say(1, "RPUSH l b\r\nLRANGE l 0 -1\r\n");
    turn();
    ck_assert_str_eq(hear(2), ":1\r\n");
    ck_assert_str_eq(hear(0), ":2\r\n");
    ck_assert_str_eq(hear(1), ":3\r\n*3\r\n$1\r\nc\r\n$1\r\na\r\n$1\r\nb\r\n");
    end();
}
END_TEST

START_TEST(a_request_may_come_byte_by_byte)
{
    static const char text[] = "*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n";
    begin();
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        ck_assert_str_eq(hear(0), "");
        ck_assert_uint_eq(bring(0, text + i, 1), 1);
        turn();
    }
    ck_assert_str_eq(hear(0), "$5\r\nhello\r\n");
    end();
}
END_TEST

START_TEST(requests_behind_a_waiting_one_are_parsed_again)
{
    begin();
    say(0, "BLPOP q 0\r\nPING\r\n");
    turn();
    ck_assert_int_eq(people[0].session.waits_for, WAIT_KEY);
    ck_assert_uint_eq(requests_usage(&people[0].requests).used, 6);
    say(0, "PING\r\n"); /* a waiting client is read */
    turn();
    ck_assert_str_eq(hear(0), "");
    session_wake(&people[0].session);
    turn();
    ck_assert_str_eq(hear(0), "+PONG\r\n+PONG\r\n");
    end();
}
END_TEST

START_TEST(a_pause_holds_requests_until_it_ends)
{
    begin();
    server_world_send(&world, 0, "CLIENT PAUSE 100 WRITE");
    say(0, "SET k v\r\nPING\r\n");
    say(1, "PING\r\n");
    turn();
    ck_assert_uint_eq(all_requests_paused(all), 1);
    ck_assert_str_eq(hear(0), "");
    ck_assert_str_eq(hear(1), "+PONG\r\n");
    all_requests_check_pause(all);
    turn();
    ck_assert_uint_eq(all_requests_paused(all), 1);
    server_world_hold(&world, SERVER_WORLD_START + 200);
    all_requests_check_pause(all);
    turn();
    ck_assert_str_eq(hear(0), "+OK\r\n+PONG\r\n");
    ck_assert_uint_eq(all_requests_paused(all), 0);
    end();
}
END_TEST

/* The turn's buffer has room for four reads. */
START_TEST(a_connection_without_room_is_read_once_the_others_have_run)
{
    static char line[64 * 1024];
    begin();
    memset(line, ' ', sizeof(line));
    memcpy(line, "PING", 4);
    memcpy(line + sizeof(line) - 2, "\r\n", 2);
    for (int i = 0; i < FULL - 1; i++)
        ck_assert_uint_eq(bring(i, line, sizeof(line)), sizeof(line));
    ck_assert_uint_eq(bring(FULL - 1, "PING\r\n", 6), 0);
    ck_assert_ptr_null(all_requests_next_to_read(all));
    check_all();
    turn();
    ck_assert_ptr_eq(all_requests_next_to_read(all), &people[FULL - 1].session);
    ck_assert_ptr_null(all_requests_next_to_read(all));
    say(FULL - 1, "PING\r\n");
    turn();
    for (int i = 0; i < FULL; i++)
        ck_assert_str_eq(hear(i), "+PONG\r\n");
    end();
}
END_TEST

START_TEST(a_big_argument_is_read_into_its_own_block)
{
    static char value[3 * MIB];
    static const char head[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3145728\r\n";
    begin();
    memset(value, 'v', sizeof(value));
    say(0, head);
    turn();
    bool big = false;
    for (size_t got = 0; got < sizeof(value); turn()) {
        struct requests_room room = requests_room(&people[0].requests);
        big |= room.kind == ROOM_BIG;
        size_t len = sizeof(value) - got < room.size ? sizeof(value) - got : room.size;
        ck_assert_uint_gt(len, 0);
        memcpy(room.data, value, len);
        requests_got(&people[0].requests, &room, len);
        got += len;
    }
    ck_assert(big);
    say(0, "\r\n");
    turn();
    ck_assert_str_eq(hear(0), "+OK\r\n");
    say(0, "STRLEN k\r\n");
    turn();
    ck_assert_str_eq(hear(0), ":3145728\r\n");
    end();
}
END_TEST

START_TEST(malformed_bytes_close_after_an_error)
{
    begin();
    say(0, "PING\r\n*x\r\nPING\r\n");
    turn();
    ck_assert_int_eq(people[0].session.state, SESSION_CLOSING);
    ck_assert_str_eq(hear(0), "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n");
    ck_assert(!people[0].closed);
    end();
}
END_TEST

START_TEST(a_suspended_turn_serves_others_and_keeps_its_request)
{
    begin();
    say(0, "PING\r\n");
    say(1, "PING\r\n");
    turn();
    hear(0);
    hear(1);
    ck_assert_ptr_null(all_requests_running(all));
    ck_assert_ptr_null(all_requests_suspend(all));
    ck_assert(all_requests_are_suspended(all));
    uint64_t number = all_requests_number(all);
    say(1, "ECHO in\r\n");
    turn();
    ck_assert_str_eq(hear(1), "$2\r\nin\r\n");
    ck_assert_uint_eq(all_requests_number(all), number);
    ck_assert_ptr_null(all_requests_resume(all));
    ck_assert(!all_requests_are_suspended(all));
    say(0, "PING\r\n");
    turn();
    ck_assert_str_eq(hear(0), "+PONG\r\n");
    end();
}
END_TEST

START_TEST(a_long_pipeline_is_shared_over_turns)
{
    static char text[1500 * 6 + 1];
    begin();
    for (int i = 0; i < 1500; i++)
        memcpy(text + 6 * (size_t)i, "PING\r\n", 6);
    say(0, text);
    turn();
    ck_assert_uint_eq(people[0].out.len, 1024 * 7);
    turn();
    ck_assert_uint_eq(people[0].out.len, 1500 * 7);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        requests_run_at_the_end_of_the_turn_in_which_they_came,
        connections_run_in_the_order_in_which_they_came,
        a_request_may_come_byte_by_byte,
        requests_behind_a_waiting_one_are_parsed_again,
        a_pause_holds_requests_until_it_ends,
        a_connection_without_room_is_read_once_the_others_have_run,
        a_big_argument_is_read_into_its_own_block,
        malformed_bytes_close_after_an_error,
        a_suspended_turn_serves_others_and_keeps_its_request,
        a_long_pipeline_is_shared_over_turns,
        NULL,
    };
    return suite_of("requests", tests);
}
