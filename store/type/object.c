/* object: see object.h. Contains the rows of type_row.h. */
#include "store/type/object.h"

#include "store/base/ensure.h"
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
    static const char *any_##noun##_encoding(const struct object *object)                          \
    {                                                                                              \
        return noun##_encoding(object->noun);                                                      \
    }                                                                                              \
    static void any_##noun##_check(const struct object *object)                                    \
    {                                                                                              \
        noun##_check(object->noun);                                                                \
    }

/* The fields of its row. */
#define COLLECTION_ROW(noun)                                                                       \
    .name = #noun, .new = any_##noun##_new, .free_some = any_##noun##_free_some,                   \
    .relocate = any_##noun##_relocate, .count = any_##noun##_count, .bytes = any_##noun##_bytes,   \
    .encoding = any_##noun##_encoding, .check = any_##noun##_check

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

/* A collection that also has a large form, a table. */
#define TABLE(noun)                                                                                \
    static void any_##noun##_widen(struct object *object)                                          \
    {                                                                                              \
        noun##_widen(object->noun);                                                                \
    }
/* One whose elements have names in a table. */
#define HINT(noun)                                                                                 \
    static const struct dict *any_##noun##_hint(const struct object *object)                       \
    {                                                                                              \
        return noun##_hint(object->noun);                                                          \
    }

#define MEMBERS_ROW(noun)                                                                          \
    .may_have_expiry = true, .members = &noun##_members, .has = any_##noun##_has
#define TABLE_ROW(noun) .widen = any_##noun##_widen, HINT_ROW(noun)
#define HINT_ROW(noun)  .hint = any_##noun##_hint
/* A collection that can be enlarged ahead. */
#define EXPECT(noun)                                                                               \
    static void any_##noun##_expect(struct object *object, size_t count)                           \
    {                                                                                              \
        noun##_expect(object->noun, count);                                                        \
    }
#define EXPECT_ROW(noun) .expect = any_##noun##_expect

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
TABLE(set)
TABLE(hash)
TABLE(zset)
HINT(set)
HINT(hash)
HINT(zset)
HINT(dehydrator)
EXPECT(set)
EXPECT(hash)
EXPECT(zset)
EXPECT(dehydrator)

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

/* A dehydrator without elements ends at an instant, whereas a member lives until its deadline is
 * over. */
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

/* A big blob may have other owners, which point to it. Such a blob is not in a slab, so moving it
 * would gain nothing. */
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
    [TYPE_LIST] = { COLLECTION_ROW(list) },
    [TYPE_SET] = { COLLECTION_ROW(set), MEMBERS_ROW(set), TABLE_ROW(set), EXPECT_ROW(set),
                   .item = "member" },
    [TYPE_HASH] = { COLLECTION_ROW(hash), MEMBERS_ROW(hash), TABLE_ROW(hash), EXPECT_ROW(hash),
                    .item = "field" },
    [TYPE_ZSET] = { COLLECTION_ROW(zset), MEMBERS_ROW(zset), TABLE_ROW(zset), EXPECT_ROW(zset),
                    .item = "member" },
    [TYPE_DEHYDRATOR] = { COLLECTION_ROW(dehydrator), HINT_ROW(dehydrator), EXPECT_ROW(dehydrator),
                          .item = "element", .may_have_expiry = true, .has = dehydrator_has,
                          .is_held = dehydrator_is_held, .notes = dehydrator_notes,
                          .next_due = dehydrator_due, .next_due_after = dehydrator_due_after,
                          .all_expire_at = dehydrator_all_expire_at,
                          .rewind = dehydrator_rewind_to },
    [TYPE_STREAM] = { COLLECTION_ROW(stream), .item = "entry", .may_have_expiry = true,
                      .may_be_empty = true, .references = stream_references, .notes = stream_notes,
                      .next_due = stream_due, .next_due_after = stream_due_after,
                      .count_expired = stream_expired, .withhold = stream_withhold_expired,
                      .give_back = stream_give_back_expired },
    [TYPE_LEASE] = { COLLECTION_ROW(lease), MEMBERS_ROW(lease), .item = "holder" },
};

static const struct type_row *row_of(enum type type)
{
    ensure((unsigned)type < TYPE_COUNT, "unknown type %u", (unsigned)type);
    return &type_rows[type];
}

struct object object_new(enum type type)
{
    const struct type_row *row = row_of(type);
    if (row->new == NULL) return string_new(LIT(""));
    return (struct object){ .any = row->new (), .type = type };
}

void object_free(struct object *object)
{
    size_t work = SIZE_MAX;
    object_free_some(object, &work);
}

bool object_free_some(struct object *object, size_t *work)
{
    if (!row_of(object->type)->free_some(object, work)) return false;
    object->any = NULL;
    return true;
}

size_t object_count(const struct object *object)
{
    return row_of(object->type)->count(object);
}

size_t object_bytes(const struct object *object)
{
    return row_of(object->type)->bytes(object);
}

const char *object_encoding(const struct object *object)
{
    return row_of(object->type)->encoding(object);
}

void object_relocate(struct object *object, struct relocation_cursor *cursor,
                     struct relocation *relocation)
{
    row_of(object->type)->relocate(object, cursor, relocation);
}

