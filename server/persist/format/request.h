/* request: splits the next command of a file into its arguments. Accepts only the form that our
 * writers use: a RESP array of bulk strings, with lengths without leading zeros. For requests of
 * clients see proto/resp/resp_read.h. */
#ifndef SERVER_PERSIST_FORMAT_REQUEST_H
#define SERVER_PERSIST_FORMAT_REQUEST_H

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
