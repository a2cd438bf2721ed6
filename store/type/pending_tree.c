/* pending_tree: see pending_tree.h. A change first brings the summaries and counts on its path up
 * to date, then splits or merges nodes; neither changes what is below their parents.
 *
 * Of two neighbours below one parent the items always are too many for a half-full node. */
#include "store/type/pending_tree.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    INNER_MAX = 18,               /* a node takes 1016 bytes; the pool's limit is 1024 */
    INNER_MERGED = INNER_MAX / 2, /* the most children of a merged node */
    /* More than half of INNER_MERGED children on average: enough for any tree that fits memory. */
    HEIGHT_MAX = 30,
};

struct branch {
    struct stream_id from; /* no record of it is before, none of earlier ones is not; not used for
                              the first branch of a node */
    void *child;
    size_t count; /* records below */
    struct pending_summary below;
};

struct pending_inner {
    size_t count; /* children */
    struct branch branch[INNER_MAX];
};

/* The way to a leaf; step 0 is the root. */
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

static void branch_open(struct pending_inner *inner, unsigned i, const struct branch *branch)
{
    memmove(inner->branch + i + 1, inner->branch + i, (inner->count - i) * sizeof(*branch));
    inner->branch[i] = *branch;
    inner->count++;
}

static void branch_close(struct pending_inner *inner, unsigned i)
{
    inner->count--;
    memmove(inner->branch + i, inner->branch + i + 1, (inner->count - i) * sizeof(struct branch));
}

static void summary_join(struct pending_summary *to, const struct pending_summary *from)
{
    for (unsigned kind = 0; kind < PENDING_KINDS; kind++)
        if (from->first[kind] < to->first[kind]) to->first[kind] = from->first[kind];
    to->consumers |= from->consumers;
}

static struct branch inner_total(const struct pending_inner *inner)
{
    struct branch total = { .from = inner->branch[0].from,
                            .child = (void *)(uintptr_t)inner,
                            .below = PENDING_SUMMARY_NONE };
    for (unsigned i = 0; i < inner->count; i++) {
        total.count += inner->branch[i].count;
        summary_join(&total.below, &inner->branch[i].below);
    }
    return total;
}

/* ---- finding ---- */

/* The last branch that begins at or before the ID. The ends are tried first: entries are delivered
 * and acknowledged nearly in order. */
static unsigned branch_for(const struct pending_inner *inner, struct stream_id id)
{
    unsigned low = 0, high = (unsigned)inner->count;
    if (high > 1 && stream_id_before(id, inner->branch[1].from)) return 0;
    if (!stream_id_before(id, inner->branch[high - 1].from)) return high - 1;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (stream_id_before(id, inner->branch[middle].from))
            high = middle;
        else
            low = middle;
    }
    return low;
}

static struct pending_leaf *descend(const struct pending_tree *tree, struct stream_id id,
                                    struct path *path)
{
    void *node = tree->root;
    path->length = tree->height;
    for (unsigned step = 0; step < tree->height; step++) {
        struct pending_inner *inner = path->node[step] = node;
        node = inner->branch[path->index[step] = branch_for(inner, id)].child;
    }
    return node;
}

bool pending_tree_find(const struct pending_tree *tree, struct stream_id id,
                       struct pending_record *found)
{
    struct path path;
    if (tree->root == NULL) return false;
    const struct pending_leaf *leaf = descend(tree, id, &path);
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
        const struct branch *branch = ((const struct pending_inner *)node)->branch;
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
    for (unsigned i = pending_leaf_from(leaf, query->from); i < leaf->count; i++) {
        pending_leaf_get(leaf, i, found);
        if (stream_id_before(query->to, found->id)) return false;
        if (query->consumer != 0 && found->consumer != query->consumer) continue;
        if (!query->by_time || found->at <= query->until[pending_kind(found)]) return true;
    }
    return false;
}

