/* json_text: writes text as the inside of a JSON string. For any bytes the result is valid
 * UTF-8: a byte that is not part of a character is written as \xHH, with a visible backslash. */
#ifndef STORE_BASE_JSON_TEXT_H
#define STORE_BASE_JSON_TEXT_H

#include "store/base/bytes.h"

/* The most bytes that one byte of text becomes. */
enum { JSON_TEXT_GROWTH = 6 };

/* Writes the text without quotation marks around it; `to` must have room for JSON_TEXT_GROWTH * len
 * bytes. Returns the number of bytes written; adds no NUL. */
size_t json_text_put(char *to, struct bytes text);

/* Writes only the first character of a text that is not empty; sets *taken to the length of that
 * character. */
size_t json_text_put_character(char *to, struct bytes text, size_t *taken);

#endif
