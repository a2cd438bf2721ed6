/* pending_tree_check: checks the invariants of pending_tree.c, for tests (pending_tree_check() of
 * pending_tree.h). */
#include <string.h>

#include "store/base/ensure.h"
#include "store/type/stream/pending_inner.h"
#include "store/type/stream/pending_tree.h"

struct checking {
    void (*visit)(void *ctx, const struct pending_record *record);
    void *ctx;
    bool has_last;
    struct stream_id last;
    size_t count, bytes;
};

static void check_leaf(void *ctx, const struct counted_node *node)
{
    struct checking *checking = ctx;
    const struct pending_leaf *leaf = (const struct pending_leaf *)node;
    struct pending_record record;
    pending_leaf_check(leaf);
    ensure(node->total == leaf->count, "%u records, counted %zu", leaf->count, node->total);
    for (unsigned i = 0; i < leaf->count; i++) {
        pending_leaf_get(leaf, i, &record);
        ensure(!checking->has_last || stream_id_before(checking->last, record.id),
               "record %u of %u comes before the last leaf's", i, leaf->count);
        checking->last = record.id;
        checking->has_last = true;
        checking->visit(checking->ctx, &record);
    }
    checking->bytes += pending_leaf_bytes(leaf);
    checking->count += leaf->count;
}

static void check_key(void *ctx, const void *key)
{
    struct checking *checking = ctx;
    struct stream_id from = *(const struct stream_id *)key;
    ensure(stream_id_before(checking->last, from), "a key after %zu records", checking->count);
    stream_id_down(&from); /* the next record may have this ID */
    checking->last = from;
}

static struct pending_summary check_summaries(const struct counted_node *node, unsigned height)
{
    if (height == 0) return pending_leaf_summary((const struct pending_leaf *)node);
    struct pending_summary all = PENDING_SUMMARY_NONE;
    for (unsigned i = 0; i < pending_branch_count(node); i++) {
        const struct pending_branch *branch = &pending_branches(node)[i];
        struct pending_summary below = check_summaries(branch->child, height - 1);
        ensure(memcmp(&below, &branch->below, sizeof(below)) == 0, "summary %u at height %u", i,
               height);
        pending_summary_join(&all, &below);
    }
    return all;
}

void pending_tree_check(const struct pending_tree *tree,
                        void (*visit)(void *ctx, const struct pending_record *record), void *ctx)
{
    struct checking checking = { .visit = visit, .ctx = ctx };
    struct pending_summary all = PENDING_SUMMARY_NONE;
    counted_check(&tree->nodes, &(struct counted_visitor){ check_leaf, check_key, &checking });
    if (tree->nodes.root != NULL) all = check_summaries(tree->nodes.root, tree->nodes.height);
    ensure(checking.count == tree->count && checking.bytes == tree->leaf_bytes,
           "%zu records, counted %zu; %zu bytes, counted %zu", checking.count, tree->count,
           checking.bytes, tree->leaf_bytes);
    ensure(memcmp(&all, &tree->all, sizeof(all)) == 0, "wrong summary of all");
}
