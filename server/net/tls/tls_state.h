/* tls_state: the struct behind tls.h. Only for the files of this folder. */
#ifndef SERVER_NET_TLS_TLS_STATE_H
#define SERVER_NET_TLS_TLS_STATE_H

#include "server/net/tls/settings.h"
#include "server/net/tls/tls.h"

enum { TLS_RECORD = 16384 }; /* most bytes in one record */

struct tls {
    const struct conf *conf;
    struct tls_settings now; /* for new connections */
    char *record;            /* TLS_RECORD bytes: small chunks are joined here before encryption */
    int64_t remind_at;       /* seconds since 1970 */
    uint64_t handshakes, resumed, failed;
};

#endif
