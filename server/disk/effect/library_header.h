/* library_header: parses the first line of a function library, "#!lua name=mylib", which has the
 * engine and the library's name, as Redis 7.0 does and with the same errors. Depends on proto/resp,
 * whose inline requests have the same quoting, but on no script language. */
#ifndef SERVER_DISK_EFFECT_LIBRARY_HEADER_H
#define SERVER_DISK_EFFECT_LIBRARY_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/resp/resp_read.h"
#include "store/base/bytes.h"

struct library_header {
    struct bytes engine, name; /* if it is valid: borrowed from the code or from `reader` */
    const char *error;         /* if it is not: Redis' message, */
    struct bytes part;         /* and the word to append to it, which may be empty */
    struct resp_reader reader; /* private: the words of the line */
};

/* Parses the first line of the code. False: `error` is set. In both cases call library_header_drop.
 * O(line) */
bool library_header_read(struct library_header *header, struct bytes code);
void library_header_drop(struct library_header *header);

#endif
