/* rdb_object: see rdb_object.h. */
#include "server/persist/import/rdb_object.h"

#include "store/base/ensure.h"
#include "store/type/string.h"

/* ---- reading --------------------------------------------------------------------------------- */

static const enum type types[] = {
    [RDB_STRING] = TYPE_STRING, [RDB_LIST] = TYPE_LIST, [RDB_SET] = TYPE_SET,
    [RDB_ZSET] = TYPE_ZSET,     [RDB_HASH] = TYPE_HASH, [RDB_DEHYDRATOR] = TYPE_DEHYDRATOR,
};

static struct bytes ours(struct rdb_bytes text)
{
    return bytes_of(text.data, text.len);
}

static struct rdb_bytes theirs(struct bytes text)
{
    return (struct rdb_bytes){ text.data, text.len };
}

msec rdb_object_instant(int64_t at)
{
    if (at == RDB_NEVER) return NEVER;
    if (at > INSTANT_MAX) return INSTANT_MAX;
    return at < INSTANT_MIN ? INSTANT_MIN : at;
}

void rdb_object_begin(struct rdb_object *value, enum rdb_type type)
{
    ensure(!value->begun, "a value of type %u within another", (unsigned)type);
    bool is_string = type == RDB_STRING;
    value->object = is_string ? string_new(bytes_of("", 0)) : object_new(types[type]);
    value->begun = true;
}

static bool take_string(void *ctx, struct rdb_bytes text)
{
    struct rdb_object *value = ctx;
    string_set(&value->object, ours(text));
    return true;
}

static bool take_element(void *ctx, struct rdb_bytes element)
{
    struct rdb_object *value = ctx;
    list_push(value->object.list, LIST_TAIL, ours(element));
    return true;
}

static bool take_member(void *ctx, struct rdb_bytes member)
{
    struct rdb_object *value = ctx;
    set_add(value->object.set, ours(member), NEVER);
    return true;
}

static bool take_field(void *ctx, struct rdb_bytes field, struct rdb_bytes text, int64_t at)
{
    struct rdb_object *value = ctx;
    hash_set(value->object.hash, ours(field), ours(text), rdb_object_instant(at));
    return true;
}

static bool take_scored(void *ctx, struct rdb_bytes member, double score)
{
    struct rdb_object *value = ctx;
    /* DIFFERS: a score of -0 is stored as 0. (doc/differs.md) */
    zset_add(value->object.zset, ours(member), score == 0 ? 0 : score, NEVER);
    return true;
}

_Static_assert(RDB_LATEST == INSTANT_MAX, "all times that proto/rdb/ accepts can be stored");

static bool take_waiting(void *ctx, const struct rdb_element *element)
{
    struct rdb_object *value = ctx;
    const struct stage stage = { .at = element->at };
    dehydrator_push(value->object.dehydrator, ours(element->id), ours(element->payload), &stage);
    return true;
}

static void take_failure(void *ctx)
{
    rdb_object_drop(ctx);
}

void rdb_object_listen(struct rdb_visitor *visitor)
{
    visitor->max_string = INT32_MAX;
    visitor->string = take_string;
    visitor->list_element = take_element;
    visitor->set_member = take_member;
    visitor->hash_field = take_field;
    visitor->zset_member = take_scored;
    visitor->dehydrator_element = take_waiting;
    visitor->key_failed = take_failure;
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
    return object->type != TYPE_DEHYDRATOR && object_count_expiring(object) == 0;
}

static void write_list(const struct object *object, struct rdb_writer *writer)
{
    struct list_iter iter;
    struct bytes element;
    list_iter_at(&iter, object->list, 0);
    while (list_iter_next(&iter, &element))
        rdb_writer_element(writer, theirs(element));
}

static void write_set(const struct object *object, struct rdb_writer *writer)
{
    struct set_iter iter;
    struct bytes member;
    set_iter_begin(&iter, object->set);
    while (set_iter_next(&iter, &member))
        rdb_writer_member(writer, theirs(member));
}

static void write_hash(const struct object *object, struct rdb_writer *writer)
{
    struct hash_iter iter;
    struct bytes field, value;
    hash_iter_begin(&iter, object->hash);
    while (hash_iter_next(&iter, &field, &value))
        rdb_writer_field(writer, theirs(field), theirs(value));
}

/* From the highest score down, as Redis does, which loads this order fastest. */
static void write_zset(const struct object *object, struct rdb_writer *writer)
{
    struct zset_iter iter;
    struct bytes member;
    double score;
    zset_iter_at(&iter, object->zset, zset_count(object->zset) - 1);
    while (zset_iter_prev(&iter, &member, &score))
        rdb_writer_scored(writer, theirs(member), score);
}

static enum rdb_type name_of(enum type type)
{
    unsigned name = 0;
    while (types[name] != type)
        name++;
    return (enum rdb_type)name;
}

bool rdb_object_write(const struct object *object, struct rdb_writer *writer,
                      struct rdb_bytes *payload)
{
    rdb_writer_begin(writer, name_of(object->type), object_count(object));
    switch (object->type) {
    case TYPE_STRING: rdb_writer_string(writer, theirs(object_text(object))); break;
    case TYPE_LIST: write_list(object, writer); break;
    case TYPE_SET: write_set(object, writer); break;
    case TYPE_HASH: write_hash(object, writer); break;
    case TYPE_ZSET: write_zset(object, writer); break;
    default: ensure(false, "type %u", (unsigned)object->type);
    }
    return rdb_writer_end(writer, payload);
}
