/* listpack: Redis' packing since version 7 (and of streams since 5), read and written.
 * Knows the layout that Redis' listpack.md describes; refuses to know what the items are for.
 *
 * total bytes (4), number of items (2; 65535: count them), items, 0xff. An item is its encoding,
 * its bytes, and the length of these two once more in groups of 7 bits, to be read backwards. */
#ifndef PROTO_RDB_LISTPACK_H
#define PROTO_RDB_LISTPACK_H

#include "proto/rdb/buffer.h"
#include "proto/rdb/walk.h"

bool rdb_listpack_begin(struct rdb_walk *walk);
enum rdb_step rdb_listpack_next(struct rdb_walk *walk, struct rdb_item *item);

/* A listpack grows at the end of `to`: begun at to->len (kept by the caller as `start`), filled
 * with texts (stored as integers where they are some), ended. False: no memory, or over 4 GiB. */
bool rdb_listpack_start(struct rdb_buffer *to);
bool rdb_listpack_append(struct rdb_buffer *to, struct rdb_bytes text);
bool rdb_listpack_finish(struct rdb_buffer *to, size_t start, uint64_t count);

#endif
