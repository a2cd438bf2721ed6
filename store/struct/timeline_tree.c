/* timeline_tree: see timeline_tree.h.
 *
 * Nodes are merged late: when a leaf or an inner node is at most a quarter full, and only if the
 * result is at most three quarters full, so that the next insertion does not split it again. */
#include "store/struct/timeline_tree.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    STEP = 8, /* a leaf's cap is a multiple of this many slots */
};

/* --- memory --- */

static void segment_resize(struct timeline *tl, uint32_t i, uint32_t cap)
{
    if (i == tl->segment_cap) {
        tl->segment_cap = i == 0 ? 1 : 2 * i;
        tl->leaves = mem_realloc(tl->leaves, tl->segment_cap * sizeof(*tl->leaves));
    }
    tl->leaves[i] = mem_realloc(tl->number_cap > i * TIMELINE_SEGMENT ? tl->leaves[i] : NULL,
                                cap * sizeof(struct timeline_leaf));
    tl->number_cap = i * TIMELINE_SEGMENT + cap;
}

static uint32_t number_take(struct timeline *tl)
{
    uint32_t number = tl->free_number;
    if (number != TIMELINE_NONE) {
        tl->free_number = timeline_leaf_of(tl, number)->next;
        return number;
    }
    if (tl->numbers == tl->number_cap) {
        if (tl->numbers == 0)
            segment_resize(tl, 0, 1);
        else if (tl->numbers < TIMELINE_SEGMENT)
            segment_resize(tl, 0, 2 * tl->numbers);
        else
            segment_resize(tl, tl->numbers >> TIMELINE_SEGMENT_SHIFT, TIMELINE_SEGMENT);
    }
    return tl->numbers++;
}

/* Moves the slots to the beginning, unless the leaf only grows. */
static void leaf_resize(struct timeline *tl, struct timeline_leaf *leaf, unsigned cap)
{
    if (cap < leaf->cap && leaf->begin > 0) {
        memmove(leaf->slots, timeline_slots(leaf), leaf->count * sizeof(struct timeline_slot));
        leaf->begin = 0;
    }
    tl->room = tl->room - leaf->cap + cap;
    leaf->slots = mem_realloc(leaf->slots, cap * sizeof(struct timeline_slot));
    leaf->cap = (uint16_t)cap;
}

static struct timeline_inner *inner_new(struct timeline *tl, unsigned level)
{
    struct timeline_inner *inner = mem_alloc(sizeof(*inner));
    inner->parent = NULL;
    inner->total = inner->count = 0;
    inner->level = (uint16_t)level;
    tl->inner_count++;
    return inner;
}

static void inner_free(struct timeline *tl, struct timeline_inner *inner)
{
    tl->inner_count--;
    mem_free(inner);
}

void timeline_leaf_drop_first(struct timeline *tl)
{
    const struct timeline_leaf *leaf = timeline_leaf_of(tl, tl->first);
    uintptr_t child = tl->first;
    for (struct timeline_inner *inner = leaf->parent; inner != NULL;) {
        if (inner->child[inner->count - 1] != child) break;
        struct timeline_inner *parent = inner->parent;
        child = (uintptr_t)inner;
        inner_free(tl, inner);
        inner = parent;
    }
    tl->count -= leaf->count;
    tl->room -= leaf->cap;
    tl->first = leaf->next;
    mem_free(leaf->slots);
}

void timeline_segment_drop_last(struct timeline *tl)
{
    uint32_t last = (tl->number_cap - 1) >> TIMELINE_SEGMENT_SHIFT;
    mem_free(tl->leaves[last]);
    tl->number_cap = last * TIMELINE_SEGMENT;
}

/* --- inner nodes --- */

static unsigned child_index(const struct timeline_inner *inner, uintptr_t child)
{
    for (unsigned i = 0; i < inner->count; i++)
        if (inner->child[i] == child) return i;
    ensure(false, "not one of %u children", inner->count);
}

static void child_adopt(const struct timeline *tl, struct timeline_inner *inner, uintptr_t child)
{
    if (inner->level == 0)
        timeline_leaf_of(tl, (uint32_t)child)->parent = inner;
    else
        ((struct timeline_inner *)child)->parent = inner;
}

