/* timeline_tree: see timeline_tree.h. Leaves are merged late, as inner nodes are (counted.h). */
#include "store/struct/timeline_tree.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    STEP = 8, /* a leaf's cap is a multiple of this many slots */
};

/* --- memory --- */

/* Redirects the pointers to the leaves of a segment that was copied, and frees the old one. */
static void segment_replace(struct timeline *tl, uint32_t i, struct timeline_leaf *segment)
{
    struct timeline_leaf *old = tl->leaves[i];
    uint32_t used = tl->numbers - i * TIMELINE_SEGMENT;
    tl->leaves[i] = segment;
    for (uint32_t n = 0; n < used && n < TIMELINE_SEGMENT; n++)
        if (segment[n].slots != NULL) counted_moved(&tl->tree, &old[n].node, &segment[n].node);
    mem_free(old);
}

/* Adds a segment, or makes the first one larger. */
static void segment_add(struct timeline *tl, uint32_t i, uint32_t cap)
{
    struct timeline_leaf *segment = mem_alloc(cap * sizeof(*segment));
    if (i == tl->segment_cap) {
        tl->segment_cap = i == 0 ? 1 : 2 * i;
        tl->leaves = mem_realloc(tl->leaves, tl->segment_cap * sizeof(*tl->leaves));
    }
    if (tl->number_cap > i * TIMELINE_SEGMENT) {
        memcpy(segment, tl->leaves[i], tl->numbers * sizeof(*segment));
        segment_replace(tl, i, segment);
    }
    tl->leaves[i] = segment;
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
            segment_add(tl, 0, 1);
        else if (tl->numbers < TIMELINE_SEGMENT)
            segment_add(tl, 0, 2 * tl->numbers);
        else
            segment_add(tl, tl->numbers >> TIMELINE_SEGMENT_SHIFT, TIMELINE_SEGMENT);
    }
    return tl->numbers++;
}

/* Reallocates the slots; afterwards they start at the beginning. */
static void leaf_resize(struct timeline *tl, struct timeline_leaf *leaf, unsigned cap)
{
    struct timeline_leaf old = *leaf;
    size_t count = leaf->node.total;
    leaf->slots = mem_alloc_tight(timeline_slots_size(cap));
    leaf->begin = 0;
    leaf->cap = (uint16_t)cap;
    tl->cap = tl->cap - old.cap + cap;
    if (old.slots == NULL) return;
    memcpy(timeline_offsets(leaf), timeline_offsets(&old), count * sizeof(uint32_t));
    memcpy(timeline_nodes(leaf), timeline_nodes(&old), count * sizeof(struct pointer48));
    mem_free(old.slots);
}

/* Counts the instants of a leaf from another base, which must not be after them. */
static void leaf_rebase(struct timeline_leaf *leaf, msec base)
{
    uint32_t *offsets = timeline_offsets(leaf);
    uint32_t less = (uint32_t)((uint64_t)base - (uint64_t)leaf->base);
    for (size_t i = 0; i < leaf->node.total; i++)
        offsets[i] -= less; /* modulo 2^32, if the base becomes earlier */
    leaf->base = base;
}

/* Is `to` at most 2^32 - 1 ms after `from`, which is not later? */
static bool in_span(msec from, msec to)
{
    return (uint64_t)to - (uint64_t)from <= TIMELINE_SPAN;
}

void timeline_leaf_drop_first(struct timeline *tl)
{
    struct timeline_leaf *leaf = timeline_leaf_of(tl, tl->first);
    tl->count -= (uint32_t)leaf->node.total;
    tl->cap -= leaf->cap;
    tl->first = leaf->next;
    counted_remove(&tl->tree, &leaf->node);
    mem_free(leaf->slots);
}

void timeline_segment_drop_last(struct timeline *tl)
{
    uint32_t last = (tl->number_cap - 1) >> TIMELINE_SEGMENT_SHIFT;
    mem_free(tl->leaves[last]);
    tl->number_cap = last * TIMELINE_SEGMENT;
}

/* --- leaves --- */

uint32_t timeline_leaf_insert(struct timeline *tl, uint32_t prev, unsigned cap, msec at)
{
    uint32_t number = number_take(tl);
    struct timeline_leaf *leaf = timeline_leaf_of(tl, number);
    *leaf =
        (struct timeline_leaf){ .next = TIMELINE_NONE, .prev = prev, .number = number, .base = at };
    leaf_resize(tl, leaf, cap);
    if (prev == TIMELINE_NONE) {
        tl->first = tl->last = number;
        counted_insert(&tl->tree, NULL, &leaf->node, &at);
        return number;
    }
    struct timeline_leaf *before = timeline_leaf_of(tl, prev);
    leaf->next = before->next;
    before->next = number;
    if (leaf->next == TIMELINE_NONE)
        tl->last = number;
    else
        timeline_leaf_of(tl, leaf->next)->prev = number;
    counted_insert(&tl->tree, &before->node, &leaf->node, &at);
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
    tl->cap -= leaf->cap;
    leaf->next = tl->free_number;
    tl->free_number = number;
    counted_remove(&tl->tree, &leaf->node);
}

static unsigned rounded_up(unsigned count)
{
    return (count + STEP - 1) / STEP * STEP;
}

/* Moves slots, from `from` on, to the end of another leaf that has room and span. */
static void slots_shift(struct timeline *tl, struct timeline_leaf *leaf, unsigned from,
                        uint32_t number)
{
    struct timeline_leaf *to = timeline_leaf_of(tl, number);
    size_t moved = leaf->node.total - from, end = to->node.total;
    for (size_t i = 0; i < moved; i++) {
        struct timeline_node *node = timeline_slot_node(leaf, from + i);
        timeline_slot_set(to, end + i, timeline_slot_at(leaf, from + i), node);
        node->leaf = number;
    }
    counted_change(&to->node, moved);
    counted_change(&leaf->node, -moved);
}

