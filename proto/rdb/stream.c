/* stream: reads streams: the nodes with the entries (stream_node.h), in the order of IDs, then the
 * consumer groups.
 *
 * Layout. IDs marked * are 16 bytes, most significant first; the node's have a length before them.
 * Other IDs are two lengths.
 *
 *     number of nodes; for each: its ID*, its listpack
 *     number of entries, last ID
 *     since STREAM_2: first ID, greatest deleted ID, number of entries ever added
 *     number of groups; for each:
 *         name, last ID; since STREAM_2 the number of entries read
 *         number of pending entries; for each: its ID*, instant, number of deliveries
 *         number of consumers; for each:
 *             name, instant seen; since STREAM_3 instant active
 *             number of its pending entries, and their IDs*
 *         since STREAM_5: number of pending entries without a consumer, and their IDs*
 *     since STREAM_4: the texts by which entries sent twice are detected (read_repeats) */

#include "proto/rdb/reader.h"
#include "proto/rdb/stream_node.h"
#include "store/base/little_endian.h"

enum {
    STREAM_2 = 19,
    STREAM_3 = 21,
    STREAM_4 = 26,
    STREAM_5 = 27,
    ID_BYTES = 16,
    NAME_BYTES = 8, /* bytes of a group's number in check_name */
    /* The limit of a node's texts is NODE_BYTES, plus NODE_TIMES bytes for each byte of the node.
     * Without it a small forged node could stand for any number of bytes: its entries share field
     * names, so a few bytes per entry would repeat a large name. In a node that a server writes at
     * its default limits, at most 100 entries repeat names of at most 4 KiB. */
    NODE_BYTES = 1 << 20,
    NODE_TIMES = 256,
};

struct stream_reading {
    struct rdb_reader *reader;
    unsigned type;
    struct rdb_node node;
    size_t unpacked, unpacked_max; /* bytes of the node's entries */
    uint64_t count;                /* entries so far */
    struct rdb_stream_id first;
    struct rdb_stream_marks marks;
    struct buffer pending; /* the group's pending entries: struct owned, by ID */
    uint64_t owned;        /* number of pending entries whose consumer is known or not needed */
    uint64_t group;        /* number of the group, from 1 on */
};

struct owned {
    struct rdb_pending pending;
    bool owned;
};

static uint64_t big_endian(const unsigned char *at)
{
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(value); i++)
        value = value << 8 | at[i];
    return value;
}

static struct rdb_stream_id id_at(const void *bytes)
{
    const unsigned char *at = bytes;
    return (struct rdb_stream_id){ big_endian(at), big_endian(at + sizeof(uint64_t)) };
}

static bool get_raw_id(struct rdb_reader *reader, struct rdb_stream_id *id)
{
    reader->part_at = rdb_source_offset(reader->source);
    const unsigned char *at = rdb_source_take(reader->source, ID_BYTES);
    if (at != NULL) *id = id_at(at);
    return at != NULL || rdb_no_bytes(reader);
}

static bool get_id(struct rdb_reader *reader, struct rdb_stream_id *id)
{
    return rdb_get_length(reader, &id->ms) && rdb_get_length(reader, &id->seq);
}

static bool walk_node(struct stream_reading *in, struct rdb_stream_id master, struct bytes packed,
                      bool visits)
{
    struct rdb_stream_entry entry;
    enum rdb_step step;
    rdb_node_begin(&in->node, master, in->marks.last, packed);
    in->unpacked = 0;
    in->unpacked_max = NODE_BYTES + NODE_TIMES * packed.len;
    while ((step = rdb_node_next(&in->node, &entry)) == RDB_ITEM) {
        if (visits) {
            if (in->count++ == 0) in->first = entry.id;
            if (!RDB_VISIT(in->reader, stream_entry, &entry)) return false;
            continue;
        }
        for (size_t i = 0; i < entry.count; i++)
            in->unpacked += entry.texts[i].len;
        if (in->unpacked > in->unpacked_max)
            return rdb_fail(in->reader, RDB_TOO_LARGE, "entries of more than %zu bytes in one node",
                            in->unpacked_max);
    }
    if (step == RDB_END) return true;
    if (in->node.wrong == NULL) return rdb_fail(in->reader, RDB_TOO_LARGE, "out of memory");
    return rdb_damaged(in->reader, in->node.wrong);
}

