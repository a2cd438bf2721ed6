/* connection: see connection.h.
 *
 * OpenSSL reads ahead, so it may hold input while poll reports none; `more` is set then. Data is
 * encrypted in records of up to 16 KiB. Each record costs a system call, a header and a checksum,
 * so small chunks are first joined to one record. */
#include "server/net/tls/connection.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "server/net/tls/tls_state.h"

static _Thread_local char joined[TLS_RECORD];

enum { WRITE_MOST = 256 * 1024 }; /* bytes that one call encrypts, in less than a millisecond */

struct tls_connection {
    struct tls *tls;
    SSL *ssl;
    size_t bytes;     /* memory that OpenSSL holds for it */
    bool outgoing;    /* the client's side, which the statistics do not count */
    bool shaken;      /* the handshake is complete */
    bool ended;       /* the peer has stopped sending */
    bool broken;      /* OpenSSL must not be called again */
    bool more;        /* tls_read has bytes without reading the socket */
    bool wants_write; /* reading requires sending first */
    char fault[160];
};

static struct tls_connection *open_on(struct tls *tls, SSL_CTX *context, int fd)
{
    size_t before = tls_memory_balance();
    struct tls_connection *conn = OPENSSL_zalloc(sizeof(*conn));
    if (conn == NULL) return NULL;
    ERR_clear_error();
    conn->tls = tls;
    conn->ssl = SSL_new(context);
    if (conn->ssl == NULL || SSL_set_fd(conn->ssl, fd) != 1) {
        conn->broken = true;
        tls_close(conn);
        return NULL;
    }
    SSL_set_read_ahead(conn->ssl, 1); /* one system call per record, not two */
    /* Without AUTO_RETRY, a record without data, such as a key update, ends a read. With it,
     * OpenSSL would read on, and a peer that sends only such records could keep one read from ever
     * ending. */
    SSL_clear_mode(conn->ssl, SSL_MODE_AUTO_RETRY);
    conn->bytes = tls_memory_balance() - before;
    return conn;
}

struct tls_connection *tls_open(struct tls *tls, int fd)
{
    pthread_mutex_lock(&tls->lock);
    struct tls_connection *conn = open_on(tls, tls->now.context, fd);
    pthread_mutex_unlock(&tls->lock);
    if (conn != NULL) SSL_set_accept_state(conn->ssl);
    return conn;
}

struct tls_connection *tls_connect(struct tls *tls, int fd)
{
    if (tls->now.outgoing == NULL) return NULL;
    struct tls_connection *conn = open_on(tls, tls->now.outgoing, fd);
    if (conn == NULL) return NULL;
    SSL_set_connect_state(conn->ssl);
    conn->outgoing = true;
    return conn;
}

void tls_close(struct tls_connection *conn)
{
    if (conn == NULL) return;
    tls_close_notify(conn);
    SSL_free(conn->ssl);
    ERR_clear_error();
    OPENSSL_free(conn);
}

/* Call when an OpenSSL function has failed: perhaps it only needs to wait. */
static enum tls_progress end_failed_call(struct tls_connection *conn, int rc)
{
    int error = SSL_get_error(conn->ssl, rc);
    conn->wants_write = error == SSL_ERROR_WANT_WRITE;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return TLS_WAITS;
    if (error == SSL_ERROR_ZERO_RETURN) {
        conn->ended = true;
        return TLS_CLOSED;
    }
    conn->broken = true;
    long verified = SSL_get_verify_result(conn->ssl);
    const char *system = errno != 0 ? strerror(errno) : "connection lost";
    bool by_system = error == SSL_ERROR_SYSCALL && ERR_peek_error() == 0;
    const char *why = by_system ? system : tls_reason();
    bool distrusted = !by_system && verified != X509_V_OK;
    snprintf(conn->fault, sizeof(conn->fault), "%s%s%s", why, distrusted ? ": " : "",
             distrusted ? X509_verify_cert_error_string(verified) : "");
    ERR_clear_error();
    return TLS_FAILED;
}

enum tls_progress tls_shake_hands(struct tls_connection *conn)
{
    size_t before = tls_memory_balance();
    ERR_clear_error();
    errno = 0;
    int rc = SSL_do_handshake(conn->ssl);
    enum tls_progress progress = rc == 1 ? TLS_DONE : end_failed_call(conn, rc);
    if (progress == TLS_DONE) {
        conn->shaken = true;
        conn->wants_write = false;
        conn->more = SSL_has_pending(conn->ssl) == 1;
        conn->tls->handshakes += !conn->outgoing;
        conn->tls->resumed += !conn->outgoing && SSL_session_reused(conn->ssl) == 1;
    }
    conn->tls->failed += !conn->outgoing && (progress == TLS_FAILED || progress == TLS_CLOSED);
    conn->bytes += tls_memory_balance() - before;
    return progress;
}

/* ---- reading --------------------------------------------------------------------------------- */

