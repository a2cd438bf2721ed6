/* Tests of the states of connections, over socket pairs: random clients block, pause, fail to log
 * in, leave replies unread and disappear, and after each step everything that is kept of them
 * agrees. */
#include "server/net/client.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/engine/settle.h"
#include "server/engine/unblock.h"
#include "store/mem/mem.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { PEERS = 8, STEPS = 6000, BIG = 1 << 20, FILLER = 1, MEMBERS = 1500, BIG_REQUESTS = 80 };

static struct server_world world;
static struct rng rng;
static int peers[PEERS]; /* the clients' ends; -1: none */

/* ---- the server ------------------------------------------------------------------------------ */

static void begin(void)
{
    signal(SIGPIPE, SIG_IGN); /* as the daemon does */
    server_world_init(&world, SERVER_WORLD_PLAIN);
    world.engine.settle = settle_new(&world.engine);
    for (int i = 0; i < PEERS; i++)
        peers[i] = -1;
}

static void turn(void)
{
    loop_poll(world.loop);
    clients_check(world.clients);
    clients_run(world.clients);
    clients_check(world.clients);
    clients_turn(world.clients);
    clients_check(world.clients);
    settle_slice(world.engine.settle, 100);
    unblock_due(&world.engine, 16);
    clients_check(world.clients);
    clients_turn(world.clients);
    clients_check(world.clients);
}

static void kill_one(void *ctx, const struct client_info *info)
{
    (void)ctx;
    clients_kill(world.clients, info->session, NULL);
}

static void end(void)
{
    clients_each(world.clients, kill_one, NULL);
    clients_check(world.clients);
    clients_turn(world.clients);
    ck_assert_uint_eq(clients_count(world.clients), 0);
    clients_check(world.clients);
    for (int i = 0; i < PEERS; i++)
        if (peers[i] >= 0) close(peers[i]);
    session_end_wait(server_world_session(&world, FILLER));
    settle_free(world.engine.settle);
    world.engine.settle = NULL;
    server_world_drop(&world);
}

/* ---- clients --------------------------------------------------------------------------------- */

static void open_peer(int i, enum client_port port)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    peers[i] = ends[0];
    clients_accept(world.clients, ends[1], "127.0.0.1:7", "127.0.0.1:6", port);
}

static void close_peer(int i)
{
    if (peers[i] >= 0) close(peers[i]);
    peers[i] = -1;
}

static void say(int i, const char *text)
{
    (void)!send(peers[i], text, strlen(text), MSG_NOSIGNAL);
}

/* All that the client has got since the last call, as far as it fits. */
static const char *hear(int i)
{
    static char text[4096];
    size_t len = 0;
    ssize_t got;
    while ((got = recv(peers[i], text + len, sizeof(text) - 1 - len, 0)) > 0)
        len += (size_t)got;
    text[len] = '\0';
    return text;
}

/* The session that has been accepted last. */
static void note_session(void *ctx, const struct client_info *info)
{
    *(struct session **)ctx = info->session;
}

static struct session *last_session(void)
{
    struct session *session = NULL;
    clients_each(world.clients, note_session, &session);
    return session;
}

static void fill_set(void)
{
    char line[64];
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(line, sizeof(line), "SADDEX s PX 5 MEMBERS 1 m%d", i);
        server_world_send(&world, FILLER, line);
    }
}

static void set_big(void)
{
    struct bytes argv[] = { LIT("SET"), LIT("big"), { NULL, BIG } };
    char *value = mem_zalloc(BIG);
    argv[2].data = value;
    server_world_call(&world, FILLER, 3, argv);
    mem_free(value);
}

/* More than 64 MiB of replies. */
static void say_big(int i)
{
    for (int j = 0; j < BIG_REQUESTS; j++)
        say(i, "GET big\r\n");
}

/* ---- one state after the other --------------------------------------------------------------- */

