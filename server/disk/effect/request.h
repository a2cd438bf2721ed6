/* request: splits the next command of a file into its arguments.
 *
 * Clients' requests have another reader, proto/resp/resp_read.h. It accepts what Redis accepts:
 * inline requests, a count of 0 or less, any byte in place of LF, any two after an argument. In a
 * file these are damage, so this reader accepts one form only, that of our writers: a RESP array of
 * bulk strings. It keeps no state, and says where damage begins or how many bytes there must be.
 * tests/unit/server/agreement_test.c checks that both read its commands alike. */
#ifndef SERVER_DISK_EFFECT_REQUEST_H
#define SERVER_DISK_EFFECT_REQUEST_H

#include <stddef.h>

#include "store/base/bytes.h"

enum { REQUEST_ARGS_MAX = 1024 * 1024 };

struct request {
    struct bytes *argv; /* owned; they point into the data */
    int argc, cap;
};

enum request_status {
    REQUEST_WHOLE,     /* it has *size bytes */
    REQUEST_PARTIAL,   /* it has at least *size bytes, more than are there */
    REQUEST_MALFORMED, /* at the byte *size */
};

void request_init(struct request *request);
void request_drop(struct request *request);

/* Reads the command that begins at data. */
enum request_status request_read(struct request *request, const char *data, size_t len,
                                 size_t *size);
/* Measures the command without storing its arguments. */
enum request_status request_measure(const char *data, size_t len, size_t *size);

#endif
