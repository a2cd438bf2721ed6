/* packing: iterates over the items of Redis' packed values (listpack, ziplist, zipmap, intset) and
 * checks every length and count; builds listpacks and intsets; and unpacks LZF. An item is returned
 * before the items after it are checked, so only RDB_END means that the whole packing was correct.
 * A caller that must not use part of a damaged value walks twice, which takes less memory than a
 * copy of the items.
 *
 * Layouts, with the size of each part in bytes. The numbers shown are little-endian, and unsigned
 * except for the integers of an intset. packing.c shows the encodings of items.
 *
 *     listpack: small values since Redis 7, streams since Redis 5
 *               (listpack.md of github.com/antirez/listpack)
 *       4    total bytes
 *       2    number of items; 65535 means: not stored, count the items
 *       ...  items: encoding, text, length of both in groups of 7 bits, for reading backwards
 *       1    0xff
 *
 *     ziplist: lists, hashes and sorted sets up to Redis 6
 *       4    total bytes
 *       4    offset of the last item
 *       2    number of items, as above
 *       ...  items: length of the item before, encoding, text
 *       1    0xff
 *
 *     zipmap: hashes before Redis 2.6
 *       1    number of pairs; 254 and more mean: not stored, count the pairs
 *       ...  pairs: the field's length and text, the value's length, 1 byte with a number of
 *            unused bytes, the value's text, the unused bytes
 *       1    0xff
 *
 *     intset: small sets of integers
 *       4    bytes of each integer: 2, 4 or 8
 *       4    count
 *       ...  the integers in ascending order */
#pragma once

#include "store/base/bytes.h"
#include "store/base/number.h"
#include "store/mem/buffer.h"

enum rdb_packing {
    RDB_LISTPACK,
    RDB_ZIPLIST,
    RDB_ZIPMAP, /* its items are field, value, field, value ... */
    RDB_INTSET,
};

enum rdb_step { RDB_ITEM, RDB_END, RDB_BROKEN };

struct rdb_item {
    struct bytes text; /* its bytes: in the value or in `digits`; valid until the next item */
    bool is_integer;
    int64_t integer;
    char digits[NUMBER_INT64_MAX_CHARS];
};

struct rdb_walk {
    enum rdb_packing packing;
    const unsigned char *start, *at, *end;
    uint64_t announced; /* number of items in the header, or RDB_NOT_ANNOUNCED */
    uint64_t count;     /* items returned so far */
    size_t previous;    /* ziplist: bytes of the last item */
    size_t width;       /* intset: bytes of an item */
    int64_t last;       /* intset: the last item */
    const char *wrong;  /* after RDB_BROKEN, for the error message */
};

#define RDB_NOT_ANNOUNCED UINT64_MAX

/* Begins a walk. The bytes are borrowed until the walk ends. A broken header is reported by the
 * first rdb_walk_next. O(1) */
void rdb_walk_begin(struct rdb_walk *walk, enum rdb_packing packing, struct bytes packed);
/* Returns RDB_ITEM with the next item, RDB_END after the last one, or RDB_BROKEN with
 * walk->wrong. */
enum rdb_step rdb_walk_next(struct rdb_walk *walk, struct rdb_item *item);

/* ---- building ---- */

/* Build a listpack at the end of `to`; `start` is to->len before rdb_listpack_start, `count` the
 * number of items. A text that is the canonical form of an int64 is stored as a number. The
 * functions return false if memory runs out, an item exceeds 2 GiB, or the listpack exceeds 4 GiB;
 * cut `to` back to `start` then. */
bool rdb_listpack_start(struct buffer *to);
bool rdb_listpack_append(struct buffer *to, struct bytes text);
bool rdb_listpack_finish(struct buffer *to, size_t start, uint64_t count);

/* Sorts the integers in place and appends them to `to` as an intset. Returns false if memory runs
 * out. O(n log n) */
bool rdb_intset_append(struct buffer *to, int64_t *integers, size_t count);

/* ---- LZF (Marc Lehmann's LibLZF), which Redis uses to compress long strings ---- */

/* The unpacked length is at most this many times the packed length. */
enum { RDB_LZF_MAX_RATIO = 88 };

/* Unpacks LZF. Returns true if the stream is complete and unpacks to exactly `len` bytes; otherwise
 * the contents of `to` are undefined. Safe for any input: accesses nothing outside the two
 * buffers. */
bool rdb_lzf_unpack(struct bytes packed, char *to, size_t len);
