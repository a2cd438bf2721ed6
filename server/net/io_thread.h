/* io_thread: one thread of io-threads and the sockets that it serves. In a loop it carries out
 * orders, waits in epoll, continues handshakes and posts messages. Depends on byte_ring, handshakes
 * and server/net/tls; knows neither the main thread's loop nor clients. io_threads is the main
 * thread's side.
 *
 * The two sides share only what this header shows: two rings, an eventfd for each side, and some
 * flags and numbers of each thread and socket. Comments say which side writes each of them. */
#pragma once

#include <stdatomic.h>
#include <sys/queue.h>

#include "server/net/byte_ring.h"
#include "server/net/handshakes.h"
#include "server/net/tls/tls.h"

enum {
    IO_RING = 1 << 20,             /* bytes of each ring */
    IO_UNSENT = 256 * 1024,        /* unsent bytes of one socket that a thread holds at most */
    IO_ORDER_MOST = IO_UNSENT / 2, /* bytes of one order */
    IO_READ_MOST = 64 * 1024,      /* bytes of one message */
    /* Limits before AUTH: see ANON_READ in requests.c. */
    IO_ANON_READ = 1024,
    IO_ANON_UNSENT = 32 * 1024,
    IO_UNREAD_READS = 4, /* reads of one socket that its owner may leave unprocessed */
    IO_LINE = 64,
};

struct io_thread;
struct served;

/* ---- the rings ------------------------------------------------------------------------------- */

enum io_order_kind { ORDER_ADD, ORDER_SEND, ORDER_SHUT, ORDER_CLOSE, ORDER_STOP };
struct io_order {
    struct served *socket;
    enum io_order_kind kind;
    char bytes[]; /* the bytes to send, of ORDER_SEND */
};

enum io_event {
    IO_BYTES,    /* bytes have arrived; the socket counts them as unread until io_socket_read */
    IO_END,      /* the peer has stopped sending, or `error` is the errno */
    IO_WRITABLE, /* io_socket_write has room again */
    IO_SHAKEN,   /* the handshake is complete; the bytes are the name in a verified certificate */
    IO_REFUSED,  /* the handshake has failed; the bytes are the reason. This is the last event */
    IO_BROKEN,   /* the connection is lost; the bytes are the reason. This is the last event */
    IO_CLOSED,   /* for io_threads only: the socket belongs to the main thread again */
    IO_ROOM,     /* for io_threads only, and of no socket: the ring of orders has room */
};
struct io_message {
    struct served *socket;
    enum io_event event;
    int error;
    char bytes[];
};

/* What both sides of a thread use. */
struct io_link {
    struct byte_ring *orders, *news;
    int wake;                 /* an eventfd of the thread */
    int main_wake;            /* the eventfd of the main thread */
    atomic_bool *main_asleep; /* set by the main thread before it sleeps: main_wake is needed */
    atomic_bool main_starves; /* set by the main thread: IO_ROOM is wanted; the thread clears it */
    atomic_bool asleep;       /* set by the thread before it sleeps: `wake` is needed */
    atomic_bool wants_room;   /* set by the thread: it waits until news or unread bytes are taken */
};

/* Starts a thread; the link is borrowed. Returns NULL with errno if it can't be started. */
struct io_thread *io_thread_start(struct io_link *link);
/* Waits until the thread has carried out ORDER_STOP, which must have been given, and frees it. */
void io_thread_join(struct io_thread *thread);
/* Makes the thread's lanes for handshakes, with `most` as for handshakes_new, unless it has them.
 * For the main thread, before a socket with TLS. */
void io_thread_prepare_tls(struct io_thread *thread, unsigned most);

/* ---- a socket -------------------------------------------------------------------------------- */

TAILQ_HEAD(served_list, served);

/* Embedded in a socket of io_threads. */
struct served {
    /* Written by the main thread. */
    struct {
        atomic_bool wanted;         /* the owner takes bytes */
        atomic_bool asks_for_flush; /* IO_WRITABLE is wanted; the thread clears it */
        atomic_bool anonymous;      /* the owner has not logged in */
        _Atomic uint64_t read;      /* bytes that the owner has taken */
    } asked;
    /* Written by the thread. */
    struct {
        _Alignas(IO_LINE) _Atomic uint64_t sent;
        atomic_size_t bytes; /* memory of TLS and unsent bytes, unless the owner is anonymous */
        atomic_bool waits_to_shake;
    } told;
    /* Used by the thread alone, from ORDER_ADD to IO_CLOSED. */
    struct io_thread *thread;
    struct tls *tls; /* NULL for a plain socket */
    size_t apart;    /* bytes of this socket that are counted in mem_shared_apart */
    struct handshake handshake;
    struct tls_connection *connection;
    int fd;
    unsigned watched;  /* the events that epoll reports */
    bool shaken;       /* the handshake is complete, or TLS is off */
    bool ended;        /* nothing is read any more */
    bool broken;       /* nothing is sent any more, either */
    bool stalled;      /* must not read now: it is in io_thread.stalled */
    bool reads_on;     /* TLS holds input that epoll does not report: the socket is in
                        * io_thread.to_read_on */
    bool posts;        /* has messages for a full ring: it is in io_thread.posting */
    unsigned messages; /* a bit for each event that is to be posted */
    int error;         /* the errno of IO_END, or 0 */
    char *text;        /* the text of IO_SHAKEN, IO_REFUSED or IO_BROKEN */
    uint64_t got;      /* bytes that have arrived */
    struct {
        char *data;
        size_t start, len, cap;
    } unsent;
    TAILQ_ENTRY(served) same_thread, stalling, reading_on, posting;
};

/* Initializes a connected, non-blocking socket, before ORDER_ADD passes it to the thread. `tls` is
 * NULL for a plain one; `peer` is as for handshake_init. */
void served_init(struct served *socket, struct io_thread *thread, int fd, struct tls *tls,
                 const char *peer);
