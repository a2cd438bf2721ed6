/* object: the tagged value of a key, and what every type can do.
 * Knows the types; refuses to know keys. A type is added by one row in object.c. */
#ifndef STORE_OBJECT_H
#define STORE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/bytes.h"
#include "store/dehydrator.h"
#include "store/hash.h"
#include "store/list.h"
#include "store/set.h"
#include "store/zset.h"

enum type { TYPE_STRING, TYPE_LIST, TYPE_SET, TYPE_HASH, TYPE_ZSET, TYPE_DEHYDRATOR, TYPE_COUNT };

struct object {
    union {
        void *any;
        struct blob *string;
        struct list *list;
        struct set *set;
        struct hash *hash;
        struct zset *zset;
        struct dehydrator *dehydrator;
    };
    enum type type : 8;
    /* A string that was changed in place (APPEND, SETRANGE) says "raw" whatever its length. */
    bool raw : 1;
    bool text : 1; /* never "int", though it looks like one: a result of INCRBYFLOAT */
};

struct object object_new(enum type type); /* an empty collection; not for strings */
void object_free(struct object *object);
/* Frees about *work elements' worth and lowers *work; true when all is gone. */
bool object_free_some(struct object *object, size_t *work);
size_t object_count(const struct object *object);         /* elements; 1 for a string */
size_t object_bytes(const struct object *object);         /* memory of the value. O(1) */
const char *object_encoding(const struct object *object); /* Redis' names */
/* A set, hash or sorted set has the name of its large encoding from now on. */
void object_widen(struct object *object);
const char *type_name(enum type type); /* as TYPE answers */
void object_check(const struct object *object);

#endif
