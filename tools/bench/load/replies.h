/* replies: counts the RESP replies in a stream of bytes without storing them. Keeps the first error
 * and, if asked to, some numbers of each of the latest replies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a later command may repeat from a reply: the first and the last integer, and the digits of
 * the first bulk string, as a number. */
struct reply_numbers {
    uint64_t first, last, text;
};

/* Stands for a number that the reply does not contain. It is as long as the longest numbers, and
 * has no leading zeros. */
#define NO_NUMBER UINT64_C(1111111111111111111)

/* All zero at the beginning of a stream. */
struct replies {
    uint64_t skip;    /* bytes of a bulk that are still to come */
    uint64_t pending; /* elements of the current reply that are still to come */
    uint64_t whole;   /* complete replies */
    uint64_t errors;
    /* The numbers of reply i are at i modulo `numbers_count`. NULL if they are not wanted. */
    struct reply_numbers *numbers;
    uint64_t numbers_count;
    bool has_text; /* the first bulk string of the current reply has begun */
    bool in_text;  /* and has not ended */
    char error[120];
};

/* Scans the bytes, and returns how many of them were used. The rest is an incomplete line: pass it
 * again, followed by the next bytes. */
size_t replies_scan(struct replies *replies, const char *data, size_t len);
