/* object: one row of functions for each type.
 * Knows the types' names for these functions; refuses to know keys and what is inside a value. */
#include "store/object.h"

#include "store/ensure.h"
#include "store/mem.h"
#include "store/whole.h"

struct type_ops {
    const char *name;
    void *(*new)(void); /* NULL: values of this type are made elsewhere */
    bool (*free_some)(void *value, size_t *work);
    size_t (*count)(const void *value);
    size_t (*bytes)(const void *value);
    const char *(*encoding)(const struct object *object);
    void (*check)(const void *value);
    msec (*moment)(const void *value); /* NULL: nothing happens inside by itself */
    const struct member_ops *members;  /* NULL: its elements do not expire */
};

struct member_ops {
    bool (*deadline)(const void *value, struct bytes member, msec *at);
    bool (*expire)(void *value, struct bytes member, msec at);
    bool (*remove)(void *value, struct bytes member);
    bool (*first)(const void *value, struct bytes *member, msec *at);
    size_t (*count_timed)(const void *value);
    msec (*latest)(const void *value);
    const struct agenda *(*agenda)(const void *value);
    void (*each_until)(const void *value, msec until,
                       bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx);
};

/* A collection's functions, called by its noun, with the value untyped. */
#define COLLECTION(noun)                                                                           \
    static void *any_##noun##_new(void)                                                            \
    {                                                                                              \
        return noun##_new();                                                                       \
    }                                                                                              \
    static bool any_##noun##_free_some(void *value, size_t *work)                                  \
    {                                                                                              \
        return noun##_free_some(value, work);                                                      \
    }                                                                                              \
    static size_t any_##noun##_count(const void *value)                                            \
    {                                                                                              \
        return noun##_count(value);                                                                \
    }                                                                                              \
    static size_t any_##noun##_bytes(const void *value)                                            \
    {                                                                                              \
        return noun##_bytes(value);                                                                \
    }                                                                                              \
    static const char *any_##noun##_encoding(const struct object *object)                          \
    {                                                                                              \
        return noun##_encoding(object->noun);                                                      \
    }                                                                                              \
    static void any_##noun##_check(const void *value)                                              \
    {                                                                                              \
        noun##_check(value);                                                                       \
    }

#define COLLECTION_OPS(type_name, noun)                                                            \
    {                                                                                              \
        .name = (type_name), .new = any_##noun##_new, .free_some = any_##noun##_free_some,         \
        .count = any_##noun##_count, .bytes = any_##noun##_bytes,                                  \
        .encoding = any_##noun##_encoding, .check = any_##noun##_check                             \
    }

#define MEMBERS(noun)                                                                              \
    static bool any_##noun##_deadline(const void *value, struct bytes member, msec *at)            \
    {                                                                                              \
        return noun##_deadline(value, member, at);                                                 \
    }                                                                                              \
    static bool any_##noun##_expire(void *value, struct bytes member, msec at)                     \
    {                                                                                              \
        return noun##_expire(value, member, at);                                                   \
    }                                                                                              \
    static bool any_##noun##_remove(void *value, struct bytes member)                              \
    {                                                                                              \
        return noun##_remove(value, member);                                                       \
    }                                                                                              \
    static bool any_##noun##_first(const void *value, struct bytes *member, msec *at)              \
    {                                                                                              \
        return noun##_first(value, member, at);                                                    \
    }                                                                                              \
    static size_t any_##noun##_count_timed(const void *value)                                      \
    {                                                                                              \
        return noun##_count_timed(value);                                                          \
    }                                                                                              \
    static msec any_##noun##_latest(const void *value)                                             \
    {                                                                                              \
        return noun##_latest(value);                                                               \
    }                                                                                              \
    static const struct agenda *any_##noun##_agenda(const void *value)                             \
    {                                                                                              \
        return noun##_agenda(value);                                                               \
    }                                                                                              \
    static void any_##noun##_each_until(const void *value, msec until,                             \
                                        bool (*visit)(void *ctx, struct bytes member, msec at),    \
                                        void *ctx)                                                 \
    {                                                                                              \
        noun##_each_until(value, until, visit, ctx);                                               \
    }                                                                                              \
    static const struct member_ops noun##_members = {                                              \
        .deadline = any_##noun##_deadline,                                                         \
        .expire = any_##noun##_expire,                                                             \
        .remove = any_##noun##_remove,                                                             \
        .first = any_##noun##_first,                                                               \
        .count_timed = any_##noun##_count_timed,                                                   \
        .latest = any_##noun##_latest,                                                             \
        .agenda = any_##noun##_agenda,                                                             \
        .each_until = any_##noun##_each_until,                                                     \
    };

/* The instant at which the first member is dead. */
#define MEMBERS_MOMENT(noun)                                                                       \
    static msec any_##noun##_moment(const void *value)                                             \
    {                                                                                              \
        struct bytes member;                                                                       \
        msec at;                                                                                   \
        return noun##_first(value, &member, &at) ? instant_of_death(at) : NEVER;                   \
    }

#define COLLECTION_WITH_MEMBERS_OPS(type_name, noun)                                               \
    {                                                                                              \
        .name = (type_name), .new = any_##noun##_new, .free_some = any_##noun##_free_some,         \
        .count = any_##noun##_count, .bytes = any_##noun##_bytes,                                  \
        .encoding = any_##noun##_encoding, .check = any_##noun##_check,                            \
        .moment = any_##noun##_moment, .members = &noun##_members                                  \
    }

