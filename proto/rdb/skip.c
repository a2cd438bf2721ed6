/* skip: skips what this server does not support, arrays and most values of modules, and reports
 * each to the visitor. The functions that read parts of a module's value are here too; dehydrator.c
 * uses them. */
#include "proto/rdb/reader.h"

#include <string.h>

enum { MODULE_NAME = 9, ENCODING_VERSION_BITS = 10 };

/* The opcode that precedes each part of a module's value. */
enum module_opcode {
    OPCODE_END,
    OPCODE_SIGNED,
    OPCODE_UNSIGNED,
    OPCODE_FLOAT,
    OPCODE_DOUBLE,
    OPCODE_STRING,
};

/* Parses the id of a module's type and returns its encoding version.
 *
 *     54 bits    nine characters of six bits: the name
 *     10 bits    the encoding version */
static int parse_module_id(uint64_t id, char name[MODULE_NAME + 1])
{
    static const char characters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint64_t rest = id >> ENCODING_VERSION_BITS;
    name[MODULE_NAME] = '\0';
    for (int i = MODULE_NAME - 1; i >= 0; i--, rest >>= 6)
        name[i] = characters[rest & 63];
    return (int)(id & ((1 << ENCODING_VERSION_BITS) - 1));
}

static bool skip_opcodes(struct rdb_reader *reader)
{
    uint64_t opcode;
    bool ok = true;
    while (ok && rdb_get_length(reader, &opcode)) {
        switch (opcode) {
        case OPCODE_END: return true;
        case OPCODE_SIGNED:
        case OPCODE_UNSIGNED: ok = rdb_skip_lengths(reader, 1); break;
        case OPCODE_FLOAT: ok = rdb_skip(reader, 4); break;
        case OPCODE_DOUBLE: ok = rdb_skip(reader, 8); break;
        case OPCODE_STRING: ok = rdb_skip_string(reader); break;
        default: return rdb_damaged(reader, "an unknown part of a module's value");
        }
    }
    return false;
}

bool rdb_read_module(struct rdb_reader *reader, bool annotated)
{
    char name[MODULE_NAME + 1];
    uint64_t id;
    if (!rdb_get_length(reader, &id)) return false;
    int version = parse_module_id(id, name);
    if (strcmp(name, "dehy-type") == 0 && version == 0)
        return rdb_read_dehydrator(reader, annotated);
    /* Pre-releases of Redis 4.0 wrote no opcodes, so only the module itself can find the end. */
    if (!annotated)
        return rdb_fail(reader, RDB_FOREIGN,
                        "a value of the module type %s, whose end only the module can find", name);
    if (!skip_opcodes(reader)) return false;
    struct rdb_unsupported what = { .key = reader->key.name,
                                    .database = reader->key.database,
                                    .type = "module",
                                    .module = name,
                                    .encoding_version = version };
    return RDB_VISIT(reader, unsupported, &what);
}

bool rdb_skip_module_aux(struct rdb_reader *reader)
{
    char name[MODULE_NAME + 1];
    uint64_t id, opcode;
    /* The first part is when to load the data: before or after the keys. */
    if (!rdb_get_length(reader, &id) || !rdb_get_length(reader, &opcode)) return false;
    if (opcode != OPCODE_UNSIGNED) return rdb_damaged(reader, "an unknown part of a module's data");
    if (!rdb_skip_lengths(reader, 1) || !skip_opcodes(reader)) return false;
    int version = parse_module_id(id, name);
    return RDB_VISIT(reader, module_aux, name, version);
}

/* Skips the metadata that modules have attached to a key; Redis 8.6 writes it before the key.
 *
 *     number of classes; for each:
 *         its ID (4 bytes)
 *         its parts, up to an end mark */
bool rdb_skip_key_metadata(struct rdb_reader *reader)
{
    enum { CLASS_ID = 4 };
    struct rdb_unsupported what = { .database = reader->key.database,
                                    .type = "key metadata",
                                    .module = "" };
    uint64_t classes;
    if (!rdb_get_length(reader, &classes)) return false;
    for (; classes > 0; classes--)
        if (!rdb_skip(reader, CLASS_ID) || !skip_opcodes(reader)) return false;
    what.key = (struct bytes){ "", 0 };
    return RDB_VISIT(reader, unsupported, &what);
}

/* Skips an array. Layout:
 *
 *     number of elements
 *     0; or 1 and the index of the next insertion
 *     for each element: its index, the kind of its value, the value */
bool rdb_skip_array(struct rdb_reader *reader)
{
    enum { STRING, INTEGER, FLOAT, SHORT_STRING };
    const struct rdb_unsupported what = {
        .key = reader->key.name, .database = reader->key.database, .type = "array", .module = ""
    };
    uint64_t count, flag, kind;
    if (!rdb_get_length(reader, &count) || !rdb_get_length(reader, &flag)) return false;
    if (flag > 1) return rdb_damaged(reader, "a broken array");
    if (!rdb_skip_lengths(reader, (unsigned)flag)) return false;
    for (; count > 0; count--) {
        if (!rdb_skip_lengths(reader, 1) || !rdb_get_length(reader, &kind)) return false;
        if (kind > SHORT_STRING) return rdb_damaged(reader, "an element of unknown kind");
        bool fixed = kind == INTEGER || kind == FLOAT;
        if (fixed ? !rdb_skip(reader, 8) : !rdb_skip_string(reader)) return false;
    }
    return RDB_VISIT(reader, unsupported, &what);
}

static bool get_opcode(struct rdb_reader *reader, bool annotated, uint64_t wanted)
{
    uint64_t opcode;
    if (!annotated) return true;
    if (!rdb_get_length(reader, &opcode)) return false;
    return opcode == wanted || rdb_damaged(reader, "an unexpected part of a module's value");
}

bool rdb_get_module_number(struct rdb_reader *reader, bool annotated, uint64_t *value)
{
    return get_opcode(reader, annotated, OPCODE_UNSIGNED) && rdb_get_length(reader, value);
}

bool rdb_get_module_string(struct rdb_reader *reader, bool annotated, struct buffer *scratch,
                           struct bytes *text)
{
    return get_opcode(reader, annotated, OPCODE_STRING) && rdb_get_string(reader, scratch, text);
}

bool rdb_get_module_end(struct rdb_reader *reader, bool annotated)
{
    return get_opcode(reader, annotated, OPCODE_END);
}
