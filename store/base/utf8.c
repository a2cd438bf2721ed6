/* utf8: see utf8.h. Refuses overlong forms, surrogates and code points above U+10FFFF. */
#include "store/base/utf8.h"

enum { CONTINUES_MASK = 0xC0, CONTINUES = 0x80 };

/* Returns the length that the first byte announces, or 0 if no character begins with it. */
static size_t length_of(unsigned char first)
{
    if (first < 0x80) return 1;
    if (first < 0xC2) return 0; /* 0xC0 and 0xC1 begin overlong forms */
    if (first < 0xE0) return 2;
    if (first < 0xF0) return 3;
    return first < 0xF5 ? 4 : 0;
}

/* The range of the second byte, which excludes what the length does not need or allow. */
static bool second_fits(unsigned char first, unsigned char second)
{
    if ((second & CONTINUES_MASK) != CONTINUES) return false;
    if (first == 0xE0) return second >= 0xA0;
    if (first == 0xED) return second < 0xA0;
    if (first == 0xF0) return second >= 0x90;
    return first != 0xF4 || second < 0x90;
}

size_t utf8_length(struct bytes text)
{
    if (text.len == 0) return 0;
    const unsigned char *at = (const unsigned char *)text.data;
    size_t len = length_of(at[0]);
    if (len > text.len) return 0;
    if (len > 1 && !second_fits(at[0], at[1])) return 0;
    for (size_t i = 2; i < len; i++)
        if ((at[i] & CONTINUES_MASK) != CONTINUES) return 0;
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
