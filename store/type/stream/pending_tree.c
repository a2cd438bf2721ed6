/* pending_tree: see pending_tree.h. A change first updates the summaries and counts on its path,
 * and then splits or merges leaves. Only leaves of the same parent are merged, so that the
 * summaries above the parent stay right. counted.c splits and merges the nodes above the leaves,
 * and has their summaries updated (`changed` in counted.h). */
#include "store/type/stream/pending_tree.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

struct pending_branch {
    struct counted_node *child;
    struct stream_id from; /* the key */
    struct pending_summary below;
};

static struct pending_branch *pending_branches(const struct counted_node *inner)
{
    return (struct pending_branch *)(uintptr_t)((const struct counted_inner *)inner)->branches;
}

static unsigned pending_branch_count(const struct counted_node *inner)
{
    return ((const struct counted_inner *)inner)->count;
}

static void pending_summary_join(struct pending_summary *to, const struct pending_summary *from)
{
    for (unsigned kind = 0; kind < PENDING_KINDS; kind++)
        if (from->first[kind] < to->first[kind]) to->first[kind] = from->first[kind];
    to->consumers |= from->consumers;
}

/* Returns the last branch that begins at or before the ID. Tries both ends first, because entries
 * are delivered and acknowledged nearly in order. */
static unsigned pending_branch_for(const struct counted_node *inner, struct stream_id id)
{
    const struct pending_branch *branches = pending_branches(inner);
    unsigned low = 0, high = pending_branch_count(inner);
    if (high > 1 && stream_id_before(id, branches[1].from)) return 0;
    if (!stream_id_before(id, branches[high - 1].from)) return high - 1;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (stream_id_before(id, branches[middle].from))
            high = middle;
        else
            low = middle;
    }
    return low;
}

enum { HEIGHT_MAX = 30 }; /* enough for any tree that fits into memory */

/* The path to a leaf; step 0 is the root. */
struct path {
    struct counted_node *node[HEIGHT_MAX];
    unsigned index[HEIGHT_MAX];
    unsigned length;
};

static void inner_changed(struct counted_inner *inner)
{
    for (; inner->node.parent != NULL; inner = inner->node.parent) {
        struct pending_summary all = PENDING_SUMMARY_NONE;
        for (unsigned i = 0; i < inner->count; i++)
            pending_summary_join(&all, &pending_branches(&inner->node)[i].below);
        pending_branches(&inner->node.parent->node)[counted_index(&inner->node)].below = all;
    }
}

static const struct counted_kind kind_of_nodes = { sizeof(struct pending_branch),
                                                   sizeof(struct stream_id), inner_changed };

void pending_tree_init(struct pending_tree *tree)
{
    *tree = (struct pending_tree){ .all = PENDING_SUMMARY_NONE };
    counted_init(&tree->nodes, &kind_of_nodes);
}

static struct pending_leaf *descend(const struct pending_tree *tree, struct stream_id id,
                                    struct path *path)
{
    struct counted_node *node = tree->nodes.root;
    path->length = tree->nodes.height;
    ensure(path->length <= HEIGHT_MAX, "%zu records at height %u", tree->count, path->length);
    for (unsigned step = 0; step < path->length; step++) {
        path->node[step] = node;
        path->index[step] = pending_branch_for(node, id);
        node = pending_branches(node)[path->index[step]].child;
    }
    return (struct pending_leaf *)node;
}

/* Returns the summary of the node at this step of the path; the leaf is at step path->length. */
static struct pending_summary *summary_at(struct pending_tree *tree, const struct path *path,
                                          unsigned step)
{
    if (step == 0) return &tree->all;
    return &pending_branches(path->node[step - 1])[path->index[step - 1]].below;
}

static void path_add(struct pending_tree *tree, const struct path *path, struct pending_leaf *leaf,
                     const struct pending_record *record)
{
    for (unsigned step = 0; step < path->length; step++) {
        path->node[step]->total++;
        pending_summary_add(&pending_branches(path->node[step])[path->index[step]].below, record);
    }
    leaf->node.total++;
    tree->count++;
    pending_summary_add(&tree->all, record);
}

/* Updates *total, the summary of a node, after the summary of one of its children has changed from
 * `old` to `new`. */
static void total_change(struct pending_summary *total, const struct counted_node *inner,
                         const struct pending_summary *old, const struct pending_summary *new)
{
    const struct pending_branch *branch = pending_branches(inner);
    const unsigned count = pending_branch_count(inner);
    for (unsigned kind = 0; kind < PENDING_KINDS; kind++) {
        msec before = total->first[kind];
        if (new->first[kind] < before) {
            total->first[kind] = new->first[kind];
        } else if (old->first[kind] == before && new->first[kind] != before) {
            /* The child may have contained the only earliest instant, so search for the earliest
             * one. No other child has an instant before the old one: stop at an equal one. */
            msec first = NEVER;
            for (unsigned i = 0; i < count && first > before; i++)
                if (branch[i].below.first[kind] < first) first = branch[i].below.first[kind];
            total->first[kind] = first;
        }
    }

    /* Consumers that the child lost may still be below its siblings. */
    uint64_t lost = old->consumers & ~new->consumers;
    for (unsigned i = 0; i < count && lost != 0; i++)
        lost &= ~branch[i].below.consumers;
    total->consumers = (total->consumers | new->consumers) & ~lost;
}

