/* Tests of connection: records in any pieces, ends, faults, names and memory. */
#include "server/net/tls/connection.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/mem/mem.h"
#include "tests/support/suite.h"
#include "tests/support/tls_peer.h"

/* What TLS 1.3 adds to a record: header, type, checksum. */
enum { RECORD_EXTRA = 5 + 1 + 16 };

struct pair {
    struct conf conf;
    struct tls_files files;
    struct tls *tls;
    struct tls_connection *server;
    struct tls_peer client;
};

static const char *const default_names[] = { "default" };

static void pair_init_named(struct pair *pair, const char *const *names, size_t count)
{
    char why[TLS_WHY_SIZE] = "";
    conf_init(&pair->conf);
    tls_files_make(&pair->files, names, count);
    tls_files_configure(&pair->files, &pair->conf);
    pair->tls = tls_new(&pair->conf, why, sizeof(why));
    ck_assert_msg(pair->tls != NULL, "%s", why);
    tls_peer_init(&pair->client, count > 0 ? &pair->files : NULL);
    pair->server = tls_open(pair->tls, pair->client.server_fd);
    ck_assert_ptr_nonnull(pair->server);
}

static void pair_drop(struct pair *pair)
{
    tls_close(pair->server);
    close(pair->client.server_fd);
    tls_peer_drop(&pair->client);
    tls_free(pair->tls);
    tls_files_drop(&pair->files);
    conf_drop(&pair->conf);
}

static void shake(struct pair *pair)
{
    enum tls_progress progress = TLS_WAITS;
    for (int i = 0; i < 10 && progress == TLS_WAITS; i++) {
        tls_peer_shake(&pair->client);
        progress = tls_shake_hands(pair->server);
    }
    ck_assert_int_eq(progress, TLS_DONE);
    ck_assert(tls_peer_shake(&pair->client));
    char none[1];
    ck_assert_uint_eq(tls_peer_read(&pair->client, none, sizeof(none)), 0); /* takes the tickets */
}

static void pair_init(struct pair *pair)
{
    pair_init_named(pair, default_names, 1);
    shake(pair);
}

