/* stream_tree: see stream_tree.h. Nodes are merged late, as in timeline_tree.c. */
#include "store/type/stream/stream_tree.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { CAP_MIN = 2 };

static struct stream_inner *new_inner(struct stream_tree *tree, uint32_t level)
{
    struct stream_inner *inner = mem_alloc(sizeof(*inner) + CAP_MIN * sizeof(inner->child[0]));
    *inner = (struct stream_inner){ .cap = CAP_MIN, .level = level };
    tree->bytes += mem_size(inner);
    return inner;
}

static void free_inner(struct stream_tree *tree, struct stream_inner *inner)
{
    tree->bytes -= mem_size(inner);
    mem_free(inner);
}

static unsigned block_index(const struct stream_block *block)
{
    const struct stream_inner *inner = block->parent;
    for (unsigned i = 0; i < inner->count; i++)
        if (inner->child[i].block == block) return i;
    ensure(false, "not one of %u blocks", inner->count);
}

static unsigned inner_index(const struct stream_inner *inner)
{
    const struct stream_inner *parent = inner->parent;
    for (unsigned i = 0; i < parent->count; i++)
        if (parent->child[i].inner == inner) return i;
    ensure(false, "not one of %u nodes", parent->count);
}

static size_t total_below(const struct stream_inner *inner)
{
    size_t total = 0;
    for (unsigned i = 0; i < inner->count; i++)
        total += inner->child[i].total;
    return total;
}

/* Adds `by`, modulo 2^64, to the totals of all nodes above this one. */
static void totals_change(const struct stream_inner *inner, size_t by)
{
    for (; inner->parent != NULL; inner = inner->parent)
        inner->parent->child[inner_index(inner)].total += by;
}

static void child_adopt(struct stream_inner *inner, unsigned i)
{
    if (inner->level == 0)
        inner->child[i].block->parent = inner;
    else
        inner->child[i].inner->parent = inner;
}

/* Redirects the pointers to a node that has moved from `old`. */
static void inner_moved(struct stream_tree *tree, const struct stream_inner *old,
                        struct stream_inner *inner)
{
    if (inner == old) return;
    for (unsigned i = 0; i < inner->count; i++)
        child_adopt(inner, i);
    if (inner->parent == NULL)
        tree->root = inner;
    else
        for (unsigned i = 0; i < inner->parent->count; i++)
            if (inner->parent->child[i].inner == old) inner->parent->child[i].inner = inner;
}

static struct stream_inner *inner_resize(struct stream_tree *tree, struct stream_inner *inner,
                                         unsigned cap)
{
    const struct stream_inner *old = inner;
    tree->bytes -= mem_size(inner);
    inner = mem_realloc(inner, sizeof(*inner) + cap * sizeof(inner->child[0]));
    tree->bytes += mem_size(inner);
    inner->cap = (uint16_t)cap;
    inner_moved(tree, old, inner);
    return inner;
}

/* ---- adding --------------------------------------------------------------------------------- */

static void child_append(struct stream_inner *inner, const struct stream_child *child)
{
    inner->child[inner->count] = *child;
    child_adopt(inner, inner->count++);
}

/* A new root above the one so far. */
static struct stream_inner *root_add(struct stream_tree *tree)
{
    struct stream_inner *only = tree->root, *root = new_inner(tree, only->level + 1);
    child_append(root, &(struct stream_child){ .inner = only,
                                               .total = total_below(only),
                                               .first = only->child[0].first });
    return tree->root = root;
}

/* A node for a new last child: this one, or a new one after it if it is full. */
static struct stream_inner *with_room(struct stream_tree *tree, struct stream_inner *inner,
                                      struct stream_id first)
{
    if (inner->count < inner->cap) return inner;
    if (inner->cap < STREAM_INNER_MAX) {
        unsigned cap = 2U * inner->cap;
        return inner_resize(tree, inner, cap < STREAM_INNER_MAX ? cap : STREAM_INNER_MAX);
    }
    struct stream_inner *above = inner->parent != NULL ? inner->parent : root_add(tree);
    struct stream_inner *parent = with_room(tree, above, first);
    struct stream_inner *right = new_inner(tree, inner->level);
    child_append(parent, &(struct stream_child){ .inner = right, .first = first });
    return right;
}

