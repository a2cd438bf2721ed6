/* type_rows: the rows of type_row.h. Depends on all types. */
#include "store/type/object.h"
#include "store/type/stream/stream_group.h"
#include "store/type/stream/stream_repeats.h"
#include "store/type/string.h"

/* Defines a collection's functions for struct object. */
#define COLLECTION(noun)                                                                           \
    static void *any_##noun##_new(void)                                                            \
    {                                                                                              \
        return noun##_new();                                                                       \
    }                                                                                              \
    static bool any_##noun##_free_some(struct object *object, size_t *work)                        \
    {                                                                                              \
        return noun##_free_some(object->noun, work);                                               \
    }                                                                                              \
    static void any_##noun##_relocate(struct object *object, struct relocation_cursor *cursor,     \
                                      struct relocation *relocation)                               \
    {                                                                                              \
        object->noun = noun##_relocate(object->noun, cursor, relocation);                          \
    }                                                                                              \
    static size_t any_##noun##_count(const struct object *object)                                  \
    {                                                                                              \
        return noun##_count(object->noun);                                                         \
    }                                                                                              \
    static size_t any_##noun##_bytes(const struct object *object)                                  \
    {                                                                                              \
        return noun##_bytes(object->noun);                                                         \
    }                                                                                              \
    static void any_##noun##_check(const struct object *object)                                    \
    {                                                                                              \
        noun##_check(object->noun);                                                                \
    }

#define COLLECTION_ROW(noun)                                                                       \
    .name = #noun, .new = any_##noun##_new, .free_some = any_##noun##_free_some,                   \
    .relocate = any_##noun##_relocate, .count = any_##noun##_count, .bytes = any_##noun##_bytes,   \
    .check = any_##noun##_check

#define MEMBERS(noun)                                                                              \
    static bool any_##noun##_deadline(const struct object *object, struct bytes member, msec *at)  \
    {                                                                                              \
        return noun##_deadline(object->noun, member, at);                                          \
    }                                                                                              \
    static bool any_##noun##_expire(const struct object *object, struct bytes member, msec at)     \
    {                                                                                              \
        return noun##_expire(object->noun, member, at);                                            \
    }                                                                                              \
    static bool any_##noun##_remove(const struct object *object, struct bytes member)              \
    {                                                                                              \
        return noun##_remove(object->noun, member);                                                \
    }                                                                                              \
    static struct expiring any_##noun##_expiring(const struct object *object)                      \
    {                                                                                              \
        return noun##_expiring(object->noun);                                                      \
    }                                                                                              \
    static const struct member_ops noun##_members = {                                              \
        .deadline = any_##noun##_deadline,                                                         \
        .expire = any_##noun##_expire,                                                             \
        .remove = any_##noun##_remove,                                                             \
        .expiring = any_##noun##_expiring,                                                         \
    };                                                                                             \
    static bool any_##noun##_has(const struct object *object, struct bytes member)                 \
    {                                                                                              \
        msec at;                                                                                   \
        return noun##_deadline(object->noun, member, &at);                                         \
    }

/* Defines functions for a collection that names its encodings by Redis' limits. */
#define ENCODED(noun)                                                                              \
    static const char *any_##noun##_encoding(const struct object *object)                          \
    {                                                                                              \
        return noun##_encoding(object->noun);                                                      \
    }                                                                                              \
    static void any_##noun##_widen(struct object *object)                                          \
    {                                                                                              \
        noun##_widen(object->noun);                                                                \
    }

/* Defines functions for a collection whose large form is a table. */
#define TABLE(noun)                                                                                \
    static const struct dict *any_##noun##_hint(const struct object *object)                       \
    {                                                                                              \
        return noun##_hint(object->noun);                                                          \
    }                                                                                              \
    static void any_##noun##_expect(struct object *object, size_t count)                           \
    {                                                                                              \
        noun##_expect(object->noun, count);                                                        \
    }

#define MEMBERS_ROW(noun)                                                                          \
    .may_have_expiry = true, .members = &noun##_members, .has = any_##noun##_has
#define ENCODED_ROW(noun) .encoding = any_##noun##_encoding, .widen = any_##noun##_widen
#define TABLE_ROW(noun)   .hint = any_##noun##_hint, .expect = any_##noun##_expect

COLLECTION(list)
COLLECTION(set)
COLLECTION(hash)
COLLECTION(zset)
COLLECTION(dehydrator)
COLLECTION(stream)
COLLECTION(lease)
MEMBERS(set)
MEMBERS(hash)
MEMBERS(zset)
MEMBERS(lease)
ENCODED(set)
ENCODED(hash)
ENCODED(zset)
TABLE(set)
TABLE(hash)
TABLE(zset)
TABLE(dehydrator)

static struct due_at dehydrator_due(const struct object *object)
{
    const struct extras *extras = dehydrator_extras(object->dehydrator);
    msec at = dehydrator_next_due(object->dehydrator);
    msec end =
        extras == NULL ? NEVER : extras_next_due(extras, dehydrator_count(object->dehydrator) > 0);
    return due_at_instant(end < at ? end : at);
}

