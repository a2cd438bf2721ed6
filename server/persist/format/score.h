/* score: doubles to short text that reads back to the bit, and back.
 * Faster than libc for what scores mostly are; any strtod reads the text. */
#ifndef SERVER_PERSIST_FORMAT_SCORE_H
#define SERVER_PERSIST_FORMAT_SCORE_H

#include <stdbool.h>
#include <stddef.h>

enum { SCORE_MAX_CHARS = 40 };

/* No NUL; returns the length. Not for NaN. */
size_t score_print(char *to, double score);
bool score_parse(const char *text, size_t len, double *score); /* false: none, or NaN */

#endif
