/* object: a tagged value of any type, and the functions that all types have. A type is a value of
 * `enum type` and a row (type_row.h); doc/first-type.md lists what else a type needs. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/blob.h"
#include "store/mem/relocate.h"
#include "store/type/dehydrator.h"
#include "store/type/hash.h"
#include "store/type/lease.h"
#include "store/type/list.h"
#include "store/type/set.h"
#include "store/type/stream/stream.h"
#include "store/type/type_row.h"
#include "store/type/zset.h"

enum { OBJECT_SMALL = 8 }; /* the longest string, in bytes, that is stored in the object itself */

/* 12 bytes, so that struct entry needs no padding. */
struct __attribute__((packed, aligned(4))) object {
    union __attribute__((packed)) {
        char small[OBJECT_SMALL];
        void *any;
        struct blob *string;
        struct soft_string *soft; /* if is_soft: the text and its soft deadline */
        struct list *list;
        struct set *set;
        struct hash *hash;
        struct zset *zset;
        struct dehydrator *dehydrator;
        struct stream *stream;
        struct lease *lease;
    };
    enum type type : 8;
    bool is_small : 1; /* a string of small_len bytes in `small` */
    /* The string was changed in place (APPEND, SETRANGE): its encoding is "raw" at any length. */
    bool raw : 1;
    bool text : 1; /* the encoding is never "int": for results of INCRBYFLOAT */
    /* A member, an entry or an element has a deadline. Maintained by keyspace_rearm. */
    bool has_expiry : 1;
    bool is_soft : 1; /* a string with a soft deadline (string.h) */
    /* Two bits of struct entry, for the statistics of policies. is_set_here is false for a value
     * that was loaded or sent by a master, because others may have read such a value before. */
    bool is_set_here : 1; /* a client of this server created the key, or replaced its value */
    bool was_read : 1;    /* the key was read since then */
    uint8_t small_len;
    uint8_t key_len; /* of struct entry, which would need padding without it */
};

/* Replaces the value. The fields that belong to struct entry (key_len, is_set_here, was_read)
 * stay. */
static inline void object_assign(struct object *object, struct object by)
{
    by.key_len = object->key_len;
    by.is_set_here = object->is_set_here;
    by.was_read = object->was_read;
    *object = by;
}

/* A string with a soft deadline. Few strings have one, so the others spend no memory on it. */
struct soft_string {
    msec at;
    struct object text;
};

/* Returns a string's bytes, borrowed. They are valid until the string or its soft deadline changes;
 * those of a small string only as long as this object exists. */
static inline struct bytes object_text(const struct object *object)
{
    if (object->is_soft) object = &object->soft->text;
    if (object->is_small) return bytes_of(object->small, object->small_len);
    return blob_view(object->string);
}

struct object object_new(enum type type); /* an empty string or collection */
void object_free(struct object *object);
/* Frees in slices: frees about *work elements and subtracts their number from *work. Returns true
 * when done. */
bool object_free_some(struct object *object, size_t *work);
/* Relocates blocks of the value from *cursor on: at least one step, and more if the relocation has
 * work left. Done when *cursor is at the beginning again. Invalidates everything borrowed from the
 * value. */
void object_relocate(struct object *object, struct relocation_cursor *cursor,
                     struct relocation *relocation);
size_t object_count(const struct object *object); /* elements; 1 for a string */
/* Does a collection contain an element (member, field) of this name? False for a type whose
 * elements have no names. O(1) */
bool object_has(const struct object *object, struct bytes name);
size_t object_bytes(const struct object *object);         /* memory of the value. O(1) */
const char *object_encoding(const struct object *object); /* as Redis names it */
/* Makes a set, hash or sorted set report its large encoding from now on. */
void object_widen(struct object *object);

/* ---- deadlines inside ----------------------------------------------------------------------- */

