/* connection: TLS over one connected, non-blocking socket, on the server's or the client's side.
 * Depends on OpenSSL.
 *
 * No call blocks. Each does what it can and returns. After the handshake or tls_read has had to
 * wait, tls_wants_write says whether the socket must become writable, and not readable, before the
 * next call; tls_write waits until the socket is writable. */
#pragma once

#include <sys/uio.h>

#include "server/net/tls/tls.h"

struct tls_connection;

enum { TLS_NAME_SIZE = 256 }; /* a common name with its NUL; longer ones are not used */

enum tls_progress { TLS_DONE, TLS_WAITS, TLS_CLOSED, TLS_FAILED };

/* Opens the server's side of TLS over a socket, with the current settings; tls_shake_hands then
 * makes the handshake. `tls` must outlive the connection. The caller closes the socket itself,
 * after tls_close. Returns NULL if memory runs out. */
struct tls_connection *tls_open(struct tls *tls, int fd);
/* Opens the client's side of TLS over a socket, otherwise like tls_open. Returns NULL also if
 * tls-replication is off and neither tls-client-cert-file nor tls-client-key-file is set: then
 * there are no settings for connections to other servers. */
struct tls_connection *tls_connect(struct tls *tls, int fd);
/* Sends close_notify if the connection works, and frees it. NULL is allowed. */
void tls_close(struct tls_connection *conn);

/* Continues the handshake. TLS_DONE: it is complete. TLS_WAITS: call again when the socket is ready
 * (tls_wants_write). TLS_CLOSED: the peer has ended it. TLS_FAILED: tls_fault returns the reason.
 * One step may compute a signature, which takes from 30 us to some milliseconds, depending on the
 * key. */
enum tls_progress tls_shake_hands(struct tls_connection *conn);

/* Like read and writev, for use after the handshake. Return -1 with EAGAIN, or with EPROTO if the
 * connection has failed (tls_fault says why); tls_read returns 0 at the end of input. tls_write
 * accepts about 256 KiB at most. After a partial write or EAGAIN, its next call must begin with the
 * unsent bytes, and may add more. */
ssize_t tls_read(struct tls_connection *conn, void *to, size_t size);
ssize_t tls_write(struct tls_connection *conn, const struct iovec *chunks, int count);
/* Has OpenSSL buffered input that poll does not report? */
bool tls_pending(const struct tls_connection *conn);
/* Must the socket become writable before the handshake or tls_read can continue? */
bool tls_wants_write(const struct tls_connection *conn);
/* Sends close_notify: no data follows. */
void tls_close_notify(struct tls_connection *conn);

const char *tls_fault(const struct tls_connection *conn); /* why it failed */
size_t tls_bytes(const struct tls_connection *conn);      /* its memory; 0 for NULL */
/* Copies the common name of the client's verified certificate. Returns false if there is no
 * certificate, if it does not contain exactly one common name, or if that name is too long or
 * contains a zero byte. */
bool tls_peer_name(const struct tls_connection *conn, char *to, size_t size);
