/* type_row: one row for each type, with its names and the functions through which the rest of the
 * store handles values of any type. The rows are in type_rows.c; the functions of object.h call
 * them. store/txn/txn_type.h lists the functions that need a transaction. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"
#include "store/struct/expiring.h"

enum type {
    TYPE_STRING,
    TYPE_LIST,
    TYPE_SET,
    TYPE_HASH,
    TYPE_ZSET,
    TYPE_DEHYDRATOR,
    TYPE_STREAM,
    TYPE_LEASE,
    TYPE_COUNT
};

struct object;

/* Members with deadlines. The contracts are those of object_member_... in object.h. */
struct member_ops {
    bool (*deadline)(const struct object *object, struct bytes member, msec *at);
    bool (*expire)(const struct object *object, struct bytes member, msec at);
    bool (*remove)(const struct object *object, struct bytes member);
    struct expiring (*expiring)(const struct object *object);
};

/* The contracts are those of the functions of the same name in object.h. */
struct type_row {
    const char *name; /* the reply of TYPE */
    const char *item; /* what EXPIRY NEXT calls something with a deadline inside; or NULL */
    bool may_have_expiry;
    bool may_be_empty; /* a value without elements keeps its key */

    void *(*new)(void); /* NULL if an empty value needs no memory (strings) */
    bool (*free_some)(struct object *object, size_t *work);
    void (*relocate)(struct object *object, struct relocation_cursor *cursor,
                     struct relocation *relocation);
    size_t (*count)(const struct object *object);
    size_t (*bytes)(const struct object *object);
    const char *only_encoding; /* if `encoding` is NULL */
    const char *(*encoding)(const struct object *object);
    void (*check)(const struct object *object);
    void (*widen)(struct object *object);                    /* may be NULL */
    const struct dict *(*hint)(const struct object *object); /* NULL if there is no table */
    void (*expect)(struct object *object, size_t count);     /* may be NULL */
    /* Must a value without elements keep its key for another reason? NULL if it never must. */
    bool (*is_held)(const struct object *object);
    bool (*has)(const struct object *object, struct bytes name); /* NULL if elements lack names */
    size_t (*references)(const struct object *object);           /* NULL if there are none */
    size_t (*notes)(const struct object *object);                /* NULL if there are none */

    const struct member_ops *members; /* NULL if members have no deadlines */
    /* Each is NULL if its result is derived from the members. */
    struct due_at (*next_due)(const struct object *object);
    struct due_at (*next_due_after)(const struct object *object, msec now);
    msec (*all_expire_at)(const struct object *object);
    size_t (*count_expired)(const struct object *object, msec now);
    /* For a type that can withhold expired elements in place; NULL if the type moves expired
     * members away instead. `withhold` withholds those that are not yet withheld, and returns false
     * if there are none. `give_back` makes all of them visible again. */
    bool (*withhold)(struct object *object, msec now);
    void (*give_back)(struct object *object);
    /* Called when the clock was set back to `since`, so that everything due later is announced
     * again. Returns true if the value's next due time may have changed. NULL if the type announces
     * nothing. */
    bool (*rewind)(struct object *object, msec since);
};

extern const struct type_row type_rows[TYPE_COUNT];
