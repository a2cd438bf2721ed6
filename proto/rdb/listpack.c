/* listpack: the steps that walk.c calls, and the writer. An item whose backward length does not
 * match its size is reported as damage.
 *
 * First byte: 0xxxxxxx number 0..127 · 10llllll text · 110xxxxx +1 number of 13 bits · 1110llll +1
 * text · f0 +4 text (length least significant first) · f1 f2 f3 f4: number of 2, 3, 4, 8 bytes. */
#include "proto/rdb/listpack.h"

#include <string.h>

enum {
    HEADER = 6,
    COUNT_AT = 4,
    COUNT_UNKNOWN = 65535,
    END_BYTE = 0xff,
    MAX_BACKLEN = 5,
    TEXT_32 = 0xf0,
    INTEGER_16 = 0xf1,
    INTEGER_64 = 0xf4,
};

struct head {
    size_t size; /* bytes of the encoding */
    size_t len;  /* bytes of the text or number behind it */
    bool is_text;
};

bool rdb_listpack_begin(struct rdb_walk *walk)
{
    size_t size = rdb_walk_left(walk);
    if (size < HEADER + 1 || rdb_unsigned_at(walk->at, 4) != size) return false;
    uint64_t count = rdb_unsigned_at(walk->at + COUNT_AT, 2);
    walk->announced = count == COUNT_UNKNOWN ? RDB_NOT_ANNOUNCED : count;
    walk->at += HEADER;
    return true;
}

/* `left` is at least 1. */
static bool parse_head(const unsigned char *at, size_t left, struct head *head)
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
        *head = (struct head){ 5, (size_t)rdb_unsigned_at(at + 1, 4), true };
    else if (first >= INTEGER_16 && first <= INTEGER_64)
        *head = (struct head){ 1, widths[first - INTEGER_16], false };
    else
        return false;
    return head->size <= left && head->len <= left - head->size;
}

static int64_t integer_of(const unsigned char *at, const struct head *head)
{
    if (head->len > 0) return rdb_signed_at(at + 1, head->len);
    if (head->size == 1) return *at;
    int64_t value = (at[0] & 0x1f) << 8 | at[1];
    return value < 4096 ? value : value - 8192;
}

/* The bytes of a backward length. 16383 would fit into two bytes and takes three, because Redis
 * compares with `<`; so do the next two limits. */
static size_t backlen_size(size_t len)
{
    if (len <= 127) return 1;
    if (len < 16383) return 2;
    if (len < 2097151) return 3;
    return len < 268435455 ? 4 : MAX_BACKLEN;
}

static size_t put_backlen(unsigned char *to, size_t len)
{
    size_t size = backlen_size(len);
    for (size_t i = size; i > 0; i--, len >>= 7)
        to[i - 1] = (unsigned char)((len & 127) | (i > 1 ? 128 : 0));
    return size;
}

enum rdb_step rdb_listpack_next(struct rdb_walk *walk, struct rdb_item *item)
{
    struct head head;
    unsigned char backlen[MAX_BACKLEN];
    const unsigned char *at = walk->at;
    size_t left = rdb_walk_left(walk);
    if (left == 0) return rdb_walk_broken(walk, "listpack without an end");
    if (*at == END_BYTE) {
        return left == 1 ? RDB_END : rdb_walk_broken(walk, "listpack ends before its last byte");
    }
    if (!parse_head(at, left, &head)) return rdb_walk_broken(walk, "broken item in a listpack");
    size_t size = head.size + head.len, back = put_backlen(backlen, size);
    if (left - size < back || memcmp(at + size, backlen, back) != 0)
        return rdb_walk_broken(walk, "an item of a listpack has another length backwards");
    if (head.is_text)
        rdb_item_set_text(item, at + head.size, head.len);
    else
        rdb_item_set_integer(item, integer_of(at, &head));
    walk->at += size + back;
    return RDB_ITEM;
}

/* ---- writing ---- */

bool rdb_listpack_start(struct rdb_buffer *to)
{
    static const unsigned char header[HEADER];
    return rdb_buffer_append(to, header, HEADER);
}

/* Writes encoding and number; returns their size. */
static size_t put_integer(unsigned char *to, int64_t value)
{
    static const struct {
        size_t width;
        int64_t limit; /* holds -limit to limit - 1 */
    } widths[] = { { 2, 1 << 15 }, { 3, 1 << 23 }, { 4, INT64_C(1) << 31 } };
    if (value >= 0 && value <= 127) {
        *to = (unsigned char)value;
        return 1;
    }
    if (value >= -4096 && value <= 4095) {
        uint64_t bits = (uint64_t)value & 0x1fff;
        to[0] = (unsigned char)(0xc0 | bits >> 8);
        to[1] = (unsigned char)bits;
        return 2;
    }
    unsigned i = 0;
    while (i < 3 && (value < -widths[i].limit || value >= widths[i].limit))
        i++;
    size_t width = i < 3 ? widths[i].width : 8;
    *to = (unsigned char)(INTEGER_16 + i);
    rdb_put_number(to + 1, width, (uint64_t)value);
    return 1 + width;
}

static size_t put_text_head(unsigned char *to, size_t len)
{
    if (len < 64) {
        *to = (unsigned char)(0x80 | len);
        return 1;
    }
    if (len < 4096) {
        to[0] = (unsigned char)(0xe0 | len >> 8);
        to[1] = (unsigned char)len;
        return 2;
    }
    *to = TEXT_32;
    rdb_put_number(to + 1, 4, len);
    return 5;
}

bool rdb_listpack_append(struct rdb_buffer *to, struct rdb_bytes text)
{
    unsigned char head[16], backlen[MAX_BACKLEN];
    int64_t integer;
    if (text.len > UINT32_MAX / 2) return false;
    bool is_integer = rdb_parse_integer(text, &integer);
    size_t size = is_integer ? put_integer(head, integer) : put_text_head(head, text.len);
    size_t len = is_integer ? 0 : text.len;
    size_t back = put_backlen(backlen, size + len);
    return rdb_buffer_reserve(to, size + len + back) && rdb_buffer_append(to, head, size) &&
           rdb_buffer_append(to, text.data, len) && rdb_buffer_append(to, backlen, back);
}

bool rdb_listpack_finish(struct rdb_buffer *to, size_t start, uint64_t count)
{
    unsigned char end = END_BYTE;
    if (!rdb_buffer_append(to, &end, 1) || to->len - start > UINT32_MAX) return false;
    unsigned char *header = (unsigned char *)to->data + start;
    rdb_put_number(header, 4, to->len - start);
    rdb_put_number(header + COUNT_AT, 2, count < COUNT_UNKNOWN ? count : COUNT_UNKNOWN);
    return true;
}
