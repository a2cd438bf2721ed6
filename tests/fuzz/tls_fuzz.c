/* Fuzz target: a connection of the TLS port. The first byte chooses what the others are:
 * bytes instead of a handshake; a true handshake of which one byte is another; bytes after a
 * handshake; or requests inside TLS, whose replies must be complete. The second byte chooses the
 * pieces in which they come, the third whether a password is needed. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "proto/resp/resp_reply.h"
#include "server/base/log.h"
#include "server/engine/acl/acl.h"
#include "tests/support/server_world.h"
#include "tests/support/tls_peer.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHOICES = 3, NO_HANDSHAKE = 0, DAMAGED, RECORDS, REQUESTS, KINDS };

static struct conf conf; /* of the port */

struct case_of {
    struct server_world world;
    struct tls_peer peer;
    char heard[1 << 20]; /* what the client has decrypted */
    size_t len;
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    static const char *const names[] = { "default" };
    struct tls_files files;
    char why[TLS_WHY_SIZE];
    signal(SIGPIPE, SIG_IGN); /* as the daemon does */
    log_set_level(LOG_WARNING);
    tls_count_memory();
    conf_init(&conf);
    tls_files_make(&files, names, 1);
    tls_files_configure(&files, &conf);
    struct tls *tls = tls_new(&conf, why, sizeof(why));
    tls_files_drop(&files);
    if (tls == NULL) abort();
    server_world_use_tls(tls);
    return 0;
}

static void init(struct case_of *all, bool password)
{
    /* SHUTDOWN ends the process, and the others need files. */
    static const char *const unwanted[] = { "SHUTDOWN", "SAVE", "BGSAVE", "BGREWRITEAOF",
                                            "LASTSAVE" };
    struct server_world *world = &all->world;
    server_world_init(world, SERVER_WORLD_PLAIN);
    for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++)
        commands_rename(world->engine.commands, bytes_of(unwanted[i], strlen(unwanted[i])),
                        LIT(""));
    if (password) acl_set_requirepass(world->engine.acl, "p");
    tls_peer_init(&all->peer, NULL);
    clients_accept(all->world.clients, all->peer.server_fd, "127.0.0.1:1", "127.0.0.1:2", PORT_TLS);
    all->len = 0;
}

static void drop(struct case_of *all)
{
    tls_peer_drop(&all->peer);
    server_world_drop(&all->world);
}

/* A turn of the server, then of the client. True if the client has heard something. */
static bool turn(struct case_of *all)
{
    loop_poll(all->world.loop);
    clients_run(all->world.clients);
    clients_turn(all->world.clients);
    bool any = tls_peer_pull(&all->peer) > 0;
    size_t got;
    while ((got = tls_peer_read(&all->peer, all->heard + all->len, sizeof(all->heard) - all->len)) >
           0)
        all->len += got;
    return any;
}

static void shake(struct case_of *all)
{
    for (int i = 0; i < 4 && !tls_peer_shake(&all->peer); i++)
        turn(all);
    turn(all);
}

/* The next piece: 0 gives everything, else sizes made from the seed. */
static size_t next_step(uint32_t *seed, size_t left)
{
    if (*seed == 0) return left;
    *seed = *seed * 1664525u + 1013904223u;
    size_t step = 1 + (*seed >> 24) % 64;
    return step < left ? step : left;
}

static void send_raw(struct case_of *all, const uint8_t *data, size_t size, uint32_t seed)
{
    for (size_t step; size > 0; data += step, size -= step) {
        step = next_step(&seed, size);
        if (send(all->peer.fd, data, step, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
        turn(all);
    }
}

static void send_requests(struct case_of *all, const uint8_t *data, size_t size, uint32_t seed)
{
    for (size_t step; size > 0; data += step, size -= step) {
        step = next_step(&seed, size);
        tls_peer_write(&all->peer, data, step);
        tls_peer_push(&all->peer, SIZE_MAX);
        turn(all);
    }
}

/* One byte of each flight of the client's handshake is changed by the input. */
static void send_damaged(struct case_of *all, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 3 <= size && i < 12; i += 3) {
        SSL_do_handshake(all->peer.ssl);
        char *flight;
        size_t len = (size_t)BIO_get_mem_data(all->peer.sent, &flight);
        if (len > 0) flight[(data[i] * 256u + data[i + 1]) % len] ^= (char)data[i + 2];
        tls_peer_push(&all->peer, SIZE_MAX);
        turn(all);
    }
}

static void check_replies(const struct case_of *all)
{
    struct resp_reply reply;
    resp_reply_init(&reply);
    for (size_t at = 0; at < all->len; at += reply.consumed)
        if (resp_reply_parse(&reply, all->heard + at, all->len - at) != REPLY_WHOLE) abort();
    resp_reply_drop(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct case_of all;
    if (size < CHOICES) return 0;
    int kind = data[0] % KINDS;
    uint32_t seed = data[1];
    init(&all, data[2] % 2 == 1);
    data += CHOICES;
    size -= CHOICES;
    if (kind == RECORDS || kind == REQUESTS) shake(&all);
    if (kind == DAMAGED)
        send_damaged(&all, data, size);
    else if (kind == REQUESTS)
        send_requests(&all, data, size, seed);
    else
        send_raw(&all, data, size, seed);
    for (int quiet = 0; quiet < 3 && all.len < sizeof(all.heard);)
        quiet = turn(&all) ? 0 : quiet + 1;
    if (all.len < sizeof(all.heard)) check_replies(&all);
    drop(&all);
    return 0;
}
