/* rdb_object: see rdb_object.h. Uses the store's types directly, without a transaction. */
#include "server/disk/import/rdb_object.h"

#include "server/disk/import/rdb_stream.h"
#include "store/base/ensure.h"
#include "store/type/string.h"

/* ---- reading --------------------------------------------------------------------------------- */

static const enum type types[] = {
    [RDB_STRING] = TYPE_STRING, [RDB_LIST] = TYPE_LIST, [RDB_SET] = TYPE_SET,
    [RDB_ZSET] = TYPE_ZSET,     [RDB_HASH] = TYPE_HASH, [RDB_DEHYDRATOR] = TYPE_DEHYDRATOR,
    [RDB_STREAM] = TYPE_STREAM,
};

msec rdb_object_instant(int64_t at)
{
    if (at == RDB_NEVER) return NEVER;
    if (at > INSTANT_MAX) return INSTANT_MAX;
    return at < INSTANT_MIN ? INSTANT_MIN : at;
}

void rdb_object_begin(struct rdb_object *value, enum rdb_type type)
{
    ensure(!value->begun, "a value of type %u inside another value", (unsigned)type);
    bool is_string = type == RDB_STRING;
    value->object = is_string ? string_new(bytes_of("", 0)) : object_new(types[type]);
    value->begun = true;
}

static bool take_string(void *ctx, struct bytes text)
{
    struct rdb_object *value = ctx;
    string_set(&value->object, text);
    return true;
}

static bool take_element(void *ctx, struct bytes element)
{
    struct rdb_object *value = ctx;
    list_push(value->object.list, LIST_TAIL, element);
    return true;
}

static bool take_member(void *ctx, struct bytes member)
{
    struct rdb_object *value = ctx;
    return set_add(value->object.set, member, NEVER);
}

static bool take_field(void *ctx, struct bytes field, struct bytes text, int64_t at)
{
    struct rdb_object *value = ctx;
    return hash_set(value->object.hash, field, text, rdb_object_instant(at));
}

static bool take_zset_member(void *ctx, struct bytes member, double score)
{
    struct rdb_object *value = ctx;
    struct zset *zset = value->object.zset;
    size_t before = zset_count(zset);
    /* DIFFERS: a score of -0 is stored as 0. (doc/differs.md) */
    zset_put(zset, member, score == 0 ? 0 : score, NEVER);
    return zset_count(zset) > before;
}

_Static_assert(RDB_LATEST == INSTANT_MAX, "all times that proto/rdb/ accepts can be stored");

static bool take_dehydrator_element(void *ctx, const struct rdb_element *element)
{
    struct rdb_object *value = ctx;
    const struct stage stage = { .at = element->at };
    dehydrator_push(value->object.dehydrator, element->id, element->payload, &stage);
    return true;
}

static void take_failure(void *ctx)
{
    rdb_object_drop(ctx);
}

void rdb_object_listen(struct rdb_visitor *visitor)
{
    visitor->max_string = INT32_MAX;
    visitor->finds_duplicates = true;
    visitor->string = take_string;
    visitor->list_element = take_element;
    visitor->set_member = take_member;
    visitor->hash_field = take_field;
    visitor->zset_member = take_zset_member;
    visitor->dehydrator_element = take_dehydrator_element;
    visitor->key_failed = take_failure;
    rdb_stream_listen(visitor);
}

struct object rdb_object_take(struct rdb_object *value)
{
    ensure(value->begun, "no value to take");
    struct object object = value->object;
    object.has_expiry = !due_at_is_never(object_next_due(&object));
    value->begun = false;
    return object;
}

void rdb_object_drop(struct rdb_object *value)
{
    if (value->begun) object_free(&value->object);
    value->begun = false;
}

/* ---- writing --------------------------------------------------------------------------------- */

bool rdb_object_is_plain(const struct object *object)
{
    if (object->type == TYPE_STREAM) return rdb_stream_is_plain(object->stream);
    return object->type != TYPE_DEHYDRATOR && object_count_expiring(object) == 0 &&
           !object->is_soft;
}

static bool holds_field_deadlines(int version)
{
    return version >= RDB_VERSION_8;
}

bool rdb_object_loses(const struct object *object, int version)
{
    if (object->type == TYPE_LEASE) return true;
    if (object->type == TYPE_HASH && holds_field_deadlines(version)) return false;
    return !rdb_object_is_plain(object);
}

static void write_expiring_hash(const struct object *object, struct rdb_writer *writer)
{
    struct hash_iter iter;
    struct bytes field, value;
    msec earliest = NEVER;
    object_member_first(object, &field, &earliest);
    rdb_writer_begin_expiring(writer, object_count(object), earliest);
    hash_iter_begin(&iter, object->hash);
    while (hash_iter_next(&iter, &field, &value)) {
        msec at = NEVER;
        hash_deadline(object->hash, field, &at);
        rdb_writer_expiring_field(writer, field, value, at == NEVER ? RDB_NEVER : at);
    }
}

bool rdb_object_write(const struct object *object, struct rdb_writer *writer, struct bytes *payload)
{
    struct list_iter list;
    struct set_iter set;
    struct hash_iter hash;
    struct zset_iter zset;
    struct bytes text, value;
    double score;
    unsigned type = 0;
    while (types[type] != object->type)
        type++;
    if (object->type == TYPE_HASH && holds_field_deadlines(writer->version) &&
        object_count_expiring(object) > 0) {
        write_expiring_hash(object, writer);
        return rdb_writer_end(writer, payload);
    }
    rdb_writer_begin(writer, (enum rdb_type)type, object_count(object));
    switch (object->type) {
    case TYPE_STRING: rdb_writer_string(writer, object_text(object)); break;
    case TYPE_LIST:
        list_iter_at(&list, object->list, 0);
        while (list_iter_next(&list, &text))
            rdb_writer_element(writer, text);
        break;
    case TYPE_SET:
        set_iter_begin(&set, object->set);
        while (set_iter_next(&set, &text))
            rdb_writer_member(writer, text);
        break;
    case TYPE_HASH:
        hash_iter_begin(&hash, object->hash);
        while (hash_iter_next(&hash, &text, &value))
            rdb_writer_field(writer, text, value);
        break;
    case TYPE_ZSET: /* the highest score first, the order that Redis writes and loads fastest */
        zset_iter_at(&zset, object->zset, zset_count(object->zset) - 1);
        while (zset_iter_prev(&zset, &text, &score))
            rdb_writer_scored(writer, text, score);
        break;
    case TYPE_STREAM: rdb_stream_write(object->stream, writer); break;
    default: ensure(false, "type %u", (unsigned)object->type);
    }
    return rdb_writer_end(writer, payload);
}