START_TEST(requests_behind_a_waiting_one_run_when_it_is_answered)
{
    begin();
    open_peer(0, PORT_UNIX);
    struct session *session = last_session();
    say(0, "BLPOP q 0\r\nPING\r\n");
    turn();
    ck_assert_int_eq(session->waits_for, WAIT_KEY);
    ck_assert_str_eq(hear(0), "");
    server_world_send(&world, FILLER, "RPUSH q e");
    turn();
    turn();
    ck_assert_str_eq(hear(0), "*2\r\n$1\r\nq\r\n$1\r\ne\r\n+PONG\r\n");
    ck_assert_int_eq(session->state, SESSION_SERVING);
    end();
}
END_TEST

START_TEST(a_client_that_is_woken_in_the_same_turn_continues)
{
    begin();
    open_peer(0, PORT_UNIX);
    open_peer(1, PORT_UNIX);
    say(0, "BLPOP q 0\r\nPING\r\n");
    loop_poll(world.loop);
    say(1, "RPUSH q e\r\n");
    turn();
    turn();
    ck_assert_str_eq(hear(0), "*2\r\n$1\r\nq\r\n$1\r\ne\r\n+PONG\r\n");
    end();
}
END_TEST

START_TEST(clients_continue_in_the_order_in_which_they_were_woken)
{
    begin();
    for (int i = 0; i < 3; i++)
        open_peer(i, PORT_UNIX);
    say(1, "BLPOP q1 0\r\nRPUSH out second\r\n");
    turn();
    say(0, "BLPOP q0 0\r\nRPUSH out first\r\n");
    loop_poll(world.loop);
    say(2, "RPUSH q0 e\r\nRPUSH q1 e\r\n");
    turn();
    turn();
    ck_assert_str_eq(server_world_send(&world, FILLER, "LRANGE out 0 -1").data,
                     "*2\r\n$5\r\nfirst\r\n$6\r\nsecond\r\n");
    end();
}
END_TEST

START_TEST(input_of_waiting_clients_leaves_room_for_others)
{
    enum { WAITING = 5 };
    static char block[64 * 1024];
    begin();
    for (int i = 0; i <= WAITING; i++)
        open_peer(i, PORT_UNIX);
    for (int i = 0; i < WAITING; i++)
        say(i, "BLPOP q 0\r\n");
    turn();
    memset(block, 'x', sizeof(block));
    for (int i = 0; i < WAITING; i++) {
        ck_assert_int_eq(send(peers[i], block, sizeof(block), 0), sizeof(block));
        turn();
    }
    say(WAITING, "PING\r\n");
    turn();
    ck_assert_str_eq(hear(WAITING), "+PONG\r\n");
    end();
}
END_TEST

START_TEST(a_pause_makes_writes_wait_until_it_ends)
{
    begin();
    open_peer(0, PORT_UNIX);
    struct session *session = last_session();
    server_world_send(&world, FILLER, "CLIENT PAUSE 100 WRITE");
    say(0, "SET k v\r\nPING\r\n");
    turn();
    ck_assert_int_eq(session->waits_for, WAIT_PAUSE);
    ck_assert_uint_eq(clients_paused(world.clients), 1);
    server_world_hold(&world, SERVER_WORLD_START + 200);
    turn();
    turn();
    ck_assert_str_eq(hear(0), "+OK\r\n+PONG\r\n");
    ck_assert_uint_eq(clients_paused(world.clients), 0);
    end();
}
END_TEST

