/* stream_write: writes streams, without deleted entries. Packs the entries into the nodes that
 * Redis would create if it added them at its default limits. stream.c and stream_node.h define the
 * layouts. */
#include <string.h>

#include "proto/rdb/packing.h"
#include "proto/rdb/put.h"
#include "proto/rdb/stream_node.h"
#include "proto/rdb/writer.h"
#include "store/base/little_endian.h"

enum {
    MAX_NODE = 4096,   /* stream-node-max-bytes */
    MAX_ENTRIES = 100, /* stream-node-max-entries */
    NODE_END = 1,
    COUNT_AT = 6, /* of a node's number of entries, one byte because MAX_ENTRIES is below 128 */
    ID_BYTES = 16,
    WIRE_STREAM = 15,
    WIRE_STREAM_2 = 19,
};

/* ---- numbers ---- */

static void encode_id(unsigned char bytes[ID_BYTES], struct rdb_stream_id id)
{
    for (size_t i = sizeof(id.ms); i > 0; i--, id.ms >>= 8, id.seq >>= 8) {
        bytes[i - 1] = (unsigned char)id.ms;
        bytes[i - 1 + sizeof(id.ms)] = (unsigned char)id.seq;
    }
}

static bool put_raw_id(struct rdb_writer *writer, struct rdb_stream_id id)
{
    unsigned char bytes[ID_BYTES];
    encode_id(bytes, id);
    return buffer_try_append(&writer->out, bytes, sizeof(bytes));
}

static bool put_id(struct rdb_writer *writer, struct rdb_stream_id id)
{
    return rdb_put_length(&writer->out, id.ms) && rdb_put_length(&writer->out, id.seq);
}

static bool put_instant(struct rdb_writer *writer, int64_t at)
{
    unsigned char bytes[sizeof(at)];
    little_put(bytes, sizeof(bytes), (uint64_t)at);
    return buffer_try_append(&writer->out, bytes, sizeof(bytes));
}

/* ---- a node ---- */

static void put_item(struct rdb_writer *writer, struct bytes text)
{
    writer->stream.items++;
    rdb_note(writer, rdb_listpack_append(&writer->staged, text));
}

static void put_integer(struct rdb_writer *writer, uint64_t value)
{
    char digits[NUMBER_INT64_MAX_CHARS];
    put_item(writer, (struct bytes){ digits, number_print_int64(digits, (int64_t)value) });
}

static bool has_names_of_node(const struct rdb_writer *writer, const struct rdb_stream_entry *entry)
{
    const char *at = writer->parts.data;
    if (entry->count / 2 != writer->stream.names) return false;
    for (size_t i = 0; i < entry->count; i += 2) {
        size_t len;
        memcpy(&len, at, sizeof(len));
        at += sizeof(len);
        if (len != entry->texts[i].len || memcmp(at, entry->texts[i].data, len) != 0) return false;
        at += len;
    }
    return true;
}

static void finish_stream_node(struct rdb_writer *writer)
{
    unsigned char id[ID_BYTES];
    struct bytes key = { (const char *)id, sizeof(id) };
    if (writer->in_node == 0 || writer->failed) return;
    encode_id(id, writer->stream.master);
    writer->staged.data[COUNT_AT] = (char)writer->in_node;
    rdb_note(writer, rdb_listpack_finish(&writer->staged, 0, writer->stream.items) &&
                         rdb_put_raw(&writer->out, key) &&
                         rdb_put_raw(&writer->out, buffer_bytes(&writer->staged)));
    writer->nodes++;
    writer->in_node = 0;
}

/* ---- entries ---- */

void rdb_writer_entry(struct rdb_writer *writer, const struct rdb_stream_entry *entry)
{
    struct rdb_stream_writer *stream = &writer->stream;
    rdb_note(writer, entry->count >= 2 && entry->count % 2 == 0 &&
                         rdb_stream_id_compare(entry->id, stream->last) > 0);
    if (!rdb_accept_part(writer, RDB_STREAM)) return;
    if (writer->given == 1) stream->first = entry->id;
    stream->last = entry->id;
    size_t bytes = writer->staged.len + NODE_END;
    for (size_t i = 0; i < entry->count; i++)
        bytes += entry->texts[i].len;
    if (bytes >= MAX_NODE || writer->in_node >= MAX_ENTRIES) finish_stream_node(writer);

    if (writer->in_node == 0) {
        writer->stream.master = entry->id;
        writer->stream.names = entry->count / 2;
        writer->stream.items = 0;
        writer->staged.len = writer->parts.len = 0;
        rdb_note(writer, rdb_listpack_start(&writer->staged));
        put_integer(writer, 0); /* the number of entries, which finish_stream_node sets */
        put_integer(writer, 0);
        put_integer(writer, writer->stream.names);
        for (size_t i = 0; i < entry->count; i += 2) {
            struct bytes name = entry->texts[i];
            put_item(writer, name);
            /* Keep the names, to compare those of later entries with them. */
            rdb_note(writer, buffer_try_append(&writer->parts, &name.len, sizeof(name.len)) &&
                                 buffer_try_append(&writer->parts, name.data, name.len));
        }
        put_integer(writer, 0);
    }

    if (writer->failed) return;
    bool same_names = has_names_of_node(writer, entry);
    uint64_t before = stream->items;
    put_integer(writer, same_names ? RDB_ENTRY_SAME_NAMES : 0);
    put_integer(writer, entry->id.ms - stream->master.ms);
    put_integer(writer, entry->id.seq - stream->master.seq);
    if (!same_names) put_integer(writer, entry->count / 2);
    for (size_t i = 0; i < entry->count; i++)
        if (i % 2 == 1 || !same_names) put_item(writer, entry->texts[i]);
    put_integer(writer, stream->items - before);
    writer->in_node++;
}