static struct due_at dehydrator_due_after(const struct object *object, msec now)
{
    const struct extras *extras = dehydrator_extras(object->dehydrator);
    msec at = dehydrator_next_after(object->dehydrator, now);
    msec end = extras == NULL
                   ? NEVER
                   : extras_next_due_after(extras, dehydrator_count(object->dehydrator) > 0, now);
    return due_at_instant(end < at ? end : at);
}

/* Converts the instant from which on a dehydrator is spent to a deadline, which is one millisecond
 * earlier: a member is still alive at its deadline. */
static msec dehydrator_all_expire_at(const struct object *object)
{
    return due_at_deadline(due_at_instant(dehydrator_over_at(object->dehydrator)));
}

static size_t dehydrator_notes(const struct object *object)
{
    const struct extras *extras = dehydrator_extras(object->dehydrator);
    return extras != NULL ? extras_count(extras) : 0;
}

static bool dehydrator_is_held(const struct object *object)
{
    return !dehydrator_is_spent(object->dehydrator);
}

static bool dehydrator_has(const struct object *object, struct bytes id)
{
    return dehydrator_find(object->dehydrator, id) != NULL;
}

static bool dehydrator_rewind_to(struct object *object, msec since)
{
    return dehydrator_rewind(object->dehydrator, since);
}

static struct due_at stream_due(const struct object *object)
{
    return due_at_expiry(stream_next_deadline(object->stream));
}

static struct due_at stream_due_after(const struct object *object, msec now)
{
    return due_at_expiry(stream_next_deadline_after(object->stream, now));
}

static size_t stream_expired(const struct object *object, msec now)
{
    return stream_count_expired(object->stream, now);
}

static bool stream_withhold_expired(struct object *object, msec now)
{
    size_t expired = stream_count_expired(object->stream, now);
    if (expired > 0) stream_withhold(object->stream, expired);
    return expired > 0;
}

static void stream_give_back_expired(struct object *object)
{
    stream_give_back(object->stream);
}

static size_t stream_references(const struct object *object)
{
    return stream_groups_count(stream_groups(object->stream));
}

static size_t stream_notes(const struct object *object)
{
    const struct stream_repeats *repeats = stream_repeats(object->stream);
    return stream_references(object) + (repeats != NULL ? repeat_producers(repeats) : 0);
}

static bool string_free_some(struct object *object, size_t *work)
{
    string_free(object);
    if (*work > 0) --*work;
    return true;
}

/* Relocates the blob unless it is big. A big blob may have other owners, whose pointers would
 * dangle. Besides, it is in no slab, so that moving it would free no memory. */
static void string_relocate(struct object *object, struct relocation_cursor *cursor,
                            struct relocation *relocation)
{
    if (object->is_soft) {
        object->soft = relocation_block(relocation, object->soft);
        object = &object->soft->text;
    }
    if (!object->is_small && object->string->len < BLOB_BIG)
        object->string = relocation_block(relocation, object->string);
    *cursor = (struct relocation_cursor){ 0 };
}

static size_t string_count(const struct object *object)
{
    (void)object;
    return 1;
}

const struct type_row type_rows[TYPE_COUNT] = {
    [TYPE_STRING] = { .name = "string",
                      .free_some = string_free_some,
                      .relocate = string_relocate,
                      .count = string_count,
                      .bytes = string_bytes,
                      .encoding = string_encoding,
                      .check = string_check },
    [TYPE_LIST] = { COLLECTION_ROW(list), .only_encoding = "quicklist" },
    [TYPE_SET] = { COLLECTION_ROW(set), MEMBERS_ROW(set), ENCODED_ROW(set), TABLE_ROW(set),
                   .item = "member" },
    [TYPE_HASH] = { COLLECTION_ROW(hash), MEMBERS_ROW(hash), ENCODED_ROW(hash), TABLE_ROW(hash),
                    .item = "field" },
    [TYPE_ZSET] = { COLLECTION_ROW(zset), MEMBERS_ROW(zset), ENCODED_ROW(zset), TABLE_ROW(zset),
                    .item = "member" },
    /* Redis reports "raw" for a module's value. */
    [TYPE_DEHYDRATOR] = { COLLECTION_ROW(dehydrator), TABLE_ROW(dehydrator), .item = "element",
                          .only_encoding = "raw", .may_have_expiry = true, .has = dehydrator_has,
                          .is_held = dehydrator_is_held, .notes = dehydrator_notes,
                          .next_due = dehydrator_due, .next_due_after = dehydrator_due_after,
                          .all_expire_at = dehydrator_all_expire_at,
                          .rewind = dehydrator_rewind_to },
    [TYPE_STREAM] = { COLLECTION_ROW(stream), .item = "entry", .only_encoding = "stream",
                      .may_have_expiry = true, .may_be_empty = true,
                      .references = stream_references, .notes = stream_notes,
                      .next_due = stream_due, .next_due_after = stream_due_after,
                      .count_expired = stream_expired, .withhold = stream_withhold_expired,
                      .give_back = stream_give_back_expired },
    [TYPE_LEASE] = { COLLECTION_ROW(lease), MEMBERS_ROW(lease), .item = "holder",
                     .only_encoding = "raw" },
};
