/* zipmap: Redis' packing of hashes before version 2.6: iterates.
 *
 * Layout: number of pairs (1; 254 and more: not stored, count them), pairs, 0xff. A pair is the
 * field's length and bytes, the value's length, a number of unused bytes, the value's bytes, and
 * the unused bytes. */
#ifndef PROTO_RDB_ZIPMAP_H
#define PROTO_RDB_ZIPMAP_H

#include "proto/rdb/walk.h"

bool rdb_zipmap_begin(struct rdb_walk *walk);
enum rdb_step rdb_zipmap_next(struct rdb_walk *walk, struct rdb_item *item);

#endif
