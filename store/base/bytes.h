/* bytes: a borrowed view of a byte string, with its order, equality and glob patterns. The bytes
 * may include NULs, and need not end with one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct bytes {
    const char *data;
    size_t len;
};

#define LIT(s) ((struct bytes){ (s), sizeof(s) - 1 })

static inline struct bytes bytes_of(const char *data, size_t len)
{
    return (struct bytes){ data, len };
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool bytes_begin_with(struct bytes text, struct bytes prefix)
{
    return text.len >= prefix.len && bytes_equal(bytes_of(text.data, prefix.len), prefix);
}

/* The text without its first `len` bytes. */
static inline struct bytes bytes_without(struct bytes text, size_t len)
{
    return bytes_of(text.data + len, text.len - len);
}

/* Copies the text to `to` and returns its end there. Most texts are short, and for them two
 * overlapping copies of constant size are cheaper than a call of memcpy. */
static inline char *bytes_copy(char *to, struct bytes text)
{
    const char *from = text.data;
    size_t len = text.len;
    if (len - 8 <= 8) { /* 8 to 16, the most frequent lengths: one test */
        memcpy(to, from, 8);
        memcpy(to + len - 8, from + len - 8, 8);
    } else if (len > 64) {
        memcpy(to, from, len);
    } else if (len > 32) {
        memcpy(to, from, 32);
        memcpy(to + len - 32, from + len - 32, 32);
    } else if (len > 16) {
        memcpy(to, from, 16);
        memcpy(to + len - 16, from + len - 16, 16);
    } else if (len >= 4) {
        memcpy(to, from, 4);
        memcpy(to + len - 4, from + len - 4, 4);
    } else if (len > 0) {
        to[0] = from[0];
        to[len / 2] = from[len / 2];
        to[len - 1] = from[len - 1];
    }
    return to + len;
}

/* Is the text this word, which is not empty, ignoring the case of letters? The first letter is
 * tested alone, because it spares most calls of strncasecmp, and of strlen if the word comes from a
 * table. */
static inline bool bytes_is_word(struct bytes text, const char *word)
{
    if (text.len == 0 || ((text.data[0] ^ word[0]) & ~0x20) != 0) return false;
    return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

/* Compares as memcmp does; of two strings of which one begins with the other, the shorter is less.
 * This is Redis' order of members. Returns < 0, 0 or > 0. */
int bytes_compare(struct bytes a, struct bytes b);

/* Matches glob patterns as Redis' KEYS does: * ? [a-c] [^x] \x. Takes O(pattern * text) even for a
 * pattern with many stars, which would make a recursive matcher exponential. */
bool bytes_match(struct bytes pattern, struct bytes text);