void stream_tree_append(struct stream_tree *tree, struct stream_block *block)
{
    if (tree->root == NULL) tree->root = new_inner(tree, 0);
    struct stream_inner *last = block->prev != NULL ? block->prev->parent : tree->root;
    ensure(last != NULL, "the block before is not in the tree");
    struct stream_inner *inner = with_room(tree, last, block->first);
    child_append(inner, &(struct stream_child){
                            .block = block, .total = block->count, .first = block->first });
    totals_change(inner, block->count);
}

/* ---- removing ------------------------------------------------------------------------------- */

static void child_remove(struct stream_tree *tree, struct stream_inner *inner, unsigned i);

/* Merges child i of a node and the next one, if they fit with room to spare. */
static bool inner_merge(struct stream_tree *tree, struct stream_inner *parent, unsigned i)
{
    if (i + 1 >= parent->count) return false;
    struct stream_inner *left = parent->child[i].inner, *right = parent->child[i + 1].inner;
    if (left->count + right->count > STREAM_INNER_MAX * 3 / 4) return false;
    if (left->count + right->count > left->cap)
        left = inner_resize(tree, left, left->count + (unsigned)right->count);
    for (unsigned c = 0; c < right->count; c++)
        child_append(left, &right->child[c]);
    parent->child[i].total += parent->child[i + 1].total;
    free_inner(tree, right);
    child_remove(tree, parent, i + 1);
    return true;
}

static void root_shrink(struct stream_tree *tree)
{
    while (tree->root->count == 1 && tree->root->level > 0) {
        struct stream_inner *root = tree->root;
        tree->root = root->child[0].inner;
        tree->root->parent = NULL;
        free_inner(tree, root);
    }
    if (tree->root->count > 0) return;
    free_inner(tree, tree->root);
    tree->root = NULL;
}

/* Removes a child whose entries are no longer in the totals above. */
static void child_remove(struct stream_tree *tree, struct stream_inner *inner, unsigned i)
{
    unsigned behind = --inner->count - i;
    memmove(&inner->child[i], &inner->child[i + 1], behind * sizeof(inner->child[0]));
    if (inner->count > 0 && inner->count <= inner->cap / 4)
        inner = inner_resize(tree, inner, inner->cap / 2U);
    if (inner == tree->root) {
        root_shrink(tree);
        return;
    }
    if (inner->count > STREAM_INNER_MAX / 4) return;
    struct stream_inner *parent = inner->parent;
    unsigned own = inner_index(inner);
    if (inner->count == 0) {
        free_inner(tree, inner);
        child_remove(tree, parent, own);
    } else if (!inner_merge(tree, parent, own) && own > 0) {
        inner_merge(tree, parent, own - 1);
    }
}

void stream_tree_remove(struct stream_tree *tree, struct stream_block *block)
{
    stream_tree_shrink(block, block->count);
    child_remove(tree, block->parent, block_index(block));
    block->parent = NULL;
}

void stream_tree_shrink(const struct stream_block *block, size_t count)
{
    block->parent->child[block_index(block)].total -= count;
    totals_change(block->parent, -count);
}

void stream_tree_moved(const struct stream_block *old, struct stream_block *block)
{
    struct stream_inner *inner = block->parent;
    for (unsigned i = 0; i < inner->count; i++)
        if (inner->child[i].block == old) inner->child[i].block = block;
}

/* ---- finding -------------------------------------------------------------------------------- */

struct stream_block *stream_tree_find(const struct stream_tree *tree, struct stream_id id)
{
    const struct stream_inner *inner = tree->root;
    if (inner == NULL || stream_id_before(id, inner->child[0].first)) return NULL;
    for (;;) {
        unsigned low = 0;
        for (unsigned high = inner->count; high - low > 1;) {
            unsigned middle = (low + high) / 2;
            if (stream_id_before(id, inner->child[middle].first))
                high = middle;
            else
                low = middle;
        }
        if (inner->level == 0) return inner->child[low].block;
        inner = inner->child[low].inner;
    }
}