/* Can objects of this type have deadlines inside? */
static inline bool type_may_have_expiry(enum type type)
{
    return type_rows[type].may_have_expiry;
}
/* Can clients set deadlines of members of this type? True for sets, hashes and sorted sets. */
static inline bool type_has_members(enum type type)
{
    return type_rows[type].members != NULL && type != TYPE_LEASE;
}
/* Is the value empty, so that its key must be dropped? */
static inline bool object_is_emptied(const struct object *object)
{
    const struct type_row *row = &type_rows[object->type];
    return !row->may_be_empty && object_count(object) == 0 &&
           (row->is_held == NULL || !row->is_held(object));
}
/* Returns the next instant at which something inside is due: a member or an entry of a stream will
 * have expired, or a dehydrator must announce an element, or its pause, its rate or a remembered id
 * ends. NEVER if nothing will be due. O(1); O(log n) for a dehydrator */
struct due_at object_next_due(const struct object *object);
/* Returns the next instant after now at which something inside is due, for a value in which
 * something is due already. O(log n). For a set, hash, sorted set or lease O(overdue members):
 * search the agenda of a large one in steps instead (object_agenda). */
struct due_at object_next_due_after(const struct object *object, msec now);
/* Finds the member's (or field's) deadline, which may be NEVER. Returns false if there is no such
 * member. For types whose row has `members`, as the next two functions; others abort. O(1) */
bool object_member_deadline(const struct object *object, struct bytes member, msec *at);
/* Sets the member's deadline, or removes it (NEVER). Returns false if there is no such member.
 * O(log n) */
bool object_member_expire(const struct object *object, struct bytes member, msec at);
/* Removes the member. Returns false if there is no such member. O(log n) */
bool object_member_remove(const struct object *object, struct bytes member);
/* Finds the member with the earliest deadline. Returns false if none has a deadline. O(1) */
bool object_member_first(const struct object *object, struct bytes *member, msec *at);
size_t object_count_expiring(const struct object *object); /* members with a deadline. O(1) */
/* Returns the agenda of a large collection, for visiting it in parts; NULL if it is small or has no
 * deadlines. */
const struct agenda *object_agenda(const struct object *object);
/* Visits the members with a deadline <= until, in no particular order. The visitor returns false to
 * stop. O(visited) */
void object_each_until(const struct object *object, msec until,
                       bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx);
/* Returns the deadline of the member that expires last. A dehydrator without elements expires with
 * the last thing for which it is kept. NEVER if some member has no deadline, for a dehydrator with
 * elements, and for a stream, string or list. O(1); but O(n) for the first call after that member
 * was removed or received an earlier deadline. */
msec object_all_expire_at(const struct object *object);
/* Have all members expired by now? O(1); but O(n) for the first call after the member with the
 * latest deadline was removed or received an earlier one. */
bool object_all_expired(const struct object *object, msec now);
/* Counts the members or entries that have expired by now; stops at `most`. O(counted); O(log n) for
 * a stream */
size_t object_count_expired(const struct object *object, msec now, size_t most);

/* For prefetching: returns the table of a dehydrator, or of a large set, hash or sorted set. For a
 * small one, prefetches the records and returns NULL. NULL for other types. */
const struct dict *object_hint(const struct object *object);

/* Can tables of this type be enlarged ahead? */
static inline bool type_can_expect(enum type type)
{
    return type_rows[type].expect != NULL;
}
/* If its type allows it, enlarges a collection for `count` elements in all, before they are added.
 * O(count) */
void object_expect(struct object *object, size_t count);

static inline const char *type_name(enum type type) /* as TYPE replies */
{
    return type_rows[type].name;
}
/* Returns the number of groups of a stream; 0 for other types. Each group may refer to an entry,
 * and removing the entry also removes these references. O(1) */
size_t object_references(const struct object *object);
/* Returns how many things the value keeps in addition to its elements: groups and producers of a
 * stream, successors and remembered ids of a dehydrator. O(1) */
size_t object_notes(const struct object *object);
void object_check(const struct object *object);
