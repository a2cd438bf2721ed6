/* number_text: converts integers and scores of Redis' encodings to text and back. Assumes a locale
 * with C's decimal point. */
#ifndef PROTO_RDB_NUMBER_TEXT_H
#define PROTO_RDB_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/rdb/bytes.h"

enum {
    RDB_INTEGER_CHARS = 20, /* of the longest int64, without a NUL */
    RDB_SCORE_CHARS = 32,   /* the longest that rdb_print_score writes */
};

/* Writes the number (no NUL); returns its length. */
size_t rdb_print_integer(char *to, int64_t value);

/* Accepts only what rdb_print_integer writes: no spaces, plus sign, leading zeros or -0. */
bool rdb_parse_integer(struct rdb_bytes text, int64_t *value);

/* A score in a packed sorted set: integers as such, else 17 digits; inf, -inf. `to` has room for
 * RDB_SCORE_CHARS. */
size_t rdb_print_score(char *to, double value);

/* False: not a number, NaN, or something follows the number. */
bool rdb_parse_score(struct rdb_bytes text, double *value);

#endif
