/* rdb_object: builds an object of the store from the values that proto/rdb/ reads, and writes an
 * object in Redis' format. Depends on the store's types. */
#pragma once

#include "proto/rdb/rdb_read.h"
#include "proto/rdb/rdb_write.h"
#include "store/type/object.h"

/* A value being read; it is in no keyspace yet. */
struct rdb_object {
    struct object object;
    bool begun;                       /* the object exists: take it or drop it */
    struct stream_group *group;       /* the last group of a stream */
    struct stream_consumer *consumer; /* the last consumer of that group */
};

/* Sets the callbacks for the contents of a value, and key_failed, which drops the value. The ctx of
 * the visitor must be a struct rdb_object, or begin with one; the caller provides key_begin and
 * key_end. Limits strings and packings to the length that a collection can hold, which also limits
 * the fields of a stream's entry. */
void rdb_object_listen(struct rdb_visitor *visitor);
void rdb_object_begin(struct rdb_object *value, enum rdb_type type);
/* Hands over the complete value, which the caller then owns; it may be an empty dehydrator. */
struct object rdb_object_take(struct rdb_object *value);
void rdb_object_drop(struct rdb_object *value);

/* Returns the deadline of a key in a file, which may be any number, limited to the range that can
 * be stored. */
msec rdb_object_instant(int64_t at);

/* Can Redis 7.0 hold the value? It can't hold a dehydrator, a lease, members with deadlines, a soft
 * deadline, or these parts of a stream: released pending entries, and the IDs that producers sent.
 * A stream's retention comes from a policy and does not count. */
bool rdb_object_is_plain(const struct object *object);
/* Would rdb_object_write with this version leave out a part of the value, or fail to write the
 * value at all? O(1), or O(groups) for a stream. */
bool rdb_object_loses(const struct object *object, int version);
/* Writes as much of an object, neither a dehydrator nor a lease, as the writer's version can hold.
 * Leaves out the parts that rdb_object_is_plain lists, except deadlines of hash fields for Redis 8
 * and Valkey 9. The payload is borrowed from the writer. Returns false if memory runs out. O(n) */
bool rdb_object_write(const struct object *object, struct rdb_writer *writer,
                      struct bytes *payload);
