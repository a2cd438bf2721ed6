/* counted: random steps, compared with an array of the leaves in their order. */
#include "store/struct/counted.h"

#include <string.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { LEAVES = 4000, STEPS = 40000, ITEMS = 9 };

struct leaf {
    struct counted_node node;
    uint64_t first; /* its key; leaves are ordered by it */
};

struct branch {
    struct counted_node *child;
    uint64_t key;
    size_t most; /* the largest total of a leaf below */
    char rest[24];
};

static struct rng rng;
static struct counted tree;
static struct leaf *leaves[LEAVES];
static size_t count;

static struct branch *branches(const struct counted_inner *inner)
{
    return (struct branch *)(void *)(uintptr_t)inner->branches;
}

static size_t most_below(const struct counted_inner *inner)
{
    size_t most = 0;
    for (unsigned i = 0; i < inner->count; i++)
        if (branches(inner)[i].most > most) most = branches(inner)[i].most;
    return most;
}

static void update_most(struct counted_inner *inner)
{
    for (; inner != NULL && inner->node.parent != NULL; inner = inner->node.parent)
        branches(inner->node.parent)[counted_index(&inner->node)].most = most_below(inner);
}

static const struct counted_kind kind = { sizeof(struct branch), sizeof(uint64_t), update_most };

/* As a user does before it inserts a leaf: the label of the leaf before stays what it is. */
static void add_most(const struct leaf *prev, size_t most)
{
    for (const struct counted_inner *inner = prev->node.parent;
         inner != NULL && inner->node.parent != NULL; inner = inner->node.parent) {
        struct branch *own = &branches(inner->node.parent)[counted_index(&inner->node)];
        if (own->most < most) own->most = most;
    }
}

static void set_most(const struct leaf *leaf, size_t most)
{
    if (leaf->node.parent == NULL) return;
    branches(leaf->node.parent)[counted_index(&leaf->node)].most = most;
    update_most(leaf->node.parent);
}

/* The leaf to which the keys lead. */
static const struct counted_node *find(uint64_t key)
{
    const struct counted_node *node = tree.root;
    for (uint32_t height = tree.height; height > 0; height--) {
        const struct counted_inner *inner = (const struct counted_inner *)node;
        unsigned i = inner->count - 1U;
        while (i > 0 && branches(inner)[i].key > key)
            i--;
        node = branches(inner)[i].child;
    }
    return node;
}

/* Inserts a leaf as the i-th, if there is a key left between its neighbours that leads to the one
 * before. */
static void insert(size_t i)
{
    uint64_t low = i > 0 ? leaves[i - 1]->first : 0;
    uint64_t high = i < count ? leaves[i]->first : low + 20000;
    if (i == 0 && count > 0) return; /* a leaf is inserted after another one */
    uint64_t first = low + (high - low) / 2;
    if (high - low < 2 || (i > 0 && find(first) != &leaves[i - 1]->node)) return;
    struct leaf *leaf = mem_alloc(sizeof(*leaf));
    *leaf = (struct leaf){ { .total = 1 + rng_below(&rng, ITEMS) }, first };
    const struct branch label = { .key = leaf->first, .most = leaf->node.total };
    if (i > 0) add_most(leaves[i - 1], leaf->node.total);
    counted_insert(&tree, i > 0 ? &leaves[i - 1]->node : NULL, &leaf->node, &label.key);
    memmove(&leaves[i + 1], &leaves[i], (count - i) * sizeof(*leaves));
    leaves[i] = leaf;
    count++;
    if (i == 1)
        set_most(leaves[0], leaves[0]->node.total); /* had no branch when it was the only one */
}

static void drop(size_t i)
{
    struct leaf *leaf = leaves[i];
    set_most(leaf, 0);
    counted_remove(&tree, &leaf->node);
    ck_assert_ptr_null(leaf->node.parent);
    mem_free(leaf);
    count--;
    memmove(&leaves[i], &leaves[i + 1], (count - i) * sizeof(*leaves));
}

static void move(size_t i)
{
    struct leaf *old = leaves[i];
    leaves[i] = mem_alloc(sizeof(*old));
    *leaves[i] = *old;
    counted_moved(&tree, &old->node, &leaves[i]->node);
    mem_free(old);
}

static void change(size_t i)
{
    counted_change(&leaves[i]->node, 1);
    set_most(leaves[i], leaves[i]->node.total);
}

struct visit {
    size_t leaves;
    uint64_t last;
};