/* Moves children, from `from` on, to the end of another node of the same level. */
static void children_shift(struct timeline *tl, struct timeline_inner *inner, unsigned from,
                           struct timeline_inner *to)
{
    uint32_t moved = 0;
    for (unsigned i = from; i < inner->count; i++) {
        moved += timeline_child_total(tl, inner, i);
        to->at[to->count] = inner->at[i];
        to->child[to->count++] = inner->child[i];
        child_adopt(tl, to, inner->child[i]);
    }
    inner->count = (uint16_t)from;
    timeline_total_change(to, moved);
    timeline_total_change(inner, -moved);
}

/* Adds a root above the node that has been the root so far. */
static struct timeline_inner *root_add(struct timeline *tl, uintptr_t only, unsigned level)
{
    struct timeline_inner *root = inner_new(tl, level);
    root->total = tl->count;
    root->count = 1;
    root->child[0] = only;
    root->at[0] = INT64_MIN;
    child_adopt(tl, root, only);
    return tl->root = root;
}

/* Inserts a child, with no slots below it yet, after child i. */
static void child_insert(struct timeline *tl, struct timeline_inner *inner, unsigned i,
                         uintptr_t child, msec at)
{
    i++;
    if (inner->count == TIMELINE_INNER_MAX) {
        unsigned keep = i == TIMELINE_INNER_MAX ? TIMELINE_INNER_MAX : TIMELINE_INNER_MAX / 2;
        struct timeline_inner *right = inner_new(tl, inner->level);
        if (inner->parent == NULL) root_add(tl, (uintptr_t)inner, inner->level + 1U);
        struct timeline_inner *parent = inner->parent;
        child_insert(tl, parent, child_index(parent, (uintptr_t)inner), (uintptr_t)right,
                     i == TIMELINE_INNER_MAX ? at : inner->at[keep]);
        children_shift(tl, inner, keep, right);
        if (i > keep || i == TIMELINE_INNER_MAX) {
            inner = right;
            i -= keep;
        }
    }
    memmove(&inner->at[i + 1], &inner->at[i], (inner->count - i) * sizeof(inner->at[0]));
    memmove(&inner->child[i + 1], &inner->child[i], (inner->count - i) * sizeof(inner->child[0]));
    inner->at[i] = at;
    inner->child[i] = child;
    inner->count++;
    child_adopt(tl, inner, child);
}

static void root_collapse(struct timeline *tl)
{
    struct timeline_inner *root = tl->root;
    if (root->level == 0)
        timeline_leaf_of(tl, (uint32_t)root->child[0])->parent = NULL;
    else
        timeline_inner_at(root, 0)->parent = NULL;
    tl->root = root->level == 0 ? NULL : timeline_inner_at(root, 0);
    inner_free(tl, root);
}

static void child_remove(struct timeline *tl, struct timeline_inner *inner, unsigned i);

/* Merges child i of a node and the next one, if they fit with room to spare. */
static bool inner_merge(struct timeline *tl, struct timeline_inner *parent, unsigned i)
{
    if (i + 1 >= parent->count) return false;
    struct timeline_inner *left = timeline_inner_at(parent, i);
    struct timeline_inner *right = timeline_inner_at(parent, i + 1);
    if (left->count + right->count > TIMELINE_INNER_MAX * 3 / 4) return false;
    right->at[0] = parent->at[i + 1];
    children_shift(tl, right, 0, left);
    inner_free(tl, right);
    child_remove(tl, parent, i + 1);
    return true;
}

/* Removes a child with no slots below it. */
static void child_remove(struct timeline *tl, struct timeline_inner *inner, unsigned i)
{
    unsigned behind = --inner->count - i;
    memmove(&inner->at[i], &inner->at[i + 1], behind * sizeof(inner->at[0]));
    memmove(&inner->child[i], &inner->child[i + 1], behind * sizeof(inner->child[0]));
    if (inner == tl->root) {
        while (tl->root != NULL && tl->root->count == 1)
            root_collapse(tl);
        return;
    }
    if (inner->count > TIMELINE_INNER_MAX / 4) return;
    struct timeline_inner *parent = inner->parent;
    unsigned own = child_index(parent, (uintptr_t)inner);
    if (inner->count == 0) {
        inner_free(tl, inner);
        child_remove(tl, parent, own);
    } else if (!inner_merge(tl, parent, own) && own > 0) {
        inner_merge(tl, parent, own - 1);
    }
}

