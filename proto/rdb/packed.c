/* packed: reads values whose parts are all in one packing (packing.h). Walks each packing twice:
 * first to check it to its end, then to pass its items to the visitor. */

#include "proto/rdb/reader.h"

enum { MAX_PART = 3 };

static const struct {
    unsigned items; /* number of items that form one part */
    bool unique;    /* the first items of all parts must differ */
} shapes[] = {
    [RDB_ITEMS_LIST] = { 1, false },       [RDB_ITEMS_SET] = { 1, true },
    [RDB_ITEMS_HASH] = { 2, true },        [RDB_ITEMS_ZSET] = { 2, true },
    [RDB_ITEMS_WITH_EXPIRY] = { 3, true },
};

static bool score_of(const struct rdb_item *item, double *score)
{
    *score = (double)item->integer;
    return item->is_integer || number_parse_double(item->text.data, item->text.len, score);
}

/* Sets *at to the deadline of a field; the file stores 0 for a field without one. Returns false if
 * the item is no valid deadline. */
static bool field_deadline(const struct rdb_item *item, int64_t *at)
{
    *at = item->integer == 0 ? RDB_NEVER : item->integer;
    return item->is_integer && item->integer >= 0 && (uint64_t)item->integer <= RDB_LATEST_FIELD;
}

bool rdb_visit_packed(struct rdb_reader *reader, struct bytes packed, enum rdb_packing packing,
                      enum rdb_shape shape)
{
    struct rdb_walk walk;
    struct rdb_item item, part[MAX_PART];
    enum rdb_step step;
    double score;
    int64_t at;
    unsigned items = shapes[shape].items;
    /* The integers of an intset ascend, so they are unique. */
    bool check_unique = shapes[shape].unique && packing != RDB_INTSET, good = true;
    rdb_walk_begin(&walk, packing, packed);
    while ((step = rdb_walk_next(&walk, &item)) == RDB_ITEM) {
        uint64_t column = (walk.count - 1) % items;
        if (column == 0 && check_unique && !rdb_unique(reader, item.text)) return false;
        if (column == 1 && shape == RDB_ITEMS_ZSET && !score_of(&item, &score))
            return rdb_damaged(reader, "a score that is not a number");
        if (column == 2 && !field_deadline(&item, &at))
            return rdb_damaged(reader, "an invalid deadline of a field");
    }
    if (step == RDB_BROKEN) return rdb_damaged(reader, walk.wrong);
    if (walk.count == 0) return rdb_damaged(reader, "an empty collection");
    if (walk.count % items != 0)
        return rdb_damaged(reader, "a packing whose last part is incomplete");

    rdb_walk_begin(&walk, packing, packed);
    while (good && rdb_walk_next(&walk, &part[walk.count % items]) == RDB_ITEM) {
        at = RDB_NEVER;
        if (walk.count % items != 0) continue;
        switch (shape) {
        case RDB_ITEMS_LIST: good = RDB_VISIT(reader, list_element, part[0].text); break;
        case RDB_ITEMS_SET: good = RDB_VISIT(reader, set_member, part[0].text); break;
        case RDB_ITEMS_ZSET:
            score_of(&part[1], &score);
            good = RDB_VISIT(reader, zset_member, part[0].text, score);
            break;
        default:
            if (shape == RDB_ITEMS_WITH_EXPIRY) field_deadline(&part[2], &at);
            good = RDB_VISIT(reader, hash_field, part[0].text, part[1].text, at);
        }
    }
    return good;
}

bool rdb_packing_is_empty(struct bytes packed, enum rdb_packing packing)
{
    struct rdb_walk walk;
    struct rdb_item item;
    rdb_walk_begin(&walk, packing, packed);
    return rdb_walk_next(&walk, &item) == RDB_END;
}
