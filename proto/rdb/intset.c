/* intset: the steps that walk.c calls, and the writer. */
#include "proto/rdb/intset.h"

#include <stdlib.h>

enum { HEADER = 8, COUNT_AT = 4 };

bool rdb_intset_begin(struct rdb_walk *walk)
{
    size_t size = rdb_walk_left(walk);
    if (size < HEADER) return false;
    uint64_t width = rdb_unsigned_at(walk->at, 4);
    if (width != 2 && width != 4 && width != 8) return false;
    walk->width = (size_t)width;
    walk->announced = rdb_unsigned_at(walk->at + COUNT_AT, 4);
    walk->at += HEADER;
    size_t bytes = size - HEADER;
    return bytes % walk->width == 0 && bytes / walk->width == walk->announced;
}

enum rdb_step rdb_intset_next(struct rdb_walk *walk, struct rdb_item *item)
{
    if (walk->at == walk->end) return RDB_END;
    int64_t integer = rdb_signed_at(walk->at, walk->width);
    if (walk->count > 0 && integer <= walk->last)
        return rdb_walk_broken(walk, "the integers of an intset are not in order");
    walk->at += walk->width;
    walk->last = integer;
    rdb_item_set_integer(item, integer);
    return RDB_ITEM;
}

static int compare_integers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* `integers` are sorted, so the first and the last have the extreme values. */
static size_t width_for(const int64_t *integers, size_t count)
{
    int64_t low = count > 0 ? integers[0] : 0, high = count > 0 ? integers[count - 1] : 0;
    if (low >= INT16_MIN && high <= INT16_MAX) return 2;
    return low >= INT32_MIN && high <= INT32_MAX ? 4 : 8;
}

bool rdb_intset_append(struct rdb_buffer *to, int64_t *integers, size_t count)
{
    if (count > 1) qsort(integers, count, sizeof(*integers), compare_integers);
    size_t width = width_for(integers, count), size = HEADER + count * width;
    if (!rdb_buffer_reserve(to, size)) return false;
    unsigned char *at = (unsigned char *)to->data + to->len;
    rdb_put_number(at, 4, width);
    rdb_put_number(at + COUNT_AT, 4, count);
    at += HEADER;
    for (size_t i = 0; i < count; i++, at += width)
        rdb_put_number(at, width, (uint64_t)integers[i]);
    to->len += size;
    return true;
}
