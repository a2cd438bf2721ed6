/* library_header: parses the first line of a function library, such as "#!lua name=mylib", into the
 * names of engine and library, with the rules and errors of Redis 7.0, for FUNCTION LOAD, imports
 * and effects. Depends on proto/resp, whose inline requests use the same quoting; knows no script
 * language. */
#pragma once

#include "proto/resp/resp_read.h"
#include "store/base/bytes.h"

struct library_header {
    struct bytes engine, name; /* set for a valid header; borrowed from the code or `reader` */
    const char *error;         /* set for an invalid header: Redis' message */
    struct bytes part;         /* the word to append to `error`; may be empty */
    struct resp_reader reader; /* private: the words of the line */
};

/* Parses the first line of the code: sets `engine` and `name`, or returns false and sets `error`
 * and `part`. The caller must drop the header in both cases. O(line) */
bool library_header_read(struct library_header *header, struct bytes code);
void library_header_drop(struct library_header *header);
