/* ziplist: the steps that walk.c calls. An item with a wrong length of the item before, or a header
 * with a wrong offset of the last item, is reported as damage.
 *
 * Length of the item before: one byte below 254, or 254 and 4 bytes. Encoding: 00llllll text ·
 * 01llllll +1 text · 10...... +4 text (lengths most significant first) · c0 d0 e0: number of 2, 4,
 * 8 bytes · f0: of 3 · fe: of 1 · f1 to fd: the numbers 0 to 12. */
#include "proto/rdb/ziplist.h"

enum {
    TAIL_AT = 4,
    COUNT_AT = 8,
    HEADER = 10,
    COUNT_UNKNOWN = 65535,
    END_BYTE = 0xff,
    LONG_LENGTH = 254,
};

/* The encoding of an item. */
struct head {
    size_t size, len; /* bytes of the encoding, and of the text or number behind it */
    bool is_text;
};

bool rdb_ziplist_begin(struct rdb_walk *walk)
{
    size_t size = rdb_walk_left(walk);
    if (size < HEADER + 1 || rdb_unsigned_at(walk->at, 4) != size) return false;
    uint64_t count = rdb_unsigned_at(walk->at + COUNT_AT, 2);
    walk->announced = count == COUNT_UNKNOWN ? RDB_NOT_ANNOUNCED : count;
    walk->at += HEADER;
    return true;
}

static enum rdb_step finish_ziplist(struct rdb_walk *walk)
{
    uint64_t tail = rdb_unsigned_at(walk->start + TAIL_AT, 4);
    size_t last = (size_t)(walk->at - walk->start) - walk->previous;
    if (rdb_walk_left(walk) != 1) return rdb_walk_broken(walk, "ziplist ends before its last byte");
    if (tail != last) return rdb_walk_broken(walk, "ziplist points to another last item");
    return RDB_END;
}

/* Reads the length of the item before. Returns the bytes that encode it; 0: they are missing. */
static size_t parse_previous(const unsigned char *at, size_t left, size_t *previous)
{
    *previous = *at;
    if (*at < LONG_LENGTH) return 1;
    if (left < 5) return 0;
    *previous = (size_t)rdb_unsigned_at(at + 1, 4);
    return 5;
}

static bool parse_text_head(const unsigned char *at, size_t left, struct head *head)
{
    unsigned kind = *at >> 6;
    size_t size = kind == 0 ? 1 : kind == 1 ? 2 : 5;
    if (left < size) return false;
    size_t len = kind == 2 ? 0 : *at & 0x3f;
    for (size_t i = 1; i < size; i++)
        len = len << 8 | at[i];
    *head = (struct head){ size, len, true };
    return true;
}

static bool parse_head(const unsigned char *at, size_t left, struct head *head)
{
    if (left == 0) return false;
    if (*at < 0xc0) {
        if (!parse_text_head(at, left, head)) return false;
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

enum rdb_step rdb_ziplist_next(struct rdb_walk *walk, struct rdb_item *item)
{
    struct head head;
    size_t left = rdb_walk_left(walk), previous;
    if (left == 0) return rdb_walk_broken(walk, "ziplist without an end");
    if (*walk->at == END_BYTE) return finish_ziplist(walk);
    size_t skip = parse_previous(walk->at, left, &previous);
    if (skip == 0 || !parse_head(walk->at + skip, left - skip, &head))
        return rdb_walk_broken(walk, "broken item in a ziplist");
    if (previous != walk->previous)
        return rdb_walk_broken(walk, "an item of a ziplist has another length of the one before");
    const unsigned char *at = walk->at + skip;
    if (head.is_text)
        rdb_item_set_text(item, at + head.size, head.len);
    else if (head.len > 0)
        rdb_item_set_integer(item, rdb_signed_at(at + 1, head.len));
    else
        rdb_item_set_integer(item, *at - 0xf1);
    walk->previous = skip + head.size + head.len;
    walk->at += walk->previous;
    return RDB_ITEM;
}
