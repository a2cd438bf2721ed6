/* json_text: see json_text.h. The ranges of the bytes of a character are those of table 3-7 in the
 * Unicode standard. */
#include "server/base/json_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char REPLACEMENT[] = "\xef\xbf\xbd";

static bool is_between(unsigned char byte, unsigned low, unsigned high)
{
    return byte >= low && byte <= high;
}

/* Bytes of the character that begins here; 0: none does. */
static size_t character_length(const unsigned char *at, size_t left)
{
    unsigned low = 0x80, high = 0xbf;
    size_t len;
    if (at[0] < 0x80) return 1;
    if (is_between(at[0], 0xc2, 0xdf))
        len = 2;
    else if (is_between(at[0], 0xe0, 0xef))
        len = 3;
    else if (is_between(at[0], 0xf0, 0xf4))
        len = 4;
    else
        return 0;
    /* No longer form than needed, no surrogate, nothing above U+10FFFF. */
    if (at[0] == 0xe0) low = 0xa0;
    if (at[0] == 0xed) high = 0x9f;
    if (at[0] == 0xf0) low = 0x90;
    if (at[0] == 0xf4) high = 0x8f;
    if (left < len || !is_between(at[1], low, high)) return 0;
    for (size_t i = 2; i < len; i++)
        if (!is_between(at[i], 0x80, 0xbf)) return 0;
    return len;
}

static size_t put_ascii(char *to, unsigned char byte)
{
    if (byte == '"' || byte == '\\') {
        to[0] = '\\';
        to[1] = (char)byte;
        return 2;
    }
    if (byte >= ' ' && byte != 0x7f) {
        to[0] = (char)byte;
        return 1;
    }
    char escape[JSON_TEXT_GROWTH + 1];
    snprintf(escape, sizeof(escape), "\\u%04x", byte);
    memcpy(to, escape, JSON_TEXT_GROWTH);
    return JSON_TEXT_GROWTH;
}

size_t json_text_put(char *to, const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + len;
    char *start = to;
    while (at < end) {
        size_t character = character_length(at, (size_t)(end - at));
        if (character == 1) {
            to += put_ascii(to, *at);
        } else if (character == 0) {
            memcpy(to, REPLACEMENT, sizeof(REPLACEMENT) - 1);
            to += sizeof(REPLACEMENT) - 1;
        } else {
            memcpy(to, at, character);
            to += character;
        }
        at += character > 0 ? character : 1;
    }
    return (size_t)(to - start);
}
