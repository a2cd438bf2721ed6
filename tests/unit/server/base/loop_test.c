/* Tests of loop: readiness, timers, signals and the end of a turn. */
#include "server/base/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "tests/support/suite.h"

/* Two connected sockets. The loop watches the first, and the events of it are recorded. */
struct wire {
    struct loop *loop;
    struct loop_io *io, *other; /* `other` is freed together with `io`, unless it is NULL */
    int ends[2];
    unsigned reads, writes;
    bool drain, stop, free_self;
};

static char story[64]; /* one letter for each event */

static void note(char letter)
{
    size_t len = strlen(story);
    ck_assert_uint_lt(len + 1, sizeof(story));
    story[len] = letter;
    story[len + 1] = '\0';
}

static void on_wire(void *ctx, unsigned what)
{
    struct wire *wire = ctx;
    char byte;
    if (what == LOOP_READ) wire->reads++;
    if (what == LOOP_WRITE) wire->writes++;
    if (what == LOOP_READ && wire->drain) ck_assert_int_eq(read(wire->ends[0], &byte, 1), 1);
    if (wire->stop) loop_stop(wire->loop);
    if (!wire->free_self) return;
    loop_io_free(wire->io);
    loop_io_free(wire->other);
    wire->io = wire->other = NULL;
}

static void wire_init(struct wire *wire, struct loop *loop)
{
    *wire = (struct wire){ .loop = loop };
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, wire->ends), 0);
    wire->io = loop_io_new(loop, wire->ends[0], on_wire, wire);
}

static void wire_drop(struct wire *wire)
{
    loop_io_free(wire->io);
    close(wire->ends[0]);
    close(wire->ends[1]);
}

static void wire_say(const struct wire *wire, const char *text)
{
    ck_assert_int_eq(write(wire->ends[1], text, strlen(text)), (ssize_t)strlen(text));
}

static void stop(void *loop)
{
    loop_stop(loop);
}

/* Runs one turn without waiting. */
static void turn(struct loop *loop)
{
    struct loop_timer *timer = loop_timer_new(loop, stop, loop);
    loop_timer_set(timer, 0);
    loop_run(loop);
    loop_timer_free(timer);
}

START_TEST(readiness_is_reported_each_turn_until_it_is_consumed)
{
    struct loop *loop = loop_new();
    struct wire wire;
    wire_init(&wire, loop);
    loop_io_want(wire.io, LOOP_READ);

    turn(loop);
    ck_assert_uint_eq(wire.reads, 0);
    wire_say(&wire, "a");
    turn(loop);
    turn(loop);
    ck_assert_uint_eq(wire.reads, 2);
    wire.drain = true;
    turn(loop);
    turn(loop);

    ck_assert_uint_eq(wire.reads, 3);
    wire_drop(&wire);
    loop_free(loop);
}
END_TEST

START_TEST(only_requested_readiness_is_reported)
{
    struct loop *loop = loop_new();
    struct wire wire;
    wire_init(&wire, loop);
    wire_say(&wire, "a");

    turn(loop);
    ck_assert_uint_eq(wire.reads + wire.writes, 0);
    loop_io_want(wire.io, LOOP_WRITE);
    turn(loop);
    ck_assert_uint_eq(wire.reads, 0);
    ck_assert_uint_eq(wire.writes, 1);
    loop_io_want(wire.io, LOOP_READ | LOOP_WRITE);
    turn(loop);
    ck_assert_uint_eq(wire.reads, 1);
    ck_assert_uint_eq(wire.writes, 2);
    loop_io_want(wire.io, 0);
    turn(loop);

    ck_assert_uint_eq(wire.reads + wire.writes, 3);
    wire_drop(&wire);
    loop_free(loop);
}
END_TEST

START_TEST(the_end_of_the_peer_is_readiness_to_read)
{
    struct loop *loop = loop_new();
    struct wire wire;
    wire_init(&wire, loop);
    loop_io_want(wire.io, LOOP_READ);

    shutdown(wire.ends[1], SHUT_WR);
    turn(loop);

    ck_assert_uint_eq(wire.reads, 1);
    wire_drop(&wire);
    loop_free(loop);
}
END_TEST

START_TEST(an_io_may_free_itself_while_both_directions_are_ready)
{
    struct loop *loop = loop_new();
    struct wire wire;
    wire_init(&wire, loop);
    wire_say(&wire, "a");
    wire.free_self = true;
    loop_io_want(wire.io, LOOP_READ | LOOP_WRITE);

    turn(loop);
    turn(loop);

    ck_assert_uint_eq(wire.reads + wire.writes, 1);
    wire_drop(&wire);
    loop_free(loop);
}
END_TEST