/* Sets the summary of the path's leaf, and updates the summaries above it. */
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

/* Redirects the parent's pointer to the path's leaf, which may have moved in memory. */
static void path_set_leaf(struct pending_tree *tree, const struct path *path,
                          struct pending_leaf *leaf)
{
    if (path->length == 0)
        tree->nodes.root = &leaf->node;
    else
        pending_branches(path->node[path->length - 1])[path->index[path->length - 1]].child =
            &leaf->node;
}

/* Splits a full leaf, whose new record is already counted, and adds the record to one of the
 * halves. If the record is after all others in the tree, it starts a leaf of its own instead, so
 * that leaves stay full when IDs rise. */
static void leaf_split(struct pending_tree *tree, const struct path *path,
                       struct pending_leaf *leaf, unsigned i, const struct pending_record *record)
{
    struct pending_record records[PENDING_LEAF_MAX + 1];
    unsigned keep = PENDING_LEAF_MAX;
    struct counted_node node = leaf->node;
    bool is_last = i == PENDING_LEAF_MAX;
    for (unsigned step = 0; is_last && step < path->length; step++)
        is_last = path->index[step] + 1 == pending_branch_count(path->node[step]);
    if (!is_last) {
        keep = PENDING_LEAF_MERGED;
        pending_leaf_read(leaf, records);
        memmove(records + i + 1, records + i, (PENDING_LEAF_MAX - i) * sizeof(*records));
        pending_leaf_free(leaf, &tree->leaf_bytes);
    }
    records[i] = *record;
    if (keep < PENDING_LEAF_MAX) leaf = pending_leaf_new(records, keep, &tree->leaf_bytes);
    leaf->node = node;
    path_set_leaf(tree, path, leaf);
    unsigned moved = PENDING_LEAF_MAX + 1 - keep;
    struct pending_leaf *right = pending_leaf_new(records + keep, moved, &tree->leaf_bytes);
    struct pending_branch branch = { &right->node, records[keep].id, pending_leaf_summary(right) };
    struct pending_summary below = pending_leaf_summary(leaf);
    right->node.total = moved;
    counted_change(&leaf->node, -(size_t)moved);
    if (path->length > 0) *summary_at(tree, path, path->length) = below;
    counted_insert(&tree->nodes, &leaf->node, &right->node, &branch.from);
    if (path->length == 0) pending_branches(tree->nodes.root)[0].below = below;
}

bool pending_tree_put(struct pending_tree *tree, const struct pending_record *record,
                      struct pending_record *old)
{
    struct path path = { .length = 0 };
    if (tree->nodes.root == NULL) {
        struct pending_leaf *only = pending_leaf_new(record, 1, &tree->leaf_bytes);
        counted_insert(&tree->nodes, NULL, &only->node, NULL);
        path_add(tree, &path, only, record);
        return false;
    }
    struct pending_leaf *leaf = descend(tree, record->id, &path);
    unsigned i = pending_leaf_from(leaf, record->id);
    if (i < leaf->count) {
        pending_leaf_get(leaf, i, old);
        if (stream_id_equal(old->id, record->id)) {
            leaf = pending_leaf_set(leaf, i, record, &tree->leaf_bytes);
            path_set_leaf(tree, &path, leaf);
            struct pending_summary summary =
                pending_leaf_summary_without(leaf, summary_at(tree, &path, path.length), old);
            pending_summary_add(&summary, record);
            path_summarize(tree, &path, summary);
            return true;
        }
    }
    path_add(tree, &path, leaf, record);
    if (leaf->count < PENDING_LEAF_MAX)
        path_set_leaf(tree, &path, pending_leaf_insert(leaf, i, record, &tree->leaf_bytes));
    else
        leaf_split(tree, &path, leaf, i, record);
    return false;
}

/* Merges leaves i and i + 1 of their parent, if both exist and their records fit into half a
 * leaf. */
static bool leaves_merge(struct pending_tree *tree, const struct counted_node *inner, unsigned i)
{
    struct pending_record records[PENDING_LEAF_MERGED];
    struct pending_branch *left = &pending_branches(inner)[i], *right = left + 1;
    if (i + 1 >= pending_branch_count(inner)) return false;
    struct pending_leaf *first = (struct pending_leaf *)left->child;
    struct pending_leaf *second = (struct pending_leaf *)right->child;
    size_t moved = second->count;
    if (first->count + moved > PENDING_LEAF_MERGED) return false;
    pending_leaf_read(first, records);
    pending_leaf_read(second, records + first->count);
    struct pending_leaf *merged =
        pending_leaf_new(records, first->count + (unsigned)moved, &tree->leaf_bytes);
    merged->node = first->node;
    left->child = &merged->node;
    pending_summary_join(&left->below, &right->below);
    counted_remove(&tree->nodes, &second->node);
    counted_change(&merged->node, moved);
    pending_leaf_free(first, &tree->leaf_bytes);
    pending_leaf_free(second, &tree->leaf_bytes);
    return true;
}

