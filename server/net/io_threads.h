/* io_threads: threads that read, encrypt and send for the main thread (option io-threads). Each
 * thread owns a share of the sockets, which no other thread reads or writes. Depends on byte_ring,
 * handshakes and server/net/tls; knows neither clients nor requests.
 *
 *                  ring of orders: bytes to send
 *     main thread ------------------------------> thread ---> its sockets
 *                 <------------------------------
 *                  ring of news: bytes that arrived
 *
 * Apart from the rings, they share eventfds, and some numbers and flags (io_thread.h).
 *
 * No thread spins: an idle thread sleeps in epoll, the main thread in its loop, and one wake-up
 * announces everything that has arrived. If a ring has no space for bytes, they stay where they are
 * and are moved later. A thread never waits for the main thread. The main thread waits for a thread
 * only to place an order without bytes, such as closing a socket, in a full ring, and at the end of
 * the server.
 *
 * The functions below are for the main thread. */
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include "server/base/loop.h"
#include "server/net/io_thread.h"
#include "server/net/tls/tls.h"
#include "store/base/bytes.h"

struct io_threads;
struct io_socket;

struct io_news {
    enum io_event event;
    int error;
    struct bytes bytes; /* valid during the call */
};

/* Starts the threads. `happened` is called for each event of a socket, with the owner of the
 * socket, from a callback of the loop. Returns NULL with errno if a thread can't be started. */
struct io_threads *io_threads_new(struct loop *loop, unsigned count,
                                  void (*happened)(void *owner, const struct io_news *news));
/* Tries once to send the bytes written, closes all sockets and ends the threads. */
void io_threads_free(struct io_threads *threads);
/* Makes new orders and freed space visible to the threads, and wakes those that need it. Until this
 * call, at the end of a turn, they may wait. */
void io_threads_turn(struct io_threads *threads);

/* Passes a connected, non-blocking socket to the thread with the fewest sockets. `tls` and `peer`
 * are as for served_init; `owner` is for `happened`. Until io_socket_want, the owner counts as
 * anonymous and wants bytes. */
struct io_socket *io_socket_new(struct io_threads *threads, int fd, struct tls *tls,
                                const char *peer, void *owner);
/* Closes the socket; unsent bytes are lost. No more events follow. */
void io_socket_free(struct io_socket *socket);

/* Accepts as many bytes as there is space for, or returns -1 with EAGAIN if there is none. If some
 * bytes were not accepted, IO_WRITABLE follows. */
ssize_t io_socket_write(struct io_socket *socket, const struct iovec *chunks, int count);
/* Waits until the ring has space for the next write. For the end of the server, when IO_WRITABLE is
 * no longer delivered. */
void io_socket_make_room(struct io_socket *socket);
/* Has the kernel accepted all bytes that were written? If not, IO_WRITABLE follows once it has. */
bool io_socket_is_flushed(struct io_socket *socket);
/* Makes the thread end sending, then read and discard some input, for the reason given at
 * transport_finish. The socket must be flushed; io_socket_free must follow. */
void io_socket_shut(struct io_socket *socket);

/* Counts `len` bytes of IO_BYTES as processed by the owner: while too many are not, the thread
 * reads no more. */
void io_socket_read(struct io_socket *socket, size_t len);
/* Tells the thread whether the owner wants bytes. For an anonymous owner, which has not logged in,
 * the thread reads fewer bytes at a time and accepts fewer unsent ones. */
void io_socket_want(struct io_socket *socket, bool on, bool anonymous);
/* Does its handshake have input, but have to wait for its turn? */
bool io_socket_waits_to_shake(const struct io_socket *socket);
/* Returns the memory of a socket. The TLS state and unsent bytes of an anonymous owner are not
 * included: shared.h counts them, because threads allocate them without telling the owner. */
size_t io_socket_bytes(const struct io_socket *socket);