START_TEST(an_io_may_free_another_that_is_ready_in_the_same_turn)
{
    struct loop *loop = loop_new();
    struct wire a, b;
    wire_init(&a, loop);
    wire_init(&b, loop);
    /* The first of them frees both. */
    a.other = b.io;
    b.other = a.io;
    a.free_self = b.free_self = true;
    wire_say(&a, "a");
    wire_say(&b, "b");
    loop_io_want(a.io, LOOP_READ);
    loop_io_want(b.io, LOOP_READ);

    turn(loop);

    ck_assert_uint_eq(a.reads + b.reads, 1);
    a.io = b.io = NULL;
    wire_drop(&a);
    wire_drop(&b);
    loop_free(loop);
}
END_TEST

static void note_a(void *ctx)
{
    (void)ctx;
    note('a');
}

static void note_b(void *ctx)
{
    (void)ctx;
    note('b');
}

static void note_c_and_stop(void *loop)
{
    note('c');
    loop_stop(loop);
}

START_TEST(a_descriptor_that_the_kernel_does_not_watch_is_refused)
{
    struct loop *loop = loop_new();
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    struct loop_io *io = loop_io_new(loop, file, on_wire, NULL);
    ck_assert(!loop_io_try(io, LOOP_READ));
    ck_assert_int_eq(errno, EPERM);
    ck_assert(loop_io_try(io, 0));
    loop_io_free(io);
    close(file);
    loop_free(loop);
}
END_TEST

START_TEST(hooks_run_in_order_after_what_was_ready)
{
    struct loop *loop = loop_new();
    loop_on_turn_end(loop, note_a, NULL);
    loop_on_turn_end(loop, note_b, NULL);
    struct loop_timer *timer = loop_timer_new(loop, note_c_and_stop, loop);
    story[0] = '\0';

    loop_timer_set(timer, 0);
    loop_run(loop);

    ck_assert_str_eq(story, "cab");
    loop_timer_free(timer);
    loop_free(loop);
}
END_TEST

START_TEST(a_timer_fires_once_and_not_early)
{
    struct loop *loop = loop_new();
    struct loop_timer *timer = loop_timer_new(loop, note_c_and_stop, loop);
    story[0] = '\0';

    int64_t before = clock_mono_usec();
    loop_timer_set(timer, 1500);
    loop_run(loop);
    int64_t took = clock_mono_usec() - before;
    turn(loop);

    ck_assert_str_eq(story, "c");
    ck_assert_int_ge(took, 1500);
    loop_timer_free(timer);
    loop_free(loop);
}
END_TEST

START_TEST(timers_fire_in_the_order_of_their_times)
{
    struct loop *loop = loop_new();
    struct loop_timer *a = loop_timer_new(loop, note_a, NULL);
    struct loop_timer *b = loop_timer_new(loop, note_b, NULL);
    struct loop_timer *c = loop_timer_new(loop, note_c_and_stop, loop);
    story[0] = '\0';

    loop_timer_set(c, 900);
    loop_timer_set(b, 300);
    loop_timer_set(a, 600);
    loop_run(loop);

    ck_assert_str_eq(story, "bac");
    loop_timer_free(a);
    loop_timer_free(b);
    loop_timer_free(c);
    loop_free(loop);
}
END_TEST

START_TEST(a_cancelled_timer_does_not_fire_and_a_moved_one_fires_once)
{
    struct loop *loop = loop_new();
    struct loop_timer *a = loop_timer_new(loop, note_a, NULL);
    struct loop_timer *b = loop_timer_new(loop, note_b, NULL);
    struct loop_timer *c = loop_timer_new(loop, note_c_and_stop, loop);
    story[0] = '\0';

    loop_timer_set(a, 0);
    loop_timer_set(a, -1);
    loop_timer_set(b, 3600LL * 1000 * 1000);
    loop_timer_set(b, 0);
    loop_timer_set(c, 500);
    loop_run(loop);

    ck_assert_str_eq(story, "bc");
    loop_timer_free(a);
    loop_timer_free(b);
    loop_timer_free(c);
    loop_free(loop);
}
END_TEST

struct rearming {
    struct loop *loop;
    struct loop_timer *timer;
    int left;
};

static void rearm(void *ctx)
{
    struct rearming *again = ctx;
    note('r');
    if (--again->left > 0)
        loop_timer_set(again->timer, 0);
    else
        loop_stop(again->loop);
}

START_TEST(a_zero_timer_set_by_its_own_callback_comes_in_the_next_turn)
{
    struct loop *loop = loop_new();
    struct rearming again = { .loop = loop, .left = 3 };
    again.timer = loop_timer_new(loop, rearm, &again);
    loop_on_turn_end(loop, note_a, NULL);
    story[0] = '\0';

    loop_timer_set(again.timer, 0);
    loop_run(loop);

    ck_assert_str_eq(story, "rarara");
    loop_timer_free(again.timer);
    loop_free(loop);
}
END_TEST

