/* ranked_node: see ranked_node.h. */
#include "store/struct/ranked_node.h"

#include <math.h>

#include "store/base/ensure.h"
#include "store/base/prefetch.h"
#include "store/mem/mem.h"

/* --- items --- */

void ranked_node_set_first(struct ranked_node *parent, unsigned i)
{
    ranked_node_set(parent, i, ranked_node_member(ranked_node_child(parent, i), 0));
}

static void leaf_set_keys(struct ranked_node *leaf, unsigned i, unsigned n)
{
    for (unsigned at = i; at < i + n; at++)
        prefetch(ranked_node_member(leaf, at));
    for (unsigned at = i; at < i + n; at++)
        ranked_node_set_key(leaf, at, ranked_node_member(leaf, at)->score);
}

void ranked_node_rebase(struct ranked_node *leaf)
{
    unsigned i = 0;
    while (i < leaf->count && !isfinite(ranked_node_member(leaf, i)->score))
        i++;
    /* If this is the base already, the keys would stay the same. */
    if (i == leaf->count || *ranked_node_base(leaf) == ranked_node_member(leaf, i)->score) return;
    *ranked_node_base(leaf) = ranked_node_member(leaf, i)->score;
    leaf->is_exact = true;
    leaf_set_keys(leaf, 0, leaf->count);
}

void ranked_node_copy(struct ranked_node *to, unsigned at, const struct ranked_node *from,
                      unsigned i, unsigned n)
{
    memmove(ranked_node_members(to) + at, ranked_node_members(from) + i,
            n * sizeof(struct pointer48));
    if (to->height > 0) {
        memmove(to->numbers + at, from->numbers + i, n * sizeof(double));
        memmove(ranked_node_children(to) + at, ranked_node_children(from) + i,
                n * sizeof(struct pointer48));
        memmove(ranked_node_counts(to) + at, ranked_node_counts(from) + i, n * sizeof(uint32_t));
    } else if (*ranked_node_base(to) == *ranked_node_base(from)) {
        memmove(ranked_node_keys(to) + at, ranked_node_keys(from) + i, n * sizeof(float));
        to->is_exact &= from->is_exact;
    } else {
        leaf_set_keys(to, at, n);
    }
}

void ranked_node_open_gap(struct ranked_node *node, unsigned i)
{
    ensure(node->count < node->cap, "node is full: %u items", node->cap);
    ranked_node_copy(node, i + 1, node, i, node->count - i);
    node->count++;
}

void ranked_node_close_gap(struct ranked_node *node, unsigned i)
{
    node->count--;
    ranked_node_copy(node, i, node, i + 1, node->count - i);
}

/* --- nodes --- */

static unsigned cap_for(unsigned count)
{
    return (count + RANKED_STEP - 1) / RANKED_STEP * RANKED_STEP;
}

struct ranked_node *ranked_node_new(size_t *bytes, unsigned height, unsigned count)
{
    unsigned cap = cap_for(count);
    struct ranked_node *node = mem_alloc(ranked_node_size(height, cap));
    *node = (struct ranked_node){ .cap = (uint16_t)cap,
                                  .height = (uint16_t)height,
                                  .is_exact = height == 0 };
    *bytes += ranked_node_size(height, cap);
    return node;
}

void ranked_node_free(size_t *bytes, struct ranked_node *node)
{
    *bytes -= ranked_node_size(node->height, node->cap);
    mem_free(node);
}

struct ranked_node *ranked_node_fit(size_t *bytes, struct ranked_node *node, unsigned count)
{
    if (cap_for(count) == node->cap) return node;
    struct ranked_node *fitting = ranked_node_new(bytes, node->height, count);
    if (node->height == 0) *ranked_node_base(fitting) = *ranked_node_base(node);
    ranked_node_copy(fitting, 0, node, 0, node->count);
    fitting->count = node->count;
    ranked_node_free(bytes, node);
    return fitting;
}

struct ranked_node *ranked_node_fit_child(size_t *bytes, struct ranked_node *parent, unsigned i,
                                          unsigned count)
{
    struct ranked_node *child = ranked_node_fit(bytes, ranked_node_child(parent, i), count);
    ranked_node_set_child(parent, i, child);
    return child;
}

/* --- neighbours --- */

/* Returns the number of members below items i to i + n - 1. */
static uint32_t members_below(const struct ranked_node *node, unsigned i, unsigned n)
{
    if (node->height == 0) return n;
    uint32_t total = 0;
    for (; n > 0; n--)
        total += ranked_node_counts(node)[i++];
    return total;
}

/* Moves n items from the front of child i + 1 to the end of child i. */
static void shift_left(size_t *bytes, struct ranked_node *parent, unsigned i, unsigned n)
{
    struct ranked_node *left = ranked_node_child(parent, i);
    struct ranked_node *right = ranked_node_child(parent, i + 1);
    uint32_t moved = members_below(right, 0, n);
    left = ranked_node_fit_child(bytes, parent, i, left->count + n);
    ranked_node_copy(left, left->count, right, 0, n);
    left->count = (uint16_t)(left->count + n);
    right->count = (uint16_t)(right->count - n);
    ranked_node_copy(right, 0, right, n, right->count);
    ranked_node_counts(parent)[i] += moved;
    ranked_node_counts(parent)[i + 1] -= moved;
    if (right->count == 0) return;
    ranked_node_fit_child(bytes, parent, i + 1, right->count);
    ranked_node_set_first(parent, i + 1);
}

/* Moves n items from the end of child i to the front of child i + 1. */
static void shift_right(size_t *bytes, struct ranked_node *parent, unsigned i, unsigned n)
{
    struct ranked_node *left = ranked_node_child(parent, i);
    struct ranked_node *right = ranked_node_child(parent, i + 1);
    right = ranked_node_fit_child(bytes, parent, i + 1, right->count + n);
    left->count = (uint16_t)(left->count - n);
    uint32_t moved = members_below(left, left->count, n);
    ranked_node_copy(right, n, right, 0, right->count);
    ranked_node_copy(right, 0, left, left->count, n);
    right->count = (uint16_t)(right->count + n);
    ranked_node_fit_child(bytes, parent, i, left->count);
    ranked_node_counts(parent)[i] -= moved;
    ranked_node_counts(parent)[i + 1] += moved;
    ranked_node_set_first(parent, i + 1);
}

void ranked_node_balance(size_t *bytes, struct ranked_node *parent, unsigned i)
{
    unsigned left = ranked_node_child(parent, i)->count;
    unsigned right = ranked_node_child(parent, i + 1)->count;
    if (left > right)
        shift_right(bytes, parent, i, (left - right) / 2);
    else
        shift_left(bytes, parent, i, (right - left) / 2);
}

void ranked_node_split(size_t *bytes, struct ranked_node *parent, unsigned i, unsigned keep)
{
    struct ranked_node *left = ranked_node_child(parent, i);
    unsigned moving = left->count - keep;
    ranked_node_open_gap(parent, i + 1);
    struct ranked_node *right = ranked_node_new(bytes, left->height, moving);
    if (left->height == 0) *ranked_node_base(right) = *ranked_node_base(left);
    ranked_node_set_child(parent, i + 1, right);
    ranked_node_counts(parent)[i + 1] = 0;
    shift_right(bytes, parent, i, moving);
}

void ranked_node_merge(size_t *bytes, struct ranked_node *parent, unsigned i)
{
    struct ranked_node *right = ranked_node_child(parent, i + 1);
    shift_left(bytes, parent, i, right->count);
    ranked_node_close_gap(parent, i + 1);
    ranked_node_free(bytes, right);
}
