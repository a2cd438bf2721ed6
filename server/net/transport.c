/* transport: see transport.h.
 *
 * With io-threads, each thread schedules the TLS handshakes of its own sockets (handshakes.h). */
#include "server/net/transport.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/net/handshakes.h"
#include "server/net/io_threads.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/mem/outbuf.h"

enum {
    LAST_READS = 4,             /* reads of transport_finish before the socket is closed, */
    LAST_READ_SIZE = 64 * 1024, /* and bytes of each */
};

TAILQ_HEAD(transport_list, transport);

/* The three kinds of connection: plain, encrypted (TLS in the main thread), and of_thread (an I/O
 * thread owns the socket). */
struct transport_kind {
    /* Return as transport_read and transport_write do. */
    ssize_t (*read)(struct transport *transport, void *to, size_t size);
    ssize_t (*write)(struct transport *transport, const struct iovec *chunks, int count);
    /* Is input buffered that poll does not report? NULL: never. */
    bool (*pending)(const struct transport *transport);
};

struct all_transports {
    struct loop *loop;
    struct tls *tls;
    struct transport_owner owner;
    struct transport_list to_read_on;
    struct loop_timer *read_timer;
    struct handshakes *handshakes;
    struct loop_timer *shake_timer; /* set while handshakes can continue */
    struct io_threads *threads;     /* NULL if io-threads is 1 */
};

static void report_lost(struct transport *transport, const char *why)
{
    transport->all->owner.lost(transport, bytes_of(why, strlen(why)));
}

static void refuse(struct transport *transport, const char *why)
{
    transport->all->owner.refused(transport, bytes_of(why, strlen(why)));
}

static void on_socket(void *ctx, unsigned what)
{
    struct transport *transport = ctx;
    if (what == LOOP_READ) {
        transport->all->owner.readable(transport);
        return;
    }
    transport->all->owner.writable(transport);
    if (transport->read_blocked) transport->all->owner.readable(transport);
}

/* ---- a plain socket -------------------------------------------------------------------------- */

/* Makes the system call itself: libc's recv and send are cancellation points of threads, and this
 * costs two locked instructions per call. */
static ssize_t read_plain(struct transport *transport, void *to, size_t size)
{
    return syscall(SYS_recvfrom, transport->fd, to, size, 0, NULL, NULL);
}

/* Most writes have one chunk, for which send is cheaper than writev. */
static ssize_t write_plain(struct transport *transport, const struct iovec *chunks, int count)
{
    if (count != 1) return writev(transport->fd, chunks, count);
    return syscall(SYS_sendto, transport->fd, chunks->iov_base, chunks->iov_len, MSG_NOSIGNAL, NULL,
                   0);
}

static const struct transport_kind plain = { read_plain, write_plain, NULL };

/* ---- a socket of a thread -------------------------------------------------------------------- */

/* Input from an I/O thread that the owner has not read yet. The owner usually reads it in place,
 * during IO_BYTES; what it leaves is copied to `kept`. */
struct threaded {
    struct io_socket *socket;
    struct bytes arriving; /* during IO_BYTES: bytes that the owner may read in place */
    struct outbuf kept;
    bool encrypted; /* the thread encrypts (TLS) */
    bool ended;
    int error; /* how the input ended: an errno, or 0 */
};

static void happened(void *ctx, const struct io_news *news)
{
    struct transport *transport = ctx;
    const struct transport_owner *owner = &transport->all->owner;
    struct threaded *threaded = transport->threaded;
    struct bytes bytes = news->bytes;
    if (owner->has_ended(transport)) return;
    switch (news->event) {
    case IO_BYTES:
        if (threaded->kept.len == 0) {
            threaded->arriving = bytes;
            owner->readable(transport);
            bytes = threaded->arriving;
            threaded->arriving = (struct bytes){ .len = 0 };
        }
        if (bytes.len == 0) break;
        outbuf_append(&threaded->kept, bytes.data, bytes.len);
        owner->grown(transport);
        transport_read_on(transport);
        break;
    case IO_END:
        threaded->ended = true;
        threaded->error = news->error;
        owner->readable(transport);
        break;
    case IO_WRITABLE: owner->writable(transport); break;
    case IO_SHAKEN:
        transport->shakes = false;
        owner->shaken(transport, bytes);
        break;
    case IO_REFUSED: owner->refused(transport, bytes); break;
    case IO_BROKEN: owner->lost(transport, bytes); break;
    case IO_CLOSED:
    case IO_ROOM: break; /* for io_threads only */
    }
}