static void visit_leaf(void *ctx, const struct counted_node *node)
{
    struct visit *visit = ctx;
    ck_assert_ptr_eq(node, &leaves[visit->leaves++]->node);
    visit->last = ((const struct leaf *)node)->first;
}

static void visit_key(void *ctx, const void *key)
{
    struct visit *visit = ctx;
    uint64_t value;
    memcpy(&value, key, sizeof(value));
    ck_assert_uint_gt(value, visit->last);
    ck_assert_uint_le(value, leaves[visit->leaves]->first);
}

static size_t assert_labels(const struct counted_node *node, uint32_t height)
{
    const struct counted_inner *inner = (const struct counted_inner *)node;
    if (height == 0) return node->total;
    for (unsigned i = 0; i < inner->count; i++)
        ck_assert_uint_eq(assert_labels(branches(inner)[i].child, height - 1),
                          branches(inner)[i].most);
    return most_below(inner);
}

static void assert_same(void)
{
    struct visit visit = { 0 };
    size_t before = 0;
    counted_check(&tree, &(struct counted_visitor){ visit_leaf, visit_key, &visit });
    ck_assert_uint_eq(visit.leaves, count);
    for (size_t i = 0; i < count; i++) {
        const struct counted_node *leaf = &leaves[i]->node;
        size_t rank = before + rng_below(&rng, leaf->total), index = rank;
        ck_assert_ptr_eq(counted_at(&tree, &index), leaf);
        ck_assert_uint_eq(index, rank - before);
        ck_assert_uint_eq(counted_before(leaf), before);
        ck_assert_ptr_eq(find(leaves[i]->first), leaf);
        before += leaf->total;
    }
    if (count > 0) assert_labels(tree.root, tree.height);
}

/* `appends` and `inserts`: percent of the steps. */
static void steps(size_t n, unsigned appends, unsigned inserts)
{
    for (size_t i = 0; i < n; i++) {
        if (count == 0 || (count < LEAVES && rng_chance(&rng, appends)))
            insert(count);
        else if (count < LEAVES && rng_chance(&rng, inserts))
            insert(rng_below(&rng, count + 1));
        else if (rng_chance(&rng, 20))
            move(rng_below(&rng, count));
        else if (rng_chance(&rng, 20))
            change(rng_below(&rng, count));
        else
            drop(rng_chance(&rng, 30) ? 0 : rng_below(&rng, count));
        if (i % 1000 == 0) assert_same();
    }
    assert_same();
}

static void begin(void)
{
    rng_init(&rng, test_seed());
    counted_init(&tree, &kind);
    count = 0;
}

static void end(void)
{
    while (count > 0)
        drop(rng_below(&rng, count));
    ck_assert_ptr_null(tree.root);
    ck_assert_uint_eq(tree.height, 0);
    ck_assert_uint_eq(mem_used(), 0);
}

START_TEST(random_steps_keep_order_counts_and_labels)
{
    begin();
    steps(STEPS, 5, 70);
    ck_assert_uint_ge(tree.height, 3);
    steps(STEPS, 5, 20);
    ck_assert_uint_lt(count, 20);
    end();
}
END_TEST

START_TEST(appended_leaves_fill_nodes)
{
    enum { MAX = COUNTED_INNER_MAX(sizeof(struct branch)) };
    begin();
    for (size_t i = 0; i < MAX * MAX; i++)
        insert(count);
    ck_assert_uint_eq(tree.height, 2);
    insert(count);
    ck_assert_uint_eq(tree.height, 3);
    assert_same();
    end();
}
END_TEST

START_TEST(relocation_moves_each_inner_node_once)
{
    begin();
    steps(STEPS, 5, 70);
    struct relocation relocation = { .left = SIZE_MAX };
    size_t used = mem_used(), bytes = tree.bytes;
    mem_all_sparse(true);
    for (size_t i = 0; i < count; i++)
        counted_relocate(&tree, &leaves[i]->node, &relocation);
    mem_all_sparse(false);
    ck_assert_uint_eq(relocation.kept, 0);
    ck_assert_uint_gt(relocation.moved, count / COUNTED_INNER_MAX(sizeof(struct branch)));
    ck_assert_uint_lt(relocation.moved, count);
    ck_assert_uint_eq(mem_used(), used);
    ck_assert_uint_eq(tree.bytes, bytes);
    assert_same();
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_steps_keep_order_counts_and_labels,
        appended_leaves_fill_nodes,
        relocation_moves_each_inner_node_once,
        NULL,
    };
    return suite_of("counted", tests);
}
