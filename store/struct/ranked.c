/* ranked: a counted B+ tree. Each branch of an inner node stores the count of its subtree, and its
 * first item.
 *
 * A change walks down once, reading only, and then writes along this path. If the leaf is full, or
 * has too few items to lose one, two more walks precede the writing. The first of them balances,
 * splits or merges each such node before it enters the node, so that nothing must be propagated
 * upwards.
 *
 * Invariants: all leaves have the same depth. An inner root has at least two branches. Other nodes
 * have at least ranked_node_min items; only on the right edge they may have fewer, but at least
 * one, because of ranked_take and of splits while appending. */
#include "store/struct/ranked.h"

#include <math.h>

#include "store/base/ensure.h"
#include "store/base/prefetch.h"
#include "store/struct/ranked_node.h"

#define NOINLINE __attribute__((noinline))

/* --- searching --- */

/* The target of a search: a (score, member) pair, or only one of the two. */
struct probe {
    enum { BY_BOTH, BY_SCORE, BY_MEMBER } by;
    bool or_equal; /* an item equal to the target is below it too */
    double score;
    struct bytes member;
};

static struct probe probe_of(const struct ranked_member *m, bool or_equal)
{
    return (struct probe){ BY_BOTH, or_equal, m->score, ranked_bytes(m) };
}

/* Returns how many keys of a leaf, or scores of an inner node, are below `number` (or equal, if
 * or_equal). Compares every eighth number, then the eight between two of them. No branch depends on
 * a number. */
__attribute__((always_inline)) static inline unsigned
numbers_below(const struct ranked_node *node, bool is_leaf, double number, bool or_equal)
{
    enum { BLOCK = 8 };
    const double *scores = ranked_node_scores(node);
    const float *keys = ranked_node_keys(node);
    unsigned count = node->count, begin = 0, end = count;
    if (count > BLOCK) {
        unsigned last = count - BLOCK;
        unsigned heads = (is_leaf ? RANKED_LEAF_MAX : RANKED_INNER_MAX) / BLOCK;
        for (unsigned i = BLOCK; i < heads * BLOCK; i += BLOCK) {
            unsigned at = i < count ? i : count - 1;
            double head = is_leaf ? (double)keys[at] : scores[at];
            begin += or_equal ? head <= number : head < number;
        }
        /* Heads past the count repeat the last number: if it is below, all are. */
        begin = begin * BLOCK < last ? begin * BLOCK : last;
        end = begin + BLOCK;
    }
    unsigned below = begin;
    for (unsigned i = begin; i < end; i++) {
        double one = is_leaf ? (double)keys[i] : scores[i];
        below += or_equal ? one <= number : one < number;
    }
    return below;
}

/* Not inlined: each is large. */
NOINLINE static unsigned keys_below(const struct ranked_node *leaf, float key, bool or_equal)
{
    return or_equal ? numbers_below(leaf, true, (double)key, true)
                    : numbers_below(leaf, true, (double)key, false);
}

NOINLINE static unsigned scores_below(const struct ranked_node *inner, double score, bool or_equal)
{
    return or_equal ? numbers_below(inner, false, score, true)
                    : numbers_below(inner, false, score, false);
}

static bool is_below(const struct ranked_member *m, const struct probe *probe)
{
    if (probe->by != BY_MEMBER && m->score != probe->score) return m->score < probe->score;
    if (probe->by == BY_SCORE) return probe->or_equal;
    int order = bytes_compare(ranked_bytes(m), probe->member);
    return order < 0 || (order == 0 && probe->or_equal);
}

