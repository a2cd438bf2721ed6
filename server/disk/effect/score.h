/* score: prints scores, which are doubles, as short text that reads back exactly, and parses such
 * text. Faster than libc for usual scores; any strtod can read the text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { SCORE_MAX_CHARS = 40 };

/* Returns the length; adds no NUL. The score must not be NaN. */
size_t score_print(char *to, double score);
bool score_parse(const char *text, size_t len, double *score); /* false for no number, or NaN */
