/* tls: encryption of connections with OpenSSL. struct tls holds the certificates and settings of
 * tls-port and of connections to other servers. Depends on the tls-* options; knows neither clients
 * nor the loop.
 *
 * Folder server/net/tls: TLS with OpenSSL. settings makes the contexts from the options, tls keeps
 * and replaces them, connection reads and writes records. Start here; doc/tls.md is the page for
 * operators.
 *
 * May use: conf server/base store/base store/mem. */
#pragma once

#include "conf/conf.h"

struct tls;

enum { TLS_WHY_SIZE = 2048 }; /* bytes for the reasons of all invalid options */

/* Makes OpenSSL allocate through mem.h, so that its memory counts in used_memory. Without effect
 * once OpenSSL has allocated anything, even to hash a password. */
void tls_count_memory(void);
/* Allows any thread to allocate through OpenSSL; before this call only the main thread may. */
void tls_share_memory(void);

/* Does tls-port, metrics-tls or tls-replication require TLS? */
bool tls_is_wanted(const struct conf *conf);

/* Reads certificates and keys. On failure returns NULL, and `why` lists each invalid option with
 * its file and OpenSSL's reason. `conf` must outlive the returned struct. */
struct tls *tls_new(const struct conf *conf, char *why, size_t size);
void tls_free(struct tls *tls); /* after its connections; streams of libevent may outlive it */

/* Reads the options and files again, for new connections: open ones keep the old settings, and
 * earlier TLS sessions can't be resumed. On failure changes nothing and returns false, with `why`
 * as for tls_new. */
bool tls_reload(struct tls *tls, char *why, size_t size);

/* Looks at the files every tls-auto-reload-interval seconds, or never if that is 0. If they have
 * changed since the last look, reloads them and logs the result; files that can't be used are read
 * again when one of them next changes. Call about once a second, with seconds since 1970. */
void tls_refresh(struct tls *tls, int64_t now_sec);

/* Logs a warning if the server's certificate has expired or expires in less than 30 days: once when
 * it was read, and then once a day. Call about once a second, with seconds since 1970. */
void tls_remind(struct tls *tls, int64_t now_sec);

/* Returns OpenSSL's state for a new connection on the server's side, or NULL if memory runs out.
 * For streams of libevent, which do not use connection.h. The caller frees it. */
struct ssl_st;
struct ssl_st *tls_new_session(const struct tls *tls);

struct tls_report {
    int64_t not_after;  /* seconds since 1970: the end of the server's certificate */
    const char *serial; /* its serial number, in hexadecimal digits */
    uint64_t handshakes, resumed, failed;
};
struct tls_report tls_report(const struct tls *tls);
