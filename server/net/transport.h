/* transport: the bytes of one connection, in both directions: through a plain socket, through TLS,
 * or through a thread of io-threads. Depends on the loop, handshakes, io_threads and
 * server/net/tls; knows neither clients nor requests.
 *
 * All three are read and written like a non-blocking socket, so the owner need not know which it
 * is. */
#pragma once

#include <sys/queue.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "server/base/loop.h"
#include "server/net/tls/tls.h"
#include "store/base/bytes.h"

struct transport;
struct transport_kind;
struct threaded;
struct encryption;
struct all_transports; /* threads, handshakes and lists of all connections */

/* What a transport reports to the owner of its connection. Each call may end the connection, but
 * must not close the transport: the owner does that later in the turn. Until then `readable`,
 * `writable` and `grown` may still be called, and the owner must neither read nor write; `shaken`,
 * `refused` and `lost` are not called any more. */
struct transport_owner {
    void (*readable)(struct transport *transport); /* there may be input */
    void (*writable)(struct transport *transport); /* there is room, or transport_want is due */
    void (*grown)(struct transport *transport);    /* the transport uses more memory than before */
    /* Does the owner take input now? Not if the connection has ended. */
    bool (*reads)(const struct transport *transport);
    /* The handshake is complete; the name is that of the client's verified certificate, or "". */
    void (*shaken)(struct transport *transport, struct bytes name);
    /* The owner must end the connection: `refused` after a failed handshake, `lost` after any other
     * failure. `why` is empty if the connection was lost before its first byte. */
    void (*refused)(struct transport *transport, struct bytes why);
    void (*lost)(struct transport *transport, struct bytes why);
    bool (*has_ended)(const struct transport *transport);
};

/* One connection. Only transport.c uses the fields. */
struct transport {
    struct all_transports *all;
    const struct transport_kind *kind;
    struct loop_io *io;         /* NULL if its socket belongs to a thread */
    struct threaded *threaded;  /* NULL if its socket belongs to the main thread */
    struct encryption *secured; /* NULL without TLS, or if its socket belongs to a thread */
    TAILQ_ENTRY(transport) to_read_on;
    int fd;
    bool shakes;         /* its TLS handshake is not complete */
    bool reads_on;       /* holds input that poll does not report: the transport is in
                          * all_transports.to_read_on */
    bool read_blocked;   /* TLS must send before it can read */
    bool waits_for_room; /* the owner has more to send than the socket took */
};

/* Makes the state that all transports share. `tls` is NULL while TLS is off. */
struct all_transports *all_transports_new(struct loop *loop, struct tls *tls,
                                          const struct transport_owner *owner);
void all_transports_free(struct all_transports *all); /* after all connections */
/* Returns false with errno if a thread can't be started. */
bool all_transports_start_threads(struct all_transports *all, unsigned count);
/* Passes this turn's orders to the threads, if there are any. Until this call, at the end of a
 * turn, bytes written to a thread's sockets may wait. */
void all_transports_turn(struct all_transports *all);
struct tls *all_transports_tls(const struct all_transports *all); /* NULL while TLS is off */
void all_transports_use_tls(struct all_transports *all, struct tls *tls);

/* Takes over a connected, non-blocking socket: transport_close closes it. `peer` is as for
 * handshake_init, `anonymous` as for transport_want. Calls `lost` if the socket can't be
 * watched. */
void transport_open(struct transport *transport, struct all_transports *all, int fd, bool is_tls,
                    const char *peer, bool anonymous);
void transport_close(struct transport *transport);

/* Return what recv and writev return: the number of bytes, 0 at the end of input, -1 with errno.
 * EAGAIN means nothing now, or a failure that `lost` has already reported. */
ssize_t transport_read(struct transport *transport, void *to, size_t size);
ssize_t transport_write(struct transport *transport, const struct iovec *chunks, int count);
/* If the transport holds input that poll does not report, and the owner takes input, makes the next
 * turn call `readable`. For an owner that has not read all input. */
void transport_read_on(struct transport *transport);
/* Sets whether the transport calls `readable` when there is input, and `writable` when it can
 * accept more output. `anonymous` means that the client has not logged in: a thread then buffers
 * less for it. Calls `lost` if the socket can't be watched. */
void transport_want(struct transport *transport, bool input, bool room, bool anonymous);
bool transport_waits_for_room(const struct transport *transport);
/* Has the kernel accepted all bytes that were written? If not, `writable` follows once it has. */
bool transport_is_flushed(struct transport *transport);
/* Ends sending before transport_close, so that the peer receives the last bytes. The transport must
 * be flushed. Reads and discards some input: if a socket is closed with unread input, the kernel
 * resets the connection, and the peer may lose the last bytes. */
void transport_finish(struct transport *transport);
/* If a thread owns the socket, waits until the thread accepts output. For the end of the server,
 * when `writable` is no longer called. */
void transport_make_room(struct transport *transport);

bool transport_is_encrypted(const struct transport *transport);
/* Does its handshake have input, but have to wait for its turn? Then the owner must not read it.
 * False if a thread owns the socket. */
bool transport_waits_to_shake(const struct transport *transport);
/* Refuses the connection if its handshake takes too long (HANDSHAKE_SECONDS, in a lane
 * HANDSHAKE_LANE_SECONDS), unless unread input shows that the server is late, or if its peer has
 * closed while it waits for its turn. No effect after the handshake. For a timer of about a second;
 * age_usec is the time since the connection was opened. */
void transport_check_handshake(struct transport *transport, int64_t age_usec);
/* Has the peer closed the connection, even if nothing has read that yet? */
bool transport_peer_has_gone(const struct transport *transport);
int transport_fd(const struct transport *transport);
size_t transport_bytes(const struct transport *transport); /* memory, without the struct */

/* Asserts that states and lists agree. Returns whether the transport is in
 * all_transports.to_read_on; pass the number of those to all_transports_check. */
bool transport_check(const struct transport *transport);
void all_transports_check(const struct all_transports *all, size_t reading_on);
