/* number_text: numbers as Redis' encodings hold them, to text and back.
 * Knows decimal text; refuses to know locale settings other than the decimal point of C's. */
#ifndef PROTO_RDB_NUMBER_TEXT_H
#define PROTO_RDB_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/rdb/bytes.h"

enum {
    RDB_INTEGER_CHARS = 20, /* the longest int64, without a NUL */
    RDB_SCORE_CHARS = 32,   /* the longest that rdb_print_score writes */
};

/* Writes the number (no NUL); returns its length. */
size_t rdb_print_integer(char *to, int64_t value);

/* Only what rdb_print_integer would write: no spaces, no plus sign, no leading zeros, no -0. */
bool rdb_parse_integer(struct rdb_bytes text, int64_t *value);

/* A score in a compact sorted set: whole numbers as such, else 17 digits; inf, -inf. */
size_t rdb_print_score(char *to, double value);

/* The whole text is one number, and a number it is (no NaN). */
bool rdb_parse_score(struct rdb_bytes text, double *value);

#endif
