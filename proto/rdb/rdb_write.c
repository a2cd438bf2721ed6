/* rdb_write: builds a payload from the parts of a value.
 *
 * A set, hash or sorted set with few parts is staged first, because its encoding depends on the
 * longest part, which is known only at the end. A list is written to nodes at once; their number is
 * inserted before them at the end. */
#include "proto/rdb/rdb_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/rdb/crc64.h"
#include "proto/rdb/packing.h"
#include "proto/rdb/put.h"
#include "proto/rdb/writer.h"
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
    WIRE_HASH_LISTPACK = 16,
    WIRE_ZSET_LISTPACK = 17,
    WIRE_QUICKLIST_2 = 18,
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

/* ---- begin ---- */

static bool has_nodes(const struct rdb_writer *writer)
{
    return writer->type == RDB_LIST && writer->version >= RDB_VERSION_7;
}

static void put_plain_head(struct rdb_writer *writer)
{
    rdb_note(writer, rdb_put_byte(&writer->out, plain_types[writer->type]));
    if (writer->type != RDB_STRING) rdb_note(writer, rdb_put_length(&writer->out, writer->count));
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

/* ---- parts ---- */

bool rdb_accept_part(struct rdb_writer *writer, enum rdb_type type)
{
    rdb_note(writer, writer->type == type && writer->given < writer->count);
    writer->given++;
    return !writer->failed;
}

static void stage_part(struct rdb_writer *writer, struct part *part, struct bytes first,
                       struct bytes second)
{
    part->at = writer->staged.len;
    part->first_len = first.len;
    part->second_len = second.len;
    rdb_note(writer, buffer_try_append(&writer->staged, first.data, first.len) &&
                         buffer_try_append(&writer->staged, second.data, second.len) &&
                         buffer_try_append(&writer->parts, part, sizeof(*part)));
}

void rdb_writer_string(struct rdb_writer *writer, struct bytes value)
{
    if (rdb_accept_part(writer, RDB_STRING)) rdb_note(writer, rdb_put_text(&writer->out, value));
}

void rdb_writer_member(struct rdb_writer *writer, struct bytes member)
{
    struct part part = { 0 };
    if (!rdb_accept_part(writer, RDB_SET)) return;
    if (!writer->staging) {
        rdb_note(writer, rdb_put_text(&writer->out, member));
        return;
    }
    if (!number_parse_int64(member.data, member.len, &part.integer)) writer->packs = false;
    stage_part(writer, &part, member, nothing);
}

void rdb_writer_field(struct rdb_writer *writer, struct bytes field, struct bytes value)
{
    struct part part = { 0 };
    if (!rdb_accept_part(writer, RDB_HASH)) return;
    if (!writer->staging) {
        rdb_note(writer, rdb_put_text(&writer->out, field) && rdb_put_text(&writer->out, value));
        return;
    }
    if (field.len > MAX_PACKED_TEXT || value.len > MAX_PACKED_TEXT) writer->packs = false;
    stage_part(writer, &part, field, value);
}

void rdb_writer_scored(struct rdb_writer *writer, struct bytes member, double score)
{
    struct part part = { .score = score };
    if (!rdb_accept_part(writer, RDB_ZSET)) return;
    if (!writer->staging) {
        rdb_note(writer, rdb_put_text(&writer->out, member) && rdb_put_score(&writer->out, score));
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
    rdb_note(writer,
             writer->version >= RDB_VERSION_8 &&
                 rdb_put_byte(&writer->out, valkey ? WIRE_VALKEY_HASH : WIRE_HASH_METADATA));
    rdb_note(writer, (valkey || put_deadline(writer, writer->earliest)) &&
                         rdb_put_length(&writer->out, count));
}

/* The layouts are in value.c. */
void rdb_writer_expiring_field(struct rdb_writer *writer, struct bytes field, struct bytes value,
                               int64_t at)
{
    bool valkey = writer->version >= RDB_VALKEY_9_0;
    uint64_t distance = 0;
    if (!rdb_accept_part(writer, RDB_HASH)) return;
    if (at != RDB_NEVER)
        distance = (uint64_t)((at < REDIS_FIELD_MAX ? at : REDIS_FIELD_MAX) - writer->earliest) + 1;
    rdb_note(writer, (valkey || rdb_put_length(&writer->out, distance)) &&
                         rdb_put_text(&writer->out, field) && rdb_put_text(&writer->out, value) &&
                         (!valkey || put_deadline(writer, at == RDB_NEVER ? -1 : at)));
}

/* ---- a list's nodes ---- */

static void put_node(struct rdb_writer *writer, unsigned kind, struct bytes bytes)
{
    writer->nodes++;
    rdb_note(writer, rdb_put_length(&writer->out, kind) && rdb_put_raw(&writer->out, bytes));
}

static void finish_node(struct rdb_writer *writer)
{
    if (writer->in_node == 0) return;
    rdb_note(writer, rdb_listpack_finish(&writer->staged, 0, writer->in_node));
    put_node(writer, PACKED_NODE, buffer_bytes(&writer->staged));
    writer->staged.len = 0;
    writer->in_node = 0;
}

void rdb_writer_element(struct rdb_writer *writer, struct bytes element)
{
    if (!rdb_accept_part(writer, RDB_LIST)) return;
    if (!has_nodes(writer)) {
        rdb_note(writer, rdb_put_text(&writer->out, element));
        return;
    }
    if (element.len >= PLAIN_ELEMENT) {
        finish_node(writer);
        put_node(writer, PLAIN_NODE, element);
        return;
    }
    size_t size = writer->staged.len + NODE_END;
    if (size + element.len + NODE_OVERHEAD > MAX_NODE) finish_node(writer);
    if (writer->in_node == 0) rdb_note(writer, rdb_listpack_start(&writer->staged));
    rdb_note(writer, rdb_listpack_append(&writer->staged, element));
    writer->in_node++;
}

/* ---- libraries of functions ---- */

void rdb_writer_begin_functions(struct rdb_writer *writer)
{
    buffer_clear(&writer->out);
    writer->type = RDB_STRING;
    writer->count = writer->given = 0;
    writer->staging = writer->failed = false;
}

void rdb_writer_function(struct rdb_writer *writer, struct bytes code)
{
    rdb_note(writer, rdb_put_byte(&writer->out, WIRE_FUNCTION) && rdb_put_raw(&writer->out, code));
}

/* ---- end ---- */

static struct bytes first_of(const struct part *part)
{
    return (struct bytes){ part->texts, part->first_len };
}

static struct bytes second_of(const struct part *part)
{
    return (struct bytes){ part->texts + part->first_len, part->second_len };
}

/* Orders by score, and equal scores by the members' bytes. */
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
            /* As in Redis, pack scores that its double2ll converts safely as integers; but not
             * minus zero, which would lose its sign. */
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
            rdb_note(writer, rdb_put_text(&writer->out, first_of(&parts[i])));
            if (writer->type == RDB_HASH)
                rdb_note(writer, rdb_put_text(&writer->out, second_of(&parts[i])));
            if (writer->type == RDB_ZSET)
                rdb_note(writer, rdb_put_score(&writer->out, parts[i].score));
        }
    } else if (writer->type == RDB_SET) {
        int64_t integers[MAX_INTSET];
        size_t start = writer->staged.len;
        for (size_t i = 0; i < count; i++)
            integers[i] = parts[i].integer;
        rdb_note(writer, rdb_intset_append(&writer->staged, integers, count));
        struct bytes packed = { writer->staged.data + start, writer->staged.len - start };
        rdb_note(writer,
                 rdb_put_byte(&writer->out, WIRE_INTSET) && rdb_put_raw(&writer->out, packed));
    } else {
        if (writer->type == RDB_ZSET) qsort(parts, count, sizeof(*parts), compare_scored);
        rdb_note(writer, put_listpack(writer, parts, count));
    }
}

void rdb_put_nodes_head(struct rdb_writer *writer, unsigned type)
{
    buffer_clear(&writer->staged);
    rdb_note(writer, rdb_put_byte(&writer->staged, type) &&
                         rdb_put_length(&writer->staged, writer->nodes) &&
                         buffer_try_append(&writer->staged, writer->out.data, writer->out.len));
    struct buffer whole = writer->staged;
    writer->staged = writer->out;
    writer->out = whole;
}

static bool put_footer(struct rdb_writer *writer, struct bytes *payload)
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
    rdb_note(writer, writer->given == writer->count);
    if (!writer->failed && writer->staging) put_staged(writer);
    if (!writer->failed && has_nodes(writer)) {
        finish_node(writer);
        rdb_put_nodes_head(writer, WIRE_QUICKLIST_2);
    }
    if (writer->type == RDB_STREAM) rdb_note(writer, rdb_stream_is_whole(writer));
    return !writer->failed && put_footer(writer, payload);
}

struct buffer *rdb_writer_body(struct rdb_writer *writer)
{
    buffer_clear(&writer->out);
    return &writer->out;
}

bool rdb_writer_seal(struct rdb_writer *writer, struct bytes *payload)
{
    return put_footer(writer, payload);
}
