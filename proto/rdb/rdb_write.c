/* rdb_write: builds a payload from the parts of a value.
 *
 * A set, hash or sorted set with few parts is staged in a buffer, because its encoding depends on
 * all of them: whether a set has only integers, and how long the longest part of the others is.
 * (For Redis 5 and 6, version 9, hashes and sorted sets have one encoding and are written at once;
 * so are hashes with deadlines of fields.)
 *
 * A list is written as nodes, and their number is inserted before them at the end. (Version 9 has
 * no nodes: there a list is written element by element.)
 *
 * A stream is written without its deleted entries, in nodes such as Redis at its default limits
 * would create for the remaining ones. stream.c and stream_node.h define the layouts. */
#include "proto/rdb/rdb_write.h"

#include <math.h>
#include <stdlib.h>

#include "proto/rdb/crc64.h"
#include "proto/rdb/packing.h"
#include "proto/rdb/put.h"
#include "proto/rdb/stream_node.h"
#include "store/base/little_endian.h"

/* Redis' default limits. */
enum {
    MAX_FIELDS = 512,     /* hash-max-listpack-entries */
    MAX_SCORED = 128,     /* zset-max-listpack-entries */
    MAX_PACKED_TEXT = 64, /* hash- and zset-max-listpack-value */
    MAX_INTSET = 512,     /* set-max-intset-entries */
    MAX_NODE = 8192,      /* list-max-listpack-size -2 */
    NODE_OVERHEAD = 8,    /* what Redis adds to an element's size when it compares with MAX_NODE */
    NODE_END = 1,
    PLAIN_ELEMENT = 1 << 30, /* an element of this length gets a node of its own */
    PLAIN_NODE = 1,
    PACKED_NODE = 2,
    MAX_STREAM_NODE = 4096,   /* stream-node-max-bytes */
    MAX_STREAM_ENTRIES = 100, /* stream-node-max-entries */
    /* Offset of a node's number of entries, one byte because MAX_STREAM_ENTRIES is below 128. */
    COUNT_AT = 6,
    ID_BYTES = 16,
};

/* The latest deadline that Redis allows for a field. */
#define REDIS_FIELD_MAX ((INT64_C(1) << 46) - 1)

enum wire_type {
    WIRE_STRING = 0,
    WIRE_LIST = 1,
    WIRE_SET = 2,
    WIRE_HASH = 4,
    WIRE_ZSET_2 = 5,
    WIRE_INTSET = 11,
    WIRE_STREAM = 15,
    WIRE_HASH_LISTPACK = 16,
    WIRE_ZSET_LISTPACK = 17,
    WIRE_QUICKLIST_2 = 18,
    WIRE_STREAM_2 = 19,
    WIRE_VALKEY_HASH = 22,
    WIRE_HASH_METADATA = 24,
    WIRE_FUNCTION = 245,
};

static const unsigned char plain_types[] = {
    [RDB_STRING] = WIRE_STRING, [RDB_LIST] = WIRE_LIST, [RDB_SET] = WIRE_SET,
    [RDB_ZSET] = WIRE_ZSET_2,   [RDB_HASH] = WIRE_HASH,
};

/* A staged part. Its two texts are adjacent in the staged bytes, which may still move. */
struct part {
    size_t at, first_len, second_len;
    const char *texts; /* set when all parts are staged */
    double score;
    int64_t integer;
};

static const struct bytes nothing = { "", 0 };

static void note_failure(struct rdb_writer *writer, bool ok)
{
    if (!ok) writer->failed = true;
}

void rdb_writer_init(struct rdb_writer *writer, int version)
{
    *writer = (struct rdb_writer){ .version = version };
}

void rdb_writer_drop(struct rdb_writer *writer)
{
    buffer_drop(&writer->out);
    buffer_drop(&writer->staged);
    buffer_drop(&writer->parts);
}

static bool has_nodes(const struct rdb_writer *writer)
{
    return writer->type == RDB_LIST && writer->version >= RDB_VERSION_7;
}

static void put_plain_head(struct rdb_writer *writer)
{
    note_failure(writer, rdb_put_byte(&writer->out, plain_types[writer->type]));
    if (writer->type != RDB_STRING)
        note_failure(writer, rdb_put_length(&writer->out, writer->count));
}

