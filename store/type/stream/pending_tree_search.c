/* pending_tree_search: finding records of a pending_tree by ID, rank, consumer and time. */
#include "store/type/stream/pending_inner.h"
#include "store/type/stream/pending_tree.h"

bool pending_tree_find(const struct pending_tree *tree, struct stream_id id,
                       struct pending_record *found)
{
    const struct counted_node *node = tree->nodes.root;
    if (node == NULL) return false;
    for (uint32_t height = tree->nodes.height; height > 0; height--)
        node = pending_branches(node)[pending_branch_for(node, id)].child;
    const struct pending_leaf *leaf = (const struct pending_leaf *)node;
    unsigned i = pending_leaf_from(leaf, id);
    if (i == leaf->count) return false;
    pending_leaf_get(leaf, i, found);
    return stream_id_equal(found->id, id);
}

bool pending_tree_at(const struct pending_tree *tree, size_t rank, struct pending_record *found)
{
    if (rank >= tree->count) return false;
    const struct counted_node *leaf = counted_at(&tree->nodes, &rank);
    pending_leaf_get((const struct pending_leaf *)leaf, (unsigned)rank, found);
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

static bool subtree_next(const struct counted_node *node, unsigned height,
                         const struct pending_query *query, struct pending_record *found)
{
    if (height == 0) return leaf_next((const struct pending_leaf *)node, query, found);
    unsigned first = pending_branch_for(node, query->from), count = pending_branch_count(node);
    for (unsigned i = first; i < count; i++) {
        const struct pending_branch *branch = &pending_branches(node)[i];
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
    return tree->nodes.root != NULL && may_have(&tree->all, query) &&
           subtree_next(tree->nodes.root, tree->nodes.height, query, found);
}
