/* listpack: Redis' packing of small values since version 7 (of streams since 5): iterates and
 * builds. Source: listpack.md of github.com/antirez/listpack.
 *
 * Layout: total bytes (4), number of items (2; 65535: not stored, count them), items, 0xff. An item
 * is its encoding, its bytes, and the length of both in groups of 7 bits, for reading backwards. */
#ifndef PROTO_RDB_LISTPACK_H
#define PROTO_RDB_LISTPACK_H

#include "proto/rdb/buffer.h"
#include "proto/rdb/walk.h"

bool rdb_listpack_begin(struct rdb_walk *walk);
enum rdb_step rdb_listpack_next(struct rdb_walk *walk, struct rdb_item *item);

/* Build a listpack at the end of `to`. The caller keeps to->len from before the start as `start`.
 * Texts that are integers are stored as such. False: no memory, an item over 2 GiB, or more than
 * 4 GiB in all. */
bool rdb_listpack_start(struct rdb_buffer *to);
bool rdb_listpack_append(struct rdb_buffer *to, struct rdb_bytes text);
bool rdb_listpack_finish(struct rdb_buffer *to, size_t start, uint64_t count);

#endif