ssize_t tls_read(struct tls_connection *conn, void *to, size_t size)
{
    size_t before = tls_memory_balance(), got = 0, some;
    conn->more = false;
    if (!conn->broken && !conn->ended) {
        conn->wants_write = false;
        ERR_clear_error();
        errno = 0;
        while (got < size) {
            if (SSL_read_ex(conn->ssl, (char *)to + got, size - got, &some) != 1) {
                /* Return the data first; the next call reports the end. */
                conn->more = end_failed_call(conn, 0) != TLS_WAITS && got > 0;
                break;
            }
            got += some;
            conn->more = SSL_has_pending(conn->ssl) == 1;
            if (!conn->more) break;
        }
    }
    conn->bytes += tls_memory_balance() - before;
    if (got > 0) return (ssize_t)got;
    if (conn->ended) return 0;
    errno = conn->broken ? EPROTO : EAGAIN;
    return -1;
}

bool tls_pending(const struct tls_connection *conn)
{
    return conn->more;
}

bool tls_wants_write(const struct tls_connection *conn)
{
    return conn->wants_write;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The unsent rest of some chunks. */
struct rest {
    const struct iovec *chunks;
    int count;
    size_t offset; /* into the first chunk */
};

static void skip(struct rest *rest, size_t len)
{
    rest->offset += len;
    while (rest->count > 0 && rest->offset >= rest->chunks->iov_len) {
        rest->offset -= rest->chunks->iov_len;
        rest->chunks++;
        rest->count--;
    }
}

/* Returns the next record. It is always as long as possible: after a failed send, OpenSSL requires
 * that the next call passes the same bytes, or these and more. */
static struct iovec next_record(const struct rest *rest, char *room)
{
    struct rest at = *rest;
    struct iovec record = { .iov_base = (char *)at.chunks->iov_base + at.offset,
                            .iov_len = at.chunks->iov_len - at.offset };
    if (record.iov_len < TLS_RECORD && at.count > 1) {
        size_t used = 0;
        while (at.count > 0 && used < TLS_RECORD) {
            size_t len = at.chunks->iov_len - at.offset;
            if (len > TLS_RECORD - used) len = TLS_RECORD - used;
            memcpy(room + used, (char *)at.chunks->iov_base + at.offset, len);
            used += len;
            skip(&at, len);
        }
        record = (struct iovec){ .iov_base = room, .iov_len = used };
    }
    if (record.iov_len > TLS_RECORD) record.iov_len = TLS_RECORD;
    return record;
}

ssize_t tls_write(struct tls_connection *conn, const struct iovec *chunks, int count)
{
    size_t before = tls_memory_balance(), sent = 0, some;
    struct rest rest = { .chunks = chunks, .count = count };
    if (conn->shaken && !conn->broken) {
        bool reading_waits = conn->wants_write;
        ERR_clear_error();
        errno = 0;
        while (rest.count > 0 && sent < WRITE_MOST) {
            struct iovec record = next_record(&rest, joined);
            if (SSL_write_ex(conn->ssl, record.iov_base, record.iov_len, &some) != 1) {
                /* Even if the peer has only sent close_notify, this write has failed. */
                if (end_failed_call(conn, 0) != TLS_WAITS) conn->broken = true;
                break;
            }
            sent += some;
            skip(&rest, some);
        }
        conn->wants_write = reading_waits;
    }
    conn->bytes += tls_memory_balance() - before;
    if (sent > 0) return (ssize_t)sent;
    errno = conn->broken ? EPROTO : EAGAIN;
    return -1;
}

void tls_close_notify(struct tls_connection *conn)
{
    if (!conn->shaken || conn->broken) return;
    if ((SSL_get_shutdown(conn->ssl) & SSL_SENT_SHUTDOWN) != 0) return;
    ERR_clear_error();
    /* If it can't be sent now, the end of the TCP connection must suffice. */
    (void)SSL_shutdown(conn->ssl);
    ERR_clear_error();
}

/* ---- queries -------------------------------------------------------------------------------- */

const char *tls_fault(const struct tls_connection *conn)
{
    return conn->fault;
}

size_t tls_bytes(const struct tls_connection *conn)
{
    return conn != NULL ? conn->bytes : 0;
}

bool tls_peer_name(const struct tls_connection *conn, char *to, size_t size)
{
    const X509 *cert = SSL_get0_peer_certificate(conn->ssl);
    if (cert == NULL || SSL_get_verify_result(conn->ssl) != X509_V_OK) return false;

    X509_NAME *subject = X509_get_subject_name(cert);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return false;
    unsigned char *name = NULL;
    int len =
        ASN1_STRING_to_UTF8(&name, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    bool fits = len > 0 && (size_t)len < size && memchr(name, '\0', (size_t)len) == NULL;
    if (fits) {
        memcpy(to, name, (size_t)len);
        to[len] = '\0';
    }
    OPENSSL_free(name);
    return fits;
}