/* --- leaves --- */

uint32_t timeline_leaf_insert(struct timeline *tl, uint32_t prev, unsigned cap, msec at)
{
    uint32_t number = number_take(tl);
    struct timeline_leaf *leaf = timeline_leaf_of(tl, number);
    *leaf = (struct timeline_leaf){ .next = TIMELINE_NONE, .prev = prev };
    leaf_resize(tl, leaf, cap);
    if (prev == TIMELINE_NONE) {
        tl->first = tl->last = number;
        return number;
    }
    struct timeline_leaf *before = timeline_leaf_of(tl, prev);
    leaf->next = before->next;
    before->next = number;
    if (leaf->next == TIMELINE_NONE)
        tl->last = number;
    else
        timeline_leaf_of(tl, leaf->next)->prev = number;
    struct timeline_inner *parent = before->parent != NULL ? before->parent : root_add(tl, prev, 0);
    child_insert(tl, parent, child_index(parent, prev), number, at);
    return number;
}

void timeline_leaf_remove(struct timeline *tl, uint32_t number)
{
    struct timeline_leaf *leaf = timeline_leaf_of(tl, number);
    if (leaf->prev == TIMELINE_NONE)
        tl->first = leaf->next;
    else
        timeline_leaf_of(tl, leaf->prev)->next = leaf->next;
    if (leaf->next == TIMELINE_NONE)
        tl->last = leaf->prev;
    else
        timeline_leaf_of(tl, leaf->next)->prev = leaf->prev;
    mem_free(leaf->slots);
    leaf->slots = NULL;
    tl->room -= leaf->cap;
    leaf->next = tl->free_number;
    tl->free_number = number;
    child_remove(tl, leaf->parent, child_index(leaf->parent, number));
}

static unsigned rounded_up(unsigned count)
{
    return (count + STEP - 1) / STEP * STEP;
}

/* Moves slots, from `from` on, to the end of another leaf that has room. */
static void slots_shift(struct timeline *tl, struct timeline_leaf *leaf, unsigned from,
                        uint32_t number)
{
    struct timeline_leaf *to = timeline_leaf_of(tl, number);
    unsigned moved = leaf->count - from;
    struct timeline_slot *end = timeline_slots(to) + to->count;
    memcpy(end, timeline_slots(leaf) + from, moved * sizeof(struct timeline_slot));
    for (unsigned i = 0; i < moved; i++)
        end[i].node->leaf = number;
    leaf->count = (uint16_t)from;
    to->count = (uint16_t)(to->count + moved);
    if (leaf->parent == to->parent) return;
    timeline_total_change(to->parent, moved);
    timeline_total_change(leaf->parent, -moved);
}

/* Returns the new leaf, which gets the later half. Both leaves' caps equal their counts. */
static uint32_t leaf_split(struct timeline *tl, uint32_t number)
{
    msec at = timeline_slots(timeline_leaf_of(tl, number))[TIMELINE_LEAF_MAX / 2].at;
    uint32_t right = timeline_leaf_insert(tl, number, TIMELINE_LEAF_MAX / 2, at);
    struct timeline_leaf *leaf = timeline_leaf_of(tl, number);
    slots_shift(tl, leaf, TIMELINE_LEAF_MAX / 2, right);
    leaf_resize(tl, leaf, TIMELINE_LEAF_MAX / 2);
    return right;
}