void rdb_writer_begin(struct rdb_writer *writer, enum rdb_type type, uint64_t count)
{
    buffer_clear(&writer->out);
    buffer_clear(&writer->staged);
    buffer_clear(&writer->parts);
    writer->type = type;
    writer->count = count;
    writer->given = writer->nodes = writer->in_node = 0;
    writer->stream = (struct rdb_stream_writer){ .now = RDB_ENTRIES };
    writer->failed = type == RDB_DEHYDRATOR || (count == 0 && type != RDB_STREAM);
    bool is_small = type == RDB_HASH   ? count <= MAX_FIELDS
                    : type == RDB_ZSET ? count <= MAX_SCORED
                                       : false;
    writer->packs =
        type == RDB_SET ? count <= MAX_INTSET : is_small && writer->version >= RDB_VERSION_7;
    writer->staging = writer->packs;
    if (!writer->failed && !writer->staging && !has_nodes(writer) && type != RDB_STREAM)
        put_plain_head(writer);
}

static bool accept_part(struct rdb_writer *writer, enum rdb_type type)
{
    note_failure(writer, writer->type == type && writer->given < writer->count);
    writer->given++;
    return !writer->failed;
}

static void stage_part(struct rdb_writer *writer, struct part *part, struct bytes first,
                       struct bytes second)
{
    part->at = writer->staged.len;
    part->first_len = first.len;
    part->second_len = second.len;
    note_failure(writer, buffer_try_append(&writer->staged, first.data, first.len) &&
                             buffer_try_append(&writer->staged, second.data, second.len) &&
                             buffer_try_append(&writer->parts, part, sizeof(*part)));
}

void rdb_writer_string(struct rdb_writer *writer, struct bytes value)
{
    if (accept_part(writer, RDB_STRING)) note_failure(writer, rdb_put_text(&writer->out, value));
}

void rdb_writer_member(struct rdb_writer *writer, struct bytes member)
{
    struct part part = { 0 };
    if (!accept_part(writer, RDB_SET)) return;
    if (!writer->staging) {
        note_failure(writer, rdb_put_text(&writer->out, member));
        return;
    }
    if (!number_parse_int64(member.data, member.len, &part.integer)) writer->packs = false;
    stage_part(writer, &part, member, nothing);
}

void rdb_writer_field(struct rdb_writer *writer, struct bytes field, struct bytes value)
{
    struct part part = { 0 };
    if (!accept_part(writer, RDB_HASH)) return;
    if (!writer->staging) {
        note_failure(writer,
                     rdb_put_text(&writer->out, field) && rdb_put_text(&writer->out, value));
        return;
    }
    if (field.len > MAX_PACKED_TEXT || value.len > MAX_PACKED_TEXT) writer->packs = false;
    stage_part(writer, &part, field, value);
}

void rdb_writer_scored(struct rdb_writer *writer, struct bytes member, double score)
{
    struct part part = { .score = score };
    if (!accept_part(writer, RDB_ZSET)) return;
    if (!writer->staging) {
        note_failure(writer,
                     rdb_put_text(&writer->out, member) && rdb_put_score(&writer->out, score));
        return;
    }
    if (member.len > MAX_PACKED_TEXT) writer->packs = false;
    stage_part(writer, &part, member, nothing);
}

static bool put_deadline(struct rdb_writer *writer, int64_t at)
{
    unsigned char bytes[8];
    little_put(bytes, sizeof(bytes), (uint64_t)at);
    return buffer_try_append(&writer->out, bytes, sizeof(bytes));
}

void rdb_writer_begin_expiring(struct rdb_writer *writer, uint64_t count, int64_t earliest)
{
    bool valkey = writer->version >= RDB_VALKEY_9_0;
    rdb_writer_begin(writer, RDB_HASH, count);
    buffer_clear(&writer->out);
    writer->staging = writer->packs = false;
    writer->earliest = earliest < REDIS_FIELD_MAX ? earliest : REDIS_FIELD_MAX;
    note_failure(writer,
                 writer->version >= RDB_VERSION_8 &&
                     rdb_put_byte(&writer->out, valkey ? WIRE_VALKEY_HASH : WIRE_HASH_METADATA));
    note_failure(writer, (valkey || put_deadline(writer, writer->earliest)) &&
                             rdb_put_length(&writer->out, count));
}

/* Adds a field of a hash with deadlines, in one of the two layouts of value.c. */
void rdb_writer_expiring_field(struct rdb_writer *writer, struct bytes field, struct bytes value,
                               int64_t at)
{
    bool valkey = writer->version >= RDB_VALKEY_9_0;
    uint64_t distance = 0;
    if (!accept_part(writer, RDB_HASH)) return;
    if (at != RDB_NEVER)
        distance = (uint64_t)((at < REDIS_FIELD_MAX ? at : REDIS_FIELD_MAX) - writer->earliest) + 1;
    note_failure(writer, (valkey || rdb_put_length(&writer->out, distance)) &&
                             rdb_put_text(&writer->out, field) &&
                             rdb_put_text(&writer->out, value) &&
                             (!valkey || put_deadline(writer, at == RDB_NEVER ? -1 : at)));
}

