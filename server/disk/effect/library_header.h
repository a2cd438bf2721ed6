/* library_header: the first line of a library of functions, "#!lua name=mylib": the engine that
 * runs it and its name. Reads it as Redis 7.0 does, with the same errors. Depends on the quoting of
 * inline requests (proto/resp), not on any language. */
#ifndef SERVER_DISK_EFFECT_LIBRARY_HEADER_H
#define SERVER_DISK_EFFECT_LIBRARY_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/resp/resp_read.h"
#include "store/base/bytes.h"

struct library_header {
    struct bytes engine, name; /* if it is good: borrowed from the code, or from this */
    const char *error;         /* if it is not: Redis' message; ... */
    struct bytes part;         /* ... and the word to append to it, which may be empty */
    struct resp_reader reader; /* private: the words */
};

/* Reads the first line of the code. False: `error`. Both need library_header_drop. O(line) */
bool library_header_read(struct library_header *header, struct bytes code);
void library_header_drop(struct library_header *header);

#endif
