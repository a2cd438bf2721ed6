/* intset: Redis' packing of small sets of integers, read and written.
 * Knows the layout; refuses integers out of order.
 *
 * bytes of each (4: it is 2, 4 or 8), number (4), the integers in ascending order. */
#ifndef PROTO_RDB_INTSET_H
#define PROTO_RDB_INTSET_H

#include "proto/rdb/buffer.h"
#include "proto/rdb/walk.h"

bool rdb_intset_begin(struct rdb_walk *walk);
enum rdb_step rdb_intset_next(struct rdb_walk *walk, struct rdb_item *item);

/* Appends an intset of these, which are sorted by that. False: no memory. O(n log n) */
bool rdb_intset_append(struct rdb_buffer *to, int64_t *integers, size_t count);

#endif