static void put_node(struct rdb_writer *writer, unsigned kind, struct bytes bytes)
{
    writer->nodes++;
    note_failure(writer, rdb_put_length(&writer->out, kind) && rdb_put_raw(&writer->out, bytes));
}

static void finish_node(struct rdb_writer *writer)
{
    if (writer->in_node == 0) return;
    note_failure(writer, rdb_listpack_finish(&writer->staged, 0, writer->in_node));
    put_node(writer, PACKED_NODE, buffer_bytes(&writer->staged));
    writer->staged.len = 0;
    writer->in_node = 0;
}

void rdb_writer_element(struct rdb_writer *writer, struct bytes element)
{
    if (!accept_part(writer, RDB_LIST)) return;
    if (!has_nodes(writer)) {
        note_failure(writer, rdb_put_text(&writer->out, element));
        return;
    }
    if (element.len >= PLAIN_ELEMENT) {
        finish_node(writer);
        put_node(writer, PLAIN_NODE, element);
        return;
    }
    size_t size = writer->staged.len + NODE_END;
    if (size + element.len + NODE_OVERHEAD > MAX_NODE) finish_node(writer);
    if (writer->in_node == 0) note_failure(writer, rdb_listpack_start(&writer->staged));
    note_failure(writer, rdb_listpack_append(&writer->staged, element));
    writer->in_node++;
}

void rdb_writer_begin_functions(struct rdb_writer *writer)
{
    buffer_clear(&writer->out);
    writer->type = RDB_STRING;
    writer->count = writer->given = 0;
    writer->staging = writer->failed = false;
}

void rdb_writer_function(struct rdb_writer *writer, struct bytes code)
{
    note_failure(writer,
                 rdb_put_byte(&writer->out, WIRE_FUNCTION) && rdb_put_raw(&writer->out, code));
}

/* Writes type and number of nodes in front of the nodes in `out`. */
static void put_nodes_head(struct rdb_writer *writer, unsigned type)
{
    buffer_clear(&writer->staged);
    note_failure(writer, rdb_put_byte(&writer->staged, type) &&
                             rdb_put_length(&writer->staged, writer->nodes) &&
                             buffer_try_append(&writer->staged, writer->out.data, writer->out.len));
    struct buffer whole = writer->staged;
    writer->staged = writer->out;
    writer->out = whole;
}

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

static void put_item(struct rdb_writer *writer, struct bytes text)
{
    writer->stream.items++;
    note_failure(writer, rdb_listpack_append(&writer->staged, text));
}

static void put_integer(struct rdb_writer *writer, uint64_t value)
{
    char digits[NUMBER_INT64_MAX_CHARS];
    put_item(writer, (struct bytes){ digits, number_print_int64(digits, (int64_t)value) });
}

static void finish_stream_node(struct rdb_writer *writer)
{
    unsigned char id[ID_BYTES];
    struct bytes key = { (const char *)id, sizeof(id) };
    if (writer->in_node == 0 || writer->failed) return;
    encode_id(id, writer->stream.master);
    writer->staged.data[COUNT_AT] = (char)writer->in_node;
    note_failure(writer, rdb_listpack_finish(&writer->staged, 0, writer->stream.items) &&
                             rdb_put_raw(&writer->out, key) &&
                             rdb_put_raw(&writer->out, buffer_bytes(&writer->staged)));
    writer->nodes++;
    writer->in_node = 0;
}