struct stream_block *stream_tree_at(const struct stream_tree *tree, size_t *rank)
{
    for (const struct stream_inner *inner = tree->root;;) {
        unsigned i = 0;
        for (; *rank >= inner->child[i].total; i++)
            *rank -= inner->child[i].total;
        ensure(i < inner->count, "child %u of %u", i, inner->count);
        if (inner->level == 0) return inner->child[i].block;
        inner = inner->child[i].inner;
    }
}

size_t stream_tree_before(const struct stream_block *block)
{
    size_t before = 0;
    const struct stream_inner *inner = block->parent;
    for (unsigned i = block_index(block); inner != NULL; inner = inner->parent) {
        while (i > 0)
            before += inner->child[--i].total;
        if (inner->parent != NULL) i = inner_index(inner);
    }
    return before;
}

size_t stream_tree_whole(const struct stream_tree *tree, size_t most)
{
    size_t whole = 0;
    for (const struct stream_inner *inner = tree->root; inner != NULL;) {
        unsigned i = 0;
        for (; i < inner->count && inner->child[i].total <= most - whole; i++)
            whole += inner->child[i].total;
        inner = inner->level > 0 && i < inner->count ? inner->child[i].inner : NULL;
    }
    return whole;
}

/* ---- relocating, checking ------------------------------------------------------------------- */

void stream_tree_relocate(struct stream_tree *tree, const struct stream_block *block,
                          struct relocation *relocation)
{
    struct stream_inner *inner = block->parent;
    bool begins = inner->child[0].block == block;
    while (inner != NULL && begins) {
        struct stream_inner *parent = inner->parent;
        unsigned own = parent != NULL ? inner_index(inner) : 0;
        struct stream_inner *moved = relocation_copy(relocation, inner);
        if (moved != NULL) {
            inner_moved(tree, inner, moved);
            mem_free(inner);
        }
        begins = own == 0;
        inner = parent;
    }
}

/* `inner`: not NULL. Adds to *bytes; returns the number of entries. */
static size_t check_inner(const struct stream_inner *inner, size_t *bytes)
{
    size_t total = 0;
    ensure(inner->count > 0 && inner->count <= inner->cap && inner->cap <= STREAM_INNER_MAX,
           "%u children of %u", inner->count, inner->cap);
    *bytes += mem_size(inner);
    for (unsigned i = 0; i < inner->count; i++) {
        size_t below;
        if (inner->level == 0) {
            const struct stream_block *block = inner->child[i].block;
            ensure(block->parent == inner, "the parent of block %u", i);
            ensure(!stream_id_before(block->first, inner->child[i].first),
                   "block %u begins earlier", i);
            below = block->count;
        } else {
            const struct stream_inner *child = inner->child[i].inner;
            ensure(child->parent == inner && child->level + 1 == inner->level, "node %u", i);
            ensure(!stream_id_before(child->child[0].first, inner->child[i].first),
                   "node %u begins", i);
            below = check_inner(child, bytes);
        }
        ensure(i == 0 || stream_id_before(inner->child[i - 1].first, inner->child[i].first),
               "bound %u", i);
        ensure(below == inner->child[i].total, "%zu entries, total %zu", below,
               inner->child[i].total);
        total += below;
    }
    return total;
}

size_t stream_tree_check(const struct stream_tree *tree)
{
    size_t bytes = 0, total = 0;
    if (tree->root != NULL) {
        ensure(tree->root->parent == NULL, "the root has a parent");
        ensure(tree->root->level == 0 || tree->root->count > 1, "a root with one node");
        total = check_inner(tree->root, &bytes);
    }
    ensure(bytes == tree->bytes, "%zu bytes, counted %zu", bytes, tree->bytes);
    return total;
}
