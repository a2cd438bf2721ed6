/* rdb_object: see rdb_object.h. Uses the store's types directly, without a transaction. */
#include "server/disk/import/rdb_object.h"

#include <stdlib.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/type/stream/stream_group.h"
#include "store/type/stream/stream_repeats.h"
#include "store/type/string.h"

enum { FIRST_PARTS = 16 };

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

static struct stream_id id_of_rdb(struct rdb_stream_id id)
{
    return (struct stream_id){ id.ms, id.seq };
}

static bool take_entry(void *ctx, const struct rdb_stream_entry *entry)
{
    struct rdb_object *value = ctx;
    stream_append(value->object.stream, id_of_rdb(entry->id), entry->texts, entry->count);
    return true;
}

static bool take_marks(void *ctx, const struct rdb_stream_marks *marks)
{
    struct rdb_object *value = ctx;
    const struct stream_marks ours = { .last = id_of_rdb(marks->last),
                                       .max_deleted = id_of_rdb(marks->max_deleted),
                                       .added = marks->added };
    stream_set_marks(value->object.stream, &ours);
    return true;
}

_Static_assert(RDB_READ_UNKNOWN == GROUP_READ_UNKNOWN, "numbers of entries read mean the same");

static bool take_group(void *ctx, const struct rdb_group *group)
{
    struct rdb_object *value = ctx;
    const struct group_position position = { id_of_rdb(group->last), group->read };
    value->group = group_add(stream_groups(value->object.stream), group->name);
    group_set_position(value->group, &position);
    return true;
}

static bool take_consumer(void *ctx, const struct rdb_consumer *consumer)
{
    struct rdb_object *value = ctx;
    msec seen = rdb_object_instant(consumer->seen_at);
    value->consumer = consumer_add(value->group, consumer->name, seen);
    return true;
}

static bool put_pending(struct rdb_object *value, const struct rdb_pending *pending,
                        struct stream_consumer *consumer)
{
    msec at = rdb_object_instant(pending->at);
    const struct pending ours = {
        .id = id_of_rdb(pending->id),
        .consumer = consumer,
        .at = at == NEVER ? INSTANT_MAX : at,
        .deliveries = pending->deliveries > INT64_MAX ? INT64_MAX : pending->deliveries,
    };
    pending_put(value->group, &ours);
    return true;
}

static bool take_pending(void *ctx, const struct rdb_pending *pending)
{
    struct rdb_object *value = ctx;
    return put_pending(value, pending, value->consumer);
}

/* Adds a released pending entry. As in Redis, it is due for redelivery at once. */
static bool take_released(void *ctx, const struct rdb_pending *pending)
{
    return put_pending(ctx, pending, NULL);
}

/* Sets the limits of the texts that a stream remembers of its producers. Limits that Redis would
 * not have accepted are ignored: the defaults stay. */
static bool take_limits(void *ctx, uint64_t seconds, uint64_t texts)
{
    struct rdb_object *value = ctx;
    bool is_default = seconds == REPEAT_SECONDS && texts == REPEAT_TEXTS;
    bool fits =
        seconds > 0 && seconds <= REPEAT_SECONDS_MAX && texts > 0 && texts <= REPEAT_TEXTS_MAX;
    if (fits && !is_default)
        repeat_set_limits(stream_make_repeats(value->object.stream),
                          (struct repeat_limits){ (int64_t)seconds, (int64_t)texts });
    return true;
}

static bool take_repeat(void *ctx, const struct rdb_repeat *repeat)
{
    struct rdb_object *value = ctx;
    struct stream_repeats *repeats = stream_make_repeats(value->object.stream);
    struct stream_id id = id_of_rdb(repeat->id);
    if (repeat_fits(repeats, repeat->producer, id))
        repeat_put(repeats, repeat->producer, repeat->text, id);
    return true;
}

