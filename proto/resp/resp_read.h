/* resp_read: a parser of multibulk and inline requests. The struct keeps the state of a partial
 * request, so that parsing continues where it stopped.
 *
 * The caller owns one contiguous input buffer that starts with the request being parsed. Arguments
 * are stored as offsets, because the buffer may grow and move between calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resp_limits {
    int64_t max_bulk;      /* bytes in one argument: proto-max-bulk-len */
    int64_t max_args;      /* arguments in one request: 2^31-1; 10 before authentication */
    size_t max_line;       /* bytes in an inline request or a header line: 64 KiB */
    int64_t max_bulk_anon; /* max_bulk before authentication: 16384 */
    bool anonymous;        /* not authenticated: the smaller limits apply */
};

struct resp_slice {
    size_t offset, len; /* counted from the start of the request */
};

enum resp_status {
    RESP_REQUEST,   /* complete: args, argc, consumed are set; argc may be 0, as in "*0\r\n" */
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
    int64_t args_expected; /* arguments of the multibulk request; -1 before its first line */
    int64_t bulk_expected; /* length of the argument being read; -1: its header comes next */
    size_t parsed;         /* bytes parsed */
    size_t scanned;        /* bytes searched for a line end */
    char *unquoted;        /* text of the arguments of an inline request with quotes */
    bool args_unquoted;    /* slices point into `unquoted` instead of the input */
};

void resp_reader_init(struct resp_reader *reader);
void resp_reader_drop(struct resp_reader *reader);

/* Parses a request from input[0..len). After RESP_PARTIAL, call again with the same bytes and more
 * after them. After RESP_REQUEST, remove `consumed` bytes from the front before the next call. */
enum resp_status resp_read(struct resp_reader *reader, const char *input, size_t len,
                           const struct resp_limits *limits);

/* Returns the text of argument i; `input` as passed to the last resp_read. */
static inline const char *resp_reader_arg(const struct resp_reader *reader, const char *input,
                                          int i)
{
    const char *base = reader->args_unquoted ? reader->unquoted : input;
    return base + reader->args[i].offset;
}

/* Returns how many bytes of input the argument being read still lacks, with its line end; 0 if it
 * lacks none or its header has not arrived. `len` is that of the last resp_read. With this number
 * the caller can allocate the buffer of a large argument at once. */
size_t resp_reader_wants(const struct resp_reader *reader, size_t len);

/* A large argument that the caller reads into its own block. */
struct resp_lifted {
    int arg;       /* its index in the request */
    size_t offset; /* its start in the input */
    size_t len;
};
/* Takes the argument being read out of the parse, so that the caller can read it into a block of
 * its own: an argument of megabytes then need not move with the input buffer. The caller must cut
 * the argument from the input, so that its line end follows at `offset`. In the complete request
 * this argument is empty. */
struct resp_lifted resp_reader_lift(struct resp_reader *reader);
