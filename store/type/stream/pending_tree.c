/* pending_tree: see pending_tree.h. A change first brings the summaries and counts on its path up
 * to date, then splits or merges nodes; neither changes what is below their parents.
 *
 * Two neighbours below one parent always have too many items for one half-full node. */
#include "store/type/stream/pending_tree.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/type/stream/pending_inner.h"

enum {
    /* More than a quarter of the children on average: enough for any tree that fits into memory. */
    HEIGHT_MAX = 30,
};

/* The path to a leaf; step 0 is the root. */
struct path {
    struct pending_inner *node[HEIGHT_MAX];
    unsigned index[HEIGHT_MAX];
    unsigned length;
};

void pending_tree_init(struct pending_tree *tree)
{
    *tree = (struct pending_tree){ .all = PENDING_SUMMARY_NONE };
}

/* ---- nodes ---- */

static struct pending_inner *inner_new(struct pending_tree *tree)
{
    struct pending_inner *inner = mem_alloc(sizeof(*inner));
    inner->count = 0;
    tree->bytes += mem_size(inner);
    return inner;
}

static void inner_free(struct pending_tree *tree, struct pending_inner *inner)
{
    tree->bytes -= mem_size(inner);
    mem_free(inner);
}

static void branch_open(struct pending_inner *inner, unsigned i,
                        const struct pending_branch *branch)
{
    memmove(inner->branch + i + 1, inner->branch + i, (inner->count - i) * sizeof(*branch));
    inner->branch[i] = *branch;
    inner->count++;
}

static void branch_close(struct pending_inner *inner, unsigned i)
{
    inner->count--;
    memmove(inner->branch + i, inner->branch + i + 1,
            (inner->count - i) * sizeof(struct pending_branch));
}

static struct pending_branch inner_total(const struct pending_inner *inner)
{
    struct pending_branch total = { .from = inner->branch[0].from,
                                    .child = (void *)(uintptr_t)inner,
                                    .below = PENDING_SUMMARY_NONE };
    for (unsigned i = 0; i < inner->count; i++) {
        total.count += inner->branch[i].count;
        pending_summary_join(&total.below, &inner->branch[i].below);
    }
    return total;
}

static struct pending_leaf *descend(const struct pending_tree *tree, struct stream_id id,
                                    struct path *path)
{
    void *node = tree->root;
    path->length = tree->height;
    for (unsigned step = 0; step < tree->height; step++) {
        struct pending_inner *inner = path->node[step] = node;
        node = inner->branch[path->index[step] = pending_branch_for(inner, id)].child;
    }
    return node;
}

/* ---- summaries ---- */

static void path_add(struct pending_tree *tree, struct path *path,
                     const struct pending_record *record)
{
    for (unsigned step = 0; step < path->length; step++) {
        struct pending_branch *branch = &path->node[step]->branch[path->index[step]];
        branch->count++;
        pending_summary_add(&branch->below, record);
    }
    tree->count++;
    pending_summary_add(&tree->all, record);
}

/* The earliest instant of a kind, none of which is before `least`. */
static msec inner_first(const struct pending_inner *inner, unsigned kind, msec least)
{
    msec first = NEVER;
    for (unsigned i = 0; i < inner->count && first > least; i++)
        if (inner->branch[i].below.first[kind] < first) first = inner->branch[i].below.first[kind];
    return first;
}

/* The consumers of a node that had `consumers`, after one of its children lost `lost`. */
static uint64_t inner_consumers(const struct pending_inner *inner, uint64_t consumers,
                                uint64_t lost)
{
    for (unsigned i = 0; i < inner->count && lost != 0; i++)
        lost &= ~inner->branch[i].below.consumers;
    return consumers & ~lost;
}

/* *total, a node's summary, after a child's changed from `old` to `new`. */
static void total_change(struct pending_summary *total, const struct pending_inner *inner,
                         const struct pending_summary *old, const struct pending_summary *new)
{
    for (unsigned kind = 0; kind < PENDING_KINDS; kind++) {
        msec first = total->first[kind];
        if (new->first[kind] < first)
            total->first[kind] = new->first[kind];
        else if (old->first[kind] == first && new->first[kind] != first)
            total->first[kind] = inner_first(inner, kind, first);
    }
    total->consumers |= new->consumers;
    total->consumers = inner_consumers(inner, total->consumers, old->consumers & ~new->consumers);
}

/* Where the path has the summary of the node at this step; the leaf is at step path->length. */
static struct pending_summary *summary_at(struct pending_tree *tree, struct path *path,
                                          unsigned step)
{
    return step == 0 ? &tree->all : &path->node[step - 1]->branch[path->index[step - 1]].below;
}

