/* pending_tree: the pending entries of a consumer group, ordered by ID, with ranks. It knows
 * consumers only by their numbers.
 *
 * It is a counted tree (store/struct/counted.h) of leaves (pending_leaf.h). A branch also stores a
 * summary: the earliest instants and the set of consumers below it. A search by consumer or by time
 * skips branches whose summary excludes a match, and so costs O(log n) for each record found. It
 * costs more if consumers share bits, or if it is by consumer and by time. */
#pragma once

#include "store/mem/relocate.h"
#include "store/type/stream/pending_leaf.h"

struct pending_tree {
    struct counted nodes;
    size_t count;
    size_t leaf_bytes;
    struct pending_summary all;
};

static inline size_t pending_tree_bytes(const struct pending_tree *tree) /* memory */
{
    return tree->leaf_bytes + tree->nodes.bytes;
}

void pending_tree_init(struct pending_tree *tree);
void pending_tree_drop(struct pending_tree *tree);
/* Frees at most *work leaves and subtracts their number from *work. Returns true when done. Between
 * slices only this function and pending_tree_bytes may be called. */
bool pending_tree_drop_some(struct pending_tree *tree, size_t *work);

/* Adds the record. If there is a record with the same ID, replaces it, copies the old one to *old
 * and returns true; otherwise *old has no meaning. O(log n) */
bool pending_tree_put(struct pending_tree *tree, const struct pending_record *record,
                      struct pending_record *old);
/* Removes the record of this ID, after copying it to *removed. Returns false if there is none;
 * *removed then has no meaning. O(log n) */
bool pending_tree_remove(struct pending_tree *tree, struct stream_id id,
                         struct pending_record *removed);
/* Finds the record of this ID. Returns false if there is none; *found then has no meaning. O(log n)
 */
bool pending_tree_find(const struct pending_tree *tree, struct stream_id id,
                       struct pending_record *found);
/* Finds the record of a rank from 0. Returns false past the end. O(log n) */
bool pending_tree_at(const struct pending_tree *tree, size_t rank, struct pending_record *found);

struct pending_query {
    struct stream_id from, to; /* both included */
    uint32_t consumer;         /* only entries of this consumer; 0: all, released ones too */
    bool by_time;              /* only those with at <= until */
    msec until[PENDING_KINDS];
};
/* Finds the first record that matches the query. Returns false if none does; *found then has no
 * meaning. */
bool pending_tree_next(const struct pending_tree *tree, const struct pending_query *query,
                       struct pending_record *found);

/* Removes all records of query->consumer, which must not be 0. All of these records must be between
 * query->from, which the function changes, and query->to; by_time must be false. O(leaves with such
 * records * log n) */
void pending_tree_forget(struct pending_tree *tree, struct pending_query *query);

/* Relocates the leaf that contains this rank, and the inner nodes that begin with this leaf.
 * Returns the rank after the leaf, or 0 after the last leaf. O(log n) */
size_t pending_tree_relocate(struct pending_tree *tree, size_t rank, struct relocation *relocation);

/* Checks order, counts, summaries, fill and bytes, and calls visit for each record. */
void pending_tree_check(const struct pending_tree *tree,
                        void (*visit)(void *ctx, const struct pending_record *record), void *ctx);
