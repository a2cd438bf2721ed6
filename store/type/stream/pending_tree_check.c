/* pending_tree_check: pending_tree_check() of pending_tree.h, which verifies the invariants of
 * pending_tree.c. */
#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/type/stream/pending_inner.h"
#include "store/type/stream/pending_tree.h"

struct checking {
    const struct pending_tree *tree;
    void (*visit)(void *ctx, const struct pending_record *record);
    void *ctx;
    bool has_last;
    struct stream_id last;
    size_t bytes;
};

static struct pending_branch check_leaf(struct checking *checking, const struct pending_leaf *leaf)
{
    struct pending_record record;
    pending_leaf_check(leaf);
    for (unsigned i = 0; i < leaf->count; i++) {
        pending_leaf_get(leaf, i, &record);
        ensure(!checking->has_last || stream_id_before(checking->last, record.id),
               "record %u of %u comes before the last leaf's", i, leaf->count);
        checking->last = record.id;
        checking->has_last = true;
        checking->visit(checking->ctx, &record);
    }
    checking->bytes += pending_leaf_bytes(leaf);
    return (struct pending_branch){ .count = leaf->count, .below = pending_leaf_summary(leaf) };
}

static size_t items(const struct pending_branch *branch, bool is_leaf)
{
    return is_leaf ? branch->count : ((const struct pending_inner *)branch->child)->count;
}

static struct pending_branch check_subtree(struct checking *checking, const void *node,
                                           unsigned height)
{
    if (height == 0) return check_leaf(checking, node);
    const struct pending_inner *inner = node;
    struct pending_branch total = { .below = PENDING_SUMMARY_NONE };
    ensure(inner->count > 0 && inner->count <= PENDING_INNER_MAX, "%zu children", inner->count);
    for (unsigned i = 0; i < inner->count; i++) {
        const struct pending_branch *branch = &inner->branch[i];
        size_t least = height == 1 ? PENDING_LEAF_MERGED : PENDING_INNER_MERGED;
        if (i > 0)
            ensure(stream_id_before(checking->last, branch->from) &&
                       items(branch, height == 1) + items(branch - 1, height == 1) > least,
                   "branch %u at height %u: bound or fill", i, height);
        if (i > 0) { /* no record of the child may be before its bound */
            checking->last = branch->from;
            stream_id_down(&checking->last);
        }
        struct pending_branch below = check_subtree(checking, branch->child, height - 1);
        ensure(below.count == branch->count &&
                   memcmp(&below.below, &branch->below, sizeof(below.below)) == 0,
               "branch %u at height %u: count %zu, not %zu, or summary", i, height, branch->count,
               below.count);
        total.count += below.count;
        pending_summary_join(&total.below, &below.below);
    }
    checking->bytes += mem_size(inner);
    return total;
}

void pending_tree_check(const struct pending_tree *tree,
                        void (*visit)(void *ctx, const struct pending_record *record), void *ctx)
{
    struct checking checking = { .tree = tree, .visit = visit, .ctx = ctx };
    struct pending_branch total = { .below = PENDING_SUMMARY_NONE };
    ensure(tree->root != NULL || tree->height == 0, "height %u of nothing", tree->height);
    if (tree->root != NULL) total = check_subtree(&checking, tree->root, tree->height);
    ensure(total.count == tree->count && checking.bytes == tree->bytes,
           "%zu records, counted %zu; %zu bytes, counted %zu", total.count, tree->count,
           checking.bytes, tree->bytes);
    ensure(memcmp(&total.below, &tree->all, sizeof(tree->all)) == 0, "wrong summary of all");
    const struct pending_inner *root = tree->height > 0 ? tree->root : NULL;
    ensure(root == NULL || root->count > 1, "a root with one child");
}