/* Gives the path's leaf a new summary, and its parents what follows from it. */
static void path_summarize(struct pending_tree *tree, struct path *path, struct pending_summary new)
{
    for (unsigned step = path->length;; step--) {
        struct pending_summary *summary = summary_at(tree, path, step), old = *summary;
        if (old.first[0] == new.first[0] && old.first[1] == new.first[1] &&
            old.consumers == new.consumers)
            return;
        *summary = new;
        if (step == 0) return;
        new = *summary_at(tree, path, step - 1);
        total_change(&new, path->node[step - 1], &old, summary);
    }
}

static void path_set_leaf(struct pending_tree *tree, struct path *path, struct pending_leaf *leaf)
{
    if (path->length == 0)
        tree->root = leaf;
    else
        path->node[path->length - 1]->branch[path->index[path->length - 1]].child = leaf;
}

/* ---- adding ---- */

static struct pending_branch leaf_branch(struct pending_leaf *leaf)
{
    return (struct pending_branch){ pending_leaf_id(leaf, 0), leaf, leaf->count,
                                    pending_leaf_summary(leaf) };
}

/* Puts `right` after child i of a full node, and moves half of the children to a new node, which it
 * returns; a child after the last one of the tree goes there alone. */
static struct pending_branch inner_split(struct pending_tree *tree, struct pending_inner *inner,
                                         unsigned i, const struct pending_branch *right,
                                         bool at_end)
{
    struct pending_inner *added = inner_new(tree);
    unsigned keep = at_end                     ? PENDING_INNER_MAX
                    : i < PENDING_INNER_MERGED ? PENDING_INNER_MERGED
                                               : PENDING_INNER_MERGED + 1;
    added->count = inner->count - keep;
    memcpy(added->branch, inner->branch + keep, added->count * sizeof(*right));
    inner->count = keep;
    if (i < PENDING_INNER_MERGED)
        branch_open(inner, i + 1, right);
    else
        branch_open(added, i + 1 - keep, right);
    return inner_total(added);
}

/* Adds `right` after the node at the end of the path, whose branch is `left` from now on. */
static void path_insert(struct pending_tree *tree, struct path *path, struct pending_branch left,
                        struct pending_branch right)
{
    bool at_end = right.count == 1; /* false: halves */
    for (unsigned step = path->length; step-- > 0;) {
        struct pending_inner *inner = path->node[step];
        unsigned i = path->index[step];
        left.from = inner->branch[i].from;
        inner->branch[i] = left;
        if (inner->count < PENDING_INNER_MAX) {
            branch_open(inner, i + 1, &right);
            return;
        }
        right = inner_split(tree, inner, i, &right, at_end && i == PENDING_INNER_MAX - 1);
        left = inner_total(inner);
    }
    ensure(tree->height < HEIGHT_MAX, "%zu records at height %u", tree->count, tree->height);
    struct pending_inner *root = inner_new(tree);
    branch_open(root, 0, &left);
    branch_open(root, 1, &right);
    tree->root = root;
    tree->height++;
}

static bool path_is_last(const struct path *path)
{
    for (unsigned step = 0; step < path->length; step++)
        if (path->index[step] + 1 < path->node[step]->count) return false;
    return true;
}

/* Splits a full leaf in two, one of which gets the record. A record after all others gets a leaf of
 * its own, so that leaves stay full when IDs rise. */
static void leaf_split(struct pending_tree *tree, struct path *path, struct pending_leaf *leaf,
                       unsigned i, const struct pending_record *record)
{
    struct pending_record records[PENDING_LEAF_MAX + 1];
    unsigned keep = PENDING_LEAF_MAX;
    if (i < PENDING_LEAF_MAX || !path_is_last(path)) {
        keep = PENDING_LEAF_MERGED;
        pending_leaf_read(leaf, records);
        memmove(records + i + 1, records + i, (PENDING_LEAF_MAX - i) * sizeof(*records));
        pending_leaf_free(leaf, &tree->bytes);
    }
    records[i] = *record;
    if (keep < PENDING_LEAF_MAX) leaf = pending_leaf_new(records, keep, &tree->bytes);
    struct pending_leaf *right =
        pending_leaf_new(records + keep, PENDING_LEAF_MAX + 1 - keep, &tree->bytes);
    path_insert(tree, path, leaf_branch(leaf), leaf_branch(right));
}

