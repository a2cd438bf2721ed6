/* counted: see counted.h. */
#include "store/struct/counted.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { CAP_MIN = 2 };

void counted_init(struct counted *tree, const struct counted_kind *kind)
{
    *tree = (struct counted){ .kind = kind };
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static size_t label_size(const struct counted *tree)
{
    return tree->kind->branch_size - sizeof(struct counted_node *);
}

static char *branch_at(const struct counted_inner *inner, unsigned i)
{
    return (char *)(uintptr_t)inner->branches + (size_t)i * inner->branch_size;
}

static struct counted_node *child_of(const char *branch)
{
    return *(struct counted_node *const *)(const void *)branch;
}

static struct counted_node **child_at(const struct counted_inner *inner, unsigned i)
{
    return (struct counted_node **)(void *)branch_at(inner, i);
}

static void *label_at(const struct counted_inner *inner, unsigned i)
{
    return branch_at(inner, i) + sizeof(struct counted_node *);
}

static struct counted_inner *inner_at(const struct counted_inner *inner, unsigned i)
{
    return (struct counted_inner *)*child_at(inner, i);
}

static void branches_move(struct counted_inner *to, unsigned at, const struct counted_inner *from,
                          unsigned i, unsigned n)
{
    memmove(branch_at(to, at), branch_at(from, i), (size_t)n * from->branch_size);
}

unsigned counted_index(const struct counted_node *node)
{
    const struct counted_inner *parent = node->parent;
    for (unsigned i = 0; i < parent->count; i++)
        if (*child_at(parent, i) == node) return i;
    ensure(false, "not one of %u children", parent->count);
}

static struct counted_inner *inner_new(struct counted *tree, unsigned height, unsigned cap)
{
    struct counted_inner *inner = mem_alloc(sizeof(*inner) + (size_t)cap * tree->kind->branch_size);
    *inner = (struct counted_inner){ .cap = (uint16_t)cap,
                                     .height = (uint16_t)height,
                                     .branch_size = (uint16_t)tree->kind->branch_size };
    tree->bytes += mem_size(inner);
    return inner;
}

static void inner_free(struct counted *tree, struct counted_inner *inner)
{
    tree->bytes -= mem_size(inner);
    mem_free(inner);
}

void counted_moved(struct counted *tree, const struct counted_node *old, struct counted_node *leaf)
{
    if (leaf->parent == NULL) {
        tree->root = leaf;
        return;
    }
    unsigned i = 0;
    while (*child_at(leaf->parent, i) != old)
        i++;
    *child_at(leaf->parent, i) = leaf;
}

/* Redirects the pointers to an inner node that was copied from `old`, and frees that. */
static void inner_replace(struct counted *tree, struct counted_inner *old,
                          struct counted_inner *inner)
{
    for (unsigned i = 0; i < inner->count; i++)
        (*child_at(inner, i))->parent = inner;
    counted_moved(tree, &old->node, &inner->node);
    mem_free(old);
}

static struct counted_inner *inner_resize(struct counted *tree, struct counted_inner *old,
                                          unsigned cap)
{
    struct counted_inner *inner = inner_new(tree, old->height, cap);
    inner->node = old->node;
    inner->count = old->count;
    branches_move(inner, 0, old, 0, old->count);
    tree->bytes -= mem_size(old);
    inner_replace(tree, old, inner);
    return inner;
}

/* Moves the branches from `from` on to the end of `to`, a node of the same height that has room for
 * them. */
static void branches_shift(const struct counted *tree, struct counted_inner *inner, unsigned from,
                           struct counted_inner *to)
{
    size_t moved = 0;
    unsigned n = inner->count - from;
    branches_move(to, to->count, inner, from, n);
    for (; n > 0; n--) {
        struct counted_node *child = *child_at(to, to->count++);
        ensure(child != NULL, "branch %u of %u is empty", to->count - 1u, to->count);
        child->parent = to;
        moved += child->total;
    }
    inner->count = (uint16_t)from;
    counted_change(&to->node, moved);
    counted_change(&inner->node, -moved);
    if (tree->kind->changed == NULL) return;
    tree->kind->changed(inner);
    tree->kind->changed(to);
}

/* ---- inserting ------------------------------------------------------------------------------ */

static void node_insert(struct counted *tree, struct counted_node *prev, struct counted_node *node,
                        const void *label);

/* Splits a full node, so that branch *i can be inserted. Returns the node where this branch
 * belongs, and sets *i to its index there. */
static struct counted_inner *inner_split(struct counted *tree, struct counted_inner *inner,
                                         unsigned *i, const void *label)
{
    bool appends = *i == inner->count;
    unsigned keep = appends ? inner->count : inner->count / 2U;
    char first[COUNTED_BRANCH_MAX];
    memcpy(first, appends ? label : label_at(inner, keep), label_size(tree));
    struct counted_inner *right =
        inner_new(tree, inner->height, appends ? CAP_MIN : inner->count - keep + 1U);
    node_insert(tree, &inner->node, &right->node, first);
    branches_shift(tree, inner, keep, right);
    if (*i <= keep && !appends) return inner;
    *i -= keep;
    return right;
}

/* Inserts a node, whose items are not in the totals above yet, after `prev`. */
static void node_insert(struct counted *tree, struct counted_node *prev, struct counted_node *node,
                        const void *label)
{
    unsigned max = COUNTED_INNER_MAX(tree->kind->branch_size);
    struct counted_inner *inner = prev->parent;
    if (inner == NULL) { /* put a new root above the old one */
        ensure(prev == tree->root, "a node without a parent is not the root");
        inner = inner_new(tree, ++tree->height, CAP_MIN);
        inner->node.total = prev->total;
        inner->count = 1;
        memset(branch_at(inner, 0), 0, inner->branch_size);
        *child_at(inner, 0) = prev;
        prev->parent = inner;
        tree->root = &inner->node;
    }
    unsigned i = counted_index(prev) + 1;
    bool splits = inner->count == max;
    if (splits) inner = inner_split(tree, inner, &i, label);
    if (inner->count == inner->cap)
        inner = inner_resize(tree, inner, 2U * inner->cap < max ? 2U * inner->cap : max);
    branches_move(inner, i + 1, inner, i, inner->count - i);
    *child_at(inner, i) = node;
    memcpy(label_at(inner, i), label, label_size(tree));
    inner->count++;
    node->parent = inner;
    if (splits && tree->kind->changed != NULL) tree->kind->changed(inner);
}

void counted_insert(struct counted *tree, struct counted_node *prev, struct counted_node *leaf,
                    const void *label)
{
    if (prev == NULL) {
        ensure(tree->root == NULL, "there are leaves already: %zu items", tree->root->total);
        tree->root = leaf;
        leaf->parent = NULL;
        return;
    }
    node_insert(tree, prev, leaf, label);
    counted_change(&leaf->parent->node, leaf->total);
}

/* ---- removing ------------------------------------------------------------------------------- */

static void node_remove(struct counted *tree, struct counted_node *node);

/* Merges children i and i + 1 of a node, if they are there and fit with room to spare. */
static bool inner_merge(struct counted *tree, struct counted_inner *parent, unsigned i)
{
    if (i + 1 >= parent->count) return false;
    struct counted_inner *left = inner_at(parent, i), *right = inner_at(parent, i + 1);
    unsigned both = (unsigned)left->count + right->count;
    if (both > COUNTED_INNER_MAX(tree->kind->branch_size) * 3 / 4) return false;
    if (both > left->cap) left = inner_resize(tree, left, both);
    memcpy(label_at(right, 0), label_at(parent, i + 1), tree->kind->key_size);
    branches_shift(tree, right, 0, left);
    node_remove(tree, &right->node);
    inner_free(tree, right);
    return true;
}

/* Removes a node, whose items are no longer in the totals above; it is not the root. */
static void node_remove(struct counted *tree, struct counted_node *node)
{
    struct counted_inner *inner = node->parent;
    unsigned i = counted_index(node);
    inner->count--;
    branches_move(inner, i, inner, i + 1, inner->count - i);
    if (inner->count == 0) {
        node_remove(tree, &inner->node);
        inner_free(tree, inner);
        return;
    }
    if (inner->count <= inner->cap / 4) inner = inner_resize(tree, inner, inner->cap / 2U);
    if (&inner->node == tree->root) {
        while (tree->height > 0 && inner->count == 1) { /* the only child becomes the root */
            tree->root = *child_at(inner, 0);
            tree->root->parent = NULL;
            tree->height--;
            inner_free(tree, inner);
            inner = (struct counted_inner *)tree->root;
        }
        return;
    }
    if (inner->count > COUNTED_INNER_MAX(tree->kind->branch_size) / 4) return;
    struct counted_inner *parent = inner->node.parent;
    unsigned own = counted_index(&inner->node);
    if (!inner_merge(tree, parent, own) && own > 0) inner_merge(tree, parent, own - 1);
}

void counted_remove(struct counted *tree, struct counted_node *leaf)
{
    if (leaf->parent == NULL) {
        tree->root = NULL;
        return;
    }
    counted_change(&leaf->parent->node, -leaf->total);
    node_remove(tree, leaf);
    leaf->parent = NULL;
}

/* ---- finding -------------------------------------------------------------------------------- */

struct counted_node *counted_at(const struct counted *tree, size_t *rank)
{
    struct counted_node *node = tree->root;
    size_t left = *rank;
    ensure(node != NULL && left < node->total, "no item of rank %zu", left);
    for (uint32_t height = tree->height; height > 0; height--) {
        const struct counted_inner *inner = (const struct counted_inner *)node;
        const char *branch = inner->branches;
        for (node = child_of(branch); left >= node->total; node = child_of(branch)) {
            left -= node->total;
            branch += inner->branch_size;
        }
    }
    *rank = left;
    return node;
}

size_t counted_before(const struct counted_node *leaf)
{
    size_t before = 0;
    for (const struct counted_node *node = leaf; node->parent != NULL; node = &node->parent->node)
        for (unsigned i = 0; *child_at(node->parent, i) != node; i++)
            before += (*child_at(node->parent, i))->total;
    return before;
}

/* ---- relocating, checking ------------------------------------------------------------------- */

void counted_relocate(struct counted *tree, const struct counted_node *leaf,
                      struct relocation *relocation)
{
    for (const struct counted_node *node = leaf;
         node->parent != NULL && *child_at(node->parent, 0) == node;) {
        struct counted_inner *inner = node->parent;
        struct counted_inner *moved = relocation_copy(relocation, inner);
        if (moved != NULL) inner_replace(tree, inner, moved);
        node = moved != NULL ? &moved->node : &inner->node;
    }
}

/* Returns the bytes of the inner nodes below. */
static size_t check_below(const struct counted *tree, const struct counted_node *node,
                          uint32_t height, const struct counted_visitor *visitor)
{
    if (height == 0) {
        visitor->leaf(visitor->ctx, node);
        return 0;
    }
    const struct counted_inner *inner = (const struct counted_inner *)node;
    ensure(inner->height == height && inner->branch_size == tree->kind->branch_size,
           "height %u, not %u", inner->height, height);
    ensure(inner->count > (node == tree->root) && inner->count <= inner->cap &&
               inner->cap <= COUNTED_INNER_MAX(tree->kind->branch_size),
           "%u branches of %u", inner->count, inner->cap);
    size_t total = 0, bytes = mem_size(inner);
    for (unsigned i = 0; i < inner->count; i++) {
        const struct counted_node *child = *child_at(inner, i);
        ensure(child->parent == inner, "wrong parent of child %u", i);
        if (i > 0) visitor->key(visitor->ctx, label_at(inner, i));
        bytes += check_below(tree, child, height - 1, visitor);
        total += child->total;
    }
    ensure(total == node->total, "%zu items below, counted %zu", total, node->total);
    return bytes;
}

void counted_check(const struct counted *tree, const struct counted_visitor *visitor)
{
    size_t bytes = 0;
    if (tree->root != NULL) {
        ensure(tree->root->parent == NULL, "the root has a parent");
        bytes = check_below(tree, tree->root, tree->height, visitor);
    } else {
        ensure(tree->height == 0, "height %u of nothing", tree->height);
    }
    ensure(bytes == tree->bytes, "%zu bytes, counted %zu", bytes, tree->bytes);
}
