/* settings: makes OpenSSL contexts from the tls-* options, which name the files of certificates,
 * keys and parameters. Depends on OpenSSL; does not keep or replace the contexts: tls does. */
#pragma once

#include <openssl/ssl.h>

#include "conf/conf.h"

enum { TLS_SERIAL_SIZE = 48 }; /* a serial number has at most 20 bytes */

struct tls_settings {
    SSL_CTX *context;
    SSL_CTX *outgoing; /* for connections to other servers; NULL if no option asks for it */
    int64_t not_after; /* end of the server's certificate, seconds since 1970 */
    char serial[TLS_SERIAL_SIZE];
};

/* Reads the options. If any is invalid, returns false with a list of all errors in `why`; do not
 * drop these settings then. */
bool tls_settings_read(struct tls_settings *settings, const struct conf *conf, char *why,
                       size_t size);
void tls_settings_drop(struct tls_settings *settings);

/* Returns the cause of OpenSSL's last failure, a constant text. Empties its queue of errors. */
const char *tls_reason(void);