/* Merges child i of a node and the next one, if they fit with room to spare. */
static bool leaf_merge(struct timeline *tl, const struct timeline_inner *parent, unsigned i)
{
    if (i + 1 >= parent->count) return false;
    uint32_t left = (uint32_t)parent->child[i], right = (uint32_t)parent->child[i + 1];
    struct timeline_leaf *to = timeline_leaf_of(tl, left);
    struct timeline_leaf *from = timeline_leaf_of(tl, right);
    unsigned both = (unsigned)to->count + from->count;
    if (both > TIMELINE_LEAF_MAX * 3 / 4) return false;
    if (to->begin + both > to->cap) {
        memmove(to->slots, timeline_slots(to), to->count * sizeof(struct timeline_slot));
        to->begin = 0;
        if (both > to->cap) leaf_resize(tl, to, rounded_up(both));
    }
    slots_shift(tl, from, 0, left);
    timeline_leaf_remove(tl, right);
    return true;
}

void timeline_leaf_shrink(struct timeline *tl, uint32_t number)
{
    struct timeline_leaf *leaf = timeline_leaf_of(tl, number);
    if (leaf->parent == NULL) {
        if (leaf->cap > TIMELINE_LEAF_MIN && leaf->count <= leaf->cap / 4)
            leaf_resize(tl, leaf, leaf->cap / 2);
        return;
    }
    if (number == tl->first) return;
    if (leaf->count <= TIMELINE_LEAF_MAX / 4) {
        const struct timeline_inner *parent = leaf->parent;
        unsigned i = child_index(parent, number);
        if (leaf_merge(tl, parent, i) || (i > 0 && leaf_merge(tl, parent, i - 1))) return;
    }
    if (leaf->count + 2 * STEP <= leaf->cap)
        leaf_resize(tl, leaf, rounded_up(leaf->count + STEP / 2U));
}

void timeline_leaf_make_room(struct timeline *tl, uint32_t *number, unsigned *slot, msec at)
{
    struct timeline_leaf *leaf = timeline_leaf_of(tl, *number);
    bool at_end = *slot == leaf->count && leaf->begin + leaf->count == leaf->cap;
    if (leaf->count < leaf->cap && !(at_end && leaf->begin < leaf->cap / 4)) return;
    if (leaf->cap < TIMELINE_LEAF_MAX) {
        leaf_resize(tl, leaf, rounded_up(leaf->cap + 1U));
    } else if (at_end) {
        unsigned cap = *number == tl->last ? TIMELINE_LEAF_MAX : STEP;
        *number = timeline_leaf_insert(tl, *number, cap, at);
        *slot = 0;
    } else {
        uint32_t right = leaf_split(tl, *number);
        if (*slot > TIMELINE_LEAF_MAX / 2) {
            *number = right;
            *slot -= TIMELINE_LEAF_MAX / 2;
        }
        leaf_resize(tl, timeline_leaf_of(tl, *number), TIMELINE_LEAF_MAX / 2 + STEP);
    }
}

/* --- relocating --- */

/* Relocates a node whose first child is `child`, and the nodes that begin with it in turn. */
static void inner_relocate(struct timeline *tl, struct timeline_inner *inner, uintptr_t child,
                           struct relocation *relocation)
{
    while (inner != NULL && inner->child[0] == child) {
        child = (uintptr_t)inner;
        struct timeline_inner *moved = relocation_copy(relocation, inner), *parent = inner->parent;
        if (moved != NULL) {
            for (unsigned i = 0; i < moved->count; i++)
                child_adopt(tl, moved, moved->child[i]);
            if (parent == NULL)
                tl->root = moved;
            else
                parent->child[child_index(parent, child)] = (uintptr_t)moved;
            mem_free(inner);
            child = (uintptr_t)moved;
        }
        inner = parent;
    }
}

uint32_t timeline_relocate(struct timeline *tl, uint32_t place, struct relocation *relocation)
{
    if (place >= tl->numbers) return 0;
    if (place == 0) tl->leaves = relocation_block(relocation, tl->leaves);
    if (place % TIMELINE_SEGMENT == 0) {
        struct timeline_leaf **segment = &tl->leaves[place >> TIMELINE_SEGMENT_SHIFT];
        *segment = relocation_block(relocation, *segment);
    }
    struct timeline_leaf *leaf = timeline_leaf_of(tl, place);
    if (leaf->slots != NULL) {
        leaf->slots = relocation_block(relocation, leaf->slots);
        inner_relocate(tl, leaf->parent, place, relocation);
    }
    return place + 1 < tl->numbers ? place + 1 : 0;
}
