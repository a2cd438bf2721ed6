/* score: prints doubles as short text that reads back exactly, and parses such text. Faster than
 * libc for usual scores; any strtod can read the text. */
#ifndef SERVER_DISK_EFFECT_SCORE_H
#define SERVER_DISK_EFFECT_SCORE_H

#include <stdbool.h>
#include <stddef.h>

enum { SCORE_MAX_CHARS = 40 };

/* Returns the length; adds no NUL. The score must not be NaN. */
size_t score_print(char *to, double score);
bool score_parse(const char *text, size_t len, double *score); /* false for no number, or NaN */

#endif