/* Moves the slots from `from` on to a new leaf after this one; returns its number. */
static uint32_t leaf_cut(struct timeline *tl, uint32_t number, unsigned from)
{
    const struct timeline_leaf *leaf = timeline_leaf_of(tl, number);
    unsigned moved = (unsigned)leaf->node.total - from;
    uint32_t right =
        timeline_leaf_insert(tl, number, rounded_up(moved), timeline_slot_at(leaf, from));
    slots_shift(tl, timeline_leaf_of(tl, number), from, right);
    return right;
}

/* Merges two leaves, if they have the same parent and fit with room to spare. */
static bool leaf_merge(struct timeline *tl, uint32_t left, uint32_t right)
{
    if (left == TIMELINE_NONE || right == TIMELINE_NONE) return false;
    struct timeline_leaf *to = timeline_leaf_of(tl, left), *from = timeline_leaf_of(tl, right);
    unsigned both = (unsigned)(to->node.total + from->node.total);
    if (to->node.parent != from->node.parent || both > TIMELINE_LEAF_MAX * 3 / 4 ||
        !in_span(timeline_slot_at(to, 0), timeline_slot_at(from, from->node.total - 1)))
        return false;
    leaf_rebase(to, timeline_slot_at(to, 0));
    if (both > to->cap)
        leaf_resize(tl, to, rounded_up(both));
    else if (to->begin + both > to->cap)
        timeline_slots_to_begin(to);
    slots_shift(tl, from, 0, left);
    timeline_leaf_remove(tl, right);
    return true;
}

void timeline_leaf_shrink(struct timeline *tl, uint32_t number)
{
    struct timeline_leaf *leaf = timeline_leaf_of(tl, number);
    unsigned count = (unsigned)leaf->node.total;
    if (tl->first == tl->last) {
        if (leaf->cap > TIMELINE_LEAF_MIN && count <= leaf->cap / 4)
            leaf_resize(tl, leaf, leaf->cap / 2);
        return;
    }
    if (number == tl->first) return;
    if (count <= TIMELINE_LEAF_MAX / 4 &&
        (leaf_merge(tl, number, leaf->next) || leaf_merge(tl, leaf->prev, number)))
        return;
    if (count + 2 * STEP <= leaf->cap) leaf_resize(tl, leaf, rounded_up(count + STEP / 2U));
}

/* Makes a leaf whose span includes `at`, which belongs at *slot of a leaf that has slots. */
static void make_span(struct timeline *tl, uint32_t *number, unsigned *slot, msec at)
{
    struct timeline_leaf *leaf = timeline_leaf_of(tl, *number);
    if (at >= leaf->base && in_span(leaf->base, at)) return;
    msec first = timeline_slot_at(leaf, 0), last = timeline_slot_at(leaf, leaf->node.total - 1);
    if (at >= first) { /* after the last one */
        if (in_span(first, at)) {
            leaf_rebase(leaf, first);
        } else {
            *number = timeline_leaf_insert(tl, *number, STEP, at);
            *slot = 0;
        }
        return;
    }
    if (in_span(at, last)) {
        leaf_rebase(leaf, at);
        return;
    }
    leaf_cut(tl, *number, 0);
    leaf = timeline_leaf_of(tl, *number);
    leaf_resize(tl, leaf, STEP);
    leaf->base = at;
}

void timeline_leaf_make_room(struct timeline *tl, uint32_t *number, unsigned *slot, msec at)
{
    if (timeline_leaf_of(tl, *number)->node.total > 0) make_span(tl, number, slot, at);
    struct timeline_leaf *leaf = timeline_leaf_of(tl, *number);
    size_t count = leaf->node.total;
    bool at_end = *slot == count && leaf->begin + count == leaf->cap;
    if (count < leaf->cap && !(at_end && leaf->begin < leaf->cap / 4)) return;
    if (leaf->cap < TIMELINE_LEAF_MAX) {
        leaf_resize(tl, leaf, rounded_up(leaf->cap + 1U));
    } else if (at_end) {
        unsigned cap = *number == tl->last ? TIMELINE_LEAF_MAX : STEP;
        *number = timeline_leaf_insert(tl, *number, cap, at);
        *slot = 0;
    } else {
        uint32_t right = leaf_cut(tl, *number, TIMELINE_LEAF_MAX / 2);
        leaf_resize(tl, timeline_leaf_of(tl, *number), TIMELINE_LEAF_MAX / 2);
        if (*slot > TIMELINE_LEAF_MAX / 2) {
            *number = right;
            *slot -= TIMELINE_LEAF_MAX / 2;
        }
        leaf_resize(tl, timeline_leaf_of(tl, *number), TIMELINE_LEAF_MAX / 2 + STEP);
    }
}

/* --- relocating --- */

uint32_t timeline_relocate(struct timeline *tl, uint32_t cursor, struct relocation *relocation)
{
    if (cursor >= tl->numbers) return 0;
    if (cursor == 0) tl->leaves = relocation_block(relocation, tl->leaves);
    if (cursor % TIMELINE_SEGMENT == 0) {
        uint32_t i = cursor >> TIMELINE_SEGMENT_SHIFT;
        struct timeline_leaf *moved = relocation_copy(relocation, tl->leaves[i]);
        if (moved != NULL) segment_replace(tl, i, moved);
    }
    struct timeline_leaf *leaf = timeline_leaf_of(tl, cursor);
    if (leaf->slots != NULL) {
        leaf->slots = relocation_block(relocation, leaf->slots);
        counted_relocate(&tl->tree, &leaf->node, relocation);
    }
    return cursor + 1 < tl->numbers ? cursor + 1 : 0;
}