COLLECTION(list)
COLLECTION(set)
COLLECTION(hash)
COLLECTION(zset)
COLLECTION(dehydrator)
MEMBERS(set)
MEMBERS(hash)
MEMBERS(zset)
MEMBERS_MOMENT(set)
MEMBERS_MOMENT(hash)
MEMBERS_MOMENT(zset)

static msec any_dehydrator_moment(const void *value)
{
    return dehydrator_moment(value);
}

enum { EMBSTR_MAX = 44 };

static bool string_free_some(void *value, size_t *work)
{
    blob_free(value);
    if (*work > 0) --*work;
    return true;
}

static size_t string_count(const void *value)
{
    (void)value;
    return 1;
}

static size_t string_bytes(const void *value)
{
    return mem_size(value);
}

static const char *string_encoding(const struct object *object)
{
    struct bytes text = blob_view(object->string);
    if (object->raw) return "raw";
    if (!object->text && whole_number(text)) return "int";
    return text.len <= EMBSTR_MAX ? "embstr" : "raw";
}

static void string_check(const void *value)
{
    const struct blob *string = value;
    ensure(mem_size(string) >= sizeof(*string) + string->len, "%u bytes in a block of %zu",
           string->len, mem_size(string));
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
                          .moment = any_dehydrator_moment },
};

static const struct type_ops *ops_of(enum type type)
{
    ensure((unsigned)type < TYPE_COUNT, "type %u", (unsigned)type);
    return &types[type];
}

struct object object_new(enum type type)
{
    const struct type_ops *ops = ops_of(type);
    ensure(ops->new != NULL, "type %s", ops->name);
    return (struct object){ .any = ops->new (), .type = type };
}

void object_free(struct object *object)
{
    size_t work = SIZE_MAX;
    object_free_some(object, &work);
}

bool object_free_some(struct object *object, size_t *work)
{
    if (!ops_of(object->type)->free_some(object->any, work)) return false;
    object->any = NULL;
    return true;
}

size_t object_count(const struct object *object)
{
    return ops_of(object->type)->count(object->any);
}

size_t object_bytes(const struct object *object)
{
    return ops_of(object->type)->bytes(object->any);
}

const char *object_encoding(const struct object *object)
{
    return ops_of(object->type)->encoding(object);
}

void object_widen(struct object *object)
{
    switch (object->type) {
    case TYPE_SET: set_widen(object->set); break;
    case TYPE_HASH: hash_widen(object->hash); break;
    case TYPE_ZSET: zset_widen(object->zset); break;
    default: break; /* one encoding, or named by the content */
    }
}

/* ---- members with deadlines ---- */

static const struct member_ops *members_of(const struct object *object)
{
    const struct member_ops *ops = ops_of(object->type)->members;
    ensure(ops != NULL, "a %s has no members", type_name(object->type));
    return ops;
}

msec object_moment(const struct object *object)
{
    const struct type_ops *ops = ops_of(object->type);
    return ops->moment == NULL ? NEVER : ops->moment(object->any);
}

bool object_member_deadline(const struct object *object, struct bytes member, msec *at)
{
    return members_of(object)->deadline(object->any, member, at);
}

bool object_member_expire(const struct object *object, struct bytes member, msec at)
{
    return members_of(object)->expire(object->any, member, at);
}

bool object_member_remove(const struct object *object, struct bytes member)
{
    return members_of(object)->remove(object->any, member);
}

bool object_member_first(const struct object *object, struct bytes *member, msec *at)
{
    const struct member_ops *ops = ops_of(object->type)->members;
    return ops != NULL && ops->first(object->any, member, at);
}

size_t object_count_timed(const struct object *object)
{
    const struct member_ops *ops = ops_of(object->type)->members;
    return ops == NULL ? 0 : ops->count_timed(object->any);
}

const struct agenda *object_agenda(const struct object *object)
{
    const struct member_ops *ops = ops_of(object->type)->members;
    return ops == NULL ? NULL : ops->agenda(object->any);
}

void object_each_until(const struct object *object, msec until,
                       bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx)
{
    const struct member_ops *ops = ops_of(object->type)->members;
    if (ops != NULL) ops->each_until(object->any, until, visit, ctx);
}

static bool count_one(void *count, struct bytes member, msec at)
{
    (void)member;
    (void)at;
    ++*(size_t *)count;
    return true;
}

bool object_all_dead(const struct object *object, msec now)
{
    const struct member_ops *ops = ops_of(object->type)->members;
    size_t count = object_count(object), dead = 0;
    if (now == INT64_MIN || ops == NULL || count == 0 || ops->count_timed(object->any) < count)
        return false;
    if (instant_dead(ops->latest(object->any), now)) return true;
    ops->each_until(object->any, now - 1, count_one, &dead);
    return dead == count;
}

const struct dict *object_table(const struct object *object)
{
    switch (object->type) {
    case TYPE_SET: return set_table(object->set);
    case TYPE_HASH: return hash_table(object->hash);
    case TYPE_ZSET: return zset_table(object->zset);
    default: return NULL;
    }
}

const char *type_name(enum type type)
{
    return ops_of(type)->name;
}

void object_check(const struct object *object)
{
    ensure(object->any != NULL, "no %s", type_name(object->type));
    ops_of(object->type)->check(object->any);
}
