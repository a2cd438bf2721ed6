/* timeline: see timeline.h. Finds, inserts and removes slots; timeline_tree.c splits and merges
 * leaves, and counted.c the nodes above them.
 *
 * An instant belongs after its equals, in the last child whose bound is not later. */
#include "store/struct/timeline.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/struct/timeline_tree.h"

enum {
    AHEAD = 8, /* timeline_pop_due prefetches the owner this many pops ahead */
};

static const struct counted_kind kind = { sizeof(struct timeline_branch), sizeof(msec), NULL };

void timeline_init(struct timeline *tl)
{
    *tl = (struct timeline){ .first = TIMELINE_NONE,
                             .last = TIMELINE_NONE,
                             .free_number = TIMELINE_NONE };
    counted_init(&tl->tree, &kind);
}

size_t timeline_bytes(const struct timeline *tl)
{
    return timeline_slots_size(tl->cap) + tl->number_cap * sizeof(struct timeline_leaf) +
           tl->segment_cap * sizeof(*tl->leaves) + tl->tree.bytes;
}

bool timeline_drop_some(struct timeline *tl, size_t *work)
{
    for (; tl->first != TIMELINE_NONE; --*work) {
        if (*work == 0) return false;
        timeline_leaf_drop_first(tl);
    }
    for (; tl->number_cap > 0; --*work) {
        if (*work == 0) return false;
        timeline_segment_drop_last(tl);
    }
    mem_free(tl->leaves);
    timeline_init(tl);
    return true;
}

void timeline_drop(struct timeline *tl)
{
    size_t work = SIZE_MAX;
    timeline_drop_some(tl, &work);
}

/* --- finding --- */

/* Prefetches all slots of a leaf, because most will be read or moved. */
static inline void leaf_prefetch(const struct timeline_leaf *leaf)
{
    const char *end = (const char *)leaf->slots + timeline_slots_size(leaf->cap);
    for (const char *line = (const char *)leaf->slots; line < end; line += 64)
        __builtin_prefetch(line, 1);
}

/* Returns the first slot later than `at`. The searches are branchless: their branches would be
 * unpredictable. */
static unsigned slot_after(const struct timeline_leaf *leaf, msec at)
{
    const uint32_t *offsets = timeline_offsets(leaf);
    unsigned low = 0, left = (unsigned)leaf->node.total;
    uint64_t offset = (uint64_t)at - (uint64_t)leaf->base;
    leaf_prefetch(leaf);
    if (at < leaf->base) return 0;
    while (left > 0) {
        unsigned half = (left + 1) / 2;
        low += half * (offsets[low + half - 1] <= offset);
        left -= half;
    }
    return low;
}

/* Descends into the last child whose first key is <= at. */
static struct timeline_leaf *leaf_for_instant(const struct timeline *tl, msec at)
{
    const struct counted_node *node = tl->tree.root;
    for (uint32_t height = tl->tree.height; height > 0; height--) {
        const struct counted_inner *inner = (const struct counted_inner *)node;
        const struct timeline_branch *low = (const void *)inner->branches;
        for (unsigned left = inner->count - 1U; left > 0;) {
            unsigned half = (left + 1) / 2;
            low = low[half].at <= at ? low + half : low;
            left -= half;
        }
        node = low->child;
    }
    return (struct timeline_leaf *)(uintptr_t)node;
}

static unsigned slot_index(const struct timeline *tl, const struct timeline_node *node)
{
    ensure(node->leaf < tl->numbers, "leaf %u of %u", node->leaf, tl->numbers);
    const struct timeline_leaf *leaf = timeline_leaf_of(tl, node->leaf);
    leaf_prefetch(leaf);
    unsigned count = (unsigned)leaf->node.total;
    for (unsigned i = 0; i < count; i++)
        if (timeline_slot_node(leaf, i) == node) return i;
    ensure(false, "not found in leaf %u", node->leaf);
}

/* --- changing --- */

/* Opens a gap at slot i by moving the slots on the shorter side. */
static void slot_open(struct timeline_leaf *leaf, unsigned i)
{
    unsigned count = (unsigned)leaf->node.total;
    bool at_end = leaf->begin + count == leaf->cap;
    if (at_end && i == count) {
        timeline_slots_to_begin(leaf);
    } else if (at_end || (leaf->begin > 0 && i < count / 2)) {
        timeline_slots_move(leaf, -1, 0, i);
        leaf->begin--;
    } else if (i < count) {
        timeline_slots_move(leaf, i + 1, i, count - i);
    }
    counted_change(&leaf->node, 1);
}

static void slot_close(struct timeline_leaf *leaf, unsigned i)
{
    counted_change(&leaf->node, SIZE_MAX);
    unsigned count = (unsigned)leaf->node.total;
    if (i < count / 2) {
        timeline_slots_move(leaf, 1, 0, i);
        leaf->begin++;
    } else {
        timeline_slots_move(leaf, i, i + 1, count - i);
    }
}

