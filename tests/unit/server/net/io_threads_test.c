/* Tests of io_threads: sockets of a thread as the main thread sees them. The peers are the other
 * ends of socket pairs; the loop runs until what is expected has happened. */
#include "server/net/io_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/mem/mem.h"
#include "tests/support/suite.h"

enum {
    SOCKETS = 40,
    MANY = 1 << 20,
    STEP = 8192,
    BURST = 200,
    BEHIND = 24,
    STEPS = 2000,
    TURNS_MOST = 100000
};

struct end {
    struct io_socket *socket;
    int peer;
    char text[256]; /* what has arrived, if it fits */
    size_t got, taken;
    bool ended, broken;
    unsigned writable;
    bool holds; /* leaves what arrives unread */
};

static struct loop *loop;
static struct io_threads *threads;
static struct end ends[SOCKETS];

static void happened(void *owner, const struct io_news *news)
{
    struct end *end = owner;
    size_t room = sizeof(end->text) - 1 - end->got;
    switch (news->event) {
    case IO_BYTES:
        if (news->bytes.len <= room && end->got < sizeof(end->text))
            memcpy(end->text + end->got, news->bytes.data, news->bytes.len);
        end->got += news->bytes.len;
        if (!end->holds) {
            io_socket_read(end->socket, news->bytes.len);
            end->taken += news->bytes.len;
        }
        break;
    case IO_END: end->ended = true; break;
    case IO_BROKEN: end->broken = true; break;
    case IO_WRITABLE: end->writable++; break;
    default: ck_abort_msg("event %d", news->event);
    }
}

static void turn(void *ctx)
{
    (void)ctx;
    io_threads_turn(threads);
}

/* A turn that does not wait for ever, because some tests wait for the peer. */
static void run_turn(void)
{
    struct pollfd none = { .fd = -1 };
    loop_poll(loop);
    poll(&none, 1, 1);
}

#define UNTIL(condition)                                                                           \
    for (int turns = 0; !(condition); run_turn())                                                  \
    ck_assert_int_lt(turns++, TURNS_MOST)

static void open_end(struct end *end, bool anonymous)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    *end = (struct end){ .peer = pair[1] };
    end->socket = io_socket_new(threads, pair[0], NULL, "127.0.0.1:1", end);
    io_socket_want(end->socket, true, anonymous);
}

static void begin(unsigned count)
{
    loop = loop_new();
    threads = io_threads_new(loop, count, happened);
    ck_assert_ptr_nonnull(threads);
    loop_on_turn_end(loop, turn, NULL);
}

static void end_all(void)
{
    io_threads_free(threads);
    loop_free(loop);
}

static ssize_t write_text(struct end *end, const char *text, size_t len)
{
    struct iovec chunk = { .iov_base = (char *)(uintptr_t)text, .iov_len = len };
    return io_socket_write(end->socket, &chunk, 1);
}

START_TEST(bytes_of_many_sockets_cross_threads_both_ways)
{
    size_t used = mem_used();
    begin(3);
    for (int i = 0; i < SOCKETS; i++) {
        open_end(&ends[i], false);
        ck_assert_int_eq(write(ends[i].peer, "request", 7), 7);
    }
    for (int i = 0; i < SOCKETS; i++) {
        char reply[16] = "";
        UNTIL(ends[i].got == 7);
        ck_assert_str_eq(ends[i].text, "request");
        ck_assert_int_eq(write_text(&ends[i], "answer", 6), 6);
        UNTIL(read(ends[i].peer, reply, sizeof(reply)) == 6);
        ck_assert_str_eq(reply, "answer");
        UNTIL(io_socket_is_flushed(ends[i].socket));
    }
    for (int i = 0; i < SOCKETS; i++) {
        io_socket_free(ends[i].socket);
        close(ends[i].peer);
    }
    end_all();
    ck_assert_uint_eq(mem_used(), used);
}
END_TEST

