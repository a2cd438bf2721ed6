/* number: converts integers and doubles to text and back. Prints and accepts what Redis 7.0 does,
 * except for the sign of a NaN and numbers of 5 KiB and more (doc/differs.md). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NUMBER_INT64_MAX_CHARS = 20,   /* without a NUL */
    NUMBER_DOUBLE_MAX_CHARS = 40,  /* %.17g and inf, -inf, nan */
    NUMBER_FIXED_MAX_CHARS = 5120, /* a long double in %f form, as INCRBYFLOAT prints */
};

/* Write decimal text at `to`, without a NUL. Return its length, at most NUMBER_INT64_MAX_CHARS. */
size_t number_print_int64(char *to, int64_t value);
size_t number_print_uint64(char *to, uint64_t value);

/* Prints scores and RESP3 doubles as Redis does: with %.17g, or as "inf", "-inf" or "nan". Returns
 * the length; `to` must have room for NUMBER_DOUBLE_MAX_CHARS. */
size_t number_print_double(char *to, double value);

/* Prints as INCRBYFLOAT does (ld2string, human-friendly): %.17Lf with trailing zeros removed.
 * Returns the length; `to` must have room for NUMBER_FIXED_MAX_CHARS. */
size_t number_print_long_double(char *to, long double value);

/* Parse as strictly as Redis' string2ll: without spaces, plus sign, leading zeros or bytes after
 * the number. Return false for any other text, and for a number that does not fit. */
bool number_parse_int64(const char *text, size_t len, int64_t *value);
bool number_parse_uint64(const char *text, size_t len, uint64_t *value);

/* Parses as Redis' getDoubleFromObject does: with strtod over the whole text, no leading space, no
 * NaN. Accepts "inf", "+inf", "-inf", "infinity" and hex floats. Returns false for any other text,
 * for overflow, for underflow to 0, and for texts of 5 KiB and more. */
bool number_parse_double(const char *text, size_t len, double *value);

/* As number_parse_double, with the range of long double, for INCRBYFLOAT (Redis' string2ld). */
bool number_parse_long_double(const char *text, size_t len, long double *value);