static int64_t count_of_rdb(uint64_t count)
{
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

static bool take_counts(void *ctx, uint64_t added, uint64_t repeated)
{
    struct rdb_object *value = ctx;
    if (added > 0 || repeated > 0)
        repeat_set_counts(stream_make_repeats(value->object.stream),
                          (struct repeat_counts){ count_of_rdb(added), count_of_rdb(repeated) });
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
    visitor->stream_entry = take_entry;
    visitor->stream_marks = take_marks;
    visitor->stream_group = take_group;
    visitor->stream_consumer = take_consumer;
    visitor->stream_pending = take_pending;
    visitor->stream_released = take_released;
    visitor->stream_limits = take_limits;
    visitor->stream_repeat = take_repeat;
    visitor->stream_counts = take_counts;
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

static struct rdb_stream_id rdb_of_id(struct stream_id id)
{
    return (struct rdb_stream_id){ id.ms, id.seq };
}

struct owner {
    const struct stream_consumer *consumer;
    size_t end; /* the index in `ids` after this consumer's last ID so far */
};

/* The IDs of a group's pending entries, grouped by consumer, as Redis' format lists them. One pass
 * over the group collects them: a search for each consumer would take time in proportion to
 * consumers times entries. */
struct owned {
    struct owner *owners; /* sorted by address */
    size_t count;
    struct rdb_stream_id *ids;
};

static int compare_owners(const void *a, const void *b)
{
    uintptr_t in_a = (uintptr_t)((const struct owner *)a)->consumer;
    uintptr_t in_b = (uintptr_t)((const struct owner *)b)->consumer;
    return (in_a > in_b) - (in_a < in_b);
}

static struct owner *owner_of(const struct owned *owned, const struct stream_consumer *consumer)
{
    const struct owner wanted = { .consumer = consumer };
    return bsearch(&wanted, owned->owners, owned->count, sizeof(wanted), compare_owners);
}

/* Writes a group. If memory runs out, leaves it incomplete, so that the writer fails. */
static void write_group(const struct stream_group *group, struct rdb_writer *writer)
{
    struct group_position position = group_position(group);
    const struct rdb_group theirs = { group_name(group), rdb_of_id(position.last), position.read };
    struct stream_consumer *consumer = NULL;
    size_t owned_count = 0, cap = group_count_consumers(group) + 1;
    struct owned owned = { .owners = mem_try_alloc(cap * sizeof(*owned.owners)) };
    if (owned.owners == NULL) return;
    while ((consumer = consumer_next(group, consumer)) != NULL)
        owned.owners[owned.count++].consumer = consumer;
    qsort(owned.owners, owned.count, sizeof(*owned.owners), compare_owners);
    for (size_t i = 0; i < owned.count; i++) {
        owned.owners[i].end = owned_count;
        owned_count += consumer_pending(owned.owners[i].consumer);
    }
    owned.ids = mem_try_alloc((owned_count + 1) * sizeof(*owned.ids));
    if (owned.ids == NULL) {
        mem_free(owned.owners);
        return;
    }
    rdb_writer_group(writer, &theirs, group_count_pending(group) - group_count_released(group));

    struct pending_filter filter = { .to = STREAM_ID_MAX };
    struct pending pending;
    for (bool more = true; more && pending_next(group, &filter, &pending);
         more = stream_id_up(&filter.from)) {
        filter.from = pending.id;
        if (pending.consumer == NULL) continue; /* the format can't hold released entries */
        const struct rdb_pending entry = { rdb_of_id(pending.id), pending.at, pending.deliveries };
        rdb_writer_pending(writer, &entry);
        owned.ids[owner_of(&owned, pending.consumer)->end++] = entry.id;
    }

    rdb_writer_consumers(writer, owned.count);
    while ((consumer = consumer_next(group, consumer)) != NULL) {
        const struct rdb_consumer named = { .name = consumer_name(consumer),
                                            .seen_at = consumer_seen_at(consumer) };
        size_t count = consumer_pending(consumer), end = owner_of(&owned, consumer)->end;
        rdb_writer_consumer(writer, &named, count);
        for (size_t i = end - count; i < end; i++)
            rdb_writer_owned(writer, owned.ids[i]);
    }
    mem_free(owned.owners);
    mem_free(owned.ids);
}

static void write_stream(const struct stream *stream, struct rdb_writer *writer)
{
    struct stream_walk walk;
    struct stream_entry entry;
    size_t cap = FIRST_PARTS;
    struct bytes *texts = mem_alloc(cap * sizeof(*texts));
    stream_walk_up(&walk, stream, STREAM_ID_MIN);
    while (stream_walk_next(&walk, &entry)) {
        struct rdb_stream_entry theirs = { .id = rdb_of_id(entry.id), .count = 2 * entry.count };
        if (theirs.count > cap) {
            cap = 2 * theirs.count;
            texts = mem_realloc(texts, cap * sizeof(*texts));
        }
        theirs.texts = texts;
        for (size_t i = 0; i < theirs.count; i += 2)
            stream_entry_next(&entry, &texts[i], &texts[i + 1]);
        rdb_writer_entry(writer, &theirs);
    }
    mem_free(texts);

    const struct stream_groups *groups = stream_groups(stream);
    struct stream_marks marks = stream_marks(stream);
    const struct rdb_stream_marks theirs = { rdb_of_id(marks.last), rdb_of_id(marks.max_deleted),
                                             marks.added };
    rdb_writer_marks(writer, &theirs, stream_groups_count(groups));
    for (struct stream_group *group = NULL; (group = group_next(groups, group)) != NULL;)
        write_group(group, writer);
}

bool rdb_object_is_plain(const struct object *object)
{
    if (object->type == TYPE_STREAM) {
        /* Redis 7.0's format can't hold pending entries that belong to no consumer, nor the IDs
         * that producers sent. */
        const struct stream_groups *groups = stream_groups(object->stream);
        for (struct stream_group *group = NULL; (group = group_next(groups, group)) != NULL;)
            if (group_count_released(group) > 0) return false;
        return stream_repeats(object->stream) == NULL;
    }
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
        msec earliest = NEVER;
        object_member_first(object, &text, &earliest);
        rdb_writer_begin_expiring(writer, object_count(object), earliest);
        hash_iter_begin(&hash, object->hash);
        while (hash_iter_next(&hash, &text, &value)) {
            msec at = NEVER;
            hash_deadline(object->hash, text, &at);
            rdb_writer_expiring_field(writer, text, value, at == NEVER ? RDB_NEVER : at);
        }
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
    case TYPE_STREAM: write_stream(object->stream, writer); break;
    default: ensure(false, "type %u", (unsigned)object->type);
    }
    return rdb_writer_end(writer, payload);
}