START_TEST(an_end_comes_after_the_bytes_before_it)
{
    begin(1);
    open_end(&ends[0], false);
    ck_assert_int_eq(write(ends[0].peer, "last", 4), 4);
    close(ends[0].peer);
    UNTIL(ends[0].ended);
    ck_assert_uint_eq(ends[0].got, 4);
    io_socket_free(ends[0].socket);
    end_all();
}
END_TEST

/* The peer does not read: what is taken is bounded; once it reads, all of it arrives, in order. */
START_TEST(a_peer_that_does_not_read_bounds_what_is_taken)
{
    static char text[MANY], back[MANY];
    size_t taken = 0, read_back = 0;
    for (size_t i = 0; i < MANY; i++)
        text[i] = (char)(i * 31 % 251);
    begin(1);
    open_end(&ends[0], false);
    for (ssize_t some; taken < MANY; taken += (size_t)some) {
        some = write_text(&ends[0], text + taken, MANY - taken);
        if (some < 0) ck_assert_int_eq(errno, EAGAIN);
        if (some < 0) break;
    }
    ck_assert_uint_gt(taken, 1000);
    ck_assert_uint_lt(taken, MANY);
    while (read_back < MANY) {
        ssize_t some = read(ends[0].peer, back + read_back, MANY - read_back);
        if (some > 0) read_back += (size_t)some;
        some = taken < MANY ? write_text(&ends[0], text + taken, MANY - taken) : 0;
        if (some > 0) taken += (size_t)some;
        run_turn();
    }
    ck_assert_int_eq(memcmp(text, back, MANY), 0);
    ck_assert_uint_gt(ends[0].writable, 0);
    UNTIL(io_socket_is_flushed(ends[0].socket));
    close(ends[0].peer);
    io_socket_free(ends[0].socket);
    end_all();
}
END_TEST

/* The owner does not read: the thread stops reading, and goes on when the owner does. */
static size_t read_peer(const struct end *end, size_t len)
{
    static char bytes[STEP];
    ssize_t got = read(end->peer, bytes, len);
    return got < 0 ? 0 : (size_t)got;
}

static void write_all(struct end *end, const char *text, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t some = write_text(end, text + done, len - done);
        if (some > 0)
            done += (size_t)some;
        else
            run_turn(); /* the thread is still at work */
    }
}

