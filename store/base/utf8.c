/* utf8: see utf8.h. Refuses overlong forms, surrogates and code points above U+10FFFF. */
#include "store/base/utf8.h"

size_t utf8_length(struct bytes text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    if (text.len == 0) return 0;
    unsigned char first = at[0];
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4) return 0; /* 0xC0 and 0xC1 begin overlong forms */
    size_t len = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (len > text.len) return 0;
    unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (at[1] < low || at[1] > high) return 0;
    for (size_t i = 2; i < len; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    return len;
}

bool utf8_valid(struct bytes text)
{
    while (text.len > 0) {
        size_t len = utf8_length(text);
        if (len == 0) return false;
        text = bytes_of(text.data + len, text.len - len);
    }
    return true;
}
