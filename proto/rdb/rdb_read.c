/* rdb_read: reads the frame of files and payloads: header, records, checksum, footer. value.c reads
 * the values of keys. */
#include "proto/rdb/rdb_read.h"

#include <stdio.h>

#include "proto/rdb/crc64.h"
#include "proto/rdb/reader.h"
#include "store/base/little_endian.h"

/* The programs and RDB versions that can be read. A file begins with its program's magic and the
 * version in digits. A payload names only the version, so the versions of two programs must not
 * overlap: Valkey numbers its own from 80 on. */
static const struct format {
    const char *magic, *program;
    int first, last;    /* RDB versions */
    const char *newest; /* release of the program */
} formats[] = {
    { "REDIS", "Redis", 1, 16, "8.10" },
    { "VALKEY", "Valkey", RDB_VALKEY, 81, "9.2" },
};

enum {
    FORMATS = sizeof(formats) / sizeof(formats[0]),
    HEAD = 9,
    CHECKSUM = 8,
    FIRST_WITH_CHECKSUM = 5, /* RDB version */
    FIRST_WITHOUT_SUM = 15,  /* RDB version: from here on a payload's checksum may be 0 */
    RELEASE_SHOWN = 24,
};

enum opcode {
    FIRST_OPCODE = 240,  /* from here on, unknown codes are not types of keys */
    HASH_TEMPLATE = 242, /* Redis 8.10 */
    KEY_METADATA = 243,  /* Redis 8.6; in Valkey 9: a slot that is being imported */
    SLOT_INFO = 244,
    FUNCTION = 245,
    FUNCTION_OF_CANDIDATES = 246, /* Redis 7.0 rc1 and rc2 */
    MODULE_AUX = 247,
    IDLE = 248,
    FREQ = 249,
    AUX = 250,
    SIZES = 251,
    EXPIRE_MSEC = 252,
    EXPIRE_SEC = 253,
    DATABASE = 254,
    END = 255,
};

static void reader_drop(struct rdb_reader *reader)
{
    rdb_seen_drop(&reader->seen);
    rdb_templates_drop(reader);
    buffer_drop(&reader->name);
    buffer_drop(&reader->first);
    buffer_drop(&reader->second);
    buffer_drop(&reader->packed);
}

/* ---- calling the visitor ---- */

bool rdb_visited(struct rdb_reader *reader, bool answer)
{
    return answer || rdb_fail(reader, RDB_STOPPED, "stopped");
}

static bool fail_duplicate(struct rdb_reader *reader)
{
    return rdb_damaged(reader, "a duplicate part of a value");
}

bool rdb_visited_member(struct rdb_reader *reader, bool answer)
{
    if (reader->visitor->finds_duplicates) return answer || fail_duplicate(reader);
    return rdb_visited(reader, answer);
}

bool rdb_unique(struct rdb_reader *reader, struct bytes member)
{
    switch (rdb_seen_add(&reader->seen, member)) {
    case RDB_SEEN_NEW: return true;
    case RDB_SEEN_BEFORE: return fail_duplicate(reader);
    default: return rdb_fail(reader, RDB_TOO_LARGE, "out of memory");
    }
}

bool rdb_begin_key(struct rdb_reader *reader, enum rdb_type type)
{
    reader->key.type = type;
    reader->key_begun = RDB_VISIT(reader, key_begin, &reader->key);
    return reader->key_begun;
}

static void reset_key(struct rdb_reader *reader)
{
    reader->key.expire_at = RDB_NEVER;
    reader->key.idle = -1;
    reader->key.freq = -1;
    reader->key_begun = false;
    rdb_seen_clear(&reader->seen);
    buffer_clear(&reader->first);
    buffer_clear(&reader->second);
    buffer_clear(&reader->packed);
}

static void reader_init(struct rdb_reader *reader, struct rdb_source *source,
                        const struct rdb_visitor *visitor, struct rdb_error *error)
{
    *error = (struct rdb_error){ .status = RDB_OK };
    *reader = (struct rdb_reader){ .source = source, .visitor = visitor, .error = error };
    reset_key(reader);
}

static bool read_whole_value(struct rdb_reader *reader, unsigned type)
{
    const struct rdb_visitor *visitor = reader->visitor;
    bool ok = rdb_read_value(reader, type);
    if (ok && reader->is_payload) {
        reader->part_at = rdb_source_offset(reader->source);
        ok = reader->source->at == reader->source->end ||
             rdb_damaged(reader, "extra bytes after the value");
    }
    if (reader->key_begun) {
        if (!ok && visitor->key_failed != NULL) visitor->key_failed(visitor->ctx);
        if (ok && visitor->key_end != NULL)
            ok = rdb_visited(reader, visitor->key_end(visitor->ctx));
    }
    reset_key(reader);
    return ok;
}

/* ---- records ---- */

