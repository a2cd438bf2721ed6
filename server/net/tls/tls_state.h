/* tls_state: the struct behind tls.h. Only for the files of this folder. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "server/net/tls/settings.h"
#include "server/net/tls/tls.h"

enum { TLS_RECORD = 16384 }; /* most bytes in one record */

/* The state of a file when it was read; all 0 if there was none. */
struct tls_stamp {
    int64_t changed_sec, changed_nsec;
    uint64_t inode, size;
};

enum { TLS_FILES = 7 };

struct tls {
    const struct conf *conf;
    struct tls_settings now; /* for new connections; only the main thread replaces it */
    pthread_mutex_t lock;    /* held to replace `now`, and by other threads to use it */
    int64_t remind_at;       /* when to warn of the end of the certificate; seconds since 1970 */
    int64_t looked_at;       /* when tls_refresh last looked at the files; seconds since 1970 */
    struct tls_stamp files[TLS_FILES];
    _Atomic uint64_t handshakes, resumed, failed;
};

/* Returns the bytes that OpenSSL has allocated in this thread minus those that it has freed, modulo
 * 2^N. Subtract two results to learn how much memory was allocated between the calls. */
size_t tls_memory_balance(void);