START_TEST(the_end_of_input_ends_every_wait)
{
    static const char *const requests[] = { "BLPOP q 0\r\n", "SCARD s\r\n", "SET k v\r\n" };
    static const enum wait_reason reasons[] = { WAIT_KEY, WAIT_SETTLING, WAIT_PAUSE };
    begin();
    fill_set();
    server_world_send(&world, FILLER, "SADD s stays");
    server_world_hold(&world, SERVER_WORLD_START + 10000);
    for (int i = 0; i < 3; i++) {
        if (reasons[i] == WAIT_PAUSE) server_world_send(&world, FILLER, "CLIENT PAUSE 100 WRITE");
        open_peer(i, PORT_UNIX);
        struct session *session = last_session();
        say(i, requests[i]);
        loop_poll(world.loop);
        clients_run(world.clients);
        clients_check(world.clients);
        ck_assert_int_eq(session->waits_for, reasons[i]);
        clients_turn(world.clients);
        close_peer(i);
        turn();
        ck_assert_uint_eq(clients_count(world.clients), 0);
    }
    end();
}
END_TEST

START_TEST(a_failed_login_holds_its_reply_even_when_the_client_closes)
{
    begin();
    open_peer(0, PORT_UNIX);
    struct session *session = last_session();
    say(0, "AUTH nobody wrong\r\nPING\r\n");
    turn();
    ck_assert_int_eq(session->waits_for, WAIT_PENALTY);
    shutdown(peers[0], SHUT_WR);
    turn();
    ck_assert_int_eq(session->state, SESSION_CLOSING);
    ck_assert_str_eq(hear(0), "");
    while (clients_count(world.clients) > 0) { /* until the penalty has passed */
        loop_wait(world.loop);
        turn();
    }
    ck_assert_int_eq(strncmp(hear(0), "-WRONGPASS", 10), 0);
    end();
}
END_TEST

START_TEST(a_client_that_leaves_much_unread_waits_until_it_reads)
{
    enum { REPLY = sizeof("$1048576\r\n\r\n") - 1 + BIG };
    static char bin[BIG];
    size_t left = (size_t)BIG_REQUESTS * REPLY;
    ssize_t got;
    begin();
    set_big();
    open_peer(0, PORT_UNIX);
    struct session *session = last_session();
    say_big(0);
    say(0, "PING\r\n");
    turn();
    ck_assert_int_eq(session->waits_for, WAIT_OUTPUT);
    while (left > 0) {
        while (left > 0 && (got = recv(peers[0], bin, left < BIG ? left : BIG, 0)) > 0)
            left -= (size_t)got;
        turn();
    }
    turn();
    ck_assert_str_eq(hear(0), "+PONG\r\n");
    ck_assert_int_eq(session->state, SESSION_SERVING);
    end();
}
END_TEST

/* The message about the expired key is more than the client may leave unread. */
START_TEST(a_client_closed_during_its_own_request_takes_no_element)
{
    begin();
    world.conf.output_limits[CONF_LIMIT_PUBSUB].hard = 1000;
    notify_set_flags(world.hooks.notify, "Ex");
    open_peer(0, PORT_UNIX);
    say(0, "HELLO 3\r\nSUBSCRIBE __keyevent@0__:expired\r\n");
    turn();
    hear(0);
    char key[2000];
    memset(key, 'k', sizeof(key));
    struct bytes set[] = { LIT("SET"), bytes_of(key, sizeof(key)), LIT("v"), LIT("PX"), LIT("1") };
    struct bytes push[] = { LIT("RPUSH"), bytes_of(key, sizeof(key)), LIT("e") };
    server_world_call(&world, FILLER, 5, set);
    server_world_hold(&world, SERVER_WORLD_START + 10);
    char request[2100];
    snprintf(request, sizeof(request), "BLPOP %.*s 0\r\n", (int)sizeof(key), key);
    say(0, request);
    loop_poll(world.loop);
    clients_run(world.clients);
    clients_check(world.clients);
    ck_assert_uint_eq(clients_count(world.clients), 0);
    ck_assert_str_eq(server_world_call(&world, FILLER, 3, push).data, ":1\r\n");
    struct bytes count[] = { LIT("LLEN"), bytes_of(key, sizeof(key)) };
    ck_assert_str_eq(server_world_call(&world, FILLER, 2, count).data, ":1\r\n");
    end();
}
END_TEST

