/* object: see object.h. One row of functions per type. */
#include "store/type/object.h"

#include "store/base/ensure.h"
#include "store/type/string.h"

struct type_ops {
    const char *name;
    void *(*new)(void); /* NULL: made by other functions (strings) */
    bool (*free_some)(struct object *object, size_t *work);
    size_t (*count)(const struct object *object);
    size_t (*bytes)(const struct object *object);
    const char *(*encoding)(const struct object *object);
    void (*check)(const struct object *object);
    struct due_at (*next_due)(const struct object *object); /* NULL: derived from the members */
    const struct member_ops *members;                       /* NULL: members have no deadlines */
};

struct member_ops {
    bool (*deadline)(const struct object *object, struct bytes member, msec *at);
    bool (*expire)(const struct object *object, struct bytes member, msec at);
    bool (*remove)(const struct object *object, struct bytes member);
    struct expiring (*expiring)(const struct object *object);
};

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

#define COLLECTION_OPS(type_name, noun)                                                            \
    {                                                                                              \
        .name = (type_name), .new = any_##noun##_new, .free_some = any_##noun##_free_some,         \
        .count = any_##noun##_count, .bytes = any_##noun##_bytes,                                  \
        .encoding = any_##noun##_encoding, .check = any_##noun##_check                             \
    }

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
    };

#define COLLECTION_WITH_MEMBERS_OPS(type_name, noun)                                               \
    {                                                                                              \
        .name = (type_name), .new = any_##noun##_new, .free_some = any_##noun##_free_some,         \
        .count = any_##noun##_count, .bytes = any_##noun##_bytes,                                  \
        .encoding = any_##noun##_encoding, .check = any_##noun##_check, .members = &noun##_members \
    }

COLLECTION(list)
COLLECTION(set)
COLLECTION(hash)
COLLECTION(zset)
COLLECTION(dehydrator)
COLLECTION(stream)
MEMBERS(set)
MEMBERS(hash)
MEMBERS(zset)

static struct due_at any_dehydrator_next_due(const struct object *object)
{
    return due_at_instant(dehydrator_next_due(object->dehydrator));
}

static struct due_at any_stream_next_due(const struct object *object)
{
    return due_at_expiry(stream_next_deadline(object->stream));
}

static bool string_free_some(struct object *object, size_t *work)
{
    string_free(object);
    if (*work > 0) --*work;
    return true;
}

static size_t string_count(const struct object *object)
{
    (void)object;
    return 1;
}

static const struct type_ops types[TYPE_COUNT] = {
    [TYPE_STRING] = { .name = "string",
                      .free_some = string_free_some,
                      .count = string_count,
                      .bytes = string_bytes,
                      .encoding = string_encoding,
                      .check = string_check },
    [TYPE_LIST] = COLLECTION_OPS("list", list),
    [TYPE_SET] = COLLECTION_WITH_MEMBERS_OPS("set", set),
    [TYPE_HASH] = COLLECTION_WITH_MEMBERS_OPS("hash", hash),
    [TYPE_ZSET] = COLLECTION_WITH_MEMBERS_OPS("zset", zset),
    [TYPE_DEHYDRATOR] = { .name = "dehydrator",
                          .new = any_dehydrator_new,
                          .free_some = any_dehydrator_free_some,
                          .count = any_dehydrator_count,
                          .bytes = any_dehydrator_bytes,
                          .encoding = any_dehydrator_encoding,
                          .check = any_dehydrator_check,
                          .next_due = any_dehydrator_next_due },
    [TYPE_STREAM] = { .name = "stream",
                      .new = any_stream_new,
                      .free_some = any_stream_free_some,
                      .count = any_stream_count,
                      .bytes = any_stream_bytes,
                      .encoding = any_stream_encoding,
                      .check = any_stream_check,
                      .next_due = any_stream_next_due },
};

static const struct type_ops *ops_of(enum type type)
{
    ensure((unsigned)type < TYPE_COUNT, "unknown type %u", (unsigned)type);
    return &types[type];
}

