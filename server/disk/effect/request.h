/* request: splits the next command of a file, or of a master's stream, into its arguments. Accepts
 * only what servers write there, a RESP array of bulk strings, and returns where damage begins or
 * how many bytes the command needs.
 *
 * Why not proto/resp/resp_read.h, the parser of clients' requests? That parser accepts everything
 * that Redis accepts: inline requests, a count of 0 or less, any byte in place of LF, any two bytes
 * in place of the CRLF after an argument. In a file or stream all of these are damage.
 * tests/unit/server/agreement_test.c checks that both parsers read the same arguments from
 * well-formed commands. */
#pragma once

#include "store/base/bytes.h"

/* More arguments than Redis reads from its own files: a client may send an XADD that is longer than
 * those, and each name and value of its entry is an argument of the effect's command. */
enum { REQUEST_ARGS_MAX = 1 << 30 };

struct request {
    struct bytes *argv; /* the arguments, which point into the data. The array is owned */
    int argc, cap;
    bool is_fixed; /* argv is the caller's array, which is never enlarged */
    bool is_cut;   /* and was too small: it lacks the command's last arguments */
};

enum request_status {
    REQUEST_WHOLE,     /* the command has *size bytes */
    REQUEST_PARTIAL,   /* the command has at least *size bytes, more than `len` */
    REQUEST_MALFORMED, /* the damage begins at byte *size */
};

void request_init(struct request *request);
void request_drop(struct request *request);

/* Parses the command at `data` into argv and argc, replacing those of the command before. */
enum request_status request_read(struct request *request, const char *data, size_t len,
                                 size_t *size);
/* Returns the status and the size that request_read would return, without storing arguments. */
enum request_status request_measure(const char *data, size_t len, size_t *size);

/* How far a command that arrives in pieces was measured. All zero at its beginning. */
struct request_progress {
    size_t at;     /* bytes measured */
    uint64_t left; /* number of arguments after these bytes */
};
/* Does what request_measure does for a command that arrives in pieces: `data` begins with the bytes
 * of the last call, and only the bytes after those measured are looked at. Zeroes the progress
 * before any result but REQUEST_PARTIAL. */
enum request_status request_measure_on(struct request_progress *progress, const char *data,
                                       size_t len, size_t *size);