static bool read_expire(struct rdb_reader *reader, bool seconds)
{
    uint64_t value;
    if (!rdb_get_number(reader, seconds ? 4 : 8, &value)) return false;
    reader->key.expire_at = seconds ? (int64_t)(int32_t)value * 1000 : (int64_t)value;
    return true;
}

static bool read_function(struct rdb_reader *reader)
{
    struct bytes code;
    return rdb_get_string(reader, &reader->first, &code) && RDB_VISIT(reader, function, code);
}

static bool has_attributes(const struct rdb_key *key)
{
    return key->expire_at != RDB_NEVER || key->idle != -1 || key->freq != -1;
}

/* Reads the record that this code begins. A code below FIRST_OPCODE is the type of a key. */
static bool read_record(struct rdb_reader *reader, unsigned code)
{
    struct rdb_key *key = &reader->key;
    struct bytes name, text;
    uint64_t value, keys;
    bool is_attribute = code == IDLE || code == FREQ || code == EXPIRE_MSEC || code == EXPIRE_SEC ||
                        code == KEY_METADATA;
    if (code >= FIRST_OPCODE && !is_attribute && has_attributes(key))
        return rdb_damaged(reader, "a deadline without a key");
    switch (code) {
    case HASH_TEMPLATE:
        if (reader->file_version < RDB_VALKEY) return rdb_read_template(reader);
        return rdb_fail(reader, RDB_DAMAGED, "an unknown record %u", HASH_TEMPLATE);
    case KEY_METADATA:
        if (reader->file_version < RDB_VALKEY) return rdb_skip_key_metadata(reader);
        /* In Valkey it announces keys of a slot that do not belong to the server yet. */
        return rdb_fail(reader, RDB_FOREIGN,
                        "written while slots were imported. Save again after the migration's end");
    case SLOT_INFO: return rdb_skip_lengths(reader, 3);
    case FUNCTION: return read_function(reader);
    case FUNCTION_OF_CANDIDATES: { /* name, engine, optional description, code */
        struct rdb_unsupported what = { .database = key->database,
                                        .type = "pre-release function",
                                        .module = "" };
        if (!rdb_get_string(reader, &reader->first, &what.key) || !rdb_skip_string(reader) ||
            !rdb_get_length(reader, &value))
            return false;
        if (value > 1) return rdb_damaged(reader, "a broken function");
        return (value == 0 || rdb_skip_string(reader)) && rdb_skip_string(reader) &&
               RDB_VISIT(reader, unsupported, &what);
    }
    case MODULE_AUX: return rdb_skip_module_aux(reader);
    case IDLE:
        if (!rdb_get_length(reader, &value)) return false;
        if (value > INT64_MAX) return rdb_damaged(reader, "an invalid idle time");
        key->idle = (int64_t)value;
        return true;
    case FREQ:
        if (!rdb_get_number(reader, 1, &value)) return false;
        key->freq = (int)value;
        return true;
    case AUX:
        return rdb_get_string(reader, &reader->first, &name) &&
               rdb_get_string(reader, &reader->second, &text) && RDB_VISIT(reader, aux, name, text);
    case SIZES:
        return rdb_get_length(reader, &keys) && rdb_get_length(reader, &value) &&
               RDB_VISIT(reader, sizes, keys, value);
    case EXPIRE_MSEC: return read_expire(reader, false);
    case EXPIRE_SEC: return read_expire(reader, true);
    case DATABASE:
        return rdb_get_length(reader, &key->database) && RDB_VISIT(reader, database, key->database);
    default:
        if (code >= FIRST_OPCODE)
            return rdb_fail(reader, RDB_DAMAGED, "an unknown record %u", code);
        return rdb_get_string(reader, &reader->name, &key->name) && read_whole_value(reader, code);
    }
}

void rdb_versions(char *to, size_t size)
{
    const struct format *redis = &formats[0], *valkey = &formats[1];
    snprintf(to, size, "%d to %d of %s (up to %s), and %d to %d of %s (up to %s)", redis->first,
             redis->last, redis->program, redis->newest, valkey->first, valkey->last,
             valkey->program, valkey->newest);
}

static bool read_head(struct rdb_reader *reader)
{
    const char *head = (const char *)rdb_source_take(reader->source, HEAD);
    if (head == NULL && reader->source->state != RDB_SOURCE_ENDED) return rdb_no_bytes(reader);
    const struct format *format = NULL;
    for (unsigned i = 0; i < FORMATS && head != NULL && format == NULL; i++)
        if (memcmp(head, formats[i].magic, strlen(formats[i].magic)) == 0) format = &formats[i];
    if (format == NULL) return rdb_fail(reader, RDB_FOREIGN, "not an RDB file of Redis or Valkey");
    for (size_t i = strlen(format->magic); i < HEAD; i++) {
        if (head[i] < '0' || head[i] > '9')
            return rdb_fail(reader, RDB_FOREIGN, "not an RDB file of Redis or Valkey");
        reader->file_version = 10 * reader->file_version + (head[i] - '0');
    }
    if (reader->file_version >= format->first && reader->file_version <= format->last) return true;

    /* The first record usually names the release that wrote the file: "redis-ver", "valkey-ver". */
    char release[RELEASE_SHOWN];
    uint64_t code;
    struct bytes name, text;
    bool named = rdb_get_number(reader, 1, &code) && code == AUX &&
                 rdb_get_string(reader, &reader->first, &name) &&
                 rdb_get_string(reader, &reader->second, &text) && name.len > 4 &&
                 memcmp(name.data + name.len - 4, "-ver", 4) == 0;
    if (named) rdb_show(release, sizeof(release), text);
    reader->part_at = 0;
    return rdb_fail(reader, RDB_FOREIGN,
                    "unsupported RDB version %d of %s%s%s: versions %d to %d (up to %s %s) can be "
                    "read",
                    reader->file_version, format->program, named ? " " : "", named ? release : "",
                    format->first, format->last, format->program, format->newest);
}