struct object object_new(enum type type)
{
    const struct type_ops *ops = ops_of(type);
    ensure(ops->new != NULL, "no constructor for type %s", ops->name);
    return (struct object){ .any = ops->new (), .type = type };
}

void object_free(struct object *object)
{
    size_t work = SIZE_MAX;
    object_free_some(object, &work);
}

bool object_free_some(struct object *object, size_t *work)
{
    if (!ops_of(object->type)->free_some(object, work)) return false;
    object->any = NULL;
    return true;
}

size_t object_count(const struct object *object)
{
    return ops_of(object->type)->count(object);
}

size_t object_bytes(const struct object *object)
{
    return ops_of(object->type)->bytes(object);
}

const char *object_encoding(const struct object *object)
{
    return ops_of(object->type)->encoding(object);
}

void object_relocate(struct object *object, struct relocation_place *place,
                     struct relocation *relocation)
{
    switch (object->type) {
    case TYPE_LIST: object->list = list_relocate(object->list, place, relocation); break;
    case TYPE_SET: object->set = set_relocate(object->set, place, relocation); break;
    case TYPE_HASH: object->hash = hash_relocate(object->hash, place, relocation); break;
    case TYPE_ZSET: object->zset = zset_relocate(object->zset, place, relocation); break;
    case TYPE_DEHYDRATOR:
        object->dehydrator = dehydrator_relocate(object->dehydrator, place, relocation);
        break;
    case TYPE_STREAM: object->stream = stream_relocate(object->stream, place, relocation); break;
    default:
        /* A big blob may have other owners, which point to it. It is not in a slab, so moving it
         * would gain nothing. */
        if (!object->is_small && object->string->len < BLOB_BIG)
            object->string = relocation_block(relocation, object->string);
        *place = (struct relocation_place){ 0 };
        break;
    }
}

void object_widen(struct object *object)
{
    switch (object->type) {
    case TYPE_SET: set_widen(object->set); break;
    case TYPE_HASH: hash_widen(object->hash); break;
    case TYPE_ZSET: zset_widen(object->zset); break;
    default: break; /* one encoding only, or derived from the content */
    }
}

/* ---- members with deadlines ---- */

static const struct member_ops *members_of(const struct object *object)
{
    const struct member_ops *ops = ops_of(object->type)->members;
    ensure(ops != NULL, "members of a %s have no deadlines", type_name(object->type));
    return ops;
}

struct due_at object_next_due(const struct object *object)
{
    const struct type_ops *ops = ops_of(object->type);
    struct bytes member;
    msec at;
    if (ops->next_due != NULL) return ops->next_due(object);
    return object_member_first(object, &member, &at) ? due_at_expiry(at) : DUE_AT_NEVER;
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
    const struct member_ops *ops = ops_of(object->type)->members;
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
    if (object->type == TYPE_STREAM) {
        size_t count = stream_count_expired(object->stream, now);
        return count < most ? count : most;
    }
    object_each_until(object, instant_last_expired(now), count_up_to_most, &expired);
    return expired.count;
}

/* Do all members have deadlines, and is there one? */
static bool all_expire(const struct object *object, struct expiring members)
{
    size_t count = expiring_count(members);
    return count > 0 && count == object_count(object);
}

msec object_all_expire_at(const struct object *object)
{
    struct expiring members = expiring_of(object);
    return all_expire(object, members) ? expiring_last(members) : NEVER;
}

bool object_all_expired(const struct object *object, msec now)
{
    struct expiring members = expiring_of(object);
    return all_expire(object, members) && expiring_all_passed(members, now);
}

const struct dict *object_hint(const struct object *object)
{
    switch (object->type) {
    case TYPE_SET: return set_hint(object->set);
    case TYPE_HASH: return hash_hint(object->hash);
    case TYPE_ZSET: return zset_hint(object->zset);
    default: return NULL;
    }
}

const char *type_name(enum type type)
{
    return ops_of(type)->name;
}

void object_check(const struct object *object)
{
    ensure(object->is_small || object->any != NULL, "%s without a value", type_name(object->type));
    ops_of(object->type)->check(object);
}
