/* resp_read: a resumable parser of requests, multibulk and inline, as Redis 7.0 reads them. Does
 * not know sockets or commands. It never reads a byte twice: the struct keeps the state of a
 * partial request.
 *
 * The caller owns one contiguous input buffer that starts with the request being parsed. The buffer
 * may grow and move between calls; arguments are offsets until the request is complete.
 *
 * Folder proto/resp: the protocol of clients. resp_read parses requests, resp_write writes
 * replies, to a connection's output or to a sink inside the server (scripts, the module);
 * resp_reply parses replies, for the sinks, tests and tools. Depends on store/base and store/mem;
 * knows neither commands nor sockets.
 * Start with resp_write.h, which commands use, then this header. */
#ifndef PROTO_RESP_RESP_READ_H
#define PROTO_RESP_RESP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resp_limits {
    int64_t max_bulk;      /* bytes in one argument: proto-max-bulk-len */
    int64_t max_args;      /* arguments in one request: 2^31-1; 10 before authentication */
    size_t max_line;       /* bytes in an inline request, or a header line: 64 KiB */
    int64_t max_bulk_anon; /* as max_bulk while unauthenticated: 16384 */
    bool anonymous;        /* the client has not authenticated: the smaller limits apply */
};

struct resp_slice {
    size_t offset, len; /* in the input buffer, from the start of the request */
};

enum resp_status {
    RESP_REQUEST,   /* complete: args, argc, consumed are set; argc may be 0 (an empty line) */
    RESP_PARTIAL,   /* more bytes are needed */
    RESP_MALFORMED, /* `error` is Redis' message; close the connection */
};

struct resp_reader {
    struct resp_slice *args; /* owned by the reader; valid until the next resp_read */
    int argc;
    size_t consumed; /* bytes of the complete request */
    char error[128]; /* "Protocol error: ..." without "ERR " and CRLF, control bytes replaced */

    /* private: state of the parse */
    int args_cap;
    int64_t args_expected; /* of a multibulk; -1: not begun */
    int64_t bulk_expected; /* length of the argument being read; -1: its header comes next */
    size_t parsed;         /* bytes parsed */
    size_t scanned;        /* bytes searched for a line end */
    char *unquoted;        /* an inline request with quotes: the text of its arguments */
    bool args_unquoted;    /* slices point into `unquoted` instead of the input */
};

void resp_reader_init(struct resp_reader *reader);
void resp_reader_drop(struct resp_reader *reader);

/* Parses input[0..len), which begins with the bytes of earlier partial calls. After RESP_REQUEST
 * the caller must remove `consumed` bytes from the front before the next call. */
enum resp_status resp_read(struct resp_reader *reader, const char *input, size_t len,
                           const struct resp_limits *limits);

/* The text of argument i; `input` as in the last call. */
const char *resp_reader_arg(const struct resp_reader *reader, const char *input, int i);

/* How many more bytes complete the argument being read (0: unknown): to size the buffer for a large
 * argument at once. */
size_t resp_reader_wants(const struct resp_reader *reader, size_t len);

/* For a large argument that the caller wants in a block of its own. */
struct resp_lifted {
    int arg;       /* its index in the request */
    size_t offset; /* where it begins in the input */
    size_t len;
};
/* Takes the argument being read, of which `resp_reader_wants` more bytes have yet to come, out of
 * the input: the caller reads it elsewhere, and removes what has arrived of it from the input, so
 * that the bytes after it follow directly at `offset`. In the complete request the argument is
 * empty. */
struct resp_lifted resp_reader_lift(struct resp_reader *reader);

#endif