static ssize_t read_arrived(struct transport *transport, void *to, size_t size)
{
    struct threaded *threaded = transport->threaded;
    struct bytes *arriving = &threaded->arriving;
    size_t got = 0;
    if (threaded->kept.len > 0) {
        struct iovec chunk;
        while (got < size && outbuf_peek(&threaded->kept, &chunk, 1) > 0) {
            size_t len = chunk.iov_len < size - got ? chunk.iov_len : size - got;
            memcpy((char *)to + got, chunk.iov_base, len);
            outbuf_consume(&threaded->kept, len);
            got += len;
        }
    } else if (arriving->len > 0) {
        got = arriving->len < size ? arriving->len : size;
        memcpy(to, arriving->data, got);
        *arriving = bytes_of(arriving->data + got, arriving->len - got);
    }
    if (got > 0) {
        io_socket_read(threaded->socket, got);
        return (ssize_t)got;
    }
    if (threaded->ended && threaded->error == 0) return 0;
    errno = threaded->ended ? threaded->error : EAGAIN;
    return -1;
}

static ssize_t write_to_thread(struct transport *transport, const struct iovec *chunks, int count)
{
    return io_socket_write(transport->threaded->socket, chunks, count);
}

static bool has_arrived(const struct transport *transport)
{
    const struct threaded *threaded = transport->threaded;
    return threaded->kept.len > 0 || threaded->ended;
}

static const struct transport_kind of_thread = { read_arrived, write_to_thread, has_arrived };

/* ---- TLS ------------------------------------------------------------------------------------- */

/* The TLS of a connection that the main thread encrypts. */
struct encryption {
    struct transport *transport;
    struct tls_connection *tls; /* NULL before the first record */
    struct handshake handshake;
};

static void report_broken(struct transport *transport)
{
    char why[2 * HANDSHAKE_WHY];
    int error = errno;
    snprintf(why, sizeof(why), "TLS failed: %s", tls_fault(transport->secured->tls));
    report_lost(transport, why);
    errno = error;
}

static ssize_t read_tls(struct transport *transport, void *to, size_t size)
{
    struct all_transports *all = transport->all;
    struct encryption *secured = transport->secured;
    ssize_t got = -1;
    /* Calling `writable` makes the owner call transport_want at the end of the turn, which sets the
     * events that the socket waits for. This is needed whenever these events change. */
    if (transport->shakes) {
        handshakes_wait(all->handshakes, &secured->handshake);
        loop_timer_set(all->shake_timer, 0);
        transport->read_blocked = false;
        all->owner.writable(transport);
    } else {
        got = tls_read(secured->tls, to, size);
        if (got < 0 && errno != EAGAIN) report_broken(transport);
        bool blocked = tls_wants_write(secured->tls);
        if (blocked != transport->read_blocked) all->owner.writable(transport);
        transport->read_blocked = blocked;
    }
    errno = EAGAIN; /* a failure is reported already */
    return got;
}

static ssize_t write_tls(struct transport *transport, const struct iovec *chunks, int count)
{
    errno = EAGAIN;
    if (transport->shakes) return -1;
    ssize_t sent = tls_write(transport->secured->tls, chunks, count);
    if (sent < 0 && errno != EAGAIN) report_broken(transport);
    return sent;
}

static bool is_pending(const struct transport *transport)
{
    const struct tls_connection *tls = transport->secured->tls;
    return tls != NULL && tls_pending(tls);
}

static const struct transport_kind encrypted = { read_tls, write_tls, is_pending };

/* Continues handshakes for HANDSHAKES_USEC. */
static void shake_for_a_while(void *ctx)
{
    struct all_transports *all = ctx;
    int64_t end = clock_mono_usec() + HANDSHAKES_USEC;
    char *next;
    while (clock_mono_usec() < end && (next = (char *)handshakes_next(all->handshakes)) != NULL) {
        struct encryption *secured =
            (struct encryption *)(next - offsetof(struct encryption, handshake));
        struct transport *transport = secured->transport;
        char why[HANDSHAKE_WHY], name[TLS_NAME_SIZE] = "";
        if (all->owner.has_ended(transport)) continue;
        switch (handshake_step(all->handshakes, &secured->handshake, all->tls, transport->fd,
                               &secured->tls, why)) {
        case SHAKEN_DONE:
            transport->shakes = false;
            if (!tls_peer_name(secured->tls, name, sizeof(name))) name[0] = '\0';
            all->owner.shaken(transport, bytes_of(name, strlen(name)));
            break;
        case SHAKEN_REFUSED: refuse(transport, why); break;
        case SHAKEN_CLOSED: report_lost(transport, ""); break;
        case SHAKEN_WAITS: break;
        }
        all->owner.grown(transport);
        if (all->owner.has_ended(transport)) continue;
        /* The owner then calls transport_want: the events to wait for may have changed. */
        all->owner.writable(transport);
        if (!transport->shakes)
            all->owner.readable(transport);
        else
            transport->read_blocked = secured->tls != NULL && tls_wants_write(secured->tls);
    }
    if (handshakes_any(all->handshakes)) loop_timer_set(all->shake_timer, 0);
}