static void ck_assert_nothing_yet(struct pair *pair)
{
    char byte;
    ck_assert_int_eq(tls_read(pair->server, &byte, 1), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert(!tls_pending(pair->server));
}

/* ---- writing --------------------------------------------------------------------------------- */

START_TEST(small_chunks_become_one_record)
{
    struct pair pair;
    pair_init(&pair);
    struct iovec chunks[40];
    for (size_t i = 0; i < 40; i++)
        chunks[i] = (struct iovec){ "0123456789", 10 };
    ck_assert_int_eq(tls_write(pair.server, chunks, 40), 400);
    int waiting;
    ck_assert_int_eq(ioctl(pair.client.fd, FIONREAD, &waiting), 0);
    ck_assert_int_eq(waiting, 400 + RECORD_EXTRA);
    char got[500];
    tls_peer_pull(&pair.client);
    ck_assert_uint_eq(tls_peer_read(&pair.client, got, sizeof(got)), 400);
    ck_assert_mem_eq(got + 395, "56789", 5);
    pair_drop(&pair);
}
END_TEST

/* Byte i of a long text, in which no two places near each other look alike. */
static char letter(size_t i)
{
    return (char)(i * 2654435761u >> 11);
}

static size_t read_all(struct pair *pair, size_t from)
{
    char got[65536];
    size_t total = 0, len;
    do {
        while ((len = tls_peer_read(&pair->client, got, sizeof(got))) > 0) {
            for (size_t i = 0; i < len; i++)
                ck_assert_int_eq(got[i], letter(from + total + i));
            total += len;
        }
    } while (tls_peer_pull(&pair->client) > 0);
    return total;
}

START_TEST(a_refused_write_may_come_again_longer)
{
    enum { SIZE = 1 << 20 };
    struct pair pair;
    pair_init(&pair);
    char *text = mem_alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = letter(i);
    size_t sent = 0, seen = 0, first = 1000;
    while (sent < SIZE) {
        /* Chunks of growing sizes, the last of which is longer at each attempt. */
        struct iovec chunks[8];
        int count = 0;
        for (size_t at = sent, len = first; count < 8 && at < SIZE; len *= 3, count++) {
            if (len > SIZE - at) len = SIZE - at;
            chunks[count] = (struct iovec){ text + at, len };
            at += len;
        }
        ssize_t put = tls_write(pair.server, chunks, count);
        if (put < 0) {
            ck_assert_int_eq(errno, EAGAIN);
            seen += read_all(&pair, seen);
            first += 7000;
        } else {
            sent += (size_t)put;
        }
    }
    seen += read_all(&pair, seen);
    ck_assert_uint_eq(seen, SIZE);
    mem_free(text);
    pair_drop(&pair);
}
END_TEST

START_TEST(one_call_writes_a_bounded_amount)
{
    struct pair pair;
    pair_init(&pair);
    int room = 8 << 20;
    setsockopt(pair.client.server_fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
    struct iovec chunk = { mem_zalloc(1 << 20), 1 << 20 };
    ssize_t put = tls_write(pair.server, &chunk, 1);
    ck_assert_int_gt(put, 0);
    ck_assert_int_le(put, 256 * 1024);
    mem_free(chunk.iov_base);
    pair_drop(&pair);
}
END_TEST

START_TEST(writing_to_a_closed_socket_fails)
{
    struct pair pair;
    pair_init(&pair);
    struct iovec chunk = { "x", 1 };
    signal(SIGPIPE, SIG_IGN);
    shutdown(pair.client.server_fd, SHUT_WR);
    ck_assert_int_eq(tls_write(pair.server, &chunk, 1), -1);
    ck_assert_int_eq(errno, EPROTO);
    ck_assert_str_eq(tls_fault(pair.server), "Broken pipe");
    pair_drop(&pair);
}
END_TEST

/* ---- reading --------------------------------------------------------------------------------- */

START_TEST(the_rest_of_a_record_is_pending)
{
    struct pair pair;
    pair_init(&pair);
    char text[2500], got[1000];
    memset(text, 'a', sizeof(text));
    tls_peer_write(&pair.client, text, sizeof(text));
    tls_peer_push(&pair.client, SIZE_MAX);
    ck_assert_int_eq(tls_read(pair.server, got, sizeof(got)), 1000);
    ck_assert(tls_pending(pair.server));
    ck_assert_int_eq(tls_read(pair.server, got, sizeof(got)), 1000);
    ck_assert(tls_pending(pair.server));
    ck_assert_int_eq(tls_read(pair.server, got, sizeof(got)), 500);
    ck_assert_nothing_yet(&pair);
    pair_drop(&pair);
}
END_TEST

START_TEST(one_read_takes_several_records)
{
    struct pair pair;
    pair_init(&pair);
    char got[100];
    for (int i = 0; i < 5; i++)
        tls_peer_write(&pair.client, "0123456789", 10);
    tls_peer_push(&pair.client, SIZE_MAX);
    ck_assert_int_eq(tls_read(pair.server, got, sizeof(got)), 50);
    ck_assert_nothing_yet(&pair);
    pair_drop(&pair);
}
END_TEST

START_TEST(a_part_of_a_record_is_not_pending)
{
    struct pair pair;
    pair_init(&pair);
    char got[100];
    tls_peer_write(&pair.client, "0123456789", 10);
    tls_peer_write(&pair.client, "0123456789", 10);
    for (int i = 0; i < RECORD_EXTRA + 9; i++) {
        ck_assert_uint_eq(tls_peer_push(&pair.client, 1), 1);
        ck_assert_nothing_yet(&pair);
    }
    /* The last byte of the first record, and some of the second. */
    tls_peer_push(&pair.client, 10);
    ck_assert_int_eq(tls_read(pair.server, got, sizeof(got)), 10);
    ck_assert_nothing_yet(&pair);
    tls_peer_push(&pair.client, SIZE_MAX);
    ck_assert_int_eq(tls_read(pair.server, got, sizeof(got)), 10);
    pair_drop(&pair);
}
END_TEST

START_TEST(the_end_comes_behind_the_data)
{
    for (int farewell = 0; farewell < 2; farewell++) {
        struct pair pair;
        pair_init(&pair);
        char got[100];
        tls_peer_write(&pair.client, "abc", 3);
        if (farewell) SSL_shutdown(pair.client.ssl);
        tls_peer_push(&pair.client, SIZE_MAX);
        shutdown(pair.client.fd, SHUT_WR);
        ck_assert_int_eq(tls_read(pair.server, got, sizeof(got)), 3);
        ck_assert_int_eq(tls_read(pair.server, got, sizeof(got)), 0);
        ck_assert(!tls_pending(pair.server));
        /* The other direction continues. */
        struct iovec chunk = { "xyz", 3 };
        ck_assert_int_eq(tls_write(pair.server, &chunk, 1), 3);
        pair_drop(&pair);
    }
}
END_TEST

START_TEST(a_damaged_record_breaks_the_connection)
{
    struct pair pair;
    pair_init(&pair);
    char record[64] = "\x17\x03\x03\x00\x20", got[100];
    tls_peer_write(&pair.client, "abc", 3);
    tls_peer_push(&pair.client, SIZE_MAX);
    ck_assert_int_eq(send(pair.client.fd, record, 37, 0), 37);
    ck_assert_int_eq(tls_read(pair.server, got, sizeof(got)), 3);
    ck_assert(tls_pending(pair.server));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(tls_read(pair.server, got, sizeof(got)), -1);
        ck_assert_int_eq(errno, EPROTO);
    }
    ck_assert_str_eq(tls_fault(pair.server), "decryption failed or bad record mac");
    ck_assert(!tls_pending(pair.server));
    struct iovec chunk = { "x", 1 };
    ck_assert_int_eq(tls_write(pair.server, &chunk, 1), -1);
    ck_assert_int_eq(errno, EPROTO);
    pair_drop(&pair);
}
END_TEST

/* ---- handshakes ------------------------------------------------------------------------------ */

START_TEST(a_handshake_may_come_byte_by_byte)
{
    struct pair pair;
    pair_init_named(&pair, default_names, 1);
    enum tls_progress progress = TLS_WAITS;
    for (int i = 0; i < 10000 && progress == TLS_WAITS; i++) {
        if (tls_peer_push(&pair.client, 1) == 0) {
            tls_peer_pull(&pair.client);
            SSL_do_handshake(pair.client.ssl);
        }
        progress = tls_shake_hands(pair.server);
    }
    ck_assert_int_eq(progress, TLS_DONE);
    ck_assert_uint_eq(tls_report(pair.tls).handshakes, 1);
    ck_assert_str_eq(tls_report(pair.tls).serial, "4D");
    pair_drop(&pair);
}
END_TEST

START_TEST(data_may_come_with_the_end_of_the_handshake)
{
    struct pair pair;
    pair_init_named(&pair, default_names, 1);
    tls_peer_shake(&pair.client);
    ck_assert_int_eq(tls_shake_hands(pair.server), TLS_WAITS);
    tls_peer_pull(&pair.client);
    ck_assert_int_eq(SSL_do_handshake(pair.client.ssl), 1);
    tls_peer_write(&pair.client, "abc", 3);
    tls_peer_push(&pair.client, SIZE_MAX);
    ck_assert_int_eq(tls_shake_hands(pair.server), TLS_DONE);
    ck_assert(tls_pending(pair.server));
    char got[10];
    ck_assert_int_eq(tls_read(pair.server, got, sizeof(got)), 3);
    pair_drop(&pair);
}
END_TEST

START_TEST(a_handshake_with_nonsense_fails_with_a_reason)
{
    struct pair pair;
    pair_init_named(&pair, default_names, 1);
    ck_assert_int_eq(send(pair.client.fd, "GET / HTTP/1.0\r\n\r\n", 18, 0), 18);
    ck_assert_int_eq(tls_shake_hands(pair.server), TLS_FAILED);
    ck_assert_str_eq(tls_fault(pair.server), "http request");
    ck_assert_uint_eq(tls_report(pair.tls).failed, 1);
    pair_drop(&pair);
}
END_TEST

START_TEST(the_end_during_a_handshake_is_distinguished)
{
    struct pair pair;
    pair_init_named(&pair, default_names, 1);
    tls_peer_shake(&pair.client);
    shutdown(pair.client.fd, SHUT_WR);
    ck_assert_int_eq(tls_shake_hands(pair.server), TLS_CLOSED);
    ck_assert_uint_eq(tls_report(pair.tls).failed, 1);
    pair_drop(&pair);
}
END_TEST

/* ---- names, memory, reloading ---------------------------------------------------------------- */

static void check_name(const char *const *names, size_t count, const char *wanted)
{
    struct pair pair;
    pair_init_named(&pair, names, count);
    shake(&pair);
    char name[16] = "";
    ck_assert_int_eq(tls_peer_name(pair.server, name, sizeof(name)), wanted != NULL);
    if (wanted != NULL) ck_assert_str_eq(name, wanted);
    pair_drop(&pair);
}

START_TEST(only_a_single_name_that_fits_is_a_name)
{
    static const char *const two[] = { "default", "worker" };
    static const char *const umlaut[] = { "J\xc3\xb6rg" };
    static const char *const full[] = { "123456789012345" };
    static const char *const full_and_one[] = { "1234567890123456" };
    check_name(default_names, 1, "default");
    check_name(umlaut, 1, "J\xc3\xb6rg");
    check_name(full, 1, "123456789012345");
    check_name(full_and_one, 1, NULL);
    check_name(two, 2, NULL);
    check_name(two, 0, NULL); /* no certificate */
}
END_TEST

START_TEST(the_memory_of_a_connection_is_known_and_given_back)
{
    struct pair pair;
    pair_init(&pair); /* what OpenSSL allocates once */
    pair_drop(&pair);
    pair_init(&pair);
    size_t used = mem_used();
    ck_assert_uint_gt(tls_bytes(pair.server), 4096);
    ck_assert_uint_lt(tls_bytes(pair.server), 64 * 1024);
    size_t bytes = tls_bytes(pair.server);
    tls_close(pair.server);
    ck_assert_uint_ge(used - mem_used(), bytes);
    pair.server = NULL;
    ck_assert_uint_eq(tls_bytes(NULL), 0);
    pair_drop(&pair);
}
END_TEST

START_TEST(a_connection_outlives_a_reload)
{
    struct pair pair;
    pair_init(&pair);
    char why[TLS_WHY_SIZE], got[10];
    ck_assert(tls_reload(pair.tls, why, sizeof(why)));
    tls_peer_write(&pair.client, "abc", 3);
    tls_peer_push(&pair.client, SIZE_MAX);
    ck_assert_int_eq(tls_read(pair.server, got, sizeof(got)), 3);
    unlink(pair.files.key);
    ck_assert(!tls_reload(pair.tls, why, sizeof(why)));
    ck_assert_ptr_nonnull(strstr(why, "tls-key-file"));
    struct tls_connection *another = tls_open(pair.tls, pair.client.server_fd);
    ck_assert_ptr_nonnull(another);
    tls_close(another);
    pair_drop(&pair);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        small_chunks_become_one_record,
        a_refused_write_may_come_again_longer,
        one_call_writes_a_bounded_amount,
        writing_to_a_closed_socket_fails,
        the_rest_of_a_record_is_pending,
        one_read_takes_several_records,
        a_part_of_a_record_is_not_pending,
        the_end_comes_behind_the_data,
        a_damaged_record_breaks_the_connection,
        a_handshake_may_come_byte_by_byte,
        data_may_come_with_the_end_of_the_handshake,
        a_handshake_with_nonsense_fails_with_a_reason,
        the_end_during_a_handshake_is_distinguished,
        only_a_single_name_that_fits_is_a_name,
        the_memory_of_a_connection_is_known_and_given_back,
        a_connection_outlives_a_reload,
        NULL,
    };
    tls_count_memory();
    return suite_of("connection", tests);
}
