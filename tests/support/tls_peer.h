/* tls_peer: what tests of TLS need: certificates in files, and a client whose records stay in
 * memory until the test moves them, so that it can cut them anywhere. Depends on OpenSSL. */
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"

/* A certificate for these common names that signs itself, and its key, in PEM files. */
struct tls_files {
    char cert[64], key[64];
};
void tls_files_make(struct tls_files *files, const char *const *names, size_t count);
void tls_files_drop(const struct tls_files *files);
/* Sets the options for a server with this certificate, which trusts it too. */
void tls_files_configure(const struct tls_files *files, struct conf *conf);

/* A client. `sent` has what it wrote, `fd` is its end of a socket pair. */
struct tls_peer {
    SSL_CTX *context;
    SSL *ssl;
    BIO *heard, *sent;
    int fd, server_fd; /* non-blocking */
};
/* With a certificate, or without (NULL). It accepts any server. */
void tls_peer_init(struct tls_peer *peer, const struct tls_files *files);
void tls_peer_drop(struct tls_peer *peer); /* closes fd, not server_fd */
/* Moves at most this many bytes that it wrote into the socket; returns how many. */
size_t tls_peer_push(struct tls_peer *peer, size_t most);
size_t tls_peer_pull(struct tls_peer *peer); /* gives it what is in the socket; how many bytes */
/* A step of its handshake, with all its bytes moved; true when it is complete. */
bool tls_peer_shake(struct tls_peer *peer);
void tls_peer_write(struct tls_peer *peer, const void *data, size_t len);
size_t tls_peer_read(struct tls_peer *peer, void *to, size_t size); /* 0: nothing yet */
