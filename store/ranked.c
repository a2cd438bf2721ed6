/* ranked: members in (score, member bytes) order, with ranks.
 * Knows scores and bytes; refuses to know keys, commands, instants or who owns the members.
 *
 * Every branch of an inner node carries its subtree's count and exact first entry. Adding and
 * removing go down once: on the way, a node that is full (too empty) is levelled out with a
 * neighbour, split or merged before it is entered, so that nothing has to be carried back up.
 *
 * Invariants: all leaves are at the same depth and linked in order; an inner root has two branches
 * or more; other nodes hold at least MIN items, except on the right edge, where ranked_take may
 * leave fewer, but at least one. Only a leaf that is the root is ever smaller than full size. */
#include "store/ranked.h"

#include <string.h>

#include "store/ensure.h"
#include "store/mem.h"

struct ranked_node {
    struct ranked_node *prev, *next; /* leaves only */
    uint16_t count, cap;             /* items in use, room */
    uint16_t height;                 /* 0: a leaf */
    /* cap items follow: struct entry in a leaf, struct branch above */
};

struct entry {
    double score; /* beside the pointer: most comparisons end here */
    struct ranked_member *member;
};

struct branch {
    struct entry first; /* of the subtree */
    struct ranked_node *child;
    size_t count; /* members in the subtree */
};

/* The sizes make a full leaf just under 512 bytes and an inner node just under 1024. */
enum {
    LEAF_MAX = 30,
    LEAF_FIRST = 2,
    INNER_MAX = 31,
    MIN = 7,
    ROOMY = 22, /* at most so many: worth sharing with, or merging into one */
};

static inline struct entry *entries(const struct ranked_node *leaf)
{
    return (struct entry *)(uintptr_t)(leaf + 1);
}

static inline struct branch *branches(const struct ranked_node *inner)
{
    return (struct branch *)(uintptr_t)(inner + 1);
}

static inline size_t item_size(const struct ranked_node *node)
{
    return node->height == 0 ? sizeof(struct entry) : sizeof(struct branch);
}

static inline char *item_at(const struct ranked_node *node, unsigned i)
{
    return (char *)(uintptr_t)(node + 1) + i * item_size(node);
}

/* A branch begins with its first entry, so any item's entry is at its address. */
static inline struct entry *entry_at(const struct ranked_node *node, unsigned i)
{
    return (struct entry *)(void *)item_at(node, i);
}

/* --- nodes --- */

static size_t node_size(unsigned height, unsigned cap)
{
    return sizeof(struct ranked_node) +
           cap * (height == 0 ? sizeof(struct entry) : sizeof(struct branch));
}

static struct ranked_node *node_new(struct ranked *ranked, unsigned height, unsigned cap)
{
    struct ranked_node *node = mem_alloc(node_size(height, cap));
    *node = (struct ranked_node){ .cap = (uint16_t)cap, .height = (uint16_t)height };
    ranked->bytes += node_size(height, cap);
    return node;
}

static struct ranked_node *node_full_size(struct ranked *ranked, unsigned height)
{
    return node_new(ranked, height, height == 0 ? LEAF_MAX : INNER_MAX);
}

static void node_free(struct ranked *ranked, struct ranked_node *node)
{
    ranked->bytes -= node_size(node->height, node->cap);
    mem_free(node);
}

static void leaf_link_after(struct ranked_node *leaf, struct ranked_node *fresh)
{
    fresh->prev = leaf;
    fresh->next = leaf->next;
    if (fresh->next != NULL) fresh->next->prev = fresh;
    leaf->next = fresh;
}

static void leaf_unlink(struct ranked_node *leaf)
{
    if (leaf->prev != NULL) leaf->prev->next = leaf->next;
    if (leaf->next != NULL) leaf->next->prev = leaf->prev;
}

/* Room for one more item at i, not filled in. */
static void open_gap(struct ranked_node *node, unsigned i)
{
    ensure(node->count < node->cap, "node of %u is full", node->cap);
    memmove(item_at(node, i + 1), item_at(node, i), (node->count - i) * item_size(node));
    node->count++;
}

