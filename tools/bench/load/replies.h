/* replies: counts the replies in a stream of bytes, and keeps the first error.
 * Knows how RESP frames them; refuses to know what they say. */
#ifndef TOOLS_BENCH_LOAD_REPLIES_H
#define TOOLS_BENCH_LOAD_REPLIES_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed: at the beginning. */
struct replies {
    uint64_t skip;    /* bytes of a text that are still to come */
    uint64_t pending; /* elements of the reply that are still to come */
    uint64_t whole;   /* replies that have come */
    uint64_t errors;
    char error[120];
};

/* How many bytes it took; the rest is a line that has not come whole, to be shown again with what
 * comes next. */
size_t replies_scan(struct replies *replies, const char *data, size_t len);

#endif
