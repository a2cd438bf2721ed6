/* packing: iterates over the four packings whose layouts packing.h shows, and builds listpacks and
 * intsets.
 *
 * Each packing is a pair of functions: `begin` checks the header, `next` checks and returns one
 * item. */
#include "proto/rdb/packing.h"

#include <stdlib.h>

#include "store/base/little_endian.h"

enum {
    END_BYTE = 0xff,       /* the last byte of all packings but intsets */
    COUNT_AT = 4,          /* offset of the count in listpacks and intsets */
    COUNT_UNKNOWN = 65535, /* in place of the count of a listpack or ziplist: count the items */
    LONG_LENGTH = 254,     /* in ziplists and zipmaps: a length of 4 bytes follows */
};

struct head {
    size_t size, len; /* bytes of the encoding, and of the text or number after it */
    bool is_text;
};

static enum rdb_step broken(struct rdb_walk *walk, const char *wrong)
{
    walk->wrong = wrong;
    return RDB_BROKEN;
}

static void set_integer(struct rdb_item *item, int64_t integer)
{
    item->is_integer = true;
    item->integer = integer;
    item->text = bytes_of(item->digits, number_print_int64(item->digits, integer));
}

static void set_text(struct rdb_item *item, const unsigned char *at, size_t len)
{
    item->is_integer = false;
    item->integer = 0;
    item->text = bytes_of((const char *)at, len);
}

static size_t packing_left(const struct rdb_walk *walk)
{
    return (size_t)(walk->end - walk->at);
}

/* Checks the header of a listpack or ziplist. Both begin with the total number of bytes (4) and
 * store the number of items (2) at offset `count_at`. */
static bool begin_items(struct rdb_walk *walk, size_t header, size_t count_at)
{
    size_t size = packing_left(walk);
    if (size < header + 1 || little_unsigned(walk->at, 4) != size) return false;
    uint64_t count = little_unsigned(walk->at + count_at, 2);
    walk->announced = count == COUNT_UNKNOWN ? RDB_NOT_ANNOUNCED : count;
    walk->at += header;
    return true;
}

/* An item of a listpack is its encoding, its text or number, and the length of these two, for
 * reading backwards. A backward length that differs from the item's size is damage. Numbers of more
 * than one byte are signed. The first byte tells the encoding:
 *
 *     first byte     what follows
 *     0xxxxxxx       nothing: the number 0 to 127
 *     10llllll       a text of l bytes
 *     110xxxxx       1 byte: the low 8 bits of a number of 13 bits, of which x are the high ones
 *     1110llll       1 byte: the low 8 bits of a length of 12 bits; then the text
 *     f0             4 bytes: the length, least significant first; then the text
 *     f1 f2 f3 f4    a number of 2, 3, 4, 8 bytes, least significant first */

enum {
    LISTPACK_HEADER = 6,
    MAX_HEAD = 9, /* bytes of an encoding, with the number */
    MAX_BACKLEN = 5,
    TEXT_32 = 0xf0,
    INTEGER_16 = 0xf1,
    INTEGER_64 = 0xf4,
};

static bool listpack_begin(struct rdb_walk *walk)
{
    return begin_items(walk, LISTPACK_HEADER, COUNT_AT);
}

/* Parses the encoding of the item at `at`. `left`, at least 1, is the number of bytes from there to
 * the end of the packing. Returns false if the item is damaged. */
static bool parse_listpack_head(const unsigned char *at, size_t left, struct head *head)
{
    static const unsigned char widths[] = { 2, 3, 4, 8 };
    unsigned first = *at;
    if (first < 0x80)
        *head = (struct head){ 1, 0, false };
    else if (first < 0xc0)
        *head = (struct head){ 1, first & 0x3f, true };
    else if (left < 2)
        return false;
    else if (first < 0xe0)
        *head = (struct head){ 2, 0, false };
    else if (first < 0xf0)
        *head = (struct head){ 2, (first & 0x0f) << 8 | at[1], true };
    else if (first == TEXT_32 && left >= 5)
        *head = (struct head){ 5, (size_t)little_unsigned(at + 1, 4), true };
    else if (first >= INTEGER_16 && first <= INTEGER_64)
        *head = (struct head){ 1, widths[first - INTEGER_16], false };
    else
        return false;
    return head->size <= left && head->len <= left - head->size;
}

static size_t put_backlen(unsigned char *to, size_t len)
{
    /* Redis compares with `<`, so that 16383 is written in three bytes although two would hold it.
     * The same is true of the next two limits. */
    size_t size = len <= 127        ? 1
                  : len < 16383     ? 2
                  : len < 2097151   ? 3
                  : len < 268435455 ? 4
                                    : MAX_BACKLEN;
    for (size_t i = size; i > 0; i--, len >>= 7)
        to[i - 1] = (unsigned char)((len & 127) | (i > 1 ? 128 : 0));
    return size;
}