/* The peer is always behind, so that the thread never sends all that it has. */
START_TEST(a_peer_that_reads_slowly_bounds_what_is_kept)
{
    static char bytes[STEP];
    int pair[2], room = STEP;
    begin(1);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    ck_assert_int_eq(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
    ends[0] = (struct end){ .peer = pair[1] };
    ends[0].socket = io_socket_new(threads, pair[0], NULL, "127.0.0.1:1", &ends[0]);
    io_socket_want(ends[0].socket, true, false);
    for (int i = 0; i < BEHIND + STEPS; i++) {
        write_all(&ends[0], bytes, STEP);
        for (size_t got = 0; i >= BEHIND && got < STEP; loop_poll(loop))
            got += read_peer(&ends[0], STEP - got);
        ck_assert_uint_lt(io_socket_bytes(ends[0].socket), MANY);
    }
    io_socket_free(ends[0].socket);
    close(ends[0].peer);
    end_all();
}
END_TEST

START_TEST(an_owner_that_does_not_read_bounds_what_arrives)
{
    static char text[MANY];
    size_t sent = 0;
    begin(1);
    open_end(&ends[0], true);
    ends[0].holds = true;
    ssize_t some;
    while ((some = write(ends[0].peer, text, MANY)) > 0)
        sent += (size_t)some;
    UNTIL(ends[0].got >= 4096);
    for (int i = 0; i < 50; i++)
        run_turn();
    ck_assert_uint_eq(ends[0].got, 4096);
    ends[0].holds = false;
    io_socket_read(ends[0].socket, 4096);
    UNTIL(ends[0].got == sent);
    io_socket_want(ends[0].socket, false, true);
    run_turn();
    for (size_t before = ends[0].got + 1; before != ends[0].got; run_turn())
        before = ends[0].got;
    close(ends[0].peer);
    io_socket_free(ends[0].socket);
    end_all();
}
END_TEST

START_TEST(a_freed_socket_has_no_more_events)
{
    begin(2);
    for (int i = 0; i < SOCKETS; i++) {
        open_end(&ends[i], false);
        ck_assert_int_eq(write(ends[i].peer, "x", 1), 1);
        if (i % 2 == 0) run_turn();
        io_socket_free(ends[i].socket);
        size_t got = ends[i].got;
        char byte;
        UNTIL(read(ends[i].peer, &byte, 1) == 0 || errno == ECONNRESET);
        ck_assert_uint_eq(ends[i].got, got);
        close(ends[i].peer);
    }
    end_all();
}
END_TEST

START_TEST(a_lost_connection_is_reported_while_replies_wait)
{
    static char text[MANY];
    begin(1);
    open_end(&ends[0], false);
    io_socket_want(ends[0].socket, false, false);
    while (write_text(&ends[0], text, MANY) > 0)
        run_turn();
    close(ends[0].peer);
    UNTIL(ends[0].broken);
    ck_assert(io_socket_is_flushed(ends[0].socket));
    io_socket_free(ends[0].socket);
    end_all();
}
END_TEST

/* Sockets that are open at the end are closed. */
START_TEST(a_descriptor_that_the_kernel_does_not_watch_is_lost)
{
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    begin(1);
    ends[0] = (struct end){ .peer = -1 };
    ends[0].socket = io_socket_new(threads, file, NULL, "127.0.0.1:1", &ends[0]);
    UNTIL(ends[0].broken);
    io_socket_free(ends[0].socket);
    end_all();
}
END_TEST

START_TEST(the_end_sends_what_was_written)
{
    char reply[16] = "";
    begin(2);
    for (int i = 0; i < SOCKETS; i++) {
        open_end(&ends[i], false);
        ck_assert_int_eq(write_text(&ends[i], "bye", 3), 3);
        if (i % 2 == 0) io_socket_free(ends[i].socket);
    }
    end_all();
    for (int i = 0; i < SOCKETS; i++) {
        ck_assert_int_eq(read(ends[i].peer, reply, sizeof(reply)), 3);
        ck_assert_int_eq(read(ends[i].peer, reply, sizeof(reply)), 0);
        close(ends[i].peer);
    }
}
END_TEST

START_TEST(the_last_replies_wait_for_room)
{
    static char text[STEP];
    begin(1);
    int written = 0, left = 0;
    for (; written < BURST; written++) {
        struct end *end = &ends[written % SOCKETS];
        if (written < SOCKETS) open_end(end, false);
        io_socket_make_room(end->socket);
        ck_assert_int_eq(write_text(end, text, STEP), STEP);
    }
    end_all();
    for (int i = 0; i < SOCKETS; i++) {
        for (ssize_t got; (got = read(ends[i].peer, text, STEP)) > 0;)
            left += (int)got;
        close(ends[i].peer);
    }
    ck_assert_int_eq(left, written * STEP);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        bytes_of_many_sockets_cross_threads_both_ways,
        an_end_comes_after_the_bytes_before_it,
        a_peer_that_does_not_read_bounds_what_is_taken,
        a_peer_that_reads_slowly_bounds_what_is_kept,
        an_owner_that_does_not_read_bounds_what_arrives,
        a_freed_socket_has_no_more_events,
        a_lost_connection_is_reported_while_replies_wait,
        a_descriptor_that_the_kernel_does_not_watch_is_lost,
        the_end_sends_what_was_written,
        the_last_replies_wait_for_room,
        NULL,
    };
    return suite_of("io_threads", tests);
}
