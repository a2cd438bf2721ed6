/* json_text: see json_text.h. */
#include "store/base/json_text.h"

#include <stdio.h>

#include "store/base/utf8.h"

size_t json_text_put_character(char *to, struct bytes text, size_t *taken)
{
    char escaped[JSON_TEXT_GROWTH + 1];
    size_t len = utf8_length(text);
    unsigned char first = (unsigned char)text.data[0];
    *taken = len > 0 ? len : 1;
    if (len == 0)
        len = (size_t)snprintf(escaped, sizeof(escaped), "\\\\x%02x", first);
    else if (first < 0x20 || first == 0x7f)
        len = (size_t)snprintf(escaped, sizeof(escaped), "\\u%04x", first);
    else if (first == '"' || first == '\\')
        len = (size_t)snprintf(escaped, sizeof(escaped), "\\%c", first);
    else
        memcpy(escaped, text.data, len);
    memcpy(to, escaped, len);
    return len;
}

size_t json_text_put(char *to, struct bytes text)
{
    size_t len = 0, taken;
    for (; text.len > 0; text = bytes_of(text.data + taken, text.len - taken))
        len += json_text_put_character(to + len, text, &taken);
    return len;
}