static void close_gap(struct ranked_node *node, unsigned i)
{
    node->count--;
    memmove(item_at(node, i), item_at(node, i + 1), (node->count - i) * item_size(node));
}

/* The members below n items from i on. */
static size_t weight(const struct ranked_node *node, unsigned i, unsigned n)
{
    if (node->height == 0) return n;
    size_t total = 0;
    for (; n > 0; n--)
        total += branches(node)[i++].count;
    return total;
}

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

/* Is the entry below the probe (or equal, if that counts)? */
static inline bool entry_below(const struct entry *e, const struct probe *probe)
{
    if (probe->by != BY_MEMBER) {
        if (e->score != probe->score) return e->score < probe->score;
        if (probe->by == BY_SCORE) return probe->or_equal;
    }
    int order = bytes_compare(ranked_bytes(e->member), probe->member);
    return order < 0 || (order == 0 && probe->or_equal);
}

/* How many items of the node are below the probe. */
static unsigned items_below(const struct ranked_node *node, const struct probe *probe)
{
    unsigned low = 0, high = node->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (entry_below(entry_at(node, middle), probe))
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

/* How many members are below the probe; the highest of them in *last (if it is not NULL). */
static size_t count_below(const struct ranked *ranked, const struct probe *probe,
                          const struct entry **last)
{
    size_t rank = 0;
    const struct ranked_node *node = ranked->root;
    if (node == NULL) return 0;
    while (node->height > 0) {
        unsigned i = branch_for(node, probe);
        rank += weight(node, 0, i);
        node = branches(node)[i].child;
    }
    unsigned below = items_below(node, probe);
    if (last != NULL) *last = below > 0 ? &entries(node)[below - 1] : NULL;
    return rank + below;
}

size_t ranked_rank(const struct ranked *ranked, const struct ranked_member *m)
{
    struct probe probe = probe_of(m, true);
    const struct entry *last = NULL;
    size_t through = count_below(ranked, &probe, &last);
    ensure(last != NULL && last->member == m, "member of %u bytes is not in the tree", m->len);
    return through - 1;
}

size_t ranked_below_score(const struct ranked *ranked, double score, bool or_equal)
{
    struct probe probe = { .by = BY_SCORE, .or_equal = or_equal, .score = score };
    return count_below(ranked, &probe, NULL);
}

size_t ranked_below_member(const struct ranked *ranked, struct bytes member, bool or_equal)
{
    struct probe probe = { .by = BY_MEMBER, .or_equal = or_equal, .member = member };
    return count_below(ranked, &probe, NULL);
}

/* The leaf that holds a rank within the tree; *rank becomes the index in it. */
static const struct ranked_node *leaf_at(const struct ranked *ranked, size_t *rank)
{
    const struct ranked_node *node = ranked->root;
    while (node->height > 0) {
        const struct branch *branch = branches(node);
        while (*rank >= branch->count)
            *rank -= (branch++)->count;
        node = branch->child;
    }
    return node;
}

struct ranked_member *ranked_at(const struct ranked *ranked, size_t rank)
{
    if (rank >= ranked->count) return NULL;
    const struct ranked_node *leaf = leaf_at(ranked, &rank);
    return entries(leaf)[rank].member;
}

/* --- stepping --- */

void ranked_iter_at(struct ranked_iter *iter, const struct ranked *ranked, size_t rank)
{
    *iter = (struct ranked_iter){ NULL, 0 };
    if (rank >= ranked->count) return;
    iter->leaf = leaf_at(ranked, &rank);
    iter->index = (int)rank;
}

struct ranked_member *ranked_iter_next(struct ranked_iter *iter)
{
    if (iter->leaf == NULL) return NULL;
    struct ranked_member *m = entries(iter->leaf)[iter->index++].member;
    if (iter->index == iter->leaf->count) {
        iter->leaf = iter->leaf->next;
        iter->index = 0;
    }
    return m;
}

struct ranked_member *ranked_iter_prev(struct ranked_iter *iter)
{
    if (iter->leaf == NULL) return NULL;
    struct ranked_member *m = entries(iter->leaf)[iter->index--].member;
    if (iter->index < 0) {
        iter->leaf = iter->leaf->prev;
        iter->index = iter->leaf == NULL ? 0 : iter->leaf->count - 1;
    }
    return m;
}

/* --- reshaping: always a parent and two children side by side --- */

/* Moves n items from the front of the right child to the end of the left one. */
static void shift_left(struct branch *pair, unsigned n)
{
    struct ranked_node *left = pair[0].child, *right = pair[1].child;
    size_t moved = weight(right, 0, n);
    memcpy(item_at(left, left->count), item_at(right, 0), n * item_size(left));
    left->count = (uint16_t)(left->count + n);
    right->count = (uint16_t)(right->count - n);
    memmove(item_at(right, 0), item_at(right, n), right->count * item_size(right));
    pair[0].count += moved;
    pair[1].count -= moved;
    if (right->count > 0) pair[1].first = *entry_at(right, 0);
}

/* Moves n items from the end of the left child to the front of the right one. */
static void shift_right(struct branch *pair, unsigned n)
{
    struct ranked_node *left = pair[0].child, *right = pair[1].child;
    left->count = (uint16_t)(left->count - n);
    size_t moved = weight(left, left->count, n);
    memmove(item_at(right, n), item_at(right, 0), right->count * item_size(right));
    memcpy(item_at(right, 0), item_at(left, left->count), n * item_size(left));
    right->count = (uint16_t)(right->count + n);
    pair[0].count -= moved;
    pair[1].count += moved;
    pair[1].first = *entry_at(right, 0);
}

static void level_out(struct branch *pair)
{
    unsigned left = pair[0].child->count, right = pair[1].child->count;
    if (left > right)
        shift_right(pair, (left - right) / 2);
    else
        shift_left(pair, (right - left) / 2);
}

/* Child i + 1 goes; its items are in child i already, or it has none. */
static void drop_right(struct ranked *ranked, struct ranked_node *parent, unsigned i)
{
    struct ranked_node *right = branches(parent)[i + 1].child;
    if (right->height == 0) leaf_unlink(right);
    close_gap(parent, i + 1);
    node_free(ranked, right);
}

static void split(struct ranked *ranked, struct ranked_node *parent, unsigned i)
{
    struct ranked_node *left = branches(parent)[i].child;
    struct ranked_node *right = node_full_size(ranked, left->height);
    if (left->height == 0) leaf_link_after(left, right);
    open_gap(parent, i + 1);
    branches(parent)[i + 1] = (struct branch){ .child = right };
    shift_right(&branches(parent)[i], left->count / 2);
}

/* Child i is full: makes room around it. The parent has room for a branch. */
static void make_room(struct ranked *ranked, struct ranked_node *parent, unsigned i)
{
    struct branch *branch = branches(parent);
    if (i > 0 && branch[i - 1].child->count <= ROOMY)
        level_out(&branch[i - 1]);
    else if (i + 1 < parent->count && branch[i + 1].child->count <= ROOMY)
        level_out(&branch[i]);
    else
        split(ranked, parent, i);
}

/* Child i may not lose an item: merges it with a neighbour, or takes from there. */
static void fill_up(struct ranked *ranked, struct ranked_node *parent, unsigned i)
{
    unsigned left = i + 1 < parent->count ? i : i - 1;
    struct branch *pair = &branches(parent)[left];
    unsigned right_count = pair[1].child->count;
    if (pair[0].child->count + right_count > ROOMY) {
        level_out(pair);
        return;
    }
    shift_left(pair, right_count);
    drop_right(ranked, parent, left);
}

/* --- the root --- */

static void root_raise(struct ranked *ranked)
{
    struct ranked_node *old = ranked->root;
    struct ranked_node *root = node_full_size(ranked, old->height + 1U);
    root->count = 1;
    branches(root)[0] = (struct branch){ *entry_at(old, 0), old, ranked->count };
    ranked->root = root;
    ranked->depth++;
    split(ranked, root, 0);
}

static void root_lower(struct ranked *ranked)
{
    while (ranked->root->height > 0 && ranked->root->count == 1) {
        struct ranked_node *old = ranked->root;
        ranked->root = branches(old)[0].child;
        ranked->depth--;
        node_free(ranked, old);
    }
}

static void root_leaf_resize(struct ranked *ranked, unsigned cap)
{
    ranked->bytes += node_size(0, cap) - node_size(0, ranked->root->cap);
    ranked->root = mem_realloc(ranked->root, node_size(0, cap));
    ranked->root->cap = (uint16_t)cap;
}

static void root_make_room(struct ranked *ranked)
{
    if (ranked->root == NULL) {
        ranked->root = node_new(ranked, 0, LEAF_FIRST);
        ranked->depth = 1;
    }
    struct ranked_node *root = ranked->root;
    if (root->count < root->cap) return;
    if (root->height == 0 && root->cap < LEAF_MAX)
        root_leaf_resize(ranked, 2U * root->cap + 2); /* 2, 6, 14, 30: a size class each */
    else
        root_raise(ranked);
}

/* After a removal: the root may have to be lower, smaller or gone. */
static void root_trim(struct ranked *ranked)
{
    root_lower(ranked);
    struct ranked_node *root = ranked->root;
    if (root->height > 0) return;
    if (root->count == 0) {
        node_free(ranked, root);
        ranked->root = NULL;
        ranked->depth = 0;
    } else if (root->cap > LEAF_FIRST && root->count <= root->cap / 4) {
        root_leaf_resize(ranked, root->cap / 2U - 1);
    }
}

/* --- changing --- */

void ranked_init(struct ranked *ranked)
{
    *ranked = (struct ranked){ 0 };
}

static void subtree_free(struct ranked *ranked, struct ranked_node *node)
{
    for (unsigned i = 0; node->height > 0 && i < node->count; i++)
        subtree_free(ranked, branches(node)[i].child);
    node_free(ranked, node);
}

void ranked_drop(struct ranked *ranked)
{
    if (ranked->root != NULL) subtree_free(ranked, ranked->root);
    ranked_init(ranked);
}

void ranked_add(struct ranked *ranked, struct ranked_member *m)
{
    struct probe probe = probe_of(m, false);
    struct entry entry = { m->score, m };
    root_make_room(ranked);
    struct ranked_node *node = ranked->root;
    while (node->height > 0) {
        unsigned i = branch_for(node, &probe);
        const struct ranked_node *child = branches(node)[i].child;
        if (child->count == child->cap) {
            make_room(ranked, node, i);
            i = branch_for(node, &probe);
        }
        struct branch *branch = &branches(node)[i];
        if (!entry_below(&branch->first, &probe)) branch->first = entry;
        branch->count++;
        node = branch->child;
    }
    unsigned i = items_below(node, &probe);
    open_gap(node, i);
    entries(node)[i] = entry;
    ranked->count++;
}

/* A branch on the way down to m, which will lose it. */
static struct branch *branch_losing(struct ranked *ranked, struct ranked_node *inner,
                                    const struct probe *probe)
{
    unsigned i = branch_for(inner, probe);
    if (branches(inner)[i].child->count <= MIN) {
        fill_up(ranked, inner, i);
        i = branch_for(inner, probe);
    }
    struct branch *branch = &branches(inner)[i];
    branch->count--;
    return branch;
}

void ranked_remove(struct ranked *ranked, struct ranked_member *m)
{
    enum { DEPTH_MAX = 32 };
    struct branch *begin_with_m[DEPTH_MAX];
    unsigned stale = 0;
    struct probe probe = probe_of(m, true);
    struct ranked_node *node = ranked->root;
    ensure(node != NULL && ranked->depth <= DEPTH_MAX, "depth %u", ranked->depth);
    while (node->height > 0) {
        struct branch *branch = branch_losing(ranked, node, &probe);
        if (branch->first.member == m) begin_with_m[stale++] = branch;
        node = branch->child;
    }
    unsigned through = items_below(node, &probe);
    ensure(through > 0 && entries(node)[through - 1].member == m,
           "member of %u bytes is not in the tree", m->len);
    close_gap(node, through - 1);
    while (stale > 0)
        begin_with_m[--stale]->first = entries(node)[0];
    ranked->count--;
    root_trim(ranked);
}

void ranked_moved(struct ranked *ranked, const struct ranked_member *old, struct ranked_member *now)
{
    struct probe probe = probe_of(now, true);
    struct ranked_node *node = ranked->root;
    ensure(node != NULL, "member of %u bytes moved in an empty tree", now->len);
    while (node->height > 0) {
        struct branch *branch = &branches(node)[branch_for(node, &probe)];
        if (branch->first.member == old) branch->first.member = now;
        node = branch->child;
    }
    unsigned through = items_below(node, &probe);
    ensure(through > 0 && entries(node)[through - 1].member == old,
           "member of %u bytes moved but was not in the tree", now->len);
    entries(node)[through - 1].member = now;
}

/* Takes the last member from under a node, and the nodes that this leaves empty. */
static struct ranked_member *take_last(struct ranked *ranked, struct ranked_node *node)
{
    if (node->height == 0) return entries(node)[--node->count].member;
    struct branch *last = &branches(node)[node->count - 1];
    struct ranked_member *m = take_last(ranked, last->child);
    last->count--;
    if (last->child->count == 0) {
        if (last->child->height == 0) leaf_unlink(last->child);
        node_free(ranked, last->child);
        node->count--;
    }
    return m;
}

struct ranked_member *ranked_take(struct ranked *ranked)
{
    if (ranked->count == 0) return NULL;
    struct ranked_member *m = take_last(ranked, ranked->root);
    ranked->count--;
    root_trim(ranked);
    return m;
}

size_t ranked_bytes_used(const struct ranked *ranked)
{
    return ranked->bytes;
}

/* --- self-check --- */

struct checking {
    const struct ranked_node *last_leaf;
    const struct entry *last;
    size_t bytes;
};

static void check_leaf(const struct ranked_node *leaf, struct checking *so_far)
{
    ensure(leaf->prev == so_far->last_leaf, "a leaf of %u is not linked back", leaf->count);
    ensure(so_far->last_leaf == NULL || so_far->last_leaf->next == leaf,
           "a leaf of %u is not linked", leaf->count);
    so_far->last_leaf = leaf;
    for (unsigned i = 0; i < leaf->count; i++) {
        const struct entry *e = &entries(leaf)[i];
        ensure(e->score == e->member->score, "score %g beside a member of %g", e->score,
               e->member->score);
        if (so_far->last != NULL) {
            struct probe probe = probe_of(e->member, false);
            ensure(entry_below(so_far->last, &probe), "%g out of order at %u", e->score, i);
        }
        so_far->last = e;
    }
}

/* The members below a node; `edge` says that it is on the right edge. */
static size_t check_node(const struct ranked_node *node, bool edge, struct checking *so_far)
{
    so_far->bytes += node_size(node->height, node->cap);
    ensure(node->count >= (edge ? 1 : MIN) && node->count <= node->cap, "%u of %u items",
           node->count, node->cap);
    if (node->height == 0) {
        check_leaf(node, so_far);
        return node->count;
    }
    size_t total = 0;
    for (unsigned i = 0; i < node->count; i++) {
        const struct branch *branch = &branches(node)[i];
        ensure(branch->child->height + 1 == node->height, "height %u below %u",
               branch->child->height, node->height);
        ensure(branch->first.member == entry_at(branch->child, 0)->member &&
                   branch->first.score == branch->first.member->score,
               "branch %u does not begin with its first member", i);
        size_t count = check_node(branch->child, edge && i + 1 == node->count, so_far);
        ensure(count == branch->count, "%zu members, branch says %zu", count, branch->count);
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
    ensure(so_far.last_leaf->next == NULL, "a leaf behind the last of %zu", count);
    ensure(so_far.bytes == ranked->bytes, "%zu bytes, said %zu", so_far.bytes, ranked->bytes);
    ensure(ranked->root->height + 1U == ranked->depth, "height %u, depth %u", ranked->root->height,
           ranked->depth);
    ensure(ranked->root->height == 0 || ranked->root->count > 1, "a root with %u branch",
           ranked->root->count);
}
