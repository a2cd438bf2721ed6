/* connection: TLS over one connected, non-blocking socket, on the server's or the client's side.
 * Depends on OpenSSL.
 *
 * Nothing here waits: a call does what it can, and says whether the socket has to be readable or
 * writable before it is called again. */
#ifndef SERVER_NET_TLS_CONNECTION_H
#define SERVER_NET_TLS_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "server/net/tls/tls.h"

struct tls_connection;

enum tls_progress { TLS_DONE, TLS_WAITS, TLS_CLOSED, TLS_FAILED };

/* Uses the settings of this instant, and the socket until tls_close; does not close the socket.
 * tls must outlive it. NULL: no memory. */
struct tls_connection *tls_open(struct tls *tls, int fd);
/* The same on the client's side. NULL, too, if no option asks for connections to other servers. */
struct tls_connection *tls_connect(struct tls *tls, int fd);
/* Says farewell if the connection works, and frees it. NULL is allowed. */
void tls_close(struct tls_connection *conn);

/* Goes on with the handshake. TLS_FAILED: see tls_fault. A step may cost a signature: from 30 us to
 * some milliseconds, by the kind of the key. */
enum tls_progress tls_shake_hands(struct tls_connection *conn);

/* As recv and send after the handshake: -1 with EAGAIN, or with EPROTO if the connection has failed
 * (tls_fault); reading 0 bytes is the end. tls_write sends at most 256 KiB. After a partial write
 * the rest must come again, and may be longer. */
ssize_t tls_read(struct tls_connection *conn, void *to, size_t size);
ssize_t tls_write(struct tls_connection *conn, const struct iovec *chunks, int count);
/* Is there something to read that the socket does not announce? */
bool tls_pending(const struct tls_connection *conn);
/* Must the socket be writable before the handshake or tls_read can go on? */
bool tls_wants_write(const struct tls_connection *conn);
/* Tells the peer that nothing follows. */
void tls_say_farewell(struct tls_connection *conn);

const char *tls_fault(const struct tls_connection *conn); /* why it failed */
size_t tls_bytes(const struct tls_connection *conn);      /* its memory; 0 for NULL */
/* Copies the common name of the client's certificate, which has been verified. False: there is no
 * certificate, or no single name that fits and has no zero byte. */
bool tls_peer_name(const struct tls_connection *conn, char *to, size_t size);

#endif