static unsigned items_below(const struct ranked_node *node, const struct probe *probe)
{
    unsigned low = 0, high = node->count;
    if (probe->by != BY_MEMBER && node->height == 0) {
        float key = ranked_node_key(node, probe->score);
        low = keys_below(node, key, false);
        if (low == high || ranked_node_keys(node)[low] != key) return low;
        high = keys_below(node, key, true);
        double score = ranked_node_score(node, key);
        if (node->is_exact && (probe->by == BY_SCORE || score != probe->score))
            return score < probe->score || (score == probe->score && probe->or_equal) ? high : low;
    } else if (probe->by != BY_MEMBER) {
        low = scores_below(node, probe->score, false);
        if (low == high || ranked_node_scores(node)[low] != probe->score) return low;
        high = scores_below(node, probe->score, true);
        if (probe->by == BY_SCORE) return probe->or_equal ? high : low;
    }
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (is_below(ranked_node_member(node, middle), probe))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the last branch that begins below the probe, or the first branch. */
static unsigned branch_for(const struct ranked_node *inner, const struct probe *probe)
{
    unsigned below = items_below(inner, probe);
    return below > 0 ? below - 1 : 0;
}

/* Prefetches the child that it returns, because a search would wait for it line by line. */
static inline struct ranked_node *enter(const struct ranked_node *inner, unsigned i)
{
    enum { LINE = 64 };
    struct ranked_node *child = ranked_node_child(inner, i);
    size_t size = inner->height == 1 ? ranked_node_size(0, ranked_node_counts(inner)[i])
                                     : ranked_node_size(1, RANKED_INNER_MAX);
    for (size_t at = 0; at < size; at += LINE)
        prefetch((const char *)child + at);
    prefetch((const char *)child + size - 1);
    return child;
}

static unsigned index_of(const struct ranked_node *leaf, const struct ranked_member *m,
                         double score)
{
    unsigned i = keys_below(leaf, ranked_node_key(leaf, score), false);
    while (i < leaf->count && ranked_node_member(leaf, i) != m)
        i++;
    ensure(i < leaf->count, "member with score %g is not in the tree", score);
    return i;
}

/* Returns the leaf where a probe belongs; *before is the number of members before that leaf. */
static const struct ranked_node *leaf_for_probe(const struct ranked *ranked,
                                                const struct probe *probe, size_t *before)
{
    const struct ranked_node *node = ranked->root;
    *before = 0;
    while (node->height > 0) {
        unsigned branch = branch_for(node, probe);
        const uint32_t *counts = ranked_node_counts(node);
        for (unsigned i = 0; i < branch; i++)
            *before += counts[i];
        node = enter(node, branch);
    }
    return node;
}

size_t ranked_rank(const struct ranked *ranked, const struct ranked_member *m)
{
    struct probe probe = probe_of(m, true);
    size_t before;
    ensure(ranked->root != NULL, "member with score %g is not in the tree: it is empty", m->score);
    const struct ranked_node *leaf = leaf_for_probe(ranked, &probe, &before);
    return before + index_of(leaf, m, m->score);
}

static size_t count_below(const struct ranked *ranked, const struct probe *probe)
{
    size_t before;
    if (ranked->root == NULL) return 0;
    const struct ranked_node *leaf = leaf_for_probe(ranked, probe, &before);
    return before + items_below(leaf, probe);
}

size_t ranked_below_score(const struct ranked *ranked, double score, bool or_equal)
{
    struct probe probe = { .by = BY_SCORE, .or_equal = or_equal, .score = score };
    return count_below(ranked, &probe);
}

size_t ranked_below_member(const struct ranked *ranked, struct bytes member, bool or_equal)
{
    struct probe probe = { .by = BY_MEMBER, .or_equal = or_equal, .member = member };
    return count_below(ranked, &probe);
}

/* Returns the leaf of a rank below the count; *rank becomes the index in it. */
static const struct ranked_node *leaf_at(const struct ranked *ranked, size_t *rank)
{
    const struct ranked_node *node = ranked->root;
    while (node->height > 0) {
        const uint32_t *counts = ranked_node_counts(node);
        unsigned i = 0;
        for (; *rank >= counts[i]; i++)
            *rank -= counts[i];
        node = enter(node, i);
    }
    return node;
}

struct ranked_member *ranked_at(const struct ranked *ranked, size_t rank)
{
    if (rank >= ranked->count) return NULL;
    const struct ranked_node *leaf = leaf_at(ranked, &rank);
    return ranked_node_member(leaf, (unsigned)rank);
}

/* --- iterating --- */

enum { AHEAD = 8 }; /* how many members ahead to prefetch */

static void iter_seek(struct ranked_iter *iter, size_t rank)
{
    size_t index = rank;
    iter->leaf = NULL;
    if (rank >= iter->ranked->count) return;
    iter->leaf = leaf_at(iter->ranked, &index);
    iter->index = (unsigned)index;
    iter->before = rank - index;
    for (unsigned i = iter->index; i < iter->index + AHEAD && i < iter->leaf->count; i++)
        prefetch(ranked_node_member(iter->leaf, i));
}

void ranked_iter_at(struct ranked_iter *iter, const struct ranked *ranked, size_t rank)
{
    *iter = (struct ranked_iter){ .ranked = ranked };
    iter_seek(iter, rank);
}

struct ranked_member *ranked_iter_next(struct ranked_iter *iter)
{
    if (iter->leaf == NULL) return NULL;
    struct ranked_member *m = ranked_node_member(iter->leaf, iter->index++);
    if (iter->index + AHEAD < iter->leaf->count)
        prefetch(ranked_node_member(iter->leaf, iter->index + AHEAD));
    if (iter->index == iter->leaf->count) iter_seek(iter, iter->before + iter->index);
    return m;
}

struct ranked_member *ranked_iter_prev(struct ranked_iter *iter)
{
    if (iter->leaf == NULL) return NULL;
    struct ranked_member *m = ranked_node_member(iter->leaf, iter->index);
    if (iter->index >= AHEAD) prefetch(ranked_node_member(iter->leaf, iter->index - AHEAD));
    /* Before rank 0 this seeks SIZE_MAX, which is past the end. */
    if (iter->index-- == 0) iter_seek(iter, iter->before - 1);
    return m;
}

/* --- splitting and merging on the way down --- */

static void root_lower(struct ranked *ranked)
{
    while (ranked->root->height > 0 && ranked->root->count == 1) {
        struct ranked_node *old = ranked->root;
        ranked->root = ranked_node_child(old, 0);
        ranked->depth--;
        ranked_node_free(&ranked->bytes, old);
    }
}

/* Makes room in all nodes on the path to the probe, and puts a new root above a full one. */
static void make_room_on_path(struct ranked *ranked, const struct probe *probe)
{
    struct ranked_node *node = ranked->root;
    if (node->count == ranked_node_max(node)) {
        struct ranked_node *root = ranked_node_new(&ranked->bytes, node->height + 1U, 2);
        root->count = 1;
        ranked_node_set_child(root, 0, node);
        ranked_node_set_first(root, 0);
        ranked_node_counts(root)[0] = (uint32_t)ranked->count;
        ranked->depth++;
        node = root;
    } else if (node->count == node->cap) {
        node = ranked_node_fit(&ranked->bytes, node, node->count + 1U);
    }
    ranked->root = node;

    bool edge = true;
    while (node->height > 0) {
        unsigned i = branch_for(node, probe);
        const struct ranked_node *child = ranked_node_child(node, i);
        if (child->count == ranked_node_max(child)) {
            unsigned roomy = ranked_node_merge_max(child);
            /* On the right edge the child keeps all items but one, so that appending members leaves
             * nodes nearly full. */
            if (edge && i + 1 == node->count)
                ranked_node_split(&ranked->bytes, node, i, child->count - 1U);
            else if (i > 0 && ranked_node_child(node, i - 1)->count <= roomy)
                ranked_node_balance(&ranked->bytes, node, i - 1);
            else if (i + 1 < node->count && ranked_node_child(node, i + 1)->count <= roomy)
                ranked_node_balance(&ranked->bytes, node, i);
            else
                ranked_node_split(&ranked->bytes, node, i, child->count / 2U);
            i = branch_for(node, probe);
            child = ranked_node_child(node, i);
        }
        edge = edge && i + 1 == node->count;
        node = child->count < child->cap
                   ? ranked_node_child(node, i)
                   : ranked_node_fit_child(&ranked->bytes, node, i, child->count + 1U);
    }
}

/* Makes all nodes on the path to the probe large enough to lose an item. */
static void refill_path(struct ranked *ranked, const struct probe *probe)
{
    struct ranked_node *node = ranked->root;
    while (node->height > 0) {
        unsigned i = branch_for(node, probe);
        const struct ranked_node *child = ranked_node_child(node, i);
        if (child->count <= ranked_node_min(child)) {
            unsigned left = i + 1 < node->count ? i : i - 1;
            const struct ranked_node *one = ranked_node_child(node, left);
            const struct ranked_node *other = ranked_node_child(node, left + 1);
            if (one->count + other->count > ranked_node_merge_max(one))
                ranked_node_balance(&ranked->bytes, node, left);
            else
                ranked_node_merge(&ranked->bytes, node, left);
            i = branch_for(node, probe);
        }
        node = ranked_node_child(node, i);
    }
    root_lower(ranked);
}

/* --- changing --- */

void ranked_init(struct ranked *ranked)
{
    *ranked = (struct ranked){ 0 };
}

static void subtree_free(struct ranked *ranked, struct ranked_node *node)
{
    for (unsigned i = 0; node->height > 0 && i < node->count; i++)
        subtree_free(ranked, ranked_node_child(node, i));
    ranked_node_free(&ranked->bytes, node);
}

void ranked_drop(struct ranked *ranked)
{
    if (ranked->root != NULL) subtree_free(ranked, ranked->root);
    ranked_init(ranked);
}

enum { DEPTH_MAX = 16 };

struct path {
    struct probe probe;
    unsigned length; /* inner nodes, the root first */
    struct {
        struct ranked_node *node;
        unsigned branch;
    } steps[DEPTH_MAX];
    struct ranked_node *leaf;
    bool at_end; /* the probe is above all members, and the path leads to the last leaf */
};

static void path_start(const struct ranked *ranked, struct path *path)
{
    ensure(ranked->root != NULL && ranked->depth <= DEPTH_MAX, "depth %u", ranked->depth);
    path->length = ranked->depth - 1;
    path->leaf = ranked->root;
    path->at_end = false;
}

static inline void path_descend(struct path *path, unsigned step)
{
    struct ranked_node *inner = path->leaf;
    unsigned i = branch_for(inner, &path->probe);
    path->steps[step].node = inner;
    path->steps[step].branch = i;
    path->leaf = enter(inner, i);
}

static void descend(const struct ranked *ranked, struct path *path)
{
    path_start(ranked, path);
    for (unsigned step = 0; step < path->length; step++)
        path_descend(path, step);
}

static struct ranked_node *last_child(const struct ranked_node *inner)
{
    return ranked_node_child(inner, inner->count - 1U);
}

/* Descends to the last leaf without a search, for members that arrive in order: in a load, and
 * where scores are instants. Returns false if the probe does not belong behind the last member, or
 * if the latest insertion was elsewhere. A tree that grows elsewhere thus only tests a flag. */
static bool descend_to_end(const struct ranked *ranked, struct path *path)
{
    if (!ranked->grows_at_end) return false;
    const struct ranked_node *leaf = ranked->root;
    while (leaf->height > 0)
        leaf = last_child(leaf);
    if (!is_below(ranked_node_member(leaf, leaf->count - 1U), &path->probe)) return false;
    path_start(ranked, path);
    for (unsigned step = 0; step < path->length; step++) {
        path->steps[step].node = path->leaf;
        path->steps[step].branch = path->leaf->count - 1U;
        path->leaf = last_child(path->leaf);
    }
    path->at_end = true;
    return true;
}

static void leaf_fit(struct ranked *ranked, struct path *path, unsigned count)
{
    path->leaf = ranked_node_fit(&ranked->bytes, path->leaf, count);
    if (path->length == 0)
        ranked->root = path->leaf;
    else
        ranked_node_set_child(path->steps[path->length - 1].node,
                              path->steps[path->length - 1].branch, path->leaf);
}

static void path_add_to_counts(struct ranked *ranked, const struct path *path, int by)
{
    for (unsigned i = 0; i < path->length; i++)
        ranked_node_counts(path->steps[i].node)[path->steps[i].branch] += (uint32_t)by;
    ranked->count += (size_t)by;
}

/* Updates the branches after the leaf's first item has changed. */
static void path_update_first(const struct path *path)
{
    unsigned i = path->length;
    while (i > 0) {
        i--;
        ranked_node_set_first(path->steps[i].node, path->steps[i].branch);
        if (path->steps[i].branch > 0) return;
    }
}

/* Puts m at index i of a leaf. Chooses another base if this stops the keys from being exact, or if
 * a neighbour with another score has the same key. */
static void leaf_put(struct ranked_node *leaf, unsigned i, const struct ranked_member *m)
{
    const float *keys = ranked_node_keys(leaf);
    bool was_exact = leaf->is_exact;
    ranked_node_set(leaf, i, m);
    if (leaf->is_exact) return;
    if (was_exact ||
        (i > 0 && keys[i - 1] == keys[i] && ranked_node_member(leaf, i - 1)->score != m->score) ||
        (i + 1U < leaf->count && keys[i + 1] == keys[i] &&
         ranked_node_member(leaf, i + 1)->score != m->score))
        ranked_node_rebase(leaf);
}

/* Inserts m into the leaf, which is not full. */
static void leaf_insert(struct ranked *ranked, struct path *path, const struct ranked_member *m)
{
    if (path->leaf->count == path->leaf->cap) leaf_fit(ranked, path, path->leaf->count + 1U);
    unsigned i = path->at_end ? path->leaf->count : items_below(path->leaf, &path->probe);
    bool is_last = i == path->leaf->count;
    for (unsigned step = 0; step < path->length && is_last; step++)
        is_last = path->steps[step].branch + 1U == path->steps[step].node->count;
    ranked->grows_at_end = is_last;
    ranked_node_open_gap(path->leaf, i);
    leaf_put(path->leaf, i, m);
    path_add_to_counts(ranked, path, 1);
    if (i == 0) path_update_first(path);
}

void ranked_add(struct ranked *ranked, struct ranked_member *m)
{
    struct path path;
    ensure(ranked->count < UINT32_MAX, "tree is full: %zu members", ranked->count);
    if (ranked->root == NULL) {
        ranked->root = ranked_node_new(&ranked->bytes, 0, 1);
        *ranked_node_base(ranked->root) = isfinite(m->score) ? m->score : 0;
        ranked->depth = 1;
    }
    path.probe = probe_of(m, false);
    if (!descend_to_end(ranked, &path)) descend(ranked, &path);
    if (path.leaf->count == RANKED_LEAF_MAX) {
        make_room_on_path(ranked, &path.probe);
        descend(ranked, &path);
    }
    leaf_insert(ranked, &path, m);
}

static bool leaf_is_at_minimum(const struct path *path)
{
    return path->length > 0 && path->leaf->count <= ranked_node_min(path->leaf);
}

/* Removes m from a leaf that can lose an item. */
static void leaf_remove(struct ranked *ranked, struct path *path, const struct ranked_member *m)
{
    unsigned i = index_of(path->leaf, m, m->score);
    ranked_node_close_gap(path->leaf, i);
    path_add_to_counts(ranked, path, -1);
    if (ranked->count == 0) {
        ranked_drop(ranked);
        return;
    }
    if (i == 0) path_update_first(path);
    if (path->leaf->cap >= path->leaf->count + RANKED_SPARE)
        leaf_fit(ranked, path, path->leaf->count + 1U);
}

void ranked_remove(struct ranked *ranked, struct ranked_member *m)
{
    struct path path;
    path.probe = probe_of(m, true);
    descend(ranked, &path);
    if (leaf_is_at_minimum(&path)) {
        refill_path(ranked, &path.probe);
        descend(ranked, &path);
    }
    leaf_remove(ranked, &path, m);
}

void ranked_move(struct ranked *ranked, struct ranked_member *m, double score)
{
    struct path out, in;
    out.probe = probe_of(m, true);
    in.probe = probe_of(m, false);
    in.probe.score = score;
    if (descend_to_end(ranked, &in)) {
        descend(ranked, &out);
    } else {
        path_start(ranked, &out);
        path_start(ranked, &in);
        /* Descend both step by step, so that their cache misses overlap. */
        for (unsigned step = 0; step < out.length; step++) {
            path_descend(&out, step);
            path_descend(&in, step);
        }
    }
    if (in.leaf == out.leaf) {
        struct ranked_node *leaf = in.leaf;
        unsigned from = index_of(leaf, m, m->score), at = items_below(leaf, &in.probe);
        if (at > from) {
            at--; /* m itself was below */
            ranked_node_copy(leaf, from, leaf, from + 1, at - from);
        } else {
            ranked_node_copy(leaf, at + 1, leaf, at, from - at);
        }
        m->score = score;
        leaf_put(leaf, at, m);
        if (at == 0 || from == 0) path_update_first(&in);
    } else if (leaf_is_at_minimum(&out) || in.leaf->count == RANKED_LEAF_MAX) {
        ranked_remove(ranked, m);
        m->score = score;
        ranked_add(ranked, m);
    } else {
        /* The path `in` stays valid: leaf_remove changes inner nodes in place, and reallocates no
         * leaf but out.leaf. */
        leaf_remove(ranked, &out, m);
        m->score = score;
        leaf_insert(ranked, &in, m);
    }
}

void ranked_moved(struct ranked *ranked, const struct ranked_member *old,
                  struct ranked_member *moved)
{
    struct path path;
    path.probe = probe_of(moved, true);
    descend(ranked, &path);
    for (unsigned i = 0; i < path.length; i++)
        if (ranked_node_member(path.steps[i].node, path.steps[i].branch) == old)
            ranked_node_set(path.steps[i].node, path.steps[i].branch, moved);
    ranked_node_set(path.leaf, index_of(path.leaf, old, moved->score), moved);
}

size_t ranked_relocate(struct ranked *ranked, size_t rank, struct relocation *relocation,
                       struct ranked_member *(*move)(void *ctx, struct ranked_member *m), void *ctx)
{
    struct path path = { .length = 0 };
    size_t index = rank;
    if (rank >= ranked->count) return 0;
    if (rank == 0) ranked->root = relocation_block(relocation, ranked->root);
    struct ranked_node *node = ranked->root;
    while (node->height > 0) {
        const uint32_t *counts = ranked_node_counts(node);
        unsigned i = 0;
        for (; index >= counts[i]; i++)
            index -= counts[i];
        path.steps[path.length].node = node;
        path.steps[path.length++].branch = i;
        struct ranked_node *child = ranked_node_child(node, i);
        if (index == 0) {
            child = relocation_block(relocation, child);
            ranked_node_set_child(node, i, child);
        }
        node = child;
    }
    for (unsigned i = 0; i < node->count; i++) {
        struct ranked_member *m = ranked_node_member(node, i), *moved = move(ctx, m);
        if (moved != m) ranked_node_set(node, i, moved);
    }
    path_update_first(&path);
    size_t next = rank - index + node->count;
    return next < ranked->count ? next : 0;
}

static struct ranked_member *take_last(struct ranked *ranked, struct ranked_node *node)
{
    unsigned last = node->count - 1U;
    if (node->height == 0) {
        node->count--;
        return ranked_node_member(node, last);
    }
    struct ranked_node *child = ranked_node_child(node, last);
    struct ranked_member *m = take_last(ranked, child);
    ranked_node_counts(node)[last]--;
    if (child->count == 0) {
        ranked_node_free(&ranked->bytes, child);
        node->count--;
    }
    return m;
}

struct ranked_member *ranked_take(struct ranked *ranked)
{
    if (ranked->count == 0) return NULL;
    struct ranked_member *m = take_last(ranked, ranked->root);
    ranked->count--;
    if (ranked->count == 0)
        ranked_drop(ranked);
    else
        root_lower(ranked);
    return m;
}

size_t ranked_bytes_used(const struct ranked *ranked)
{
    return ranked->bytes;
}

/* --- checking --- */

struct checking {
    const struct ranked_member *last;
    size_t bytes;
};

/* Returns the number of members below a node; `edge`: the node is on the right edge. */
static size_t check_subtree(const struct ranked_node *node, bool edge, struct checking *so_far)
{
    so_far->bytes += ranked_node_size(node->height, node->cap);
    ensure(node->count >= (edge ? 1 : ranked_node_min(node)) && node->count <= node->cap &&
               node->cap <= ranked_node_max(node),
           "%u of %u items at height %u", node->count, node->cap, node->height);
    if (node->height == 0)
        ensure(isfinite(*ranked_node_base(node)), "base %g", *ranked_node_base(node));
    for (unsigned i = 0; node->height == 0 && i < node->count; i++) {
        const struct ranked_member *m = ranked_node_member(node, i), *last = so_far->last;
        float key = ranked_node_keys(node)[i];
        ensure(key == ranked_node_key(node, m->score), "key %g beside a member with score %g",
               (double)key, m->score);
        ensure(!node->is_exact || ranked_node_score(node, key) == m->score,
               "inexact key %g of a member with score %g", (double)key, m->score);
        ensure(
            last == NULL || last->score < m->score ||
                (last->score == m->score && bytes_compare(ranked_bytes(last), ranked_bytes(m)) < 0),
            "%g out of order at %u", m->score, i);
        so_far->last = m;
    }
    if (node->height == 0) return node->count;

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
