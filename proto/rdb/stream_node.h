/* stream_node: iterates over the entries of one node of a stream, and checks every count in the
 * node.
 *
 * A node is a listpack (packing.h) with these items:
 *
 *     live, deleted                numbers of entries
 *     n, name 1, ... name n, 0     the field names that most entries share
 *     then for each entry:
 *       flags                      DELETED, SAME_NAMES
 *       time, sequence             the differences from the node's ID
 *       n, name, value, ...        without SAME_NAMES
 *       value 1, ... value n       with SAME_NAMES
 *       count                      of the entry's items before this one */
#pragma once

#include "proto/rdb/packing.h"
#include "proto/rdb/rdb_visitor.h"
#include "store/mem/buffer.h"

enum { RDB_ENTRY_DELETED = 1, RDB_ENTRY_SAME_NAMES = 2 };

/* Texts of items: in the listpack, or as digits in a buffer. A zeroed one is empty. */
struct rdb_texts {
    struct buffer texts;  /* struct bytes each; if data is NULL, the next one in `digits` */
    struct buffer digits; /* the digits of texts that are integers */
};

struct rdb_node {
    struct rdb_walk walk;
    struct rdb_item item;
    struct rdb_stream_id master;   /* the node's ID, which differences refer to */
    struct rdb_stream_id last;     /* ID of the last live entry so far, in this node or before it */
    uint64_t live, deleted;        /* numbers of entries to come */
    struct rdb_texts names, parts; /* names of the node; texts of the current entry */
    const char *wrong; /* after RDB_BROKEN: what is damaged, or NULL if memory ran out */
};

/* Begins a node; `node` may be zeroed or used before, and keeps its buffers. The IDs of live
 * entries must be greater than `last`. */
void rdb_node_begin(struct rdb_node *node, struct rdb_stream_id master, struct rdb_stream_id last,
                    struct bytes packed);
/* Returns the next entry that is not deleted; it is valid until the next call. Only RDB_END means
 * that the whole node is correct. */
enum rdb_step rdb_node_next(struct rdb_node *node, struct rdb_stream_entry *entry);
void rdb_node_drop(struct rdb_node *node);