enum rdb_status rdb_read(struct rdb_source *source, const struct rdb_visitor *visitor,
                         struct rdb_error *error)
{
    struct rdb_reader reader;
    uint64_t code = 0;
    reader_init(&reader, source, visitor, error);
    bool ok = read_head(&reader);
    while (ok && code != END)
        ok = rdb_get_number(&reader, 1, &code) &&
             (code == END || read_record(&reader, (unsigned)code));
    uint64_t sum = rdb_source_crc(source), expected = 0;
    if (ok && has_attributes(&reader.key)) ok = rdb_damaged(&reader, "a deadline without a key");
    /* A stored checksum of 0 means that the writer was configured to compute none. */
    if (ok && reader.file_version >= FIRST_WITH_CHECKSUM &&
        rdb_get_number(&reader, CHECKSUM, &expected) && expected != 0 && expected != sum)
        rdb_fail(&reader, RDB_DAMAGED, "wrong checksum: computed %016llx, stored %016llx",
                 (unsigned long long)sum, (unsigned long long)expected);
    reader_drop(&reader);
    return error->status;
}

/* ---- payloads ---- */

bool rdb_payload_open(struct bytes payload, struct bytes *body, int *version)
{
    if (payload.len < RDB_FOOTER) return false;
    size_t summed = payload.len - CHECKSUM;
    const unsigned char *at = (const unsigned char *)payload.data;
    *body = (struct bytes){ payload.data, payload.len - RDB_FOOTER };
    *version = (int)little_unsigned(at + body->len, RDB_FOOTER - CHECKSUM);
    uint64_t sum = little_unsigned(at + summed, CHECKSUM);
    /* Redis 8.10 replicates HIMPORT as RESTORE of a payload without a checksum. */
    bool left_out = sum == 0 && *version >= FIRST_WITHOUT_SUM && *version < RDB_VALKEY;
    bool is_known = *version <= formats[0].last ||
                    (*version >= formats[1].first && *version <= formats[1].last);
    return is_known && (left_out || rdb_crc64(0, at, summed) == sum);
}

static bool read_value_payload(struct rdb_reader *reader)
{
    uint64_t type;
    return rdb_get_number(reader, 1, &type) && read_whole_value(reader, (unsigned)type);
}

static bool read_functions_payload(struct rdb_reader *reader)
{
    while (reader->source->at < reader->source->end) {
        uint64_t type;
        if (!rdb_get_number(reader, 1, &type)) return false;
        if (type == FUNCTION_OF_CANDIDATES)
            return rdb_damaged(reader, "Pre-GA function format not supported");
        if (type != FUNCTION) return rdb_damaged(reader, "given type is not a function");
        if (read_function(reader)) continue;
        if (reader->error->status == RDB_DAMAGED)
            rdb_damaged(reader, "Failed loading library payload");
        return false;
    }
    return true;
}

static enum rdb_status read_payload(struct bytes payload, const struct rdb_visitor *visitor,
                                    struct rdb_error *error, bool (*read)(struct rdb_reader *))
{
    struct rdb_source source;
    struct rdb_reader reader;
    struct bytes body = { payload.data, 0 };
    int version = 0;
    bool sound = rdb_payload_open(payload, &body, &version);
    rdb_source_of_memory(&source, body.data, body.len);
    reader_init(&reader, &source, visitor, error);
    reader.is_payload = true;
    reader.file_version = version;
    reader.key.name = (struct bytes){ "", 0 };
    if (!sound)
        rdb_fail(&reader, RDB_FOREIGN, "DUMP payload version or checksum are wrong");
    else
        read(&reader);
    reader_drop(&reader);
    rdb_source_drop(&source);
    return error->status;
}

enum rdb_status rdb_read_payload(struct bytes payload, const struct rdb_visitor *visitor,
                                 struct rdb_error *error)
{
    return read_payload(payload, visitor, error, read_value_payload);
}

enum rdb_status rdb_read_functions(struct bytes payload, const struct rdb_visitor *visitor,
                                   struct rdb_error *error)
{
    return read_payload(payload, visitor, error, read_functions_payload);
}