bool transport_waits_to_shake(const struct transport *transport)
{
    return transport->secured != NULL && transport->secured->handshake.waits;
}

void transport_check_handshake(struct transport *transport, int64_t age_usec)
{
    if (!transport->shakes) return;
    bool waits = transport->threaded != NULL ? io_socket_waits_to_shake(transport->threaded->socket)
                                             : transport_waits_to_shake(transport);
    int64_t most = waits ? HANDSHAKE_LANE_SECONDS : HANDSHAKE_SECONDS;
    bool late = age_usec >= most * 1000000;
    if (waits && transport_peer_has_gone(transport))
        refuse(transport, "it ended the TLS handshake");
    else if (late && waits)
        refuse(transport, "too many connections of its address are in a TLS handshake");
    else if (late && !socket_polls(transport->fd, POLLIN)) /* with input, the server is late */
        refuse(transport, "its TLS handshake took too long");
}

/* ---- one connection -------------------------------------------------------------------------- */

void transport_open(struct transport *transport, struct all_transports *all, int fd, bool is_tls,
                    const char *peer, bool anonymous)
{
    *transport = (struct transport){
        .all = all, .kind = is_tls ? &encrypted : &plain, .fd = fd, .shakes = is_tls
    };
    if (all->threads != NULL) {
        struct threaded *threaded = mem_zalloc(sizeof(*threaded));
        outbuf_init(&threaded->kept);
        transport->threaded = threaded;
        transport->kind = &of_thread;
        threaded->encrypted = is_tls;
        threaded->socket =
            io_socket_new(all->threads, fd, is_tls ? all->tls : NULL, peer, transport);
        io_socket_want(threaded->socket, true, anonymous);
        return;
    }
    if (is_tls) {
        transport->secured = mem_zalloc(sizeof(*transport->secured));
        transport->secured->transport = transport;
        handshake_init(&transport->secured->handshake, peer);
    }
    transport->io = loop_io_new(all->loop, fd, on_socket, transport);
    if (!loop_io_try(transport->io, LOOP_READ)) report_lost(transport, strerror(errno));
}

void transport_close(struct transport *transport)
{
    struct all_transports *all = transport->all;
    if (transport->reads_on) TAILQ_REMOVE(&all->to_read_on, transport, to_read_on);
    if (transport->threaded != NULL) {
        io_socket_free(transport->threaded->socket);
        outbuf_drop(&transport->threaded->kept);
        mem_free(transport->threaded);
        return;
    }
    loop_io_free(transport->io);
    if (transport->secured != NULL) {
        handshakes_end(all->handshakes, &transport->secured->handshake);
        if (handshakes_any(all->handshakes)) loop_timer_set(all->shake_timer, 0);
        tls_close(transport->secured->tls);
        mem_free(transport->secured);
    }
    close(transport->fd);
}

/* Most connections do not use TLS, so transport_read and transport_write call the plain functions
 * directly, without an indirect call. */
ssize_t transport_read(struct transport *transport, void *to, size_t size)
{
    if (transport->kind == &plain) return read_plain(transport, to, size);
    return transport->kind->read(transport, to, size);
}

ssize_t transport_write(struct transport *transport, const struct iovec *chunks, int count)
{
    if (transport->kind == &plain) return write_plain(transport, chunks, count);
    return transport->kind->write(transport, chunks, count);
}

void transport_read_on(struct transport *transport)
{
    struct all_transports *all = transport->all;
    if (transport->kind->pending == NULL || transport->reads_on) return;
    if (!all->owner.reads(transport) || !transport->kind->pending(transport)) return;
    transport->reads_on = true;
    TAILQ_INSERT_TAIL(&all->to_read_on, transport, to_read_on);
    loop_timer_set(all->read_timer, 0);
}

/* Calls `readable` once for each listed transport. A transport that is listed again meanwhile is
 * read in the next turn. */
static void read_pending(void *ctx)
{
    struct all_transports *all = ctx;
    struct transport_list listed = TAILQ_HEAD_INITIALIZER(listed);
    TAILQ_CONCAT(&listed, &all->to_read_on, to_read_on);
    struct transport *transport;
    while ((transport = TAILQ_FIRST(&listed)) != NULL) {
        TAILQ_REMOVE(&listed, transport, to_read_on);
        transport->reads_on = false;
        all->owner.readable(transport);
    }
}