static void record_replace(struct pending_tree *tree, struct path *path, struct pending_leaf *leaf,
                           unsigned i, const struct pending_record *record)
{
    struct pending_record old;
    pending_leaf_get(leaf, i, &old);
    leaf = pending_leaf_set(leaf, i, record, &tree->bytes);
    path_set_leaf(tree, path, leaf);
    struct pending_summary summary =
        pending_leaf_summary_without(leaf, summary_at(tree, path, path->length), &old);
    pending_summary_add(&summary, record);
    path_summarize(tree, path, summary);
}

bool pending_tree_put(struct pending_tree *tree, const struct pending_record *record,
                      struct pending_record *old)
{
    struct path path = { .length = 0 };
    if (tree->root == NULL) {
        tree->root = pending_leaf_new(record, 1, &tree->bytes);
        path_add(tree, &path, record);
        return false;
    }
    struct pending_leaf *leaf = descend(tree, record->id, &path);
    unsigned i = pending_leaf_from(leaf, record->id);
    if (i < leaf->count) {
        pending_leaf_get(leaf, i, old);
        if (stream_id_equal(old->id, record->id)) {
            record_replace(tree, &path, leaf, i, record);
            return true;
        }
    }
    path_add(tree, &path, record);
    if (leaf->count < PENDING_LEAF_MAX)
        path_set_leaf(tree, &path, pending_leaf_insert(leaf, i, record, &tree->bytes));
    else
        leaf_split(tree, &path, leaf, i, record);
    return false;
}

/* ---- removing ---- */

static void leaves_merge(struct pending_tree *tree, struct pending_branch *left,
                         const struct pending_branch *right)
{
    struct pending_record records[PENDING_LEAF_MAX];
    struct pending_leaf *first = left->child, *second = right->child;
    unsigned count = first->count + second->count;
    pending_leaf_read(first, records);
    pending_leaf_read(second, records + first->count);
    pending_leaf_free(first, &tree->bytes);
    pending_leaf_free(second, &tree->bytes);
    left->child = pending_leaf_new(records, count, &tree->bytes);
}

/* Returns where the children of the second node begin in the merged one. */
static unsigned inners_merge(struct pending_tree *tree, struct pending_branch *left,
                             const struct pending_branch *right)
{
    struct pending_inner *first = left->child, *second = right->child;
    unsigned begin = (unsigned)first->count;
    /* The first bound of a node is not kept up to date: its parent's is. */
    second->branch[0].from = right->from;
    memcpy(first->branch + begin, second->branch, second->count * sizeof(*second->branch));
    first->count += second->count;
    inner_free(tree, second);
    return begin;
}

/* Merges children i and i + 1 of a node of this height, if they are there and their items fit; and
 * then, below, those of their children that have become neighbours. */
static bool children_merge(struct pending_tree *tree, struct pending_inner *inner, unsigned i,
                           unsigned height)
{
    struct pending_branch *left = &inner->branch[i], *right = left + 1;
    unsigned begin = 0;
    if (i + 1 >= inner->count) return false;
    if (height == 1) {
        if (left->count + right->count > PENDING_LEAF_MERGED) return false;
        leaves_merge(tree, left, right);
    } else {
        const struct pending_inner *first = left->child, *second = right->child;
        if (first->count + second->count > PENDING_INNER_MERGED) return false;
        begin = inners_merge(tree, left, right);
    }
    left->count += right->count;
    pending_summary_join(&left->below, &right->below);
    branch_close(inner, i + 1);
    if (height > 1) children_merge(tree, left->child, begin - 1, height - 1);
    return true;
}

static void node_free(struct pending_tree *tree, void *node, unsigned height)
{
    if (height == 0)
        pending_leaf_free(node, &tree->bytes);
    else
        inner_free(tree, node);
}

/* Frees or merges nodes of a path from which a record was removed. */
static void path_shrink(struct pending_tree *tree, struct path *path)
{
    for (unsigned step = path->length; step-- > 0;) {
        struct pending_inner *inner = path->node[step];
        unsigned i = path->index[step], height = path->length - step;
        bool changed = false;
        if (inner->branch[i].count == 0) {
            node_free(tree, inner->branch[i].child, height - 1);
            branch_close(inner, i);
            changed = true;
        } else if (children_merge(tree, inner, i, height)) {
            changed = true;
        }
        if (i > 0 && children_merge(tree, inner, i - 1, height)) changed = true;
        if (!changed) return;
    }
    while (tree->height > 0 && ((struct pending_inner *)tree->root)->count == 1) {
        struct pending_inner *root = tree->root;
        tree->root = root->branch[0].child;
        tree->height--;
        inner_free(tree, root);
    }
}