static bool subtree_next(const void *node, unsigned height, const struct pending_query *query,
                         struct pending_record *found)
{
    if (height == 0) return leaf_next(node, query, found);
    const struct pending_inner *inner = node;
    unsigned first = branch_for(inner, query->from);
    for (unsigned i = first; i < inner->count; i++) {
        const struct branch *branch = &inner->branch[i];
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

/* ---- summaries ---- */

static void path_add(struct pending_tree *tree, struct path *path,
                     const struct pending_record *record)
{
    for (unsigned step = 0; step < path->length; step++) {
        struct branch *branch = &path->node[step]->branch[path->index[step]];
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

static struct branch leaf_branch(struct pending_leaf *leaf)
{
    return (struct branch){ pending_leaf_id(leaf, 0), leaf, leaf->count,
                            pending_leaf_summary(leaf) };
}

/* Puts `right` after child i of a full node, and moves half of the children to a new node, which it
 * returns; a child after the last one of the tree goes there alone. */
static struct branch inner_split(struct pending_tree *tree, struct pending_inner *inner, unsigned i,
                                 const struct branch *right, bool at_end)
{
    struct pending_inner *added = inner_new(tree);
    unsigned keep = at_end ? INNER_MAX : i < INNER_MERGED ? INNER_MERGED : INNER_MERGED + 1;
    added->count = inner->count - keep;
    memcpy(added->branch, inner->branch + keep, added->count * sizeof(*right));
    inner->count = keep;
    if (i < INNER_MERGED)
        branch_open(inner, i + 1, right);
    else
        branch_open(added, i + 1 - keep, right);
    return inner_total(added);
}

/* Adds `right` after the node at the end of the path, whose branch is `left` from now on. */
static void path_insert(struct pending_tree *tree, struct path *path, struct branch left,
                        struct branch right)
{
    bool at_end = right.count == 1; /* false: halves */
    for (unsigned step = path->length; step-- > 0;) {
        struct pending_inner *inner = path->node[step];
        unsigned i = path->index[step];
        left.from = inner->branch[i].from;
        inner->branch[i] = left;
        if (inner->count < INNER_MAX) {
            branch_open(inner, i + 1, &right);
            return;
        }
        right = inner_split(tree, inner, i, &right, at_end && i == INNER_MAX - 1);
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

static void leaves_merge(struct pending_tree *tree, struct branch *left, const struct branch *right)
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

static void inners_merge(struct pending_tree *tree, struct branch *left, const struct branch *right)
{
    struct pending_inner *first = left->child, *second = right->child;
    /* The first bound of a node is not kept up to date: its parent's is. */
    second->branch[0].from = right->from;
    memcpy(first->branch + first->count, second->branch, second->count * sizeof(*second->branch));
    first->count += second->count;
    inner_free(tree, second);
}

/* Merges children i and i + 1, if they are there and their items fit. */
static bool children_merge(struct pending_tree *tree, struct pending_inner *inner, unsigned i,
                           bool are_leaves)
{
    if (i + 1 >= inner->count) return false;
    struct branch *left = &inner->branch[i], *right = left + 1;
    if (are_leaves) {
        if (left->count + right->count > PENDING_LEAF_MERGED) return false;
        leaves_merge(tree, left, right);
    } else {
        const struct pending_inner *first = left->child, *second = right->child;
        if (first->count + second->count > INNER_MERGED) return false;
        inners_merge(tree, left, right);
    }
    left->count += right->count;
    summary_join(&left->below, &right->below);
    branch_close(inner, i + 1);
    return true;
}

/* Frees or merges nodes of a path from which a record was removed. */
static void path_shrink(struct pending_tree *tree, struct path *path)
{
    for (unsigned step = path->length; step-- > 0;) {
        struct pending_inner *inner = path->node[step];
        unsigned i = path->index[step];
        bool are_leaves = step + 1 == path->length, changed = false;
        if (inner->branch[i].count == 0) {
            if (are_leaves)
                pending_leaf_free(inner->branch[i].child, &tree->bytes);
            else
                inner_free(tree, inner->branch[i].child);
            branch_close(inner, i);
            changed = true;
        } else if (children_merge(tree, inner, i, are_leaves)) {
            changed = true;
        }
        if (i > 0 && children_merge(tree, inner, i - 1, are_leaves)) changed = true;
        if (!changed) return;
    }
    while (tree->height > 0 && ((struct pending_inner *)tree->root)->count == 1) {
        struct pending_inner *root = tree->root;
        tree->root = root->branch[0].child;
        tree->height--;
        inner_free(tree, root);
    }
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
    path_set_leaf(tree, &path, leaf);
    for (unsigned step = 0; step < path.length; step++)
        path.node[step]->branch[path.index[step]].count--;
    tree->count--;
    path_summarize(
        tree, &path,
        pending_leaf_summary_without(leaf, summary_at(tree, &path, path.length), removed));
    if (leaf->count <= PENDING_LEAF_MERGED) path_shrink(tree, &path);
    return true;
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
        struct branch *branch = ((struct pending_inner *)*node)->branch;
        for (; rank - before >= branch->count; branch++)
            before += branch->count;
        node = &branch->child;
    }
    *node = relocation_block(relocation, *node);
    size_t next = before + ((const struct pending_leaf *)*node)->count;
    return next < tree->count ? next : 0;
}

/* ---- checking ---- */

struct checking {
    const struct pending_tree *tree;
    void (*visit)(void *ctx, const struct pending_record *record);
    void *ctx;
    bool has_last;
    struct stream_id last;
    size_t bytes;
};

static struct branch check_leaf(struct checking *checking, const struct pending_leaf *leaf)
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
    return (struct branch){ .count = leaf->count, .below = pending_leaf_summary(leaf) };
}

static size_t items(const struct branch *branch, bool is_leaf)
{
    return is_leaf ? branch->count : ((const struct pending_inner *)branch->child)->count;
}

static struct branch check_subtree(struct checking *checking, const void *node, unsigned height)
{
    if (height == 0) return check_leaf(checking, node);
    const struct pending_inner *inner = node;
    struct branch total = { .below = PENDING_SUMMARY_NONE };
    ensure(inner->count > 0 && inner->count <= INNER_MAX, "%zu children", inner->count);
    for (unsigned i = 0; i < inner->count; i++) {
        const struct branch *branch = &inner->branch[i];
        size_t least = height == 1 ? PENDING_LEAF_MERGED : INNER_MERGED;
        if (i > 0)
            ensure(stream_id_before(checking->last, branch->from) &&
                       items(branch, height == 1) + items(branch - 1, height == 1) > least,
                   "branch %u at height %u: bound or fill", i, height);
        if (i > 0) { /* no record of the child may be before its bound */
            checking->last = branch->from;
            stream_id_down(&checking->last);
        }
        struct branch below = check_subtree(checking, branch->child, height - 1);
        ensure(below.count == branch->count &&
                   memcmp(&below.below, &branch->below, sizeof(below.below)) == 0,
               "branch %u at height %u: count %zu, not %zu, or summary", i, height, branch->count,
               below.count);
        total.count += below.count;
        summary_join(&total.below, &below.below);
    }
    checking->bytes += mem_size(inner);
    return total;
}

void pending_tree_check(const struct pending_tree *tree,
                        void (*visit)(void *ctx, const struct pending_record *record), void *ctx)
{
    struct checking checking = { .tree = tree, .visit = visit, .ctx = ctx };
    struct branch total = { .below = PENDING_SUMMARY_NONE };
    if (tree->root != NULL) total = check_subtree(&checking, tree->root, tree->height);
    ensure(total.count == tree->count && checking.bytes == tree->bytes,
           "%zu records, counted %zu; %zu bytes, counted %zu", total.count, tree->count,
           checking.bytes, tree->bytes);
    ensure(memcmp(&total.below, &tree->all, sizeof(tree->all)) == 0, "wrong summary of all");
    ensure(tree->height == 0 || ((const struct pending_inner *)tree->root)->count > 1,
           "a root with one child");
}
