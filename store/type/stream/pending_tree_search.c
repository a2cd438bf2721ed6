/* pending_tree_search: finding records of a pending_tree by ID, rank, consumer and time. */
#include "store/type/stream/pending_inner.h"
#include "store/type/stream/pending_tree.h"

bool pending_tree_find(const struct pending_tree *tree, struct stream_id id,
                       struct pending_record *found)
{
    const void *node = tree->root;
    if (node == NULL) return false;
    for (unsigned step = 0; step < tree->height; step++) {
        const struct pending_inner *inner = node;
        node = inner->branch[pending_branch_for(inner, id)].child;
    }
    const struct pending_leaf *leaf = node;
    unsigned i = pending_leaf_from(leaf, id);
    if (i == leaf->count) return false;
    pending_leaf_get(leaf, i, found);
    return stream_id_equal(found->id, id);
}

bool pending_tree_at(const struct pending_tree *tree, size_t rank, struct pending_record *found)
{
    if (rank >= tree->count) return false;
    const void *node = tree->root;
    for (unsigned step = 0; step < tree->height; step++) {
        const struct pending_branch *branch = ((const struct pending_inner *)node)->branch;
        for (; rank >= branch->count; branch++)
            rank -= branch->count;
        node = branch->child;
    }
    pending_leaf_get(node, (unsigned)rank, found);
    return true;
}

static bool may_have(const struct pending_summary *below, const struct pending_query *query)
{
    if (query->consumer != 0 && (below->consumers & pending_bit(query->consumer)) == 0)
        return false;
    return !query->by_time || below->first[PENDING_DELIVERED] <= query->until[PENDING_DELIVERED] ||
           (query->consumer == 0 &&
            below->first[PENDING_RELEASED] <= query->until[PENDING_RELEASED]);
}

static bool leaf_next(const struct pending_leaf *leaf, const struct pending_query *query,
                      struct pending_record *found)
{
    for (unsigned i = pending_leaf_from(leaf, query->from);; i++) {
        if (query->consumer != 0) i = pending_leaf_next_of(leaf, i, query->consumer);
        if (i >= leaf->count) return false;
        pending_leaf_get(leaf, i, found);
        if (stream_id_before(query->to, found->id)) return false;
        if (!query->by_time || found->at <= query->until[pending_kind(found)]) return true;
    }
}

static bool subtree_next(const void *node, unsigned height, const struct pending_query *query,
                         struct pending_record *found)
{
    if (height == 0) return leaf_next(node, query, found);
    const struct pending_inner *inner = node;
    unsigned first = pending_branch_for(inner, query->from);
    for (unsigned i = first; i < inner->count; i++) {
        const struct pending_branch *branch = &inner->branch[i];
        if (i > first && stream_id_before(query->to, branch->from)) return false;
        if (may_have(&branch->below, query) &&
            subtree_next(branch->child, height - 1, query, found))
            return true;
    }
    return false;
}

bool pending_tree_next(const struct pending_tree *tree, const struct pending_query *query,
                       struct pending_record *found)
{
    return tree->root != NULL && may_have(&tree->all, query) &&
           subtree_next(tree->root, tree->height, query, found);
}