static enum rdb_step listpack_next(struct rdb_walk *walk, struct rdb_item *item)
{
    struct head head;
    unsigned char backlen[MAX_BACKLEN];
    const unsigned char *at = walk->at;
    size_t left = packing_left(walk);
    if (left == 0) return broken(walk, "listpack without an end byte");
    if (*at == END_BYTE) {
        return left == 1 ? RDB_END : broken(walk, "listpack with bytes after its end");
    }
    if (!parse_listpack_head(at, left, &head)) return broken(walk, "broken item in a listpack");
    size_t size = head.size + head.len, back = put_backlen(backlen, size);
    if (left - size < back || memcmp(at + size, backlen, back) != 0)
        return broken(walk, "a listpack item with a wrong backward length");
    if (head.is_text) {
        set_text(item, at + head.size, head.len);
    } else if (head.len > 0) {
        set_integer(item, little_signed(at + 1, head.len));
    } else if (head.size == 1) {
        set_integer(item, *at);
    } else {
        int64_t value = (at[0] & 0x1f) << 8 | at[1];
        set_integer(item, value < 4096 ? value : value - 8192);
    }
    walk->at += size + back;
    return RDB_ITEM;
}

bool rdb_listpack_start(struct buffer *to)
{
    static const unsigned char header[LISTPACK_HEADER];
    return buffer_try_append(to, header, LISTPACK_HEADER);
}

bool rdb_listpack_append(struct buffer *to, struct bytes text)
{
    static const struct {
        size_t width;
        int64_t limit; /* holds -limit to limit - 1 */
    } widths[] = { { 2, 1 << 15 }, { 3, 1 << 23 }, { 4, INT64_C(1) << 31 } };
    int64_t integer;
    if (text.len > UINT32_MAX / 2 || !buffer_try_reserve(to, MAX_HEAD + text.len + MAX_BACKLEN))
        return false;
    unsigned char *at = (unsigned char *)to->data + to->len;
    bool is_integer = number_parse_int64(text.data, text.len, &integer);
    size_t size;
    if (is_integer && integer >= 0 && integer <= 127) {
        at[0] = (unsigned char)integer;
        size = 1;
    } else if (is_integer && integer >= -4096 && integer <= 4095) {
        uint64_t bits = (uint64_t)integer & 0x1fff;
        at[0] = (unsigned char)(0xc0 | bits >> 8);
        at[1] = (unsigned char)bits;
        size = 2;
    } else if (is_integer) {
        unsigned i = 0;
        while (i < 3 && (integer < -widths[i].limit || integer >= widths[i].limit))
            i++;
        size_t width = i < 3 ? widths[i].width : 8;
        at[0] = (unsigned char)(INTEGER_16 + i);
        little_put(at + 1, width, (uint64_t)integer);
        size = 1 + width;
    } else if (text.len < 64) {
        at[0] = (unsigned char)(0x80 | text.len);
        size = 1;
    } else if (text.len < 4096) {
        at[0] = (unsigned char)(0xe0 | text.len >> 8);
        at[1] = (unsigned char)text.len;
        size = 2;
    } else {
        at[0] = TEXT_32;
        little_put(at + 1, 4, text.len);
        size = 5;
    }
    if (!is_integer && text.len > 0) memcpy(at + size, text.data, text.len);
    if (!is_integer) size += text.len;
    to->len += size + put_backlen(at + size, size);
    return true;
}

bool rdb_listpack_finish(struct buffer *to, size_t start, uint64_t count)
{
    unsigned char end = END_BYTE;
    if (!buffer_try_append(to, &end, 1) || to->len - start > UINT32_MAX) return false;
    unsigned char *header = (unsigned char *)to->data + start;
    little_put(header, 4, to->len - start);
    little_put(header + COUNT_AT, 2, count < COUNT_UNKNOWN ? count : COUNT_UNKNOWN);
    return true;
}

/* An item of a ziplist is the length of the item before it (0 for the first one), its encoding, and
 * its text or number. A wrong length of the item before is damage, and so is a wrong offset of the
 * last item in the header. Numbers are signed.
 *
 *     first byte     the length of the item before
 *     00 to fd       this byte
 *     fe             4 bytes, least significant first
 *
 *     first byte     the encoding, and what follows
 *     00llllll       a text of l bytes
 *     01llllll       1 byte: the low 8 bits of a length of 14 bits; then the text
 *     10......       4 bytes: the length, most significant first; then the text
 *     c0 d0 e0       a number of 2, 4, 8 bytes, least significant first
 *     f0 fe          a number of 3, 1 bytes, least significant first
 *     f1 to fd       nothing: the numbers 0 to 12 */