void timeline_add(struct timeline *tl, struct timeline_node *node, msec at)
{
    ensure(!timeline_node_armed(node), "already armed in leaf %u", node->leaf);
    ensure(tl->count < TIMELINE_NODE_IDLE - 1, "timeline is full: %u slots", tl->count);
    ensure(pointer48_fits(node), "pointer %p does not fit 48 bits", (void *)node);
    if (tl->count == 0) timeline_leaf_insert(tl, TIMELINE_NONE, TIMELINE_LEAF_MIN, at);
    uint32_t number = tl->last;
    const struct timeline_leaf *last = timeline_leaf_of(tl, number);
    unsigned slot = (unsigned)last->node.total;
    if (slot > 0 && timeline_slot_at(last, slot - 1) > at) {
        const struct timeline_leaf *leaf = leaf_for_instant(tl, at);
        number = leaf->number;
        slot = slot_after(leaf, at);
    }
    timeline_leaf_make_room(tl, &number, &slot, at);
    struct timeline_leaf *leaf = timeline_leaf_of(tl, number);
    slot_open(leaf, slot);
    timeline_slot_set(leaf, slot, at, node);
    node->leaf = number;
    tl->count++;
}

static void slot_remove(struct timeline *tl, uint32_t number, unsigned i)
{
    struct timeline_leaf *leaf = timeline_leaf_of(tl, number);
    timeline_slot_node(leaf, i)->leaf = TIMELINE_NODE_IDLE;
    slot_close(leaf, i);
    tl->count--;
    if (leaf->node.total > 0)
        timeline_leaf_shrink(tl, number);
    else if (tl->count > 0)
        timeline_leaf_remove(tl, number);
    else
        timeline_drop(tl);
}

void timeline_move(struct timeline *tl, struct timeline_node *node, msec at)
{
    if (!timeline_node_armed(node)) {
        timeline_add(tl, node, at);
        return;
    }
    unsigned i = slot_index(tl, node);
    if (tl->count == 1) {
        struct timeline_leaf *leaf = timeline_leaf_of(tl, node->leaf);
        leaf->base = at;
        timeline_slot_set(leaf, 0, at, node);
        return;
    }
    slot_remove(tl, node->leaf, i);
    timeline_add(tl, node, at);
}

void timeline_cancel(struct timeline *tl, struct timeline_node *node)
{
    if (timeline_node_armed(node)) slot_remove(tl, node->leaf, slot_index(tl, node));
}

/* Prefetches the owner that the pop AHEAD pops later will touch. */
static inline void prefetch_owners(const struct timeline *tl, const struct timeline_leaf *leaf)
{
    if (leaf->node.total > AHEAD) {
        __builtin_prefetch(timeline_slot_node(leaf, AHEAD), 1);
    } else if (leaf->next != TIMELINE_NONE) {
        const struct timeline_leaf *next = timeline_leaf_of(tl, leaf->next);
        size_t i = AHEAD - leaf->node.total;
        if (i < next->node.total) __builtin_prefetch(timeline_slot_node(next, i), 1);
    }
}

struct timeline_node *timeline_pop_due(struct timeline *tl, msec now)
{
    if (tl->count == 0) return NULL;
    const struct timeline_leaf *leaf = timeline_leaf_of(tl, tl->first);
    if (!instant_due(timeline_slot_at(leaf, 0), now)) return NULL;
    struct timeline_node *node = timeline_slot_node(leaf, 0);
    prefetch_owners(tl, leaf);
    slot_remove(tl, tl->first, 0);
    return node;
}

void timeline_moved(struct timeline *tl, const struct timeline_node *old,
                    struct timeline_node *node)
{
    ensure(pointer48_fits(node), "pointer %p does not fit 48 bits", (void *)node);
    pointer48_store(&timeline_nodes(timeline_leaf_of(tl, old->leaf))[slot_index(tl, old)], node);
    node->leaf = old->leaf;
}

/* --- reading --- */

msec timeline_next(const struct timeline *tl)
{
    return tl->count == 0 ? NEVER : timeline_slot_at(timeline_leaf_of(tl, tl->first), 0);
}

struct timeline_node *timeline_first(const struct timeline *tl)
{
    return tl->count == 0 ? NULL : timeline_slot_node(timeline_leaf_of(tl, tl->first), 0);
}

struct timeline_node *timeline_nth(const struct timeline *tl, uint32_t i)
{
    ensure(i < tl->count, "%u of %u", i, tl->count);
    size_t slot = i;
    const struct counted_node *leaf = counted_at(&tl->tree, &slot);
    return timeline_slot_node((const struct timeline_leaf *)leaf, slot);
}

msec timeline_at(const struct timeline *tl, const struct timeline_node *node)
{
    unsigned i = slot_index(tl, node);
    return timeline_slot_at(timeline_leaf_of(tl, node->leaf), i);
}

size_t timeline_count_until(const struct timeline *tl, msec until)
{
    if (tl->count == 0) return 0;
    const struct timeline_leaf *leaf = leaf_for_instant(tl, until);
    return counted_before(&leaf->node) + slot_after(leaf, until);
}

struct timeline_node *timeline_after(const struct timeline *tl, msec at, msec *found)
{
    struct timeline_walk walk;
    if (at == INT64_MAX) return NULL;
    timeline_walk_from(&walk, tl, at + 1);
    return timeline_walk_next(&walk, found);
}

