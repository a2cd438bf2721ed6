/* io_state: the structs behind io_threads.h, shared by io_threads.c (the main thread's side) and
 * io_thread.c (the threads' side). The comment of each group says which thread writes it. */
#ifndef SERVER_NET_IO_STATE_H
#define SERVER_NET_IO_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/queue.h>

#include "server/net/byte_ring.h"
#include "server/net/handshakes.h"
#include "server/net/io_threads.h"

enum {
    IO_RING = 1 << 20,             /* bytes of each ring */
    IO_UNSENT = 256 * 1024,        /* unsent bytes of one socket that a thread holds at most */
    IO_ORDER_MOST = IO_UNSENT / 2, /* bytes of one order */
    /* Limits before AUTH: see ANON_READ in requests.c. */
    IO_ANON_READ = 1024,
    IO_ANON_UNSENT = 32 * 1024,
    IO_UNREAD_READS = 4, /* reads of one socket that its owner may leave unread */
    IO_LINE = 64,
};

enum io_order_kind { ORDER_ADD, ORDER_SEND, ORDER_SHUT, ORDER_CLOSE, ORDER_STOP };
struct io_order {
    struct io_socket *socket;
    enum io_order_kind kind;
    char bytes[]; /* of ORDER_SEND */
};

/* IO_CLOSED comes last: the main thread frees the socket. IO_ROOM belongs to no socket. */
enum { IO_CLOSED = IO_BROKEN + 1, IO_ROOM };
struct io_message {
    struct io_socket *socket;
    int event; /* enum io_event or one of these two */
    int error;
    char bytes[];
};

TAILQ_HEAD(io_socket_list, io_socket);

struct io_socket {
    /* Written by the main thread. */
    struct io_thread *thread;
    void *owner; /* NULL: freed */
    struct tls *tls;
    uint64_t written; /* bytes ordered to be sent */
    bool starves;     /* a write found the ring full: in io_thread.starving */
    TAILQ_ENTRY(io_socket) all, starving;
    atomic_bool wanted;         /* the owner takes bytes */
    atomic_bool asks_for_flush; /* IO_WRITABLE is wanted; the thread clears it */
    atomic_bool anonymous;      /* the owner has not logged in */
    _Atomic uint64_t read;      /* bytes that the owner has taken */
    /* Written by its thread. */
    _Alignas(IO_LINE) _Atomic uint64_t sent;
    atomic_size_t bytes; /* of TLS and unsent bytes, unless the owner is anonymous */
    size_t apart;        /* its share of mem_shared_apart */
    atomic_bool waits_to_shake;
    struct handshake handshake;
    struct tls_connection *connection;
    int fd;
    unsigned watched;  /* events of epoll */
    bool shaken;       /* the handshake is complete, or TLS is off */
    bool ended;        /* nothing is read any more */
    bool broken;       /* nothing is sent any more either */
    bool stalled;      /* it may not read now: in io_thread.stalled */
    bool reads_on;     /* TLS has input that epoll does not report: in io_thread.to_read_on */
    bool posts;        /* it has messages for a full ring: in io_thread.posting */
    unsigned messages; /* a bit for each event that is to be posted */
    int error;         /* of IO_END */
    char *text;        /* of IO_SHAKEN, IO_REFUSED or IO_BROKEN */
    uint64_t got;      /* bytes that have arrived */
    struct {
        char *data;
        size_t start, len, cap;
    } unsent;
    TAILQ_ENTRY(io_socket) same_thread, stalling, reading_on, posting;
};

struct io_thread {
    /* Written by the main thread, except as noted. */
    struct io_threads *threads;
    pthread_t id;
    struct byte_ring *orders, *news;
    int wake;                 /* an eventfd */
    struct handshakes *lanes; /* NULL before its first socket with TLS */
    size_t count;             /* of its sockets */
    struct io_socket_list starving;
    atomic_bool main_starves; /* IO_ROOM is wanted; the thread clears it */
    atomic_bool asleep;       /* set by the thread before it sleeps */
    atomic_bool wants_room;   /* the thread waits until news or unread bytes are taken */
    /* Of the thread alone. */
    _Alignas(IO_LINE) int epoll;
    bool stops;
    bool owes_room;                /* IO_ROOM is to be posted */
    struct handshakes *handshakes; /* `lanes`, once such a socket was added */
    struct io_socket_list sockets, stalled, to_read_on, posting;
};

struct io_threads {
    struct loop *loop;
    void (*happened)(void *owner, const struct io_news *news);
    struct loop_io *woken;
    struct loop_timer *timer;
    int wake; /* an eventfd */
    struct io_socket_list all;
    unsigned count;
    struct io_thread *threads;
    atomic_bool asleep; /* the main thread needs to be woken */
};

/* io_thread.c */
/* An epoll that reports this eventfd as NULL; -1 with errno. */
int io_thread_watch(int wake);
void *io_thread_run(void *thread);

#endif