/* Checks each node to its end before it visits the entries. */
static bool read_nodes(struct stream_reading *in)
{
    struct rdb_reader *reader = in->reader;
    struct bytes id, packed;
    uint64_t nodes;
    if (!rdb_get_length(reader, &nodes)) return false;
    for (; nodes > 0; nodes--) {
        if (!rdb_get_string(reader, &reader->first, &id)) return false;
        if (id.len != ID_BYTES) return rdb_damaged(reader, "a stream node without an ID");
        struct rdb_stream_id master = id_at(id.data);
        if (!rdb_get_string(reader, &reader->second, &packed) ||
            !walk_node(in, master, packed, false) || !walk_node(in, master, packed, true))
            return false;
        in->marks.last = in->node.last;
    }
    return true;
}

static bool read_marks(struct stream_reading *in)
{
    uint64_t count;
    struct rdb_stream_id final = in->marks.last, first;
    if (!rdb_get_length(in->reader, &count)) return false;
    if (count != in->count)
        return rdb_damaged(in->reader, "a stream with a wrong number of entries");
    if (!get_id(in->reader, &in->marks.last)) return false;
    if (rdb_stream_id_compare(in->marks.last, final) < 0)
        return rdb_damaged(in->reader, "a stream whose last ID is below that of an entry");
    /* Types before STREAM_2 lack these three marks. Like Redis 7, take `count` for `added`. */
    in->marks.added = count;
    if (in->type >= STREAM_2 &&
        (!get_id(in->reader, &first) || !get_id(in->reader, &in->marks.max_deleted) ||
         !rdb_get_length(in->reader, &in->marks.added)))
        return false;
    if (in->marks.added > INT64_MAX)
        return rdb_damaged(in->reader, "a stream with an impossible number of added entries");
    if (in->marks.added < count)
        return rdb_damaged(in->reader, "a stream with more entries than were added");
    return RDB_VISIT(in->reader, stream_marks, &in->marks);
}

/* A consumer's name must be unique in its group, and a group's in its stream. */
static bool check_name(struct stream_reading *in, struct bytes name, uint64_t group)
{
    struct buffer *both = &in->reader->second;
    unsigned char number[NAME_BYTES];
    little_put(number, sizeof(number), group);
    both->len = 0;
    if (!buffer_try_append(both, number, sizeof(number)) ||
        !buffer_try_append(both, name.data, name.len))
        return rdb_fail(in->reader, RDB_TOO_LARGE, "out of memory");
    return rdb_unique(in->reader, buffer_bytes(both));
}

/* Reads an ID, and finds the group's pending entry with this ID. Marks the entry as owned, so that
 * two consumers cannot own it. Returns NULL on failure. */