void transport_want(struct transport *transport, bool input, bool room, bool anonymous)
{
    transport->waits_for_room = room;
    if (transport->threaded != NULL) {
        io_socket_want(transport->threaded->socket, input, anonymous);
        return;
    }
    unsigned events =
        (input ? LOOP_READ : 0U) | (room || transport->read_blocked ? LOOP_WRITE : 0U);
    if (!loop_io_try(transport->io, events)) report_lost(transport, strerror(errno));
}

bool transport_waits_for_room(const struct transport *transport)
{
    return transport->waits_for_room;
}

bool transport_is_flushed(struct transport *transport)
{
    return transport->threaded == NULL || io_socket_is_flushed(transport->threaded->socket);
}

void transport_finish(struct transport *transport)
{
    char forgotten[LAST_READ_SIZE];
    if (transport->threaded != NULL) {
        io_socket_shut(transport->threaded->socket);
        return;
    }
    const struct encryption *secured = transport->secured;
    if (secured != NULL && secured->tls != NULL) tls_close_notify(secured->tls);
    shutdown(transport->fd, SHUT_WR);
    for (int i = 0; i < LAST_READS; i++)
        if (transport_read(transport, forgotten, sizeof(forgotten)) <= 0) return;
}

void transport_make_room(struct transport *transport)
{
    if (transport->threaded != NULL) io_socket_make_room(transport->threaded->socket);
}

bool transport_is_encrypted(const struct transport *transport)
{
    const struct threaded *threaded = transport->threaded;
    return threaded != NULL ? threaded->encrypted : transport->secured != NULL;
}

bool transport_peer_has_gone(const struct transport *transport)
{
    return socket_polls(transport->fd, POLLRDHUP);
}

int transport_fd(const struct transport *transport)
{
    return transport->fd;
}

size_t transport_bytes(const struct transport *transport)
{
    const struct threaded *threaded = transport->threaded;
    const struct encryption *secured = transport->secured;
    if (threaded != NULL)
        return mem_size(threaded) + threaded->kept.bytes + io_socket_bytes(threaded->socket);
    return mem_size(transport->io) +
           (secured != NULL ? mem_size(secured) + tls_bytes(secured->tls) : 0);
}

/* ---- all connections ------------------------------------------------------------------------- */

struct all_transports *all_transports_new(struct loop *loop, struct tls *tls,
                                          const struct transport_owner *owner)
{
    struct all_transports *all = mem_zalloc(sizeof(*all));
    all->loop = loop;
    all->tls = tls;
    all->owner = *owner;
    TAILQ_INIT(&all->to_read_on);
    all->read_timer = loop_timer_new(loop, read_pending, all);
    all->handshakes = handshakes_new(HANDSHAKES_MOST);
    all->shake_timer = loop_timer_new(loop, shake_for_a_while, all);
    return all;
}

void all_transports_free(struct all_transports *all)
{
    io_threads_free(all->threads);
    loop_timer_free(all->read_timer);
    loop_timer_free(all->shake_timer);
    handshakes_free(all->handshakes);
    mem_free(all);
}

bool all_transports_start_threads(struct all_transports *all, unsigned count)
{
    tls_share_memory();
    all->threads = io_threads_new(all->loop, count, happened);
    return all->threads != NULL;
}

void all_transports_turn(struct all_transports *all)
{
    if (all->threads != NULL) io_threads_turn(all->threads);
}

struct tls *all_transports_tls(const struct all_transports *all)
{
    return all->tls;
}

void all_transports_use_tls(struct all_transports *all, struct tls *tls)
{
    all->tls = tls;
}

/* ---- checking -------------------------------------------------------------------------------- */

bool transport_check(const struct transport *transport)
{
    if (transport->secured == NULL) return transport->reads_on;
    const struct handshake *handshake = &transport->secured->handshake;
    bool in_lane = handshake->begun || handshake->waits;
    ensure(!in_lane || handshake->lane != NULL, "descriptor %d is in no lane", transport->fd);
    ensure(!in_lane || transport->shakes || transport->all->owner.has_ended(transport),
           "descriptor %d shakes hands, but is open", transport->fd);
    return transport->reads_on;
}

void all_transports_check(const struct all_transports *all, size_t reading_on)
{
    size_t listed = 0;
    const struct transport *transport;
    TAILQ_FOREACH(transport, &all->to_read_on, to_read_on)
    listed++;
    ensure(listed == reading_on, "%zu are listed to be read, not %zu", listed, reading_on);
}