/* ---- at random ------------------------------------------------------------------------------- */

static const char *const requests[] = {
    "PING\r\n",
    "GET k\r\n",
    "SET k v\r\n",
    "BLPOP q 0\r\n",
    "BLPOP q 0.01\r\n",
    "RPUSH q e\r\n",
    "RPUSH q a b c\r\n",
    "DEL q\r\n",
    "MULTI\r\n",
    "EXEC\r\n",
    "CLIENT PAUSE 5 WRITE\r\n",
    "CLIENT PAUSE 20 ALL\r\n",
    "CLIENT UNPAUSE\r\n",
    "CLIENT LIST\r\n",
    "CLIENT REPLY SKIP\r\n",
    "SCARD s\r\n",
    "SADD s x\r\n",
    "DBSIZE\r\n",
    "SUBSCRIBE ch\r\n",
    "PUBLISH ch hello\r\n",
    "HELLO 3\r\n",
    "RESET\r\n",
    "MONITOR\r\n",
    "*1\r\n$4\r\nPI",
    "QUIT\r\n",
    "POST / HTTP/1.1\r\n",
    "*x\r\n",
};
enum { REQUESTS = sizeof(requests) / sizeof(requests[0]) };

static void say_random(int i)
{
    char line[64];
    uint64_t id = rng_below(&rng, 200);
    switch (rng_below(&rng, 30)) {
    case 0: snprintf(line, sizeof(line), "CLIENT KILL ID %d\r\n", (int)id); break;
    case 1: snprintf(line, sizeof(line), "CLIENT UNBLOCK %d\r\n", (int)id); break;
    case 2: /* rarely, because real time has to pass */
        snprintf(line, sizeof(line), "%s", rng_chance(&rng, 5) ? "AUTH nobody wrong\r\n" : "");
        break;
    default:
        snprintf(line, sizeof(line), "%s", requests[rng_below(&rng, REQUESTS)]);
        if (rng_chance(&rng, 10)) line[rng_below(&rng, strlen(line))] = '\0';
    }
    say(i, line);
}

static void random_step(void)
{
    static char bin[BIG];
    int i = (int)rng_below(&rng, PEERS);
    uint64_t die = rng_below(&rng, 1000);
    if (peers[i] < 0)
        open_peer(i, rng_chance(&rng, 10) ? PORT_TLS : PORT_UNIX);
    else if (die < 550)
        say_random(i);
    else if (die < 700)
        while (recv(peers[i], bin, sizeof(bin), 0) > 0 && rng_chance(&rng, 50))
            continue;
    else if (die < 730)
        close_peer(i);
    else if (die < 740)
        shutdown(peers[i], SHUT_WR);
    else if (die < 744)
        say_big(i);
    else if (die < 748)
        fill_set();
    else if (die < 850)
        server_world_hold(&world, clock_now(&world.clock) + (msec)rng_below(&rng, 20));
    else
        turn();
}

START_TEST(after_random_steps_everything_agrees)
{
    rng_init(&rng, test_seed());
    begin();
    set_big();
    for (int step = 0; step < STEPS; step++) {
        random_step();
        clients_check(world.clients);
    }
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        requests_behind_a_waiting_one_run_when_it_is_answered,
        a_client_that_is_woken_in_the_same_turn_continues,
        clients_continue_in_the_order_in_which_they_were_woken,
        input_of_waiting_clients_leaves_room_for_others,
        a_pause_makes_writes_wait_until_it_ends,
        the_end_of_input_ends_every_wait,
        a_failed_login_holds_its_reply_even_when_the_client_closes,
        a_client_that_leaves_much_unread_waits_until_it_reads,
        a_client_closed_during_its_own_request_takes_no_element,
        after_random_steps_everything_agrees,
        NULL,
    };
    return suite_of("client_states", tests);
}
