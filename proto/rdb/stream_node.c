/* stream_node: see stream_node.h for the layout. */
#include "proto/rdb/stream_node.h"

static const char cut_short[] = "a stream node that ends within an entry";
static const char no_number[] = "a stream node with text in place of a number";

/* ---- texts ---- */

static void texts_clear(struct rdb_texts *texts)
{
    buffer_clear(&texts->texts);
    buffer_clear(&texts->digits);
}

static size_t texts_count(const struct rdb_texts *texts)
{
    return texts->texts.len / sizeof(struct bytes);
}

static struct bytes *texts_array(struct rdb_texts *texts)
{
    return (struct bytes *)(void *)texts->texts.data;
}

/* Sets the pointers to digits. Call after the last text, because digits move while they grow. */
static void texts_finish(struct rdb_texts *texts)
{
    struct bytes *array = texts_array(texts);
    const char *digits = texts->digits.data;
    for (size_t i = 0; i < texts_count(texts); i++) {
        if (array[i].data != NULL) continue;
        array[i].data = digits;
        digits += array[i].len;
    }
}

/* ---- items ---- */

static bool node_broken(struct rdb_node *node, const char *wrong)
{
    node->wrong = wrong;
    return false;
}

static bool next_item(struct rdb_node *node)
{
    enum rdb_step step = rdb_walk_next(&node->walk, &node->item);
    if (step == RDB_ITEM) return true;
    return node_broken(node, step == RDB_END ? cut_short : node->walk.wrong);
}

static bool next_integer(struct rdb_node *node, int64_t *value)
{
    if (!next_item(node)) return false;
    *value = node->item.integer;
    return node->item.is_integer || node_broken(node, no_number);
}

static bool next_count(struct rdb_node *node, uint64_t *count)
{
    int64_t value;
    if (!next_integer(node, &value)) return false;
    *count = (uint64_t)value;
    return value >= 0 || node_broken(node, "a stream node with a negative count");
}

static bool next_text(struct rdb_node *node, struct rdb_texts *to)
{
    if (!next_item(node)) return false;
    struct bytes text = node->item.text;
    bool ok = true;
    if (node->item.is_integer) {
        ok = buffer_try_append(&to->digits, text.data, text.len);
        text.data = NULL;
    }
    return (ok && buffer_try_append(&to->texts, &text, sizeof(text))) || node_broken(node, NULL);
}

/* ---- the node ---- */

void rdb_node_begin(struct rdb_node *node, struct rdb_stream_id master, struct rdb_stream_id last,
                    struct bytes packed)
{
    texts_clear(&node->names);
    rdb_walk_begin(&node->walk, RDB_LISTPACK, packed);
    node->master = master;
    node->last = last;
    node->live = node->deleted = 0;
    node->wrong = "";
}

static bool read_entry(struct rdb_node *node, struct rdb_stream_entry *entry, int64_t *flags)
{
    uint64_t count = texts_count(&node->names), items;
    int64_t ms, seq;
    texts_clear(&node->parts);
    if (!next_integer(node, flags) || !next_integer(node, &ms) || !next_integer(node, &seq))
        return false;
    /* A smaller sequence number is written as a negative difference. */
    entry->id.ms = node->master.ms + (uint64_t)ms;
    entry->id.seq = node->master.seq + (uint64_t)seq;
    if ((*flags & ~(int64_t)(RDB_ENTRY_DELETED | RDB_ENTRY_SAME_NAMES)) != 0)
        return node_broken(node, "a stream entry with an unknown flag");
    bool same_names = (*flags & RDB_ENTRY_SAME_NAMES) != 0;
    if (!same_names && !next_count(node, &count)) return false;
    if (count == 0) return node_broken(node, "a stream entry without fields");
    for (uint64_t i = 0; i < count; i++) {
        const struct bytes *name = same_names ? &texts_array(&node->names)[i] : NULL;
        bool named = same_names ? buffer_try_append(&node->parts.texts, name, sizeof(*name)) ||
                                      node_broken(node, NULL)
                                : next_text(node, &node->parts);
        if (!named || !next_text(node, &node->parts)) return false;
    }
    texts_finish(&node->parts);
    if (!next_count(node, &items)) return false;
    if (items != (same_names ? count + 3 : 2 * count + 4))
        return node_broken(node, "a stream entry with a wrong number of items");
    entry->texts = texts_array(&node->parts);
    entry->count = 2 * (size_t)count;
    bool is_deleted = (*flags & RDB_ENTRY_DELETED) != 0;
    uint64_t *left = is_deleted ? &node->deleted : &node->live;
    if (*left == 0)
        return node_broken(node, "a stream node with more entries than its header counts");
    --*left;
    if (is_deleted) return true; /* XSETID may set the last ID back below that of a deleted entry */
    if (rdb_stream_id_compare(entry->id, node->last) <= 0)
        return node_broken(node, "stream entries that are not in order");
    node->last = entry->id;
    return true;
}

enum rdb_step rdb_node_next(struct rdb_node *node, struct rdb_stream_entry *entry)
{
    int64_t flags = RDB_ENTRY_DELETED;
    if (node->walk.count == 0) {
        uint64_t names;
        int64_t zero;
        if (!next_count(node, &node->live) || !next_count(node, &node->deleted) ||
            !next_count(node, &names))
            return RDB_BROKEN;
        for (; names > 0; names--)
            if (!next_text(node, &node->names)) return RDB_BROKEN;
        texts_finish(&node->names);
        if (!next_integer(node, &zero)) return RDB_BROKEN;
        if (zero != 0) {
            node->wrong = "a stream node without the end of its names";
            return RDB_BROKEN;
        }
    }
    while ((flags & RDB_ENTRY_DELETED) != 0) {
        if (node->live == 0 && node->deleted == 0) {
            enum rdb_step step = rdb_walk_next(&node->walk, &node->item);
            if (step == RDB_END) return RDB_END;
            node->wrong = step == RDB_BROKEN ? node->walk.wrong
                                             : "items after the last entry of a stream node";
            return RDB_BROKEN;
        }
        if (!read_entry(node, entry, &flags)) return RDB_BROKEN;
    }
    return RDB_ITEM;
}

void rdb_node_drop(struct rdb_node *node)
{
    buffer_drop(&node->names.texts);
    buffer_drop(&node->names.digits);
    buffer_drop(&node->parts.texts);
    buffer_drop(&node->parts.digits);
}
