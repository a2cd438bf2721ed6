/* zset_front: what the members of a small sorted set have in common, stored once before the
 * records, as the front of the packed:
 *
 *     bytes    content
 *     ...      prefix: begins each member, and is not repeated in the records
 *     8        base: an integer, little endian; scores are stored relative to it
 *     1        letters: how the rest of each member is stored
 *
 * A record stores its score as the distance from the base: a time in milliseconds within two hours
 * of the base takes at most three bytes instead of six. The rest of a member is stored as text, or
 * in half a byte per character if in all members it consists of decimal digits, or of an even
 * number of hexadecimal ones in lower case.
 *
 * Stored forms are ordered like the members themselves, so that members can be searched and
 * compared without being spelled: converted back to their text. For this order a decimal digit d is
 * stored as d + 1: the 0 after an odd number of digits then sorts before all digits. */
#pragma once

#include <endian.h>

#include "store/base/bytes.h"
#include "store/struct/packed.h"

enum {
    ZSET_FRONT_BASE = 10,                  /* bytes from the base to the records */
    ZSET_SPELLED = 8,                      /* bytes that are spelled at a time */
    ZSET_TEXT_SIZE = PACKED_MAX_TEXT + 16, /* spelling may write some bytes behind the member */
};

enum zset_letters { ZSET_TEXT, ZSET_DECIMAL, ZSET_HEX };

struct zset_front {
    struct bytes prefix;
    int64_t base;
    enum zset_letters letters;
};

static inline int64_t zset_front_base(const struct packed *packed)
{
    uint64_t base;
    if (!packed->has_front) return 0;
    memcpy(&base, packed->data - ZSET_FRONT_BASE, sizeof(base));
    return (int64_t)le64toh(base);
}

/* Returns the front of these records or, if they have none, a front for text with base 0 and an
 * empty prefix. The prefix is a view. */
struct zset_front zset_front_of(const struct packed *packed);
/* Begins an empty packed with this front. Does nothing if the front has text letters, no prefix and
 * base 0, because records without a front mean the same. */
void zset_front_begin(struct packed *packed, const struct zset_front *front, uint32_t cap);

/* Finds the stored form of a member; it is a view of the member or of `text`. Returns false if the
 * front does not suit the member. */
bool zset_front_store(const struct zset_front *front, struct bytes member,
                      char text[ZSET_TEXT_SIZE], struct bytes *stored);
/* Returns the shortest prefix after which the member consists of digits of these letters only. For
 * ZSET_TEXT, the prefix ends at the last character that is neither a letter nor a digit. The result
 * is a view of the member. */
struct bytes zset_front_prefix(struct bytes member, enum zset_letters letters);

/* ---- spelling: inline, because each member in a reply needs it ---- */

typedef unsigned char zset_half_bytes __attribute__((vector_size(16)));
typedef uint64_t zset_words __attribute__((vector_size(16)));

/* Spells eight stored bytes, of two digits each, as 16 characters. `letters` must not be
 * ZSET_TEXT. */
static inline void zset_front_spell_eight(char *to, const char *from, enum zset_letters letters)
{
    uint64_t eight;
    memcpy(&eight, from, ZSET_SPELLED);
    zset_half_bytes stored = (zset_half_bytes)(zset_words){ eight, 0 };
    zset_half_bytes high = stored >> 4, low = stored & 0xf;
    zset_half_bytes wide =
        __builtin_shufflevector(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    if (letters == ZSET_DECIMAL)
        wide += '0' - 1;
    else
        wide += '0' + ((zset_half_bytes)(wide > 9) & ('a' - '0' - 10));
    memcpy(to, &wide, sizeof(wide));
}

/* Is this a frequent form, which zset_front_spell_short can spell? It may read past `stored`, up to
 * `end`, which the caller knows to be readable. */
static inline bool zset_front_is_short(const struct zset_front *front, struct bytes stored,
                                       const char *end)
{
    return stored.len - 1 < ZSET_SPELLED && stored.data + ZSET_SPELLED <= end &&
           front->letters != ZSET_TEXT && front->prefix.len <= ZSET_SPELLED;
}
static inline struct bytes zset_front_spell_short(const struct zset_front *front,
                                                  struct bytes stored, char text[ZSET_TEXT_SIZE])
{
    /* Copies eight bytes whatever the length of the prefix. The bytes after it are other bytes of
     * the front, and the digits overwrite them. */
    if (front->prefix.len > 0) memcpy(text, front->prefix.data, ZSET_SPELLED);
    zset_front_spell_eight(text + front->prefix.len, stored.data, front->letters);
    bool is_padded = front->letters == ZSET_DECIMAL && (stored.data[stored.len - 1] & 0xf) == 0;
    return bytes_of(text, front->prefix.len + 2 * stored.len - is_padded);
}

/* Spells the member of a stored form and returns it. Writes the member to `text` in any case, so
 * that a caller may change the records while it uses the member. */
struct bytes zset_front_spell_any(const struct zset_front *front, struct bytes stored,
                                  char text[ZSET_TEXT_SIZE]);
static inline struct bytes zset_front_spell(const struct zset_front *front, struct bytes stored,
                                            const char *end, char text[ZSET_TEXT_SIZE])
{
    return zset_front_is_short(front, stored, end) ? zset_front_spell_short(front, stored, text)
                                                   : zset_front_spell_any(front, stored, text);
}
