/* stream_node: iterates over the entries of a stream's node, which is a listpack, and checks every
 * count in it. Depends on packing.h.
 *
 * Layout: numbers of live and of deleted entries, number of names, names, 0; then the entries:
 * flags, differences of time and sequence number from the node's ID, and without SAME_NAMES the
 * number of fields; names and values in turn, with SAME_NAMES only values; and the number of the
 * entry's items so far. */
#ifndef PROTO_RDB_STREAM_NODE_H
#define PROTO_RDB_STREAM_NODE_H

#include "proto/rdb/packing.h"
#include "proto/rdb/rdb_read.h"
#include "store/mem/buffer.h"

enum { RDB_ENTRY_DELETED = 1, RDB_ENTRY_SAME_NAMES = 2 };

/* Texts of items: in the listpack, or as digits in a buffer. A zeroed one is empty. */
struct rdb_texts {
    struct buffer texts;  /* struct bytes each; if data is NULL, the next one in `digits` */
    struct buffer digits; /* of the texts that are integers */
};

struct rdb_node {
    struct rdb_walk walk;
    struct rdb_item item;
    struct rdb_stream_id master;   /* the node's ID, which differences refer to */
    struct rdb_stream_id last;     /* of the live entries so far, here and before this node */
    uint64_t live, deleted;        /* entries to come */
    struct rdb_texts names, parts; /* of the node, and of the current entry */
    const char *wrong;             /* after RDB_BROKEN: what is damaged, or NULL without memory */
};

/* Reuses the memory of the node. The IDs of live entries must be greater than `last`. */
void rdb_node_begin(struct rdb_node *node, struct rdb_stream_id master, struct rdb_stream_id last,
                    struct bytes packed);
/* The next entry that is not deleted, valid until the next call. RDB_END: the whole node is
 * correct. */
enum rdb_step rdb_node_next(struct rdb_node *node, struct rdb_stream_entry *entry);
void rdb_node_drop(struct rdb_node *node);

#endif
