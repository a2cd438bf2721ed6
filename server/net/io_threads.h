/* io_threads: threads that read, encrypt and send for the main thread (option io-threads). Each has
 * a part of the sockets, and is the only one that uses them. Depends on byte_ring, handshakes and
 * server/net/tls; knows neither clients nor requests.
 *
 * Two rings connect a thread with the main thread: one brings what has happened, with the bytes
 * that arrived, the other takes orders, with the bytes to be sent. Nothing else is shared but some
 * numbers of each socket, which one side writes and the other reads.
 *
 * No thread spins. Bytes that find a ring full are moved later; only an order without bytes waits
 * for the thread, which never waits for the main thread. A thread that has nothing to do sleeps in
 * epoll, the main thread in its loop; either is woken once for all that has come.
 *
 * The functions below are for the main thread. */
#ifndef SERVER_NET_IO_THREADS_H
#define SERVER_NET_IO_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "server/base/loop.h"
#include "server/net/tls/tls.h"
#include "store/base/bytes.h"

struct io_threads;
struct io_socket;

enum io_event {
    IO_BYTES,    /* bytes have arrived; the socket counts them as unread until io_socket_read */
    IO_END,      /* the peer has stopped sending, or `error` is the errno */
    IO_WRITABLE, /* io_socket_write has room again */
    IO_SHAKEN,   /* the handshake is complete; the bytes are the name in a verified certificate */
    IO_REFUSED,  /* the handshake has failed; the bytes are the reason. The last event */
    IO_BROKEN,   /* the connection is lost; the bytes are the reason. The last event */
};
struct io_news {
    enum io_event event;
    int error;
    struct bytes bytes; /* valid during the call */
};

enum { IO_READ_MOST = 64 * 1024 }; /* bytes of one event */

/* Starts the threads. `happened` is called for events of sockets, inside the loop's callbacks, with
 * the owner of the socket. NULL with errno: a thread can't be started. */
struct io_threads *io_threads_new(struct loop *loop, unsigned count,
                                  void (*happened)(void *owner, const struct io_news *news));
/* Tries once to send what was written, closes all sockets and ends the threads. */
void io_threads_free(struct io_threads *threads);
/* Call at the end of a turn: shows the threads what it has written and read, and wakes them. */
void io_threads_turn(struct io_threads *threads);

/* Gives a connected, non-blocking socket to one of the threads. The peer as in handshakes.h. */
struct io_socket *io_socket_new(struct io_threads *threads, int fd, struct tls *tls,
                                const char *peer, void *owner);
/* Closes the socket; what was not sent yet is lost. No event comes any more. */
void io_socket_free(struct io_socket *socket);

/* Takes as many bytes as it has room for; -1 with EAGAIN: none. After less than all, IO_WRITABLE
 * comes. */
ssize_t io_socket_write(struct io_socket *socket, const struct iovec *chunks, int count);
/* Waits until the thread has taken so many orders that the next write finds the ring with room. For
 * the end of the server, when nobody hears of IO_WRITABLE any more. */
void io_socket_make_room(struct io_socket *socket);
/* Does the kernel have all that was written? If not, IO_WRITABLE comes when it has. */
bool io_socket_is_flushed(struct io_socket *socket);
/* Ends sending, then reads and forgets some of what the peer has sent meanwhile: if a socket is
 * closed with unread input, the kernel resets the connection, and the peer may lose the last bytes.
 * Call when it is flushed; io_socket_free must follow. */
void io_socket_shut(struct io_socket *socket);

/* These bytes have been read: more may arrive. */
void io_socket_read(struct io_socket *socket, size_t len);
/* Does the owner want bytes? An anonymous owner, who has not logged in, gets fewer at a time, and
 * may write fewer before they are sent. */
void io_socket_want(struct io_socket *socket, bool on, bool anonymous);
/* Has it input for its handshake, and waits for the others? */
bool io_socket_waits_to_shake(const struct io_socket *socket);
/* The memory of a socket. What TLS and unsent bytes of anonymous owners need is not in it, but set
 * apart in shared.h, because threads need it without telling their owners. */
size_t io_socket_bytes(const struct io_socket *socket);

#endif