START_TEST(a_ready_descriptor_gets_its_turn_beside_a_zero_timer)
{
    struct loop *loop = loop_new();
    struct wire wire;
    struct rearming again = { .loop = loop, .left = 3 };
    wire_init(&wire, loop);
    wire_say(&wire, "a");
    loop_io_want(wire.io, LOOP_READ);
    again.timer = loop_timer_new(loop, rearm, &again);
    story[0] = '\0';

    loop_timer_set(again.timer, 0);
    loop_run(loop);

    ck_assert_uint_eq(wire.reads, 3);
    loop_timer_free(again.timer);
    wire_drop(&wire);
    loop_free(loop);
}
END_TEST

START_TEST(a_signal_calls_its_own_callback_in_a_turn)
{
    struct loop *loop = loop_new();
    loop_on_signal(loop, SIGUSR1, note_c_and_stop, loop);
    loop_on_signal(loop, SIGUSR2, note_a, NULL);
    story[0] = '\0';

    raise(SIGUSR1);
    ck_assert_str_eq(story, "");
    loop_run(loop);

    ck_assert_str_eq(story, "c");
    loop_free(loop);
}
END_TEST

START_TEST(a_loop_with_nothing_to_wait_for_ends)
{
    struct loop *loop = loop_new();

    loop_run(loop);

    ck_assert_str_eq(loop_backend(loop), "epoll");
    loop_free(loop);
}
END_TEST

enum { BUSY_USEC = 3000, WAIT_USEC = 20000 };

static void be_busy(void)
{
    int64_t began = clock_mono_usec();
    while (clock_mono_usec() - began < BUSY_USEC)
        continue;
}

static void work_and_stop(void *loop)
{
    be_busy();
    loop_stop(loop);
}

START_TEST(turns_are_counted_with_their_time_but_not_their_wait)
{
    struct loop *loop = loop_new();
    struct loop_turns turns = { 0 };
    struct clock clock;
    clock_init(&clock);
    loop_count_turns(loop, &clock, &turns);
    struct loop_timer *timer = loop_timer_new(loop, work_and_stop, loop);
    for (uint64_t i = 1; i <= 2; i++) {
        int64_t began = clock_mono_usec();
        uint64_t before = turns.usec;
        loop_timer_set(timer, WAIT_USEC);
        loop_run(loop);

        uint64_t took = (uint64_t)(clock_mono_usec() - began), counted = turns.usec - before;
        ck_assert_uint_eq(turns.count, i);
        ck_assert_uint_ge(counted, BUSY_USEC);
        ck_assert_uint_le(counted, took - WAIT_USEC + 1000);
        ck_assert_uint_ge(turns.longest_usec, counted);
    }
    loop_timer_free(timer);
    loop_free(loop);
}
END_TEST

static bool inside;

static void run_inner_turn(void *loop)
{
    if (inside) {
        be_busy();
        return;
    }
    inside = true;
    loop_poll(loop);
    loop_stop(loop);
}

START_TEST(a_turn_inside_a_turn_counts_and_its_time_only_once)
{
    struct loop *loop = loop_new();
    struct loop_turns turns = { 0 };
    struct clock clock;
    clock_init(&clock);
    inside = false;
    loop_count_turns(loop, &clock, &turns);
    loop_on_turn_end(loop, run_inner_turn, loop);
    struct loop_timer *timer = loop_timer_new(loop, stop, loop);
    loop_timer_set(timer, 0);
    int64_t began = clock_mono_usec();
    loop_run(loop);

    ck_assert_uint_eq(turns.count, 2);
    ck_assert_uint_ge(turns.usec, BUSY_USEC);
    ck_assert_uint_le(turns.usec, (uint64_t)(clock_mono_usec() - began) + 1);
    loop_timer_free(timer);
    loop_free(loop);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        readiness_is_reported_each_turn_until_it_is_consumed,
        only_requested_readiness_is_reported,
        the_end_of_the_peer_is_readiness_to_read,
        an_io_may_free_itself_while_both_directions_are_ready,
        an_io_may_free_another_that_is_ready_in_the_same_turn,
        a_descriptor_that_the_kernel_does_not_watch_is_refused,
        hooks_run_in_order_after_what_was_ready,
        a_timer_fires_once_and_not_early,
        timers_fire_in_the_order_of_their_times,
        a_cancelled_timer_does_not_fire_and_a_moved_one_fires_once,
        a_zero_timer_set_by_its_own_callback_comes_in_the_next_turn,
        a_ready_descriptor_gets_its_turn_beside_a_zero_timer,
        a_signal_calls_its_own_callback_in_a_turn,
        a_loop_with_nothing_to_wait_for_ends,
        turns_are_counted_with_their_time_but_not_their_wait,
        a_turn_inside_a_turn_counts_and_its_time_only_once,
        NULL,
    };
    return suite_of("loop", tests);
}
