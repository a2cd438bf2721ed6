/* Tests of transport: the three ways in which bytes travel look the same to the owner. The peers
 * are the other ends of socket pairs; the loop runs until what is expected has happened. */
#include "server/net/transport.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/net/handshakes.h"
#include "store/mem/mem.h"
#include "tests/support/suite.h"
#include "tests/support/tls_peer.h"

enum { PLAIN, TLS, OF_THREAD, KINDS, TURNS_MOST = 100000, BLOCK = 64 * 1024 };

/* The owner of one connection, with what it was told. */
struct person {
    struct transport transport; /* first: its address is the person's */
    int peer;
    size_t read_size; /* bytes per read */
    bool takes;       /* it wants input */
    char text[256];
    size_t got;
    bool at_end, ended, shaken;
    unsigned writable;
    char why[256], name[256];
};

static struct loop *loop;
static struct conf conf;
static struct tls *tls;
static struct tls_files files;
static struct all_transports *all;
static struct person person;
static struct tls_peer client; /* of a connection with TLS */

/* ---- the owner ------------------------------------------------------------------------------- */

static void on_readable(struct transport *transport)
{
    struct person *owner = (struct person *)transport;
    if (owner->ended || !owner->takes) return;
    ssize_t got = transport_read(transport, owner->text + owner->got, owner->read_size);
    if (got > 0) owner->got += (size_t)got;
    owner->at_end |= got == 0;
    if (!owner->at_end) transport_read_on(transport);
}

static void on_writable(struct transport *transport)
{
    struct person *owner = (struct person *)transport;
    owner->writable++;
}

static void on_growth(struct transport *transport)
{
    ck_assert_uint_gt(transport_bytes(transport), 0);
}

static bool takes_input(const struct transport *transport)
{
    const struct person *owner = (const struct person *)transport;
    return owner->takes && !owner->ended;
}

static void on_shaken(struct transport *transport, struct bytes name)
{
    struct person *owner = (struct person *)transport;
    ck_assert(!owner->ended);
    owner->shaken = true;
    memcpy(owner->name, name.data, name.len);
}

static void on_end(struct transport *transport, struct bytes why)
{
    struct person *owner = (struct person *)transport;
    ck_assert(!owner->ended);
    owner->ended = true;
    memcpy(owner->why, why.data, why.len);
}

static bool has_ended(const struct transport *transport)
{
    return ((const struct person *)transport)->ended;
}

static const struct transport_owner owner_calls = {
    .readable = on_readable,
    .writable = on_writable,
    .grown = on_growth,
    .reads = takes_input,
    .shaken = on_shaken,
    .refused = on_end,
    .lost = on_end,
    .has_ended = has_ended,
};

/* The end of a turn, as client.c does it: asks for what the states want. */
static void on_turn(void *ctx)
{
    (void)ctx;
    if (!person.ended && person.writable > 0)
        transport_want(&person.transport,
                       person.takes && !transport_waits_to_shake(&person.transport),
                       transport_waits_for_room(&person.transport), false);
    all_transports_turn(all);
}

static void run_turn(void)
{
    struct pollfd none = { .fd = -1 };
    loop_poll(loop);
    poll(&none, 1, 1); /* for the threads */
}

#define UNTIL(condition)                                                                           \
    for (int turns = 0; !(condition); run_turn())                                                  \
    ck_assert_int_lt(turns++, TURNS_MOST)

static void begin(int kind)
{
    signal(SIGPIPE, SIG_IGN);
    loop = loop_new();
    conf_init(&conf);
    person = (struct person){ .takes = true, .read_size = 100, .peer = -1 };
    if (kind == TLS) {
        char why[TLS_WHY_SIZE] = "";
        static const char *const names[] = { "worker" };
        tls_files_make(&files, names, 1);
        tls_files_configure(&files, &conf);
        tls = tls_new(&conf, why, sizeof(why));
        ck_assert_msg(tls != NULL, "%s", why);
    }
    all = all_transports_new(loop, NULL, &owner_calls);
    ck_assert_ptr_null(all_transports_tls(all));
    all_transports_use_tls(all, tls);
    if (kind == OF_THREAD) ck_assert(all_transports_start_threads(all, 2));
    loop_on_turn_end(loop, on_turn, NULL);
}

