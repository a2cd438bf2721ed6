/* json_text: text as the inside of a JSON string. Knows nothing but bytes. */
#ifndef SERVER_BASE_JSON_TEXT_H
#define SERVER_BASE_JSON_TEXT_H

#include <stddef.h>

/* The most bytes that one byte of text becomes. */
enum { JSON_TEXT_GROWTH = 6 };

/* Writes the text without quotation marks around it, as valid UTF-8 whatever the bytes are: each
 * byte that is not part of a character becomes U+FFFD. `to` has room for JSON_TEXT_GROWTH * len
 * bytes. Returns how many were written, without a zero at the end. */
size_t json_text_put(char *to, const char *text, size_t len);

#endif
