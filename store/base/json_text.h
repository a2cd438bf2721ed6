/* json_text: writes text as the inside of a JSON string. The result is valid UTF-8 for any bytes: a
 * byte that is not part of a valid character is written as \xHH with an escaped backslash, so that
 * a JSON parser yields the four characters \xHH. */
#pragma once

#include "store/base/bytes.h"

/* The most bytes that one byte of text becomes. */
enum { JSON_TEXT_GROWTH = 6 };

/* Writes the text, without quotation marks around it and without a NUL. `to` must have room for
 * JSON_TEXT_GROWTH * len bytes. Returns the number of bytes written. */
size_t json_text_put(char *to, struct bytes text);

/* Writes only the first character of a text, which must not be empty, and sets *taken to the number
 * of bytes of that character. Returns the number of bytes written. */
size_t json_text_put_character(char *to, struct bytes text, size_t *taken);
