/* client_threads: connections whose sockets belong to the threads of io-threads. To the rest of
 * net/ a thread looks like a socket: a struct transport reads bytes that have arrived and writes
 * bytes to be sent. Depends on io_threads.h. */
#include "server/net/client_state.h"

#include <errno.h>
#include <string.h>

#include "store/mem/mem.h"

/* What a thread has brought and client_io.c has not read yet. Most bytes are read at once from
 * where they arrived; the others are kept. */
struct threaded {
    struct io_socket *socket;
    struct bytes arriving; /* during IO_BYTES */
    struct outbuf kept;
    bool ended;
    int error; /* of the end: an errno, or 0 */
};

static void take_bytes(struct client *client, struct bytes bytes)
{
    struct threaded *threaded = client->threaded;
    if (threaded->kept.len == 0) {
        threaded->arriving = bytes;
        client_ready(client, LOOP_READ);
        bytes = threaded->arriving;
        threaded->arriving = (struct bytes){ .len = 0 };
    }
    if (bytes.len == 0) return;
    outbuf_append(&threaded->kept, bytes.data, bytes.len);
    limits_count(&client->limits);
    client_read_on(client);
}

static void take_end(struct client *client, int error)
{
    client->threaded->ended = true;
    client->threaded->error = error;
    client_ready(client, LOOP_READ);
}

static void happened(void *owner, const struct io_news *news)
{
    struct client *client = owner;
    if (client_is_doomed(client)) return;
    switch (news->event) {
    case IO_BYTES: take_bytes(client, news->bytes); break;
    case IO_END: take_end(client, news->error); break;
    case IO_WRITABLE: client_ready(client, LOOP_WRITE); break;
    case IO_SHAKEN: client_shaken(client, news->bytes); break;
    case IO_REFUSED: client_refuse(client, news->bytes); break;
    case IO_BROKEN: client_lost(client, news->bytes); break;
    }
}

bool clients_start_threads(struct clients *all)
{
    int64_t count = all->w.conf->io_threads - 1; /* the main thread counts, as in Redis */
    if (count == 0) return true;
    tls_share_memory();
    all->threads = io_threads_new(all->w.loop, (unsigned)count, happened);
    return all->threads != NULL;
}

void client_give_to_thread(struct client *client, struct tls *tls)
{
    struct threaded *threaded = mem_zalloc(sizeof(*threaded));
    outbuf_init(&threaded->kept);
    client->threaded = threaded;
    client->via = &transport_threads;
    threaded->socket = io_socket_new(client->all->threads, client->fd, tls, client->peer, client);
    io_socket_want(threaded->socket, true, client_is_anon(client));
}

void client_take_from_thread(struct client *client)
{
    struct threaded *threaded = client->threaded;
    io_socket_free(threaded->socket);
    outbuf_drop(&threaded->kept);
    mem_free(threaded);
}

size_t client_thread_bytes(const struct client *client)
{
    const struct threaded *threaded = client->threaded;
    if (threaded == NULL) return 0;
    return mem_size(threaded) + threaded->kept.bytes + io_socket_bytes(threaded->socket);
}

struct io_socket *client_socket(const struct client *client)
{
    return client->threaded != NULL ? client->threaded->socket : NULL;
}

/* ---- the transport --------------------------------------------------------------------------- */

static ssize_t read_end(struct threaded *threaded)
{
    if (threaded->ended && threaded->error == 0) return 0;
    errno = threaded->ended ? threaded->error : EAGAIN;
    return -1;
}

static size_t read_kept(struct outbuf *kept, char *to, size_t size)
{
    struct iovec chunk;
    size_t got = 0;
    while (got < size && outbuf_peek(kept, &chunk, 1) > 0) {
        size_t len = chunk.iov_len < size - got ? chunk.iov_len : size - got;
        memcpy(to + got, chunk.iov_base, len);
        outbuf_consume(kept, len);
        got += len;
    }
    return got;
}

static ssize_t read_arrived(struct client *client, void *to, size_t size)
{
    struct threaded *threaded = client->threaded;
    struct bytes *arriving = &threaded->arriving;
    size_t got = arriving->len < size ? arriving->len : size;
    if (threaded->kept.len > 0) {
        got = read_kept(&threaded->kept, to, size);
    } else if (got > 0) {
        memcpy(to, arriving->data, got);
        *arriving = bytes_of(arriving->data + got, arriving->len - got);
    }
    if (got == 0) return read_end(threaded);
    io_socket_read(threaded->socket, got);
    return (ssize_t)got;
}

static ssize_t write_to_thread(struct client *client, const struct iovec *chunks, int count)
{
    return io_socket_write(client->threaded->socket, chunks, count);
}

static bool has_arrived(const struct client *client)
{
    const struct threaded *threaded = client->threaded;
    return threaded->kept.len > 0 || threaded->ended;
}

const struct transport transport_threads = { read_arrived, write_to_thread, has_arrived };