static const struct rdb_pending *take_pending(struct stream_reading *in)
{
    struct rdb_stream_id id = { 0, 0 };
    if (!get_raw_id(in->reader, &id)) return NULL;
    struct owned *all = (struct owned *)(void *)in->pending.data, *found = NULL;
    size_t low = 0, high = in->pending.len / sizeof(*all);
    while (low < high && found == NULL) {
        size_t middle = low + (high - low) / 2;
        int order = rdb_stream_id_compare(all[middle].pending.id, id);
        if (order == 0)
            found = &all[middle];
        else if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (found == NULL)
        rdb_damaged(in->reader, "a consumer's pending entry that its group does not have");
    else if (found->owned)
        rdb_damaged(in->reader, "a pending entry of two consumers");
    if (found == NULL || found->owned) return NULL;
    found->owned = true;
    in->owned++;
    return &found->pending;
}

static bool read_consumers(struct stream_reading *in)
{
    struct rdb_reader *reader = in->reader;
    const struct rdb_pending *pending;
    uint64_t consumers, count, seen, active, released = 0;
    if (!rdb_get_length(reader, &consumers)) return false;
    for (; consumers > 0; consumers--) {
        struct rdb_consumer consumer;
        if (!rdb_get_string(reader, &reader->first, &consumer.name) ||
            !check_name(in, consumer.name, in->group) || !rdb_get_number(reader, 8, &seen))
            return false;
        active = seen;
        if (in->type >= STREAM_3 && !rdb_get_number(reader, 8, &active)) return false;
        consumer.seen_at = (int64_t)seen;
        consumer.active_at = (int64_t)active;
        if (!RDB_VISIT(reader, stream_consumer, &consumer) || !rdb_get_length(reader, &count))
            return false;
        for (; count > 0; count--)
            if ((pending = take_pending(in)) == NULL || !RDB_VISIT(reader, stream_pending, pending))
                return false;
    }
    if (in->type >= STREAM_5 && !rdb_get_length(reader, &released)) return false;
    for (; released > 0; released--)
        if ((pending = take_pending(in)) == NULL || !RDB_VISIT(reader, stream_released, pending))
            return false;
    return in->owned == in->pending.len / sizeof(struct owned) ||
           rdb_damaged(reader, "a pending entry without a consumer");
}

static bool read_groups(struct stream_reading *in)
{
    struct rdb_reader *reader = in->reader;
    struct rdb_group group;
    uint64_t count, read, all, at, added = in->marks.added;
    if (!rdb_get_length(reader, &count)) return false;
    for (; count > 0; count--) {
        in->group++; /* check_name uses 0 for the names of groups */
        if (!rdb_get_string(reader, &reader->first, &group.name) ||
            !check_name(in, group.name, 0) || !get_id(reader, &group.last))
            return false;
        /* Types before STREAM_2 do not store the number of entries read. Compute it as Redis 7
         * does. */
        int order = rdb_stream_id_compare(group.last, in->marks.last);
        int from_first = rdb_stream_id_compare(group.last, in->first);
        if (added == 0 || order == 0 || (in->count == 0 && order < 0))
            group.read = (int64_t)added;
        else if (order > 0 || from_first > 0)
            group.read = RDB_READ_UNKNOWN;
        else
            group.read = (int64_t)(added - in->count + (from_first == 0));
        if (in->type >= STREAM_2) {
            if (!rdb_get_length(reader, &read)) return false;
            group.read = (int64_t)read;
            if (group.read < RDB_READ_UNKNOWN)
                return rdb_damaged(reader, "a group with a negative number of entries read");
        }
        if (!RDB_VISIT(reader, stream_group, &group) || !rdb_get_length(reader, &all)) return false;

        struct rdb_stream_id last = { 0, 0 };
        buffer_clear(&in->pending);
        in->owned = 0;
        for (uint64_t i = 0; i < all; i++) {
            struct owned one = { .owned = false };
            if (!get_raw_id(reader, &one.pending.id)) return false;
            if (i > 0 && rdb_stream_id_compare(one.pending.id, last) <= 0)
                return rdb_damaged(reader, "a group's pending entries that are not in order");
            last = one.pending.id;
            if (!rdb_get_number(reader, 8, &at) || !rdb_get_length(reader, &one.pending.deliveries))
                return false;
            one.pending.at = (int64_t)at;
            if (!buffer_try_append(&in->pending, &one, sizeof(one)))
                return rdb_fail(reader, RDB_TOO_LARGE, "out of memory");
        }
        if (!read_consumers(in)) return false;
    }
    return true;
}

/* Reads the texts by which a stream detects entries that a producer sends twice. Layout:
 *
 *     two limits for each producer: seconds, greatest number of texts
 *     number of producers; for each:
 *         name
 *         number of texts; for each: the text, the ID of its entry
 *     two counters: texts added, repeats found */
static bool read_repeats(struct stream_reading *in)
{
    struct rdb_reader *reader = in->reader;
    struct rdb_repeat repeat;
    uint64_t one, two, producers, entries;
    if (in->type < STREAM_4) return true;
    if (!rdb_get_length(reader, &one) || !rdb_get_length(reader, &two) ||
        !RDB_VISIT(reader, stream_limits, one, two) || !rdb_get_length(reader, &producers))
        return false;
    for (; producers > 0; producers--) {
        if (!rdb_get_string(reader, &reader->first, &repeat.producer) ||
            !rdb_get_length(reader, &entries))
            return false;
        for (; entries > 0; entries--)
            if (!rdb_get_string(reader, &reader->second, &repeat.text) ||
                !get_id(reader, &repeat.id) || !RDB_VISIT(reader, stream_repeat, &repeat))
                return false;
    }
    return rdb_get_length(reader, &one) && rdb_get_length(reader, &two) &&
           RDB_VISIT(reader, stream_counts, one, two);
}

bool rdb_read_stream(struct rdb_reader *reader, unsigned type)
{
    struct stream_reading in = { .reader = reader, .type = type };
    bool good = rdb_begin_key(reader, RDB_STREAM) && read_nodes(&in) && read_marks(&in) &&
                read_groups(&in) && read_repeats(&in);
    rdb_node_drop(&in.node);
    buffer_drop(&in.pending);
    return good;
}
