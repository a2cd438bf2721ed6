/* replies: counts the RESP replies in a stream of bytes without storing them, and keeps the first
 * error, and the first integer of each of the latest replies. */
#ifndef TOOLS_BENCH_LOAD_REPLIES_H
#define TOOLS_BENCH_LOAD_REPLIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: at the beginning. */
struct replies {
    uint64_t skip;    /* bytes of a bulk that are still to come */
    uint64_t pending; /* elements of the current reply that are still to come */
    uint64_t whole;   /* complete replies */
    uint64_t errors;
    /* The first integer of reply i is at i modulo their number, unless the reply has none. NULL:
     * not wanted. */
    uint64_t *integers;
    uint64_t integer_count;
    bool has_integer; /* of the current reply */
    char error[120];
};

/* Returns the number of bytes used. The rest is an incomplete line: pass it again, followed by the
 * next bytes. */
size_t replies_scan(struct replies *replies, const char *data, size_t len);

#endif