void object_widen(struct object *object)
{
    const struct type_row *row = row_of(object->type);
    if (row->widen != NULL) row->widen(object);
}

bool object_has(const struct object *object, struct bytes name)
{
    const struct type_row *row = row_of(object->type);
    return row->has != NULL && row->has(object, name);
}

size_t object_references(const struct object *object)
{
    const struct type_row *row = row_of(object->type);
    return row->references != NULL ? row->references(object) : 0;
}

size_t object_notes(const struct object *object)
{
    const struct type_row *row = row_of(object->type);
    return row->notes != NULL ? row->notes(object) : 0;
}

/* ---- members with deadlines ---- */

static const struct member_ops *members_of(const struct object *object)
{
    const struct member_ops *ops = row_of(object->type)->members;
    ensure(ops != NULL, "members of a %s have no deadlines", type_name(object->type));
    return ops;
}

struct due_at object_next_due(const struct object *object)
{
    const struct type_row *row = row_of(object->type);
    struct bytes member;
    msec at;
    if (row->next_due != NULL) return row->next_due(object);
    return object_member_first(object, &member, &at) ? due_at_expiry(at) : DUE_AT_NEVER;
}

struct search_alive {
    msec now;
    msec first; /* the earliest deadline of a member that has not expired */
};

static bool note_alive(void *ctx, struct bytes member, msec at)
{
    struct search_alive *search = ctx;
    (void)member;
    if (!instant_expired(at, search->now) && at < search->first) search->first = at;
    return true;
}

struct due_at object_next_due_after(const struct object *object, msec now)
{
    const struct type_row *row = row_of(object->type);
    if (row->next_due_after != NULL) return row->next_due_after(object, now);
    const struct agenda *agenda = object_agenda(object);
    struct search_alive alive = { now, NEVER };
    if (agenda != NULL) {
        struct agenda_search search = { 0 };
        size_t steps = 0;
        agenda_search_after(agenda, instant_last_expired(now), &search, SIZE_MAX, &steps);
        return due_at_expiry(search.first);
    }
    object_each_until(object, NEVER, note_alive, &alive);
    return due_at_expiry(alive.first);
}

bool object_member_deadline(const struct object *object, struct bytes member, msec *at)
{
    return members_of(object)->deadline(object, member, at);
}

bool object_member_expire(const struct object *object, struct bytes member, msec at)
{
    return members_of(object)->expire(object, member, at);
}

bool object_member_remove(const struct object *object, struct bytes member)
{
    return members_of(object)->remove(object, member);
}

static struct expiring expiring_of(const struct object *object)
{
    const struct member_ops *ops = row_of(object->type)->members;
    return ops == NULL ? (struct expiring){ .packed = NULL } : ops->expiring(object);
}

bool object_member_first(const struct object *object, struct bytes *member, msec *at)
{
    return expiring_first(expiring_of(object), member, at);
}

size_t object_count_expiring(const struct object *object)
{
    return expiring_count(expiring_of(object));
}

const struct agenda *object_agenda(const struct object *object)
{
    return expiring_agenda(expiring_of(object));
}

void object_each_until(const struct object *object, msec until,
                       bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx)
{
    expiring_each_until(expiring_of(object), until, visit, ctx);
}

struct expired_count {
    size_t count, most;
};

static bool count_up_to_most(void *ctx, struct bytes member, msec at)
{
    (void)member;
    (void)at;
    struct expired_count *expired = ctx;
    return ++expired->count < expired->most;
}

size_t object_count_expired(const struct object *object, msec now, size_t most)
{
    struct expired_count expired = { 0, most };
    if (now == INT64_MIN || most == 0) return 0;
    const struct type_row *row = row_of(object->type);
    if (row->count_expired != NULL) {
        size_t count = row->count_expired(object, now);
        return count < most ? count : most;
    }
    object_each_until(object, instant_last_expired(now), count_up_to_most, &expired);
    return expired.count;
}

/* Do all members have deadlines? False for an empty collection. */
static bool all_expire(const struct object *object, struct expiring members)
{
    size_t count = expiring_count(members);
    return count > 0 && count == object_count(object);
}

msec object_all_expire_at(const struct object *object)
{
    const struct type_row *row = row_of(object->type);
    if (row->all_expire_at != NULL) return row->all_expire_at(object);
    struct expiring members = expiring_of(object);
    return all_expire(object, members) ? expiring_last(members) : NEVER;
}

bool object_all_expired(const struct object *object, msec now)
{
    const struct type_row *row = row_of(object->type);
    if (row->all_expire_at != NULL) return instant_expired(row->all_expire_at(object), now);
    struct expiring members = expiring_of(object);
    return all_expire(object, members) && expiring_all_passed(members, now);
}

void object_expect(struct object *object, size_t count)
{
    const struct type_row *row = row_of(object->type);
    if (row->expect != NULL) row->expect(object, count);
}

const struct dict *object_hint(const struct object *object)
{
    const struct type_row *row = row_of(object->type);
    return row->hint != NULL ? row->hint(object) : NULL;
}

void object_check(const struct object *object)
{
    ensure(object->is_small || object->any != NULL, "%s without a value", type_name(object->type));
    row_of(object->type)->check(object);
}
