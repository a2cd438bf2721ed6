/* Tests of limits: a few sessions without sockets, whose owner notes what the limits ask of it. */
#include "server/net/limits.h"

#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { PEOPLE = 4, MIB = 1 << 20, STALL_MIB = 64 };

struct person {
    struct session session; /* first: its address is the person's */
    struct outbuf out;
    struct limits limits;
    size_t bytes; /* the memory of the whole connection */
    bool busy, closed, released;
};

static struct server_world world;
static struct all_limits *all;
static struct person people[PEOPLE];

/* ---- the owner ------------------------------------------------------------------------------- */

static size_t bytes_of_person(const struct session *session)
{
    return ((const struct person *)session)->bytes;
}

static bool is_busy(const struct session *session)
{
    return ((const struct person *)session)->busy;
}

static void close_person(struct session *session)
{
    struct person *person = (struct person *)session;
    person->closed = true;
    limits_end(&person->limits);
    session_end(session);
}

static void release_person(struct session *session)
{
    ((struct person *)session)->released = true;
    session_end_wait(session);
}

static void begin(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    all = all_limits_new(&(struct limits_wiring){
        .loop = world.loop,
        .clock = &world.clock,
        .conf = &world.conf,
        .engine = &world.engine,
        .stats = &world.stats,
        .owner = { bytes_of_person, is_busy, close_person, release_person } });
    for (int i = 0; i < PEOPLE; i++) {
        struct person *person = &people[i];
        *person = (struct person){ .bytes = 1000 };
        outbuf_init(&person->out);
        session_init(&person->session, &person->out);
        person->session.peer = "127.0.0.1:7";
        person->session.authenticated = true;
        limits_init(&person->limits, all, &person->session);
    }
}

static void check_all(void)
{
    struct limits_tally tally = { 0 };
    for (int i = 0; i < PEOPLE; i++)
        limits_check(&people[i].limits, &tally);
    all_limits_check(all, &tally);
}

