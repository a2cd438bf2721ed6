/* rdb_object: a value as rdb/ tells of it becomes an object of the store, and the way back.
 * Knows Redis' types and ours; refuses to know keys, files, and what Redis has no words for. */
#ifndef SERVER_PERSIST_IMPORT_RDB_OBJECT_H
#define SERVER_PERSIST_IMPORT_RDB_OBJECT_H

#include <stdbool.h>

#include "proto/rdb/rdb_read.h"
#include "proto/rdb/rdb_write.h"
#include "store/type/object.h"

/* A value being read: off the keyspace until it is whole. */
struct rdb_object {
    struct object object;
    bool begun; /* there is one, to be taken or dropped */
};

/* The callbacks for what is in a value, and key_failed, which drops it. Their ctx is a struct
 * rdb_object, or begins with one; key_begin and key_end are its owner's. No string is longer than a
 * collection may hold. */
void rdb_object_listen(struct rdb_visitor *visitor);
void rdb_object_begin(struct rdb_object *value, enum rdb_type type);
/* The whole value, handed over. It may be empty: a dehydrator. */
struct object rdb_object_take(struct rdb_object *value);
void rdb_object_drop(struct rdb_object *value);

/* The deadline of a key in a file, which may be any number, as one that can be kept: the nearest.
 */
msec rdb_object_instant(int64_t at);

/* Can Redis be told all of it? Not what ends by itself inside. */
bool rdb_object_is_plain(const struct object *object);
/* As Redis 7.0 DUMPs it; borrowed from the writer. False: no memory. The object is plain. O(n) */
bool rdb_object_write(const struct object *object, struct rdb_writer *writer,
                      struct rdb_bytes *payload);

#endif