/* ---- marks ---- */

void rdb_writer_marks(struct rdb_writer *writer, const struct rdb_stream_marks *marks,
                      uint64_t groups)
{
    struct rdb_stream_writer *stream = &writer->stream;
    bool later = writer->version >= RDB_VERSION_7;
    rdb_note(writer, writer->type == RDB_STREAM && writer->given == writer->count &&
                         stream->now == RDB_ENTRIES &&
                         rdb_stream_id_compare(marks->last, stream->last) >= 0);
    finish_stream_node(writer);
    if (writer->failed) return;
    stream->now = RDB_CONSUMERS;
    stream->groups = groups;
    rdb_put_nodes_head(writer, later ? WIRE_STREAM_2 : WIRE_STREAM);
    rdb_note(writer, rdb_put_length(&writer->out, writer->count) && put_id(writer, marks->last));
    if (later)
        rdb_note(writer, put_id(writer, stream->first) && put_id(writer, marks->max_deleted) &&
                             rdb_put_length(&writer->out, marks->added));
    rdb_note(writer, rdb_put_length(&writer->out, groups));
}

/* ---- groups ---- */

/* Counts one of `left`. Returns false if it is not allowed here, or after an earlier error. */
static bool take(struct rdb_writer *writer, uint64_t *left, bool allowed)
{
    rdb_note(writer, allowed && *left > 0);
    if (!writer->failed) --*left;
    return !writer->failed;
}

static bool may_end_group(const struct rdb_stream_writer *stream)
{
    return stream->now == RDB_CONSUMERS && stream->consumers == 0 && stream->owned == 0;
}

void rdb_writer_group(struct rdb_writer *writer, const struct rdb_group *group, uint64_t pending)
{
    struct rdb_stream_writer *stream = &writer->stream;
    if (!take(writer, &stream->groups, may_end_group(stream))) return;
    stream->now = RDB_PENDING;
    stream->pending = pending;
    rdb_note(writer, rdb_put_text(&writer->out, group->name) && put_id(writer, group->last));
    if (writer->version >= RDB_VERSION_7)
        rdb_note(writer, rdb_put_length(&writer->out, (uint64_t)group->read));
    rdb_note(writer, rdb_put_length(&writer->out, pending));
}

void rdb_writer_pending(struct rdb_writer *writer, const struct rdb_pending *pending)
{
    struct rdb_stream_writer *stream = &writer->stream;
    if (take(writer, &stream->pending, stream->now == RDB_PENDING))
        rdb_note(writer, put_raw_id(writer, pending->id) && put_instant(writer, pending->at) &&
                             rdb_put_length(&writer->out, pending->deliveries));
}

void rdb_writer_consumers(struct rdb_writer *writer, uint64_t count)
{
    struct rdb_stream_writer *stream = &writer->stream;
    rdb_note(writer, stream->now == RDB_PENDING && stream->pending == 0);
    if (writer->failed) return;
    stream->now = RDB_CONSUMERS;
    stream->consumers = count;
    rdb_note(writer, rdb_put_length(&writer->out, count));
}

void rdb_writer_consumer(struct rdb_writer *writer, const struct rdb_consumer *consumer,
                         uint64_t pending)
{
    struct rdb_stream_writer *stream = &writer->stream;
    bool allowed = stream->now == RDB_CONSUMERS && stream->owned == 0;
    if (!take(writer, &stream->consumers, allowed)) return;
    stream->owned = pending;
    rdb_note(writer, rdb_put_text(&writer->out, consumer->name) &&
                         put_instant(writer, consumer->seen_at) &&
                         rdb_put_length(&writer->out, pending));
}

void rdb_writer_owned(struct rdb_writer *writer, struct rdb_stream_id id)
{
    struct rdb_stream_writer *stream = &writer->stream;
    if (take(writer, &stream->owned, stream->now == RDB_CONSUMERS))
        rdb_note(writer, put_raw_id(writer, id));
}

bool rdb_stream_is_whole(const struct rdb_writer *writer)
{
    return may_end_group(&writer->stream) && writer->stream.groups == 0;
}