void timeline_each_until(const struct timeline *tl, msec until,
                         bool (*visit)(void *ctx, struct timeline_node *node, msec at), void *ctx)
{
    for (uint32_t number = tl->first; number != TIMELINE_NONE;) {
        const struct timeline_leaf *leaf = timeline_leaf_of(tl, number);
        for (size_t i = 0; i < leaf->node.total; i++) {
            msec at = timeline_slot_at(leaf, i);
            if (at > until || !visit(ctx, timeline_slot_node(leaf, i), at)) return;
        }
        number = leaf->next;
    }
}

void timeline_walk_begin(struct timeline_walk *walk, const struct timeline *tl)
{
    *walk = (struct timeline_walk){ tl, tl->first, 0 };
}

void timeline_walk_from(struct timeline_walk *walk, const struct timeline *tl, msec at)
{
    timeline_walk_begin(walk, tl);
    if (tl->count == 0 || at == INT64_MIN) return;
    const struct timeline_leaf *leaf = leaf_for_instant(tl, at - 1);
    walk->leaf = leaf->number;
    walk->slot = slot_after(leaf, at - 1);
}

struct timeline_node *timeline_walk_next(struct timeline_walk *walk, msec *at)
{
    if (walk->leaf == TIMELINE_NONE) return NULL;
    const struct timeline_leaf *leaf = timeline_leaf_of(walk->tl, walk->leaf);
    if (walk->slot == leaf->node.total) {
        walk->leaf = leaf->next;
        walk->slot = 0;
        if (walk->leaf == TIMELINE_NONE) return NULL;
        leaf = timeline_leaf_of(walk->tl, walk->leaf);
    }
    *at = timeline_slot_at(leaf, walk->slot);
    return timeline_slot_node(leaf, walk->slot++);
}

void timeline_walk_end(struct timeline_walk *walk)
{
    *walk = (struct timeline_walk){ .leaf = TIMELINE_NONE };
}

/* --- checking --- */

struct tally {
    const struct timeline *tl;
    uint64_t cap;
    uint32_t prev; /* number of the leaf before */
    uint32_t leaves, count;
    msec last;
};

static void check_leaf(void *ctx, const struct counted_node *node)
{
    struct tally *tally = ctx;
    const struct timeline_leaf *leaf = (const struct timeline_leaf *)node;
    uint32_t number = leaf->number, count = (uint32_t)node->total;
    ensure(timeline_leaf_of(tally->tl, number) == leaf && leaf->prev == tally->prev,
           "leaf %u: wrong number or links", number);
    ensure(tally->prev == TIMELINE_NONE ? tally->tl->first == number
                                        : timeline_leaf_of(tally->tl, tally->prev)->next == number,
           "leaf %u does not follow leaf %u", number, tally->prev);
    ensure(count > 0 && leaf->begin + count <= leaf->cap && leaf->cap <= TIMELINE_LEAF_MAX,
           "leaf %u: %u slots from %u of %u", number, count, leaf->begin, leaf->cap);
    for (unsigned i = 0; i < count; i++) {
        uint32_t owner = timeline_slot_node(leaf, i)->leaf;
        msec at = timeline_slot_at(leaf, i);
        ensure(owner == number, "owner in leaf %u says %u", number, owner);
        ensure(at >= tally->last, "%lld comes after %lld", (long long)at, (long long)tally->last);
        tally->last = at;
    }
    tally->prev = number;
    tally->cap += leaf->cap;
    tally->leaves++;
    tally->count += count;
}

static void check_key(void *ctx, const void *key)
{
    struct tally *tally = ctx;
    msec at = *(const msec *)key;
    ensure(at >= tally->last, "key %lld comes after %lld", (long long)at, (long long)tally->last);
    tally->last = at;
}

void timeline_check(const struct timeline *tl)
{
    struct tally tally = { .tl = tl, .prev = TIMELINE_NONE, .last = INT64_MIN };
    uint32_t unused = 0;
    counted_check(&tl->tree, &(struct counted_visitor){ check_leaf, check_key, &tally });
    for (uint32_t number = tl->free_number; number != TIMELINE_NONE;
         number = timeline_leaf_of(tl, number)->next)
        unused++;
    ensure(tally.count == tl->count, "%u slots, counted %u", tally.count, tl->count);
    ensure(tally.prev == tl->last, "last leaf is %u, not %u", tally.prev, tl->last);
    ensure(tally.prev == TIMELINE_NONE || timeline_leaf_of(tl, tally.prev)->next == TIMELINE_NONE,
           "the last leaf has a next one");
    ensure(tally.cap == tl->cap, "%llu slots allocated, counted %llu",
           (unsigned long long)tally.cap, (unsigned long long)tl->cap);
    ensure(tally.leaves + unused == tl->numbers && tl->numbers <= tl->number_cap,
           "%u leaves, %u free, %u numbers", tally.leaves, unused, tl->numbers);
    ensure(tl->count > 0 || timeline_bytes(tl) == 0, "empty, but has %zu bytes",
           timeline_bytes(tl));
}
