/* tls_peer: see tls_peer.h. */
#include "tests/support/tls_peer.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define must(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* ---- certificates ---------------------------------------------------------------------------- */

static X509 *new_certificate(EVP_PKEY *key, const char *const *names, size_t count)
{
    X509 *cert = X509_new();
    must(X509_set_version(cert, 2) == 1);
    must(ASN1_INTEGER_set(X509_get_serialNumber(cert), 77) == 1);
    must(X509_gmtime_adj(X509_getm_notBefore(cert), -3600) != NULL);
    must(X509_gmtime_adj(X509_getm_notAfter(cert), 100L * 24 * 3600) != NULL);
    must(X509_set_pubkey(cert, key) == 1);
    X509_NAME *name = X509_get_subject_name(cert);
    must(X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, (const unsigned char *)"expired", -1,
                                    -1, 0) == 1);
    for (size_t i = 0; i < count; i++)
        must(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)names[i],
                                        (int)strlen(names[i]), -1, 0) == 1);
    must(X509_set_issuer_name(cert, name) == 1);
    must(X509_sign(cert, key, EVP_sha256()) > 0);
    return cert;
}

static FILE *new_file(char *path, size_t size, const char *kind)
{
    snprintf(path, size, "/tmp/expired-test-%s-XXXXXX", kind);
    int fd = mkstemp(path);
    must(fd >= 0);
    return fdopen(fd, "w");
}

void tls_files_make(struct tls_files *files, const char *const *names, size_t count)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    must(key != NULL);
    X509 *cert = new_certificate(key, names, count);
    FILE *to = new_file(files->cert, sizeof(files->cert), "cert");
    must(PEM_write_X509(to, cert) == 1);
    fclose(to);
    to = new_file(files->key, sizeof(files->key), "key");
    must(PEM_write_PrivateKey(to, key, NULL, NULL, 0, NULL, NULL) == 1);
    fclose(to);
    X509_free(cert);
    EVP_PKEY_free(key);
}

void tls_files_drop(const struct tls_files *files)
{
    unlink(files->cert);
    unlink(files->key);
}

void tls_files_configure(const struct tls_files *files, struct conf *conf)
{
    const char *why;
    must(conf_set(conf, conf_find("tls-cert-file"), files->cert, &why));
    must(conf_set(conf, conf_find("tls-key-file"), files->key, &why));
    must(conf_set(conf, conf_find("tls-ca-cert-file"), files->cert, &why));
    must(conf_set(conf, conf_find("tls-auth-clients"), "optional", &why));
}

/* ---- the client ------------------------------------------------------------------------------ */

void tls_peer_init(struct tls_peer *peer, const struct tls_files *files)
{
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    *peer = (struct tls_peer){ .fd = ends[0], .server_fd = ends[1] };
    peer->context = SSL_CTX_new(TLS_client_method());
    if (files != NULL) {
        must(SSL_CTX_use_certificate_file(peer->context, files->cert, SSL_FILETYPE_PEM) == 1);
        must(SSL_CTX_use_PrivateKey_file(peer->context, files->key, SSL_FILETYPE_PEM) == 1);
    }
    peer->ssl = SSL_new(peer->context);
    peer->heard = BIO_new(BIO_s_mem());
    peer->sent = BIO_new(BIO_s_mem());
    SSL_set_bio(peer->ssl, peer->heard, peer->sent);
    SSL_set_connect_state(peer->ssl);
}

void tls_peer_drop(struct tls_peer *peer)
{
    SSL_free(peer->ssl);
    SSL_CTX_free(peer->context);
    close(peer->fd);
}

size_t tls_peer_push(struct tls_peer *peer, size_t most)
{
    char *data;
    size_t len = (size_t)BIO_get_mem_data(peer->sent, &data);
    if (len > most) len = most;
    if (len == 0) return 0;
    ssize_t put = send(peer->fd, data, len, MSG_NOSIGNAL);
    if (put <= 0) return 0;
    char taken[4096];
    for (size_t left = (size_t)put; left > 0;) {
        int got = BIO_read(peer->sent, taken, (int)(left < sizeof(taken) ? left : sizeof(taken)));
        must(got > 0);
        left -= (size_t)got;
    }
    return (size_t)put;
}

size_t tls_peer_pull(struct tls_peer *peer)
{
    char data[65536];
    ssize_t got = recv(peer->fd, data, sizeof(data), 0);
    if (got <= 0) return 0;
    must(BIO_write(peer->heard, data, (int)got) == got);
    return (size_t)got;
}

bool tls_peer_shake(struct tls_peer *peer)
{
    tls_peer_pull(peer);
    bool done = SSL_do_handshake(peer->ssl) == 1;
    tls_peer_push(peer, SIZE_MAX);
    return done;
}

void tls_peer_write(struct tls_peer *peer, const void *data, size_t len)
{
    size_t put;
    must(SSL_write_ex(peer->ssl, data, len, &put) == 1 && put == len);
}

size_t tls_peer_read(struct tls_peer *peer, void *to, size_t size)
{
    size_t got;
    return SSL_read_ex(peer->ssl, to, size, &got) == 1 ? got : 0;
}
