/* ziplist: Redis' packing of lists, hashes and sorted sets up to version 6: iterates.
 *
 * Layout: total bytes (4), offset of the last item (4), number of items (2; 65535: not stored,
 * count them), items, 0xff. An item is the length of the item before, its own encoding, and its
 * bytes. */
#ifndef PROTO_RDB_ZIPLIST_H
#define PROTO_RDB_ZIPLIST_H

#include "proto/rdb/walk.h"

bool rdb_ziplist_begin(struct rdb_walk *walk);
enum rdb_step rdb_ziplist_next(struct rdb_walk *walk, struct rdb_item *item);

#endif
