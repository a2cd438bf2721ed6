/* rdb_read: reads a file from its header to its checksum, and payloads. Handles everything except
 * the values of keys, which value.c reads. */
#include "proto/rdb/rdb_read.h"

#include <string.h>

#include "proto/rdb/crc64.h"
#include "proto/rdb/reader.h"
#include "store/base/little_endian.h"

enum {
    MAGIC = 5,
    HEAD = 9,
    CHECKSUM = 8,
    FIRST_WITH_CHECKSUM = 5, /* RDB version */
};

enum opcode {
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

bool rdb_unique(struct rdb_reader *reader, struct bytes member)
{
    switch (rdb_seen_add(&reader->seen, member)) {
    case RDB_SEEN_NEW: return true;
    case RDB_SEEN_BEFORE: return rdb_damaged(reader, "a duplicate part of a value");
    default: return rdb_fail(reader, RDB_TOO_LARGE, "out of memory");
    }
}

bool rdb_begin_key(struct rdb_reader *reader, enum rdb_type type)
{
    reader->key.type = type;
    reader->key_begun = RDB_VISIT(reader, key_begin, &reader->key);
    return reader->key_begun;
}

/* Attributes belong to one key only. */
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

static bool read_idle(struct rdb_reader *reader)
{
    uint64_t value;
    if (!rdb_get_length(reader, &value)) return false;
    if (value > INT64_MAX) return rdb_damaged(reader, "an invalid idle time");
    reader->key.idle = (int64_t)value;
    return true;
}

static bool read_function(struct rdb_reader *reader)
{
    struct bytes code;
    return rdb_get_string(reader, &reader->first, &code) && RDB_VISIT(reader, function, code);
}

/* Layout: name, engine, optional description, code. Redis 7.0 refuses such functions. */
static bool read_old_function(struct rdb_reader *reader)
{
    uint64_t described;
    struct rdb_unsupported what = { .database = reader->key.database,
                                    .type = "pre-release function",
                                    .module = "" };
    if (!rdb_get_string(reader, &reader->first, &what.key) || !rdb_skip_string(reader) ||
        !rdb_get_length(reader, &described))
        return false;
    if (described > 1) return rdb_damaged(reader, "a broken function");
    return (described == 0 || rdb_skip_string(reader)) && rdb_skip_string(reader) &&
           RDB_VISIT(reader, unsupported, &what);
}

static bool has_attributes(const struct rdb_key *key)
{
    return key->expire_at != RDB_NEVER || key->idle != -1 || key->freq != -1;
}

/* A code below SLOT_INFO is the type of a key. */
static bool read_record(struct rdb_reader *reader, unsigned code)
{
    struct rdb_key *key = &reader->key;
    struct bytes name, text;
    uint64_t value, keys;
    bool is_attribute = code == IDLE || code == FREQ || code == EXPIRE_MSEC || code == EXPIRE_SEC;
    if (code >= SLOT_INFO && !is_attribute && has_attributes(key))
        return rdb_damaged(reader, "a deadline without a key");
    switch (code) {
    case SLOT_INFO: return rdb_skip_lengths(reader, 3);
    case FUNCTION: return read_function(reader);
    case FUNCTION_OF_CANDIDATES: return read_old_function(reader);
    case MODULE_AUX: return rdb_skip_module_aux(reader);
    case IDLE: return read_idle(reader);
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
        return rdb_get_string(reader, &reader->name, &key->name) && read_whole_value(reader, code);
    }
}

static bool read_head(struct rdb_reader *reader)
{
    static const char valkey[] = "VALKEY";
    const unsigned char *head = rdb_source_take(reader->source, HEAD);
    if (head == NULL && reader->source->state != RDB_SOURCE_ENDED) return rdb_no_bytes(reader);
    if (head != NULL && memcmp(head, valkey, sizeof(valkey) - 1) == 0)
        return rdb_fail(reader, RDB_FOREIGN,
                        "unknown format %.*s of Valkey 9. In Valkey, set aof-use-rdb-preamble to "
                        "no, run BGREWRITEAOF, and import the AOF",
                        HEAD, (const char *)head);
    if (head == NULL || memcmp(head, "REDIS", MAGIC) != 0)
        return rdb_fail(reader, RDB_FOREIGN, "not an RDB file of Redis");
    for (int i = MAGIC; i < HEAD; i++) {
        if (head[i] < '0' || head[i] > '9')
            return rdb_fail(reader, RDB_FOREIGN, "not an RDB file of Redis");
        reader->file_version = 10 * reader->file_version + (head[i] - '0');
    }
    if (reader->file_version >= 1 && reader->file_version <= RDB_MAX_VERSION) return true;
    return rdb_fail(reader, RDB_FOREIGN,
                    "unsupported RDB version %d (1 to %d are supported): a newer server wrote it",
                    reader->file_version, RDB_MAX_VERSION);
}

/* A checksum of 0 means that the writer was configured to leave it out. */
static bool read_end(struct rdb_reader *reader)
{
    uint64_t sum = rdb_source_crc(reader->source), expected;
    if (has_attributes(&reader->key)) return rdb_damaged(reader, "a deadline without a key");
    if (reader->file_version < FIRST_WITH_CHECKSUM) return true;
    if (!rdb_get_number(reader, CHECKSUM, &expected)) return false;
    if (expected == 0 || expected == sum) return true;
    return rdb_fail(reader, RDB_DAMAGED, "wrong checksum: computed %016llx, stored %016llx",
                    (unsigned long long)sum, (unsigned long long)expected);
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
             (code == END ? read_end(&reader) : read_record(&reader, (unsigned)code));
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
    return rdb_crc64(0, at, summed) == little_unsigned(at + summed, CHECKSUM);
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
    if (!sound || version > RDB_MAX_VERSION)
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