enum { TAIL_AT = 4, ZIPLIST_COUNT_AT = 8, ZIPLIST_HEADER = 10 };

static bool ziplist_begin(struct rdb_walk *walk)
{
    return begin_items(walk, ZIPLIST_HEADER, ZIPLIST_COUNT_AT);
}

static bool parse_ziplist_head(const unsigned char *at, size_t left, struct head *head)
{
    if (left == 0) return false;
    if (*at < 0xc0) {
        size_t size = *at < 0x40 ? 1 : *at < 0x80 ? 2 : 5;
        size_t len = *at < 0x80 ? *at & 0x3f : 0;
        if (left < size) return false;
        for (size_t i = 1; i < size; i++)
            len = len << 8 | at[i];
        *head = (struct head){ size, len, true };
    } else {
        *head = (struct head){ 1, 0, false };
        switch (*at) {
        case 0xc0: head->len = 2; break;
        case 0xd0: head->len = 4; break;
        case 0xe0: head->len = 8; break;
        case 0xf0: head->len = 3; break;
        case 0xfe: head->len = 1; break;
        default:
            if (*at < 0xf1 || *at > 0xfd) return false;
        }
    }
    return head->len <= left - head->size;
}

static enum rdb_step ziplist_next(struct rdb_walk *walk, struct rdb_item *item)
{
    struct head head;
    size_t left = packing_left(walk);
    if (left == 0) return broken(walk, "ziplist without an end byte");
    if (*walk->at == END_BYTE) {
        size_t last = (size_t)(walk->at - walk->start) - walk->previous;
        if (left != 1) return broken(walk, "ziplist with bytes after its end");
        return little_unsigned(walk->start + TAIL_AT, 4) == last
                   ? RDB_END
                   : broken(walk, "ziplist with a wrong offset of the last item");
    }
    size_t skip = *walk->at < LONG_LENGTH ? 1 : 5, previous = *walk->at;
    if (left < skip || !parse_ziplist_head(walk->at + skip, left - skip, &head))
        return broken(walk, "broken item in a ziplist");
    if (skip > 1) previous = (size_t)little_unsigned(walk->at + 1, 4);
    if (previous != walk->previous)
        return broken(walk, "a ziplist item with a wrong length of the item before");
    const unsigned char *at = walk->at + skip;
    if (head.is_text)
        set_text(item, at + head.size, head.len);
    else if (head.len > 0)
        set_integer(item, little_signed(at + 1, head.len));
    else
        set_integer(item, *at - 0xf1);
    walk->previous = skip + head.size + head.len;
    walk->at += walk->previous;
    return RDB_ITEM;
}

/* The items of a zipmap are fields (even indexes) and their values (odd indexes). A length that is
 * written in 5 bytes but fits in one is damage. */

static bool zipmap_begin(struct rdb_walk *walk)
{
    if (packing_left(walk) < 2) return false;
    uint64_t pairs = *walk->at++;
    walk->announced = pairs < LONG_LENGTH ? 2 * pairs : RDB_NOT_ANNOUNCED;
    return true;
}

static enum rdb_step zipmap_next(struct rdb_walk *walk, struct rdb_item *item)
{
    const unsigned char *at = walk->at;
    bool is_value = walk->count % 2 != 0;
    size_t left = packing_left(walk), len, unused = 0;
    if (left == 0) return broken(walk, "zipmap without an end byte");
    if (*at == END_BYTE && !is_value)
        return left == 1 ? RDB_END : broken(walk, "zipmap with bytes after its end");

    size_t skip = *at < LONG_LENGTH ? 1 : *at == END_BYTE || left < 5 ? 0 : 5;
    len = skip == 5 ? (size_t)little_unsigned(at + 1, 4) : *at;
    if (skip == 5 && len < LONG_LENGTH) skip = 0;
    if (skip != 0 && is_value) {
        if (skip == left) return broken(walk, "zipmap without an end byte");
        unused = at[skip++];
    }
    if (skip == 0 || len > left - skip || unused > left - skip - len)
        return broken(walk, "broken item in a zipmap");
    set_text(item, at + skip, len);
    walk->at += skip + len + unused;
    return RDB_ITEM;
}

enum { INTSET_HEADER = 8 };

