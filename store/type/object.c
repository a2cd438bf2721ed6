/* object: see object.h. The rows are in type_rows.c. */
#include "store/type/object.h"

#include "store/base/ensure.h"

static const struct type_row *row_of(enum type type)
{
    ensure((unsigned)type < TYPE_COUNT, "unknown type %u", (unsigned)type);
    return &type_rows[type];
}

struct object object_new(enum type type)
{
    const struct type_row *row = row_of(type);
    if (row->new == NULL) return (struct object){ .is_small = true, .type = type };
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
    const struct type_row *row = row_of(object->type);
    return row->encoding != NULL ? row->encoding(object) : row->only_encoding;
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
