/* intset: Redis' packing of small sets of integers: iterates and builds.
 *
 * Layout: bytes of each integer (4 bytes: the number 2, 4 or 8), count (4), the integers in
 * ascending order. The iterator reports any other order as damage. */
#ifndef PROTO_RDB_INTSET_H
#define PROTO_RDB_INTSET_H

#include "proto/rdb/buffer.h"
#include "proto/rdb/walk.h"

bool rdb_intset_begin(struct rdb_walk *walk);
enum rdb_step rdb_intset_next(struct rdb_walk *walk, struct rdb_item *item);

/* Sorts the integers in place and appends them as an intset. False: no memory. O(n log n) */
bool rdb_intset_append(struct rdb_buffer *to, int64_t *integers, size_t count);

#endif
