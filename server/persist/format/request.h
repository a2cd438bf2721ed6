/* request: the next command of a file or stream, cut into its arguments: a RESP array of bulk
 * strings in the one form that is written, lengths without leading zeros.
 * Knows bytes that lie there; refuses to know where they came from. What clients send is
 * proto/resp_read's business. */
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
    REQUEST_WHOLE,     /* it takes *size bytes */
    REQUEST_PARTIAL,   /* it takes at least *size bytes, more than there are */
    REQUEST_MALFORMED, /* from the byte at *size on */
};

void request_init(struct request *request);
void request_drop(struct request *request);

/* Reads the command that begins at data. */
enum request_status request_read(struct request *request, const char *data, size_t len,
                                 size_t *size);
/* Looks only how long it is. */
enum request_status request_measure(const char *data, size_t len, size_t *size);

#endif