static void end(void)
{
    check_all();
    for (int i = 0; i < PEOPLE; i++) {
        limits_drop(&people[i].limits);
        outbuf_drop(&people[i].out);
    }
    ck_assert_uint_eq(world.engine.uncounted, 0);
    all_limits_free(all);
    server_world_drop(&world);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void limit_memory(int64_t bytes)
{
    world.conf.maxmemory_clients = bytes;
    if (all_limits_switched(all))
        for (int i = 0; i < PEOPLE; i++)
            limits_recount(&people[i].limits);
}

static void grow(int i, size_t bytes)
{
    people[i].bytes = bytes;
    limits_count(&people[i].limits);
}

START_TEST(the_largest_connections_go_until_the_rest_fits)
{
    begin();
    limit_memory(100 * 1000);
    grow(1, 60 * 1000);
    grow(2, 900 * 1000);
    grow(3, 30 * 1000);
    ck_assert_ptr_eq(all_limits_victim(all), &people[2].session);
    ck_assert_ptr_null(all_limits_victim(all));
    grow(0, 40 * 1000);
    ck_assert_ptr_eq(all_limits_victim(all), &people[1].session);
    ck_assert_ptr_null(all_limits_victim(all));
    ck_assert_uint_eq(world.stats.evicted_clients, 2);
    end();
}
END_TEST

START_TEST(exempt_and_protected_connections_stay)
{
    begin();
    limit_memory(1000);
    people[1].session.no_evict = true;
    limits_exempt(&people[2].limits);
    grow(1, MIB);
    grow(2, MIB);
    for (int i = 0; i < 2; i++) {
        struct session *victim = all_limits_victim(all);
        ck_assert(victim == &people[0].session || victim == &people[3].session);
    }
    ck_assert_ptr_null(all_limits_victim(all));
    end();
}
END_TEST

START_TEST(turning_the_limit_on_and_off_counts_again)
{
    begin();
    grow(0, MIB);
    ck_assert_ptr_null(all_limits_victim(all));
    ck_assert(!all_limits_switched(all));
    limit_memory(MIB);
    check_all();
    ck_assert_ptr_eq(all_limits_victim(all), &people[0].session);
    limit_memory(0);
    check_all();
    ck_assert_ptr_null(all_limits_victim(all));
    end();
}
END_TEST

START_TEST(memory_before_login_is_counted_apart)
{
    begin();
    people[0].session.authenticated = false;
    session_begin_handshake(&people[0].session);
    ck_assert(limits_is_anon(&people[0].limits));
    ck_assert(!limits_is_anon(&people[1].limits));
    grow(0, 5000);
    grow(1, 7000);
    ck_assert_uint_eq(world.engine.uncounted, 5000);
    session_end_handshake(&people[0].session);
    people[0].session.authenticated = true;
    limits_count(&people[0].limits);
    ck_assert_uint_eq(world.engine.uncounted, 0);
    end();
}
END_TEST

/* ---- input ----------------------------------------------------------------------------------- */

START_TEST(too_much_unanswered_input_closes)
{
    begin();
    world.conf.client_query_buffer_limit = MIB;
    limits_check_input(&people[0].limits, MIB);
    ck_assert(!people[0].closed);
    limits_check_input(&people[0].limits, MIB + 1);
    ck_assert(people[0].closed);
    session_begin_handshake(&people[1].session);
    people[1].session.authenticated = false;
    limits_check_input(&people[1].limits, 64 * 1024);
    ck_assert(!people[1].closed);
    limits_check_input(&people[1].limits, 64 * 1024 + 1);
    ck_assert(people[1].closed);
    ck_assert_uint_eq(world.stats.closed_query_buffer, 2);
    end();
}
END_TEST

/* ---- output ---------------------------------------------------------------------------------- */

static void write_to(int i, size_t len)
{
    static const char bytes[MIB];
    outbuf_append(&people[i].out, bytes, len);
}

static void read_all(int i)
{
    outbuf_consume(&people[i].out, people[i].out.len);
    ck_assert(limits_note_sent(&people[i].limits, false));
}

START_TEST(the_hard_limit_closes_at_once)
{
    begin();
    world.conf.output_limits[CONF_LIMIT_NORMAL].hard = 1000;
    write_to(0, 999);
    limits_check_output(&people[0].limits);
    ck_assert(!people[0].closed);
    write_to(0, 1);
    limits_check_output(&people[0].limits);
    ck_assert(people[0].closed);
    ck_assert_uint_eq(people[0].out.len, 0);
    write_to(0, 10); /* by a command that is still running */
    limits_check_output(&people[0].limits);
    ck_assert_uint_eq(people[0].out.len, 0);
    ck_assert_uint_eq(world.stats.closed_output_buffer, 1);
    end();
}
END_TEST

START_TEST(the_soft_limit_closes_only_who_stays_above_it)
{
    begin();
    world.conf.output_limits[CONF_LIMIT_NORMAL].soft = 1000;
    world.conf.output_limits[CONF_LIMIT_NORMAL].soft_seconds = 0;
    for (int i = 0; i < 3; i++) {
        write_to(i, 2000);
        limits_check_output(&people[i].limits);
    }
    read_all(1);
    people[2].busy = true;
    while (!people[0].closed)
        loop_wait(world.loop);
    ck_assert(!people[1].closed);
    ck_assert(!people[2].closed); /* checked after its request */
    people[2].busy = false;
    limits_check_output(&people[2].limits);
    while (!people[2].closed)
        loop_wait(world.loop);
    end();
}
END_TEST

START_TEST(a_client_that_reads_nothing_waits_until_it_has_read_half)
{
    begin();
    for (int i = 0; i < STALL_MIB; i++)
        write_to(0, MIB);
    limits_check_unread(&people[0].limits);
    ck_assert_int_eq(people[0].session.waits_for, WAIT_NOTHING);
    write_to(0, 1);
    limits_check_unread(&people[0].limits);
    ck_assert_int_eq(people[0].session.waits_for, WAIT_OUTPUT);
    ck_assert(!limits_may_resume(&people[0].limits));
    outbuf_consume(&people[0].out, STALL_MIB / 2 * MIB);
    ck_assert(!limits_may_resume(&people[0].limits));
    outbuf_consume(&people[0].out, 1);
    ck_assert(limits_may_resume(&people[0].limits));
    end();
}
END_TEST

START_TEST(who_has_not_logged_in_may_leave_little_unread)
{
    begin();
    session_begin_handshake(&people[0].session);
    people[0].session.authenticated = false;
    write_to(0, 1025);
    ck_assert(limits_anon_is_full(&people[0].limits));
    ck_assert(limits_note_sent(&people[0].limits, false));
    ck_assert(!limits_note_sent(&people[0].limits, true));
    ck_assert(people[0].closed);
    write_to(1, 1025);
    ck_assert(limits_note_sent(&people[1].limits, true));
    end();
}
END_TEST

/* ---- logins ---------------------------------------------------------------------------------- */

START_TEST(a_failed_login_waits_until_its_penalty_ends)
{
    begin();
    limits_login_failed(&people[0].limits);
    ck_assert(limits_has_penalty(&people[0].limits));
    ck_assert_int_eq(people[0].session.waits_for, WAIT_PENALTY);
    check_all();
    while (!people[0].released)
        loop_wait(world.loop);
    ck_assert(!limits_has_penalty(&people[0].limits));
    ck_assert(!people[1].released);
    end();
}
END_TEST

START_TEST(a_closed_client_gets_no_penalty)
{
    begin();
    close_person(&people[0].session);
    limits_login_failed(&people[0].limits);
    ck_assert(!limits_has_penalty(&people[0].limits));
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        the_largest_connections_go_until_the_rest_fits,
        exempt_and_protected_connections_stay,
        turning_the_limit_on_and_off_counts_again,
        memory_before_login_is_counted_apart,
        too_much_unanswered_input_closes,
        the_hard_limit_closes_at_once,
        the_soft_limit_closes_only_who_stays_above_it,
        a_client_that_reads_nothing_waits_until_it_has_read_half,
        who_has_not_logged_in_may_leave_little_unread,
        a_failed_login_waits_until_its_penalty_ends,
        a_closed_client_gets_no_penalty,
        NULL,
    };
    return suite_of("limits", tests);
}