/* Gives the leaf that `gone` records were removed from its new summary, and frees or merges it. */
static void path_removed(struct pending_tree *tree, struct path *path, struct pending_leaf *leaf,
                         size_t gone, const struct pending_summary *summary)
{
    path_set_leaf(tree, path, leaf);
    for (unsigned step = 0; step < path->length; step++)
        path->node[step]->branch[path->index[step]].count -= gone;
    tree->count -= gone;
    path_summarize(tree, path, *summary);
    if (leaf->count <= PENDING_LEAF_MERGED) path_shrink(tree, path);
}

bool pending_tree_remove(struct pending_tree *tree, struct stream_id id,
                         struct pending_record *removed)
{
    struct path path;
    if (tree->root == NULL) return false;
    struct pending_leaf *leaf = descend(tree, id, &path);
    unsigned i = pending_leaf_from(leaf, id);
    if (i == leaf->count) return false;
    pending_leaf_get(leaf, i, removed);
    if (!stream_id_equal(removed->id, id)) return false;
    if (tree->count == 1) {
        pending_tree_drop(tree);
        return true;
    }
    leaf = pending_leaf_remove(leaf, i, &tree->bytes);
    struct pending_summary summary =
        pending_leaf_summary_without(leaf, summary_at(tree, &path, path.length), removed);
    path_removed(tree, &path, leaf, 1, &summary);
    return true;
}

/* Removes the consumer's records from the leaf of this ID; returns the last ID that it had. */
static struct stream_id leaf_forget(struct pending_tree *tree, struct stream_id id,
                                    uint32_t consumer)
{
    struct pending_record records[PENDING_LEAF_MAX];
    struct path path;
    struct pending_leaf *leaf = descend(tree, id, &path);
    unsigned count = leaf->count, kept = 0;
    pending_leaf_read(leaf, records);
    struct stream_id last = records[count - 1].id;
    for (unsigned i = 0; i < count; i++)
        if (records[i].consumer != consumer) records[kept++] = records[i];
    if (tree->count == count - kept) {
        pending_tree_drop(tree);
        return last;
    }
    if (kept > 0) {
        pending_leaf_free(leaf, &tree->bytes);
        leaf = pending_leaf_new(records, kept, &tree->bytes);
    } else {
        leaf->count = 0;
    }
    struct pending_summary summary = pending_leaf_summary(leaf);
    path_removed(tree, &path, leaf, count - kept, &summary);
    return last;
}

void pending_tree_forget(struct pending_tree *tree, struct pending_query *query)
{
    struct pending_record record;
    while (pending_tree_next(tree, query, &record)) {
        query->from = leaf_forget(tree, record.id, query->consumer);
        if (!stream_id_up(&query->from)) return;
    }
}

/* ---- freeing ---- */

/* Frees the last leaf below a node, and nodes that become empty; true: this one was. */
static bool free_last(struct pending_tree *tree, void *node, unsigned height)
{
    struct pending_inner *inner = node;
    if (height == 0) {
        pending_leaf_free(node, &tree->bytes);
        return true;
    }
    if (free_last(tree, inner->branch[inner->count - 1].child, height - 1)) inner->count--;
    if (inner->count > 0) return false;
    inner_free(tree, inner);
    return true;
}

bool pending_tree_drop_some(struct pending_tree *tree, size_t *work)
{
    for (; tree->root != NULL; --*work) {
        if (*work == 0) return false;
        if (free_last(tree, tree->root, tree->height)) tree->root = NULL;
    }
    pending_tree_init(tree);
    return true;
}

void pending_tree_drop(struct pending_tree *tree)
{
    size_t work = SIZE_MAX;
    pending_tree_drop_some(tree, &work);
}

/* ---- relocating ---- */

size_t pending_tree_relocate(struct pending_tree *tree, size_t rank, struct relocation *relocation)
{
    if (rank >= tree->count) return 0;
    void **node = &tree->root;
    size_t before = 0; /* records before this node */
    for (unsigned height = tree->height; height > 0; height--) {
        if (before == rank) *node = relocation_block(relocation, *node);
        struct pending_branch *branch = ((struct pending_inner *)*node)->branch;
        for (; rank - before >= branch->count; branch++)
            before += branch->count;
        node = &branch->child;
    }
    *node = relocation_block(relocation, *node);
    size_t next = before + ((const struct pending_leaf *)*node)->count;
    return next < tree->count ? next : 0;
}
