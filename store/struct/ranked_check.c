/* ranked_check: ranked_check() of ranked.h, which verifies the invariants of ranked.c. */
#include <math.h>

#include "store/base/ensure.h"
#include "store/struct/ranked.h"
#include "store/struct/ranked_node.h"

struct checking {
    const struct ranked_member *last;
    size_t bytes;
};

static void check_leaf_order(const struct ranked_node *leaf, struct checking *so_far)
{
    ensure(isfinite(*ranked_node_base(leaf)), "base %g", *ranked_node_base(leaf));
    for (unsigned i = 0; i < leaf->count; i++) {
        const struct ranked_member *m = ranked_node_member(leaf, i), *last = so_far->last;
        ensure(ranked_node_keys(leaf)[i] == ranked_node_key(leaf, m->score),
               "key %g beside a member with score %g", (double)ranked_node_keys(leaf)[i], m->score);
        ensure(!leaf->is_exact || ranked_node_score(leaf, ranked_node_keys(leaf)[i]) == m->score,
               "inexact key %g of a member with score %g", (double)ranked_node_keys(leaf)[i],
               m->score);
        ensure(
            last == NULL || last->score < m->score ||
                (last->score == m->score && bytes_compare(ranked_bytes(last), ranked_bytes(m)) < 0),
            "%g out of order at %u", m->score, i);
        so_far->last = m;
    }
}

/* Returns the number of members below a node; `edge`: the node is on the right edge. */
static size_t check_subtree(const struct ranked_node *node, bool edge, struct checking *so_far)
{
    so_far->bytes += ranked_node_size(node->height, node->cap);
    ensure(node->count >= (edge ? 1 : ranked_node_min(node)) && node->count <= node->cap &&
               node->cap <= ranked_node_max(node),
           "%u of %u items at height %u", node->count, node->cap, node->height);
    if (node->height == 0) {
        check_leaf_order(node, so_far);
        return node->count;
    }
    size_t total = 0;
    for (unsigned i = 0; i < node->count; i++) {
        const struct ranked_node *child = ranked_node_child(node, i);
        ensure(child->height + 1 == node->height, "child of height %u below height %u",
               child->height, node->height);
        ensure(ranked_node_member(node, i) == ranked_node_member(child, 0) &&
                   ranked_node_scores(node)[i] == ranked_node_member(child, 0)->score,
               "branch %u differs from the first item of its child", i);
        size_t count = check_subtree(child, edge && i + 1 == node->count, so_far);
        ensure(count == ranked_node_counts(node)[i], "%zu members, but the branch says %u", count,
               ranked_node_counts(node)[i]);
        total += count;
    }
    return total;
}

void ranked_check(const struct ranked *ranked)
{
    if (ranked->root == NULL) {
        ensure(ranked->count == 0 && ranked->bytes == 0 && ranked->depth == 0,
               "no root, but %zu members, %zu bytes", ranked->count, ranked->bytes);
        return;
    }
    struct checking so_far = { 0 };
    size_t count = check_subtree(ranked->root, true, &so_far);
    ensure(count == ranked->count, "%zu members, count %zu", count, ranked->count);
    ensure(so_far.bytes == ranked->bytes, "%zu bytes, counted %zu", so_far.bytes, ranked->bytes);
    ensure(ranked->root->height + 1U == ranked->depth, "height %u, depth %u", ranked->root->height,
           ranked->depth);
    ensure(ranked->root->height == 0 || ranked->root->count > 1, "inner root with %u branch",
           ranked->root->count);
}
