/* walk: the common part of the packings: calls the packing's own steps and compares counts. */
#include "proto/rdb/walk.h"

#include "proto/rdb/intset.h"
#include "proto/rdb/listpack.h"
#include "proto/rdb/ziplist.h"
#include "proto/rdb/zipmap.h"

static const struct packing {
    bool (*begin)(struct rdb_walk *walk);
    enum rdb_step (*next)(struct rdb_walk *walk, struct rdb_item *item);
} packings[] = {
    [RDB_LISTPACK] = { rdb_listpack_begin, rdb_listpack_next },
    [RDB_ZIPLIST] = { rdb_ziplist_begin, rdb_ziplist_next },
    [RDB_ZIPMAP] = { rdb_zipmap_begin, rdb_zipmap_next },
    [RDB_INTSET] = { rdb_intset_begin, rdb_intset_next },
};

void rdb_walk_begin(struct rdb_walk *walk, enum rdb_packing packing, struct rdb_bytes packed)
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
        return rdb_walk_broken(walk, "another number of items than its header says");
    return step;
}

enum rdb_step rdb_walk_broken(struct rdb_walk *walk, const char *wrong)
{
    walk->wrong = wrong;
    return RDB_BROKEN;
}

void rdb_item_set_integer(struct rdb_item *item, int64_t integer)
{
    item->is_integer = true;
    item->integer = integer;
    item->text = (struct rdb_bytes){ item->digits, rdb_print_integer(item->digits, integer) };
}

void rdb_item_set_text(struct rdb_item *item, const unsigned char *at, size_t len)
{
    item->is_integer = false;
    item->integer = 0;
    item->text = (struct rdb_bytes){ (const char *)at, len };
}
