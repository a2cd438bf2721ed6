/* zipmap: the steps that walk.c calls. Items with an odd index are values. A length in a longer
 * form than it needs is reported as damage. */
#include "proto/rdb/zipmap.h"

enum { LONG_LENGTH = 254, END_BYTE = 0xff };

bool rdb_zipmap_begin(struct rdb_walk *walk)
{
    if (rdb_walk_left(walk) < 2) return false;
    uint64_t pairs = *walk->at++;
    walk->announced = pairs < LONG_LENGTH ? 2 * pairs : RDB_NOT_ANNOUNCED;
    return true;
}

/* A length is one byte below 254, or 254 and 4 bytes. Returns the bytes it takes; 0: damaged. */
static size_t parse_length(const unsigned char *at, size_t left, size_t *len)
{
    *len = *at;
    if (*at < LONG_LENGTH) return 1;
    if (*at == END_BYTE || left < 5) return 0;
    *len = (size_t)rdb_unsigned_at(at + 1, 4);
    return *len < LONG_LENGTH ? 0 : 5;
}

enum rdb_step rdb_zipmap_next(struct rdb_walk *walk, struct rdb_item *item)
{
    const unsigned char *at = walk->at;
    bool is_value = walk->count % 2 != 0;
    size_t left = rdb_walk_left(walk), len, unused = 0;
    if (left == 0) return rdb_walk_broken(walk, "zipmap without an end");
    if (*at == END_BYTE && !is_value)
        return left == 1 ? RDB_END : rdb_walk_broken(walk, "zipmap ends before its last byte");
    size_t skip = parse_length(at, left, &len);
    if (skip != 0 && is_value) {
        if (skip == left) return rdb_walk_broken(walk, "zipmap without an end");
        unused = at[skip++];
    }
    if (skip == 0 || len > left - skip || unused > left - skip - len)
        return rdb_walk_broken(walk, "broken item in a zipmap");
    rdb_item_set_text(item, at + skip, len);
    walk->at += skip + len + unused;
    return RDB_ITEM;
}