void rdb_writer_entry(struct rdb_writer *writer, const struct rdb_stream_entry *entry)
{
    struct rdb_stream_writer *stream = &writer->stream;
    note_failure(writer, entry->count >= 2 && entry->count % 2 == 0 &&
                             rdb_stream_id_compare(entry->id, stream->last) > 0);
    if (!accept_part(writer, RDB_STREAM)) return;
    if (writer->given == 1) stream->first = entry->id;
    stream->last = entry->id;
    size_t bytes = writer->staged.len + NODE_END;
    for (size_t i = 0; i < entry->count; i++)
        bytes += entry->texts[i].len;
    if (bytes >= MAX_STREAM_NODE || writer->in_node >= MAX_STREAM_ENTRIES)
        finish_stream_node(writer);

    if (writer->in_node == 0) {
        writer->stream.master = entry->id;
        writer->stream.names = entry->count / 2;
        writer->stream.items = 0;
        writer->staged.len = writer->parts.len = 0;
        note_failure(writer, rdb_listpack_start(&writer->staged));
        put_integer(writer, 0); /* the number of entries, which finish_stream_node sets */
        put_integer(writer, 0);
        put_integer(writer, writer->stream.names);
        for (size_t i = 0; i < entry->count; i += 2) {
            struct bytes name = entry->texts[i];
            put_item(writer, name);
            note_failure(writer, buffer_try_append(&writer->parts, &name.len, sizeof(name.len)) &&
                                     buffer_try_append(&writer->parts, name.data, name.len));
        }
        put_integer(writer, 0);
    }

    if (writer->failed) return;
    const char *at = writer->parts.data;
    bool same_names = entry->count / 2 == stream->names;
    for (size_t i = 0; i < entry->count && same_names; i += 2) {
        size_t len;
        memcpy(&len, at, sizeof(len));
        at += sizeof(len);
        same_names = len == entry->texts[i].len && memcmp(at, entry->texts[i].data, len) == 0;
        at += len;
    }
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

void rdb_writer_marks(struct rdb_writer *writer, const struct rdb_stream_marks *marks,
                      uint64_t groups)
{
    struct rdb_stream_writer *stream = &writer->stream;
    bool later = writer->version >= RDB_VERSION_7;
    note_failure(writer, writer->type == RDB_STREAM && writer->given == writer->count &&
                             stream->now == RDB_ENTRIES &&
                             rdb_stream_id_compare(marks->last, stream->last) >= 0);
    finish_stream_node(writer);
    if (writer->failed) return;
    stream->now = RDB_CONSUMERS;
    stream->groups = groups;
    put_nodes_head(writer, later ? WIRE_STREAM_2 : WIRE_STREAM);
    note_failure(writer,
                 rdb_put_length(&writer->out, writer->count) && put_id(writer, marks->last));
    if (later)
        note_failure(writer, put_id(writer, stream->first) && put_id(writer, marks->max_deleted) &&
                                 rdb_put_length(&writer->out, marks->added));
    note_failure(writer, rdb_put_length(&writer->out, groups));
}

/* Counts one of `left`. Returns false if it is not allowed here, or after an earlier error. */
static bool take(struct rdb_writer *writer, uint64_t *left, bool allowed)
{
    note_failure(writer, allowed && *left > 0);
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
    note_failure(writer, rdb_put_text(&writer->out, group->name) && put_id(writer, group->last));
    if (writer->version >= RDB_VERSION_7)
        note_failure(writer, rdb_put_length(&writer->out, (uint64_t)group->read));
    note_failure(writer, rdb_put_length(&writer->out, pending));
}

void rdb_writer_pending(struct rdb_writer *writer, const struct rdb_pending *pending)
{
    struct rdb_stream_writer *stream = &writer->stream;
    if (take(writer, &stream->pending, stream->now == RDB_PENDING))
        note_failure(writer, put_raw_id(writer, pending->id) && put_instant(writer, pending->at) &&
                                 rdb_put_length(&writer->out, pending->deliveries));
}

void rdb_writer_consumers(struct rdb_writer *writer, uint64_t count)
{
    struct rdb_stream_writer *stream = &writer->stream;
    note_failure(writer, stream->now == RDB_PENDING && stream->pending == 0);
    if (writer->failed) return;
    stream->now = RDB_CONSUMERS;
    stream->consumers = count;
    note_failure(writer, rdb_put_length(&writer->out, count));
}

void rdb_writer_consumer(struct rdb_writer *writer, const struct rdb_consumer *consumer,
                         uint64_t pending)
{
    struct rdb_stream_writer *stream = &writer->stream;
    bool allowed = stream->now == RDB_CONSUMERS && stream->owned == 0;
    if (!take(writer, &stream->consumers, allowed)) return;
    stream->owned = pending;
    note_failure(writer, rdb_put_text(&writer->out, consumer->name) &&
                             put_instant(writer, consumer->seen_at) &&
                             rdb_put_length(&writer->out, pending));
}

void rdb_writer_owned(struct rdb_writer *writer, struct rdb_stream_id id)
{
    struct rdb_stream_writer *stream = &writer->stream;
    if (take(writer, &stream->owned, stream->now == RDB_CONSUMERS))
        note_failure(writer, put_raw_id(writer, id));
}

static struct bytes first_of(const struct part *part)
{
    return (struct bytes){ part->texts, part->first_len };
}

static struct bytes second_of(const struct part *part)
{
    return (struct bytes){ part->texts + part->first_len, part->second_len };
}

static int compare_scored(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? -1 : 1;
    size_t len = x->first_len < y->first_len ? x->first_len : y->first_len;
    int order = memcmp(x->texts, y->texts, len);
    if (order != 0) return order;
    return (x->first_len > y->first_len) - (x->first_len < y->first_len);
}

static bool put_listpack(struct rdb_writer *writer, const struct part *parts, size_t count)
{
    const double limit = 0x1p62;
    struct buffer packed = { 0 };
    char score[NUMBER_DOUBLE_MAX_CHARS];
    bool is_zset = writer->type == RDB_ZSET, ok = rdb_listpack_start(&packed);
    for (size_t i = 0; i < count && ok; i++) {
        struct bytes second = second_of(&parts[i]);
        if (is_zset) {
            /* Like Redis, pack a score as an integer if its double2ll would convert it: between
             * -2^62 and 2^62 and whole. Minus zero is an exception, because an integer would lose
             * its sign. */
            double value = parts[i].score;
            bool is_minus_zero = value == 0 && signbit(value);
            bool is_whole =
                !is_minus_zero && value > -limit && value < limit && value == trunc(value);
            second = bytes_of(score, is_whole ? number_print_int64(score, (int64_t)value)
                                              : number_print_double(score, value));
        }
        ok = rdb_listpack_append(&packed, first_of(&parts[i])) &&
             rdb_listpack_append(&packed, second);
    }
    ok = ok && rdb_listpack_finish(&packed, 0, 2 * count) &&
         rdb_put_byte(&writer->out, is_zset ? WIRE_ZSET_LISTPACK : WIRE_HASH_LISTPACK) &&
         rdb_put_raw(&writer->out, buffer_bytes(&packed));
    buffer_drop(&packed);
    return ok;
}

static void put_staged(struct rdb_writer *writer)
{
    size_t count = (size_t)writer->count;
    struct part *parts = (struct part *)(void *)writer->parts.data;
    for (size_t i = 0; i < count; i++)
        parts[i].texts = buffer_bytes(&writer->staged).data + parts[i].at;
    if (!writer->packs) {
        put_plain_head(writer);
        for (size_t i = 0; i < count; i++) {
            note_failure(writer, rdb_put_text(&writer->out, first_of(&parts[i])));
            if (writer->type == RDB_HASH)
                note_failure(writer, rdb_put_text(&writer->out, second_of(&parts[i])));
            if (writer->type == RDB_ZSET)
                note_failure(writer, rdb_put_score(&writer->out, parts[i].score));
        }
    } else if (writer->type == RDB_SET) {
        int64_t integers[MAX_INTSET];
        size_t start = writer->staged.len;
        for (size_t i = 0; i < count; i++)
            integers[i] = parts[i].integer;
        note_failure(writer, rdb_intset_append(&writer->staged, integers, count));
        struct bytes packed = { writer->staged.data + start, writer->staged.len - start };
        note_failure(writer,
                     rdb_put_byte(&writer->out, WIRE_INTSET) && rdb_put_raw(&writer->out, packed));
    } else {
        if (writer->type == RDB_ZSET) qsort(parts, count, sizeof(*parts), compare_scored);
        note_failure(writer, put_listpack(writer, parts, count));
    }
}

bool rdb_writer_seal(struct rdb_writer *writer, struct bytes *payload)
{
    struct buffer *out = &writer->out;
    unsigned char bytes[8];
    little_put(bytes, 2, (uint64_t)writer->version);
    if (!buffer_try_append(out, bytes, 2)) return false;
    little_put(bytes, 8, rdb_crc64(0, out->data, out->len));
    if (!buffer_try_append(out, bytes, 8)) return false;
    *payload = buffer_bytes(out);
    return true;
}

bool rdb_writer_end(struct rdb_writer *writer, struct bytes *payload)
{
    note_failure(writer, writer->given == writer->count);
    if (!writer->failed && writer->staging) put_staged(writer);
    if (!writer->failed && has_nodes(writer)) {
        finish_node(writer);
        put_nodes_head(writer, WIRE_QUICKLIST_2);
    }
    if (writer->type == RDB_STREAM)
        note_failure(writer, may_end_group(&writer->stream) && writer->stream.groups == 0);
    return !writer->failed && rdb_writer_seal(writer, payload);
}

struct buffer *rdb_writer_body(struct rdb_writer *writer)
{
    buffer_clear(&writer->out);
    return &writer->out;
}