static bool intset_begin(struct rdb_walk *walk)
{
    size_t size = packing_left(walk);
    if (size < INTSET_HEADER) return false;
    uint64_t width = little_unsigned(walk->at, 4);
    if (width != 2 && width != 4 && width != 8) return false;
    walk->width = (size_t)width;
    walk->announced = little_unsigned(walk->at + COUNT_AT, 4);
    walk->at += INTSET_HEADER;
    size_t bytes = size - INTSET_HEADER;
    return bytes % walk->width == 0 && bytes / walk->width == walk->announced;
}

static enum rdb_step intset_next(struct rdb_walk *walk, struct rdb_item *item)
{
    if (walk->at == walk->end) return RDB_END;
    int64_t integer = little_signed(walk->at, walk->width);
    if (walk->count > 0 && integer <= walk->last)
        return broken(walk, "the integers of an intset are not in order");
    walk->at += walk->width;
    walk->last = integer;
    set_integer(item, integer);
    return RDB_ITEM;
}

static int compare_integers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

bool rdb_intset_append(struct buffer *to, int64_t *integers, size_t count)
{
    if (count > 1) qsort(integers, count, sizeof(*integers), compare_integers);
    int64_t low = count > 0 ? integers[0] : 0, high = count > 0 ? integers[count - 1] : 0;
    size_t width = low >= INT16_MIN && high <= INT16_MAX   ? 2
                   : low >= INT32_MIN && high <= INT32_MAX ? 4
                                                           : 8;
    size_t size = INTSET_HEADER + count * width;
    if (!buffer_try_reserve(to, size)) return false;
    unsigned char *at = (unsigned char *)to->data + to->len;
    little_put(at, 4, width);
    little_put(at + COUNT_AT, 4, count);
    at += INTSET_HEADER;
    for (size_t i = 0; i < count; i++, at += width)
        little_put(at, width, (uint64_t)integers[i]);
    to->len += size;
    return true;
}

static const struct packing {
    bool (*begin)(struct rdb_walk *walk);
    enum rdb_step (*next)(struct rdb_walk *walk, struct rdb_item *item);
} packings[] = {
    [RDB_LISTPACK] = { listpack_begin, listpack_next },
    [RDB_ZIPLIST] = { ziplist_begin, ziplist_next },
    [RDB_ZIPMAP] = { zipmap_begin, zipmap_next },
    [RDB_INTSET] = { intset_begin, intset_next },
};

void rdb_walk_begin(struct rdb_walk *walk, enum rdb_packing packing, struct bytes packed)
{
    const unsigned char *start = (const unsigned char *)packed.data;
    *walk = (struct rdb_walk){
        .packing = packing, .start = start, .at = start, .end = start + packed.len
    };
    if (!packings[packing].begin(walk) && walk->wrong == NULL) walk->wrong = "broken header";
}

enum rdb_step rdb_walk_next(struct rdb_walk *walk, struct rdb_item *item)
{
    if (walk->wrong != NULL) return RDB_BROKEN;
    enum rdb_step step = packings[walk->packing].next(walk, item);
    if (step == RDB_ITEM) walk->count++;
    if (step == RDB_END && walk->announced != RDB_NOT_ANNOUNCED && walk->announced != walk->count)
        return broken(walk, "a number of items that differs from the header");
    return step;
}

/* LZF is a sequence of instructions: literal bytes, and copies of bytes that were unpacked before.
 * Of the distance o the 5 high bits come first.
 *
 *     000lllll             l + 1 literal bytes follow
 *     lllooooo oooooooo    copy l + 2 bytes from o + 1 bytes ago (l from 1 to 6)
 *     111ooooo m oooooooo  the same with l = 7 + m; m is one byte */

enum { LITERAL_BELOW = 32, LONG_REFERENCE = 7 };

bool rdb_lzf_unpack(struct bytes packed, char *to, size_t len)
{
    const unsigned char *at = (const unsigned char *)packed.data, *end = at + packed.len;
    char *out = to, *out_end = to + len;
    while (at < end) {
        unsigned control = *at++;
        if (control < LITERAL_BELOW) {
            size_t literal = control + 1;
            if ((size_t)(end - at) < literal || (size_t)(out_end - out) < literal) return false;
            memcpy(out, at, literal);
            at += literal;
            out += literal;
            continue;
        }
        size_t copied = control >> 5;
        if (copied == LONG_REFERENCE) {
            if (at == end) return false;
            copied += *at++;
        }
        if (at == end) return false;
        size_t back = ((size_t)(control & 31) << 8 | *at++) + 1;
        copied += 2;
        if ((size_t)(out - to) < back || (size_t)(out_end - out) < copied) return false;
        /* Byte by byte, because source and target may overlap, which repeats a pattern. */
        for (; copied > 0; copied--, out++)
            *out = *(out - back);
    }
    return out == out_end;
}
