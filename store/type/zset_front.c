/* zset_front: see zset_front.h. */
#include "store/type/zset_front.h"

#include <ctype.h>

enum {
    LETTERS_AT = sizeof(int64_t), /* behind the prefix: the base, then the letters */
    TAIL = LETTERS_AT + 1,
    HALF = 4, /* bits of half a byte */
};

struct zset_front zset_front_of(const struct packed *packed)
{
    if (!packed->has_front) return (struct zset_front){ .letters = ZSET_TEXT };
    struct bytes front = packed_front(packed);
    size_t len = front.len - TAIL;
    return (struct zset_front){ bytes_of(front.data, len), zset_front_base(packed),
                                (enum zset_letters)front.data[len + LETTERS_AT] };
}

void zset_front_begin(struct packed *packed, const struct zset_front *front, uint32_t cap)
{
    char text[PACKED_MAX_TEXT + TAIL];
    uint64_t base = htole64((uint64_t)front->base);
    size_t len = front->prefix.len;
    if (front->letters == ZSET_TEXT && len == 0 && front->base == 0) return;
    if (len > 0) memcpy(text, front->prefix.data, len);
    memcpy(text + len, &base, sizeof(base));
    text[len + LETTERS_AT] = (char)front->letters;
    packed_begin(packed, bytes_of(text, len + TAIL), cap);
}

/* The value of a digit, plus one; 0 for all other characters. */
static const unsigned char digits[UINT8_MAX + 1] = {
    ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/* Returns the number of digits that these letters consist of. To test whether c is such a digit,
 * compare digits[c] - 1u with this number: for any other character digits[c] is 0 or larger than
 * the number. */
static unsigned limit_of(enum zset_letters letters)
{
    return letters == ZSET_DECIMAL ? 10 : 16;
}

struct bytes zset_front_prefix(struct bytes member, enum zset_letters letters)
{
    size_t len = member.len;
    for (; len > 0; len--) {
        unsigned char c = (unsigned char)member.data[len - 1];
        if (letters == ZSET_TEXT ? !isalnum(c) : digits[c] - 1u >= limit_of(letters)) break;
    }
    return bytes_of(member.data, len);
}

/* Stores up to 16 digits as eight bytes. Writes them as one word, because they are soon read in
 * pieces larger than a byte. Returns false if there is another character among them. */
static bool store_digits(struct bytes rest, enum zset_letters letters, char *to)
{
    const unsigned char *p = (const unsigned char *)rest.data;
    unsigned limit = limit_of(letters);
    unsigned less = letters == ZSET_HEX; /* a hexadecimal digit is stored as its value */
    bool has_others = false;
    uint64_t word = 0;
    for (size_t i = 0; i < rest.len; i += 2) {
        unsigned high = digits[p[i]], low = i + 1 < rest.len ? digits[p[i + 1]] : less;
        has_others |= high - 1 >= limit || (low - 1 >= limit && i + 1 < rest.len);
        word |= (uint64_t)((high - less) << HALF | (low - less)) << HALF * i;
    }
    word = htole64(word);
    memcpy(to, &word, sizeof(word));
    return !has_others;
}

bool zset_front_store(const struct zset_front *front, struct bytes member,
                      char text[ZSET_TEXT_SIZE], struct bytes *stored)
{
    size_t skipped = front->prefix.len;
    if (member.len > PACKED_MAX_TEXT || member.len < skipped ||
        (skipped > 0 && memcmp(member.data, front->prefix.data, skipped) != 0))
        return false;
    struct bytes rest = bytes_of(member.data + skipped, member.len - skipped);
    *stored = rest;
    enum zset_letters letters = front->letters;
    if (letters == ZSET_TEXT) return true;
    if (letters == ZSET_HEX && rest.len % 2 != 0) return false;
    bool are_digits = true;
    for (size_t i = 0; i < rest.len && are_digits; i += 2 * ZSET_SPELLED) {
        size_t left = rest.len - i;
        are_digits =
            store_digits(bytes_of(rest.data + i, left < 2 * ZSET_SPELLED ? left : 2 * ZSET_SPELLED),
                         letters, text + i / 2);
    }
    *stored = bytes_of(text, (rest.len + 1) / 2);
    return are_digits;
}

struct bytes zset_front_spell_any(const struct zset_front *front, struct bytes stored,
                                  char text[ZSET_TEXT_SIZE])
{
    size_t skipped = front->prefix.len, len = 2 * stored.len;
    if (skipped > 0) memcpy(text, front->prefix.data, skipped);
    char *p = text + skipped;
    if (front->letters == ZSET_TEXT) {
        if (stored.len > 0) memcpy(p, stored.data, stored.len);
        return bytes_of(text, skipped + stored.len);
    }
    for (size_t i = 0; i < stored.len; i += ZSET_SPELLED) {
        char eight[ZSET_SPELLED] = { 0 };
        size_t left = stored.len - i;
        memcpy(eight, stored.data + i, left < ZSET_SPELLED ? left : ZSET_SPELLED);
        zset_front_spell_eight(p + 2 * i, eight, front->letters);
    }
    bool is_padded =
        front->letters == ZSET_DECIMAL && len > 0 && (stored.data[stored.len - 1] & 0xf) == 0;
    return bytes_of(text, skipped + len - is_padded);
}