static void open_person(int kind)
{
    int ends[2];
    if (kind == TLS) {
        tls_peer_init(&client, &files);
        person.peer = client.fd;
        transport_open(&person.transport, all, client.server_fd, true, "127.0.0.1:1", true);
        UNTIL((tls_peer_shake(&client) && person.shaken) || person.ended);
        return;
    }
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    person.peer = ends[1];
    transport_open(&person.transport, all, ends[0], false, "127.0.0.1:1", false);
}

static void end(int kind)
{
    if (kind == TLS)
        tls_peer_drop(&client);
    else
        close(person.peer);
    all_transports_check(all, transport_check(&person.transport));
    transport_close(&person.transport);
    all_transports_free(all);
    if (kind == TLS) {
        tls_free(tls);
        tls_files_drop(&files);
        tls = NULL;
    }
    conf_drop(&conf);
    loop_free(loop);
}

/* ---- the peer -------------------------------------------------------------------------------- */

static void say(int kind, const char *text)
{
    if (kind == TLS) {
        tls_peer_write(&client, text, strlen(text));
        tls_peer_push(&client, SIZE_MAX);
    } else {
        ck_assert_int_eq(write(person.peer, text, strlen(text)), (ssize_t)strlen(text));
    }
}

static size_t hear(int kind, char *to, size_t size)
{
    if (kind == TLS) {
        tls_peer_pull(&client);
        return tls_peer_read(&client, to, size);
    }
    ssize_t got = read(person.peer, to, size);
    return got > 0 ? (size_t)got : 0;
}

static ssize_t send_text(const char *text, size_t len)
{
    struct iovec chunk = { .iov_base = (char *)(uintptr_t)text, .iov_len = len };
    return transport_write(&person.transport, &chunk, 1);
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST(bytes_travel_both_ways)
{
    for (int kind = 0; kind < KINDS; kind++) {
        size_t used = mem_used();
        char reply[16] = "";
        begin(kind);
        open_person(kind);
        say(kind, "request");
        UNTIL(person.got == 7);
        ck_assert_int_eq(memcmp(person.text, "request", 7), 0);
        ck_assert_int_eq(send_text("answer", 6), 6);
        UNTIL(hear(kind, reply, sizeof(reply)) == 6);
        ck_assert_str_eq(reply, "answer");
        UNTIL(transport_is_flushed(&person.transport));
        ck_assert_int_eq(transport_is_encrypted(&person.transport), kind == TLS);
        end(kind);
        if (kind != TLS) ck_assert_uint_eq(mem_used(), used); /* OpenSSL keeps some */
    }
}
END_TEST

/* TLS and threads keep input that poll does not report. */
START_TEST(input_larger_than_a_read_is_read_to_its_end)
{
    for (int kind = 0; kind < KINDS; kind++) {
        begin(kind);
        open_person(kind);
        person.read_size = 3;
        say(kind, "one request in pieces");
        UNTIL(person.got == 21);
        ck_assert_int_eq(memcmp(person.text, "one request in pieces", 21), 0);
        end(kind);
    }
}
END_TEST

START_TEST(an_owner_that_takes_no_input_gets_it_later)
{
    for (int kind = 0; kind < KINDS; kind++) {
        begin(kind);
        open_person(kind);
        person.takes = false;
        transport_want(&person.transport, false, false, false);
        say(kind, "later");
        for (int i = 0; i < 20; i++)
            run_turn();
        ck_assert_uint_eq(person.got, 0);
        person.takes = true;
        transport_want(&person.transport, true, false, false);
        transport_read_on(&person.transport);
        UNTIL(person.got == 5);
        end(kind);
    }
}
END_TEST

START_TEST(a_full_socket_reports_when_it_has_room)
{
    static char block[BLOCK];
    for (int kind = 0; kind < KINDS; kind++) {
        begin(kind);
        open_person(kind);
        size_t sent = 0, heard = 0;
        ssize_t got;
        while ((got = send_text(block, BLOCK)) > 0)
            sent += (size_t)got;
        ck_assert_int_eq(errno, EAGAIN);
        ck_assert(!person.ended);
        transport_want(&person.transport, true, true, false);
        ck_assert(transport_waits_for_room(&person.transport));
        person.writable = 0;
        for (int turns = 0; person.writable == 0 || heard < sent; turns++) {
            static char bin[BLOCK];
            ck_assert_int_lt(turns, TURNS_MOST);
            heard += hear(kind, bin, BLOCK);
            run_turn();
        }
        end(kind);
    }
}
END_TEST

START_TEST(the_end_of_input_comes_after_the_bytes_before_it)
{
    for (int kind = 0; kind < KINDS; kind++) {
        begin(kind);
        open_person(kind);
        say(kind, "last");
        if (kind == TLS) {
            SSL_shutdown(client.ssl);
            tls_peer_push(&client, SIZE_MAX);
        }
        shutdown(person.peer, SHUT_WR);
        UNTIL(person.at_end);
        ck_assert_uint_eq(person.got, 4);
        ck_assert(transport_peer_has_gone(&person.transport));
        end(kind);
    }
}
END_TEST

START_TEST(a_peer_gets_the_last_bytes_though_it_has_sent_more)
{
    for (int kind = 0; kind < KINDS; kind++) {
        char reply[16] = "";
        begin(kind);
        open_person(kind);
        person.takes = false;
        say(kind, "unread");
        ck_assert_int_eq(send_text("bye", 3), 3);
        UNTIL(transport_is_flushed(&person.transport));
        transport_finish(&person.transport);
        UNTIL(hear(kind, reply, sizeof(reply)) == 3);
        ck_assert_str_eq(reply, "bye");
        end(kind);
    }
}
END_TEST

START_TEST(a_handshake_reports_the_name_of_the_certificate)
{
    begin(TLS);
    open_person(TLS);
    ck_assert_str_eq(person.name, "worker");
    end(TLS);
}
END_TEST

static void open_without_shaking(void)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    person.peer = ends[1];
    transport_open(&person.transport, all, ends[0], true, "127.0.0.1:1", true);
}