/* Call after `gone` records were removed from the leaf: updates its summary, and frees the leaf or
 * merges it with a neighbour. The tree must still contain other records. */
static void path_removed(struct pending_tree *tree, struct path *path, struct pending_leaf *leaf,
                         size_t gone, const struct pending_summary *summary)
{
    path_set_leaf(tree, path, leaf);
    counted_change(&leaf->node, -gone);
    tree->count -= gone;
    path_summarize(tree, path, *summary);
    if (leaf->count > PENDING_LEAF_MERGED || path->length == 0) return;
    if (leaf->count == 0) {
        counted_remove(&tree->nodes, &leaf->node);
        pending_leaf_free(leaf, &tree->leaf_bytes);
        return;
    }
    const struct counted_node *inner = path->node[path->length - 1];
    unsigned i = path->index[path->length - 1];
    if (!leaves_merge(tree, inner, i) && i > 0) leaves_merge(tree, inner, i - 1);
}

bool pending_tree_remove(struct pending_tree *tree, struct stream_id id,
                         struct pending_record *removed)
{
    struct path path;
    if (tree->nodes.root == NULL) return false;
    struct pending_leaf *leaf = descend(tree, id, &path);
    unsigned i = pending_leaf_from(leaf, id);
    if (i == leaf->count) return false;
    pending_leaf_get(leaf, i, removed);
    if (!stream_id_equal(removed->id, id)) return false;
    if (tree->count == 1) {
        pending_tree_drop(tree);
        return true;
    }
    leaf = pending_leaf_remove(leaf, i, &tree->leaf_bytes);
    struct pending_summary summary =
        pending_leaf_summary_without(leaf, summary_at(tree, &path, path.length), removed);
    path_removed(tree, &path, leaf, 1, &summary);
    return true;
}

void pending_tree_forget(struct pending_tree *tree, struct pending_query *query)
{
    struct pending_record record, records[PENDING_LEAF_MAX];
    while (pending_tree_next(tree, query, &record)) {
        /* Remove the consumer's records from this leaf, and continue behind its last ID. */
        struct path path;
        struct pending_leaf *leaf = descend(tree, record.id, &path);
        struct counted_node node = leaf->node;
        unsigned count = leaf->count, kept = 0;
        pending_leaf_read(leaf, records);
        query->from = records[count - 1].id;
        for (unsigned i = 0; i < count; i++)
            if (records[i].consumer != query->consumer) records[kept++] = records[i];
        if (tree->count == count - kept) {
            pending_tree_drop(tree);
            return;
        }
        if (kept > 0) {
            pending_leaf_free(leaf, &tree->leaf_bytes);
            leaf = pending_leaf_new(records, kept, &tree->leaf_bytes);
            leaf->node = node;
        } else {
            leaf->count = 0;
        }
        struct pending_summary summary = pending_leaf_summary(leaf);
        path_removed(tree, &path, leaf, count - kept, &summary);
        if (!stream_id_up(&query->from)) return;
    }
}

bool pending_tree_drop_some(struct pending_tree *tree, size_t *work)
{
    for (; tree->nodes.root != NULL; --*work) {
        if (*work == 0) return false;
        size_t rank = 0;
        struct counted_node *first = counted_at(&tree->nodes, &rank);
        counted_remove(&tree->nodes, first);
        pending_leaf_free((struct pending_leaf *)first, &tree->leaf_bytes);
    }
    pending_tree_init(tree);
    return true;
}

void pending_tree_drop(struct pending_tree *tree)
{
    size_t work = SIZE_MAX;
    pending_tree_drop_some(tree, &work);
}

size_t pending_tree_relocate(struct pending_tree *tree, size_t rank, struct relocation *relocation)
{
    size_t index = rank;
    if (rank >= tree->count) return 0;
    struct counted_node *leaf = counted_at(&tree->nodes, &index);
    struct counted_node *moved = relocation_copy(relocation, leaf);
    if (moved != NULL) {
        counted_moved(&tree->nodes, leaf, moved);
        mem_free(leaf);
        leaf = moved;
    }
    counted_relocate(&tree->nodes, leaf, relocation);
    size_t next = rank - index + leaf->total;
    return next < tree->count ? next : 0;
}

/* ---- searching ------------------------------------------------------------------------------ */

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

static bool subtree_next(const struct counted_node *node, unsigned height,
                         const struct pending_query *query, struct pending_record *found)
{
    if (height == 0) {
        const struct pending_leaf *leaf = (const struct pending_leaf *)node;
        for (unsigned i = pending_leaf_from(leaf, query->from);; i++) {
            if (query->consumer != 0) i = pending_leaf_next_of(leaf, i, query->consumer);
            if (i >= leaf->count) return false;
            pending_leaf_get(leaf, i, found);
            if (stream_id_before(query->to, found->id)) return false;
            if (!query->by_time || found->at <= query->until[pending_kind(found)]) return true;
        }
    }
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

/* ---- checking, for tests -------------------------------------------------------------------- */

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
    checking->bytes += mem_size(leaf);
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
