/* object: the tagged value of a key, and what every type can do.
 * Knows the types; refuses to know keys. A type is added by one row in object.c. */
#ifndef STORE_TYPE_OBJECT_H
#define STORE_TYPE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/mem/blob.h"
#include "store/base/bytes.h"
#include "store/type/dehydrator.h"
#include "store/type/hash.h"
#include "store/base/instant.h"
#include "store/type/list.h"
#include "store/mem/relocate.h"
#include "store/type/set.h"
#include "store/type/zset.h"

enum type { TYPE_STRING, TYPE_LIST, TYPE_SET, TYPE_HASH, TYPE_ZSET, TYPE_DEHYDRATOR, TYPE_COUNT };

enum { OBJECT_SMALL = 8 }; /* bytes of a string that stands in the object itself */

/* 12 bytes, so that an entry has no gaps. */
struct __attribute__((packed, aligned(4))) object {
    union __attribute__((packed)) {
        char small[OBJECT_SMALL];
        void *any;
        struct blob *string;
        struct list *list;
        struct set *set;
        struct hash *hash;
        struct zset *zset;
        struct dehydrator *dehydrator;
    };
    enum type type : 8;
    bool is_small : 1; /* a string of small_len bytes, in place of a pointer */
    /* A string that was changed in place (APPEND, SETRANGE) says "raw" whatever its length. */
    bool raw : 1;
    bool text : 1; /* never "int", though it looks like one: a result of INCRBYFLOAT */
    /* Something inside has a deadline of its own. Kept by keyspace_rearm. */
    bool timed : 1;
    uint8_t small_len;
};

/* Of a string. Borrowed: valid until it changes, and where a short one was copied, as the copy. */
static inline struct bytes object_text(const struct object *object)
{
    if (object->is_small) return bytes_of(object->small, object->small_len);
    return blob_view(object->string);
}

struct object object_new(enum type type); /* an empty collection; a string: store/type/text.h */
void object_free(struct object *object);
/* Frees about *work elements' worth and lowers *work; true when all is gone. */
bool object_free_some(struct object *object, size_t *work);
/* Relocates some of its blocks, from a place on: one step at least, and more while there is work
 * left. When the place is the beginning again, that was all. Nothing in it that was borrowed is
 * valid any more. */
void object_relocate(struct object *object, struct relocation_place *place,
                     struct relocation *relocation);
size_t object_count(const struct object *object);         /* elements; 1 for a string */
size_t object_bytes(const struct object *object);         /* memory of the value. O(1) */
const char *object_encoding(const struct object *object); /* Redis' names */
/* A set, hash or sorted set has the name of its large encoding from now on. */
void object_widen(struct object *object);

/* ---- deadlines inside ----------------------------------------------------------------------- */

/* Can objects of the type be timed? */
static inline bool type_may_be_timed(enum type type)
{
    return type != TYPE_STRING && type != TYPE_LIST;
}
/* Members with deadlines: of a set, hash or sorted set; other types have none. */
static inline bool type_has_members(enum type type)
{
    return type == TYPE_SET || type == TYPE_HASH || type == TYPE_ZSET;
}
/* The instant at which something inside falls due by itself: the first death of a member, or the
 * first element of a dehydrator of which nobody has been told. NEVER: nothing will. O(1), of a
 * dehydrator O(log n) */
struct due_at object_moment(const struct object *object);
/* False: no such member (or field). NEVER: it has no deadline. O(1) */
bool object_member_deadline(const struct object *object, struct bytes member, msec *at);
/* NEVER takes it away; false: no such member. O(log n) */
bool object_member_expire(const struct object *object, struct bytes member, msec at);
bool object_member_remove(const struct object *object, struct bytes member);
/* The member that ends first; false: none has a deadline. O(1) */
bool object_member_first(const struct object *object, struct bytes *member, msec *at);
size_t object_count_timed(const struct object *object); /* members with a deadline. O(1) */
/* Of a large collection's deadlines, to look at in parts; NULL: it is small, or has none. */
const struct agenda *object_agenda(const struct object *object);
/* Those with a deadline <= until, in no order: O(visited). Return false to stop. */
void object_each_until(const struct object *object, msec until,
                       bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx);
/* Is every member dead by now? O(1), but O(n) once after the member that lives longest has gone, or
 * got another deadline. */
bool object_all_dead(const struct object *object, msec now);
/* Members that are dead by now, at most `most`: O(counted) */
size_t object_count_dead(const struct object *object, msec now, size_t most);

/* For looking ahead: the table by member of a large set, hash or sorted set. Else NULL; a small
 * one's members are asked for from memory. */
const struct dict *object_hint(const struct object *object);

const char *type_name(enum type type); /* as TYPE answers */
void object_check(const struct object *object);

#endif
