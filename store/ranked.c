/* ranked: members in (score, member bytes) order, with ranks.
 * Knows scores and bytes; refuses to know keys, commands, instants or who owns the members.
 *
 * Every branch of an inner node carries its subtree's count and exact first item. A change goes
 * down once, only reading, and then writes along that path. Where the leaf is full, or may not lose
 * an item, another walk comes first: it levels out, splits or merges what is too full or too empty
 * before it enters it, so that nothing has to be carried back up.
 *
 * Invariants: all leaves are at the same depth; an inner root has two branches or more; other nodes
 * hold at least ranked_node_min items, except on the right edge, where ranked_take, or a split for
 * what is appended, may leave fewer, but at least one. */
#include "store/ranked.h"

#include <string.h>

#include "store/ensure.h"
#include "store/ranked_node.h"

/* --- searching --- */

/* What is looked for: a place in the full order, or by one half of it. */
struct probe {
    enum { BY_BOTH, BY_SCORE, BY_MEMBER } by;
    bool or_equal;
    double score;
    struct bytes member;
};

static struct probe probe_of(const struct ranked_member *m, bool or_equal)
{
    return (struct probe){ BY_BOTH, or_equal, m->score, ranked_bytes(m) };
}

/* How many scores are below `score` (or equal, if that counts): first among every eighth, then
 * among the eight that this leads to. No branch depends on a score, and no load on another. */
static inline unsigned scores_below(const struct ranked_node *node, double score, bool or_equal)
{
    enum { BLOCK = 8 };
    const double *scores = node->scores;
    unsigned count = node->count, begin = 0, end = count;
    if (count > BLOCK) {
        unsigned last = count - BLOCK, heads = ranked_node_max(node) / BLOCK;
        for (unsigned i = BLOCK; i < heads * BLOCK; i += BLOCK) {
            double head = scores[i < count ? i : count - 1];
            begin += or_equal ? head <= score : head < score;
        }
        /* A head that isn't there was the last score: with it below, all are. */
        begin = begin * BLOCK < last ? begin * BLOCK : last;
        end = begin + BLOCK;
    }
    unsigned below = begin;
    for (unsigned i = begin; i < end; i++)
        below += or_equal ? scores[i] <= score : scores[i] < score;
    return below;
}

