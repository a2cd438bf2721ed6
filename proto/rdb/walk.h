/* walk: iterates over the items of a packed value (listpack, ziplist, zipmap, intset) and checks
 * every length and count. An item is returned as soon as it is complete; RDB_END is returned only
 * if all was correct. A caller that must not see part of a damaged value walks twice. */
#ifndef PROTO_RDB_WALK_H
#define PROTO_RDB_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/rdb/bytes.h"
#include "proto/rdb/number_text.h"

enum rdb_packing {
    RDB_LISTPACK,
    RDB_ZIPLIST,
    RDB_ZIPMAP, /* its items are field, value, field, value ... */
    RDB_INTSET,
};

enum rdb_step { RDB_ITEM, RDB_END, RDB_BROKEN };

struct rdb_item {
    struct rdb_bytes text; /* in the value, or in `digits` below; valid until the next item */
    bool is_integer;
    int64_t integer;
    char digits[RDB_INTEGER_CHARS];
};

struct rdb_walk {
    enum rdb_packing packing;
    const unsigned char *start, *at, *end;
    uint64_t announced; /* number of items in the header, or RDB_NOT_ANNOUNCED */
    uint64_t count;     /* items so far */
    size_t previous;    /* ziplist: bytes of the last item */
    size_t width;       /* intset: bytes of an item */
    int64_t last;       /* intset: the last item */
    const char *wrong;  /* after RDB_BROKEN, for the error message */
};

#define RDB_NOT_ANNOUNCED UINT64_MAX

/* The bytes are borrowed until the walk is over. A broken header is reported by the first step.
 * O(1) */
void rdb_walk_begin(struct rdb_walk *walk, enum rdb_packing packing, struct rdb_bytes packed);
enum rdb_step rdb_walk_next(struct rdb_walk *walk, struct rdb_item *item);

/* ---- for the packings themselves ---- */

enum rdb_step rdb_walk_broken(struct rdb_walk *walk, const char *wrong);
void rdb_item_set_integer(struct rdb_item *item, int64_t integer);
void rdb_item_set_text(struct rdb_item *item, const unsigned char *at, size_t len);
static inline size_t rdb_walk_left(const struct rdb_walk *walk)
{
    return (size_t)(walk->end - walk->at);
}

#endif