START_TEST(a_peer_that_does_not_speak_tls_is_refused)
{
    begin(PLAIN);
    open_without_shaking();
    say(PLAIN, "PING\r\n");
    UNTIL(person.ended);
    ck_assert_ptr_nonnull(strstr(person.why, "does not speak TLS"));
    end(PLAIN);
}
END_TEST

START_TEST(a_handshake_that_takes_too_long_is_refused)
{
    begin(PLAIN);
    open_without_shaking();
    transport_check_handshake(&person.transport, HANDSHAKE_SECONDS * INT64_C(1000000) - 1);
    ck_assert(!person.ended);
    transport_check_handshake(&person.transport, HANDSHAKE_SECONDS * INT64_C(1000000));
    ck_assert(person.ended);
    ck_assert_str_eq(person.why, "its TLS handshake took too long");
    end(PLAIN);
}
END_TEST

START_TEST(a_lost_connection_is_reported_once)
{
    begin(OF_THREAD);
    open_person(OF_THREAD);
    close(person.peer);
    person.peer = -1;
    person.takes = false;
    static char block[BLOCK];
    for (int turns = 0; !person.ended; turns++) {
        ck_assert_int_lt(turns, TURNS_MOST);
        send_text(block, BLOCK);
        run_turn();
    }
    ck_assert_str_eq(person.why, strerror(EPIPE));
    end(OF_THREAD);
}
END_TEST

/* on_end and on_shaken assert it. */
START_TEST(no_failure_is_reported_after_the_end)
{
    static char block[BLOCK];
    for (int kind = 0; kind < KINDS; kind++) {
        begin(kind);
        open_person(kind);
        while (send_text(block, BLOCK) > 0)
            continue; /* a thread keeps bytes, which it can't write after shutdown */
        say(kind, "unread");
        person.ended = true;
        shutdown(person.peer, SHUT_RDWR);
        for (int i = 0; i < 20; i++)
            run_turn();
        ck_assert_uint_eq(person.got, 0);
        end(kind);
    }
    begin(PLAIN);
    open_without_shaking();
    say(PLAIN, "PING\r\n"); /* not a handshake */
    UNTIL(transport_waits_to_shake(&person.transport));
    person.ended = true;
    for (int i = 0; i < 20; i++)
        run_turn();
    ck_assert(!transport_waits_to_shake(&person.transport));
    end(PLAIN);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        bytes_travel_both_ways,
        input_larger_than_a_read_is_read_to_its_end,
        an_owner_that_takes_no_input_gets_it_later,
        a_full_socket_reports_when_it_has_room,
        the_end_of_input_comes_after_the_bytes_before_it,
        a_peer_gets_the_last_bytes_though_it_has_sent_more,
        a_handshake_reports_the_name_of_the_certificate,
        a_peer_that_does_not_speak_tls_is_refused,
        a_handshake_that_takes_too_long_is_refused,
        a_lost_connection_is_reported_once,
        no_failure_is_reported_after_the_end,
        NULL,
    };
    return suite_of("transport", tests);
}