/* How many items of the node are below the probe (or equal, if that counts). */
static unsigned items_below(const struct ranked_node *node, const struct probe *probe)
{
    unsigned low = 0, high = node->count;
    if (probe->by == BY_SCORE && probe->or_equal) return scores_below(node, probe->score, true);
    if (probe->by != BY_MEMBER) {
        low = scores_below(node, probe->score, false);
        if (probe->by == BY_SCORE || low == high || node->scores[low] != probe->score) return low;
        high = scores_below(node, probe->score, true);
    }
    while (low < high) {
        unsigned middle = (low + high) / 2;
        int order = bytes_compare(ranked_bytes(ranked_node_member(node, middle)), probe->member);
        if (order < 0 || (order == 0 && probe->or_equal))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The branch that a member belongs into: the last that does not begin behind it. */
static unsigned branch_for(const struct ranked_node *inner, const struct probe *probe)
{
    unsigned below = items_below(inner, probe);
    return below > 0 ? below - 1 : 0;
}

/* Goes to a child, which is asked for as a whole: a search would wait for it line by line. */
static inline struct ranked_node *enter(const struct ranked_node *inner, unsigned i)
{
    struct ranked_node *child = ranked_node_child(inner, i);
    ranked_node_prefetch(child, inner->height == 1
                                    ? ranked_node_size(0, ranked_node_counts(inner)[i])
                                    : ranked_node_size(1, RANKED_INNER_MAX));
    return child;
}

/* Where a member stands in its leaf. */
static unsigned index_of(const struct ranked_node *leaf, const struct ranked_member *m,
                         double score)
{
    unsigned i = scores_below(leaf, score, false);
    while (i < leaf->count && ranked_node_member(leaf, i) != m)
        i++;
    ensure(i < leaf->count, "member of %u bytes is not in the tree", m->len);
    return i;
}

/* The leaf that a probe ends in, and how many members stand before that leaf. */
static const struct ranked_node *leaf_for(const struct ranked *ranked, const struct probe *probe,
                                          size_t *before)
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
    ensure(ranked->root != NULL, "member of %u bytes is not in an empty tree", m->len);
    const struct ranked_node *leaf = leaf_for(ranked, &probe, &before);
    return before + index_of(leaf, m, m->score);
}

static size_t count_below(const struct ranked *ranked, const struct probe *probe)
{
    size_t before;
    if (ranked->root == NULL) return 0;
    const struct ranked_node *leaf = leaf_for(ranked, probe, &before);
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

/* The leaf that holds a rank within the tree; *rank becomes the index in it. */
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

void ranked_hint(const struct ranked *ranked, double score)
{
    const struct ranked_node *node = ranked->root;
    while (node != NULL && node->height > 0) {
        unsigned below = scores_below(node, score, true);
        unsigned branch = below > 0 ? below - 1 : 0;
        const struct ranked_node *child = enter(node, branch);
        if (node->height == 1) return;
        node = child;
    }
}

/* --- stepping --- */

enum { AHEAD = 8 }; /* members that are asked for before their turn */

static void stand_at(struct ranked_iter *iter, size_t rank)
{
    size_t index = rank;
    iter->leaf = NULL;
    if (rank >= iter->ranked->count) return;
    iter->leaf = leaf_at(iter->ranked, &index);
    iter->index = (unsigned)index;
    iter->before = rank - index;
}

void ranked_iter_at(struct ranked_iter *iter, const struct ranked *ranked, size_t rank)
{
    *iter = (struct ranked_iter){ .ranked = ranked };
    stand_at(iter, rank);
}

struct ranked_member *ranked_iter_next(struct ranked_iter *iter)
{
    if (iter->leaf == NULL) return NULL;
    struct ranked_member *m = ranked_node_member(iter->leaf, iter->index++);
    if (iter->index + AHEAD < iter->leaf->count)
        __builtin_prefetch(ranked_node_member(iter->leaf, iter->index + AHEAD));
    if (iter->index == iter->leaf->count) stand_at(iter, iter->before + iter->index);
    return m;
}

struct ranked_member *ranked_iter_prev(struct ranked_iter *iter)
{
    if (iter->leaf == NULL) return NULL;
    struct ranked_member *m = ranked_node_member(iter->leaf, iter->index);
    if (iter->index >= AHEAD)
        __builtin_prefetch(ranked_node_member(iter->leaf, iter->index - AHEAD));
    /* In front of rank 0 there is SIZE_MAX, which is past the end. */
    if (iter->index-- == 0) stand_at(iter, iter->before - 1);
    return m;
}

/* --- reshaping, on the way down --- */

/* The root is not full, and has room. */
static void root_make_room(struct ranked *ranked)
{
    struct ranked_node *old = ranked->root;
    if (old->count < ranked_node_max(old)) {
        if (old->count == old->cap) ranked->root = ranked_node_fit(ranked, old, old->count + 1U);
        return;
    }
    struct ranked_node *root = ranked_node_new(ranked, old->height + 1U, 2);
    root->count = 1;
    ranked_node_set_child(root, 0, old);
    ranked_node_set_first(root, 0);
    ranked_node_counts(root)[0] = (uint32_t)ranked->count;
    ranked->root = root;
    ranked->depth++;
}

static void root_lower(struct ranked *ranked)
{
    while (ranked->root->height > 0 && ranked->root->count == 1) {
        struct ranked_node *old = ranked->root;
        ranked->root = ranked_node_child(old, 0);
        ranked->depth--;
        ranked_node_free(ranked, old);
    }
}

/* Child i is full: makes room around it. The parent has room for a branch. On the right edge, where
 * members are appended, what is full stays full. */
static void make_room(struct ranked *ranked, struct ranked_node *parent, unsigned i, bool edge)
{
    const struct ranked_node *child = ranked_node_child(parent, i);
    unsigned roomy = ranked_node_roomy(child);
    if (edge)
        ranked_node_split(ranked, parent, i, child->count - 1U);
    else if (i > 0 && ranked_node_child(parent, i - 1)->count <= roomy)
        ranked_node_level_out(ranked, parent, i - 1);
    else if (i + 1 < parent->count && ranked_node_child(parent, i + 1)->count <= roomy)
        ranked_node_level_out(ranked, parent, i);
    else
        ranked_node_split(ranked, parent, i, child->count / 2U);
}

/* From here on no node on the way to the probe is full or has no room. */
static void make_room_down(struct ranked *ranked, const struct probe *probe)
{
    root_make_room(ranked);
    struct ranked_node *node = ranked->root;
    bool edge = true;
    while (node->height > 0) {
        unsigned i = branch_for(node, probe);
        const struct ranked_node *child = ranked_node_child(node, i);
        if (child->count == ranked_node_max(child)) {
            make_room(ranked, node, i, edge && i + 1 == node->count);
            i = branch_for(node, probe);
            child = ranked_node_child(node, i);
        }
        edge = edge && i + 1 == node->count;
        node = child->count < child->cap
                   ? ranked_node_child(node, i)
                   : ranked_node_fit_child(ranked, node, i, child->count + 1U);
    }
}

/* Child i may not lose an item: merges it with a neighbour, or takes from there. */
static void fill_up(struct ranked *ranked, struct ranked_node *parent, unsigned i)
{
    unsigned left = i + 1 < parent->count ? i : i - 1;
    const struct ranked_node *one = ranked_node_child(parent, left);
    const struct ranked_node *other = ranked_node_child(parent, left + 1);
    if (one->count + other->count > ranked_node_roomy(one))
        ranked_node_level_out(ranked, parent, left);
    else
        ranked_node_merge(ranked, parent, left);
}

/* From here on each node on the way to the probe may lose an item. */
static void fill_up_down(struct ranked *ranked, const struct probe *probe)
{
    struct ranked_node *node = ranked->root;
    while (node->height > 0) {
        unsigned i = branch_for(node, probe);
        const struct ranked_node *child = ranked_node_child(node, i);
        if (child->count <= ranked_node_min(child)) {
            fill_up(ranked, node, i);
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
    ranked_node_free(ranked, node);
}

void ranked_drop(struct ranked *ranked)
{
    if (ranked->root != NULL) subtree_free(ranked, ranked->root);
    ranked_init(ranked);
}

enum { DEPTH_MAX = 16 };

/* The way down to a leaf. */
struct path {
    unsigned length; /* inner nodes, the root first */
    struct {
        struct ranked_node *node;
        unsigned branch;
    } steps[DEPTH_MAX];
    struct ranked_node *leaf;
};

/* Reads nothing of the leaf, but asks for it. */
static void go_down(const struct ranked *ranked, const struct probe *probe, struct path *path)
{
    struct ranked_node *node = ranked->root;
    ensure(node != NULL && ranked->depth <= DEPTH_MAX, "depth %u", ranked->depth);
    path->length = ranked->depth - 1;
    for (unsigned step = 0; step < path->length; step++) {
        unsigned i = branch_for(node, probe);
        path->steps[step].node = node;
        path->steps[step].branch = i;
        node = enter(node, i);
    }
    path->leaf = node;
}

/* Room in the leaf for so many. */
static void leaf_fit(struct ranked *ranked, struct path *path, unsigned count)
{
    path->leaf = ranked_node_fit(ranked, path->leaf, count);
    if (path->length == 0)
        ranked->root = path->leaf;
    else
        ranked_node_set_child(path->steps[path->length - 1].node,
                              path->steps[path->length - 1].branch, path->leaf);
}

/* The leaf has gained or lost one. */
static void path_count(struct ranked *ranked, const struct path *path, int by)
{
    for (unsigned i = 0; i < path->length; i++)
        ranked_node_counts(path->steps[i].node)[path->steps[i].branch] += (uint32_t)by;
    ranked->count += (size_t)by;
}

/* The leaf begins with another member. */
static void path_begin(const struct path *path)
{
    unsigned i = path->length;
    while (i > 0) {
        i--;
        ranked_node_set_first(path->steps[i].node, path->steps[i].branch);
        if (path->steps[i].branch > 0) return;
    }
}

/* Puts m into the leaf, which is not full. */
static void put_in(struct ranked *ranked, struct path *path, const struct probe *probe,
                   struct ranked_member *m)
{
    if (path->leaf->count == path->leaf->cap) leaf_fit(ranked, path, path->leaf->count + 1U);
    unsigned i = items_below(path->leaf, probe);
    ranked_node_open_gap(path->leaf, i);
    ranked_node_set(path->leaf, i, m->score, m);
    path_count(ranked, path, 1);
    if (i == 0) path_begin(path);
}

void ranked_add(struct ranked *ranked, struct ranked_member *m)
{
    struct probe probe = probe_of(m, false);
    struct path path;
    ensure(ranked->count < UINT32_MAX, "%zu members already", ranked->count);
    if (ranked->root == NULL) {
        ranked->root = ranked_node_new(ranked, 0, 1);
        ranked->depth = 1;
    }
    go_down(ranked, &probe, &path);
    if (path.leaf->count == RANKED_LEAF_MAX) {
        make_room_down(ranked, &probe);
        go_down(ranked, &probe, &path);
    }
    put_in(ranked, &path, &probe, m);
}

static bool is_thin(const struct path *path)
{
    return path->length > 0 && path->leaf->count <= ranked_node_min(path->leaf);
}

/* Takes m out of the leaf, which may lose it. */
static void take_out(struct ranked *ranked, struct path *path, const struct ranked_member *m)
{
    unsigned i = index_of(path->leaf, m, m->score);
    ranked_node_close_gap(path->leaf, i);
    path_count(ranked, path, -1);
    if (ranked->count == 0) {
        ranked_drop(ranked);
        return;
    }
    if (i == 0) path_begin(path);
    if (path->leaf->cap >= path->leaf->count + RANKED_SPARE)
        leaf_fit(ranked, path, path->leaf->count + 1U);
}

void ranked_remove(struct ranked *ranked, struct ranked_member *m)
{
    struct probe probe = probe_of(m, true);
    struct path path;
    go_down(ranked, &probe, &path);
    if (is_thin(&path)) {
        fill_up_down(ranked, &probe);
        go_down(ranked, &probe, &path);
    }
    take_out(ranked, &path, m);
}

/* m stays in its leaf; its new place is that of `to`. */
static void move_within(const struct path *path, const struct probe *to, struct ranked_member *m)
{
    struct ranked_node *leaf = path->leaf;
    unsigned from = index_of(leaf, m, m->score), at = items_below(leaf, to);
    if (at > from) {
        at--; /* m itself is below */
        ranked_node_copy(leaf, from, leaf, from + 1, at - from);
    } else {
        ranked_node_copy(leaf, at + 1, leaf, at, from - at);
    }
    m->score = to->score;
    ranked_node_set(leaf, at, m->score, m);
    if (at == 0 || from == 0) path_begin(path);
}

static void go_down_both(const struct ranked *ranked, const struct probe *p1, struct path *a,
                         const struct probe *p2, struct path *b)
{
    struct ranked_node *n1 = ranked->root, *n2 = n1;
    a->length = b->length = ranked->depth - 1;
    for (unsigned step = 0; step < a->length; step++) {
        unsigned i = branch_for(n1, p1);
        a->steps[step].node = n1;
        a->steps[step].branch = i;
        n1 = enter(n1, i);
        i = branch_for(n2, p2);
        b->steps[step].node = n2;
        b->steps[step].branch = i;
        n2 = enter(n2, i);
    }
    a->leaf = n1;
    b->leaf = n2;
}

void ranked_move(struct ranked *ranked, struct ranked_member *m, double score)
{
    struct probe from = probe_of(m, true), to = probe_of(m, false);
    struct path out, in;
    to.score = score;
    go_down_both(ranked, &from, &out, &to, &in);
    if (in.leaf == out.leaf) {
        move_within(&out, &to, m);
    } else if (is_thin(&out) || in.leaf->count == RANKED_LEAF_MAX) {
        ranked_remove(ranked, m);
        m->score = score;
        ranked_add(ranked, m);
    } else {
        /* What leaves changes neither which branches there are nor where `in` leads. */
        take_out(ranked, &out, m);
        m->score = score;
        put_in(ranked, &in, &to, m);
    }
}

void ranked_moved(struct ranked *ranked, const struct ranked_member *old, struct ranked_member *now)
{
    struct probe probe = probe_of(now, true);
    struct path path;
    go_down(ranked, &probe, &path);
    for (unsigned i = 0; i < path.length; i++)
        if (ranked_node_member(path.steps[i].node, path.steps[i].branch) == old)
            ranked_node_set(path.steps[i].node, path.steps[i].branch, now->score, now);
    ranked_node_set(path.leaf, index_of(path.leaf, old, now->score), now->score, now);
}

/* Takes the last member from under a node, and the nodes that this leaves empty. */
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
        ranked_node_free(ranked, child);
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

/* --- self-check --- */

struct checking {
    const struct ranked_member *last;
    size_t bytes;
};

static void check_leaf(const struct ranked_node *leaf, struct checking *so_far)
{
    for (unsigned i = 0; i < leaf->count; i++) {
        const struct ranked_member *m = ranked_node_member(leaf, i), *last = so_far->last;
        ensure(leaf->scores[i] == m->score, "score %g beside a member of %g", leaf->scores[i],
               m->score);
        ensure(
            last == NULL || last->score < m->score ||
                (last->score == m->score && bytes_compare(ranked_bytes(last), ranked_bytes(m)) < 0),
            "%g out of order at %u", m->score, i);
        so_far->last = m;
    }
}

/* The members below a node; `edge` says that it is on the right edge. */
static size_t check_node(const struct ranked_node *node, bool edge, struct checking *so_far)
{
    so_far->bytes += ranked_node_size(node->height, node->cap);
    ensure(node->count >= (edge ? 1 : ranked_node_min(node)) && node->count <= node->cap &&
               node->cap <= ranked_node_max(node),
           "%u of %u items at height %u", node->count, node->cap, node->height);
    if (node->height == 0) {
        check_leaf(node, so_far);
        return node->count;
    }
    size_t total = 0;
    for (unsigned i = 0; i < node->count; i++) {
        const struct ranked_node *child = ranked_node_child(node, i);
        ensure(child->height + 1 == node->height, "height %u below %u", child->height,
               node->height);
        ensure(ranked_node_member(node, i) == ranked_node_member(child, 0) &&
                   node->scores[i] == child->scores[0],
               "branch %u does not begin with its first member", i);
        size_t count = check_node(child, edge && i + 1 == node->count, so_far);
        ensure(count == ranked_node_counts(node)[i], "%zu members, branch says %u", count,
               ranked_node_counts(node)[i]);
        total += count;
    }
    return total;
}

void ranked_check(const struct ranked *ranked)
{
    if (ranked->root == NULL) {
        ensure(ranked->count == 0 && ranked->bytes == 0 && ranked->depth == 0,
               "no root, %zu members, %zu bytes", ranked->count, ranked->bytes);
        return;
    }
    struct checking so_far = { 0 };
    size_t count = check_node(ranked->root, true, &so_far);
    ensure(count == ranked->count, "%zu members, count %zu", count, ranked->count);
    ensure(so_far.bytes == ranked->bytes, "%zu bytes, said %zu", so_far.bytes, ranked->bytes);
    ensure(ranked->root->height + 1U == ranked->depth, "height %u, depth %u", ranked->root->height,
           ranked->depth);
    ensure(ranked->root->height == 0 || ranked->root->count > 1, "a root with %u branch",
           ranked->root->count);
}
