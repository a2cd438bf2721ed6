/* timeline: see timeline.h; counted.c splits and merges the nodes above the leaves. Leaves are
 * merged late, as inner nodes are (counted.h).
 *
 * An instant belongs after its equals, in the last child whose key is not later. */
#include "store/struct/timeline.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/struct/timeline_state.h"

enum {
    STEP = 8,  /* slots; the cap of a growing leaf is rounded up to a multiple */
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
        struct timeline_leaf *leaf = timeline_leaf_of(tl, tl->first);
        tl->count -= (uint32_t)leaf->node.total;
        tl->cap -= leaf->cap;
        tl->first = leaf->next;
        counted_remove(&tl->tree, &leaf->node);
        mem_free(leaf->slots);
    }
    for (; tl->number_cap > 0; --*work) {
        if (*work == 0) return false;
        uint32_t last = (tl->number_cap - 1) >> TIMELINE_SEGMENT_SHIFT;
        mem_free(tl->leaves[last]);
        tl->number_cap = last * TIMELINE_SEGMENT;
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

/* --- leaves --- */

/* Inserts an empty leaf with base `at` after `prev`, or as the only leaf if `prev` is
 * TIMELINE_NONE. No instant of the leaf may be before `at`. The caller must put a slot into it,
 * because no leaf may stay empty. */
static uint32_t leaf_new(struct timeline *tl, uint32_t prev, unsigned cap, msec at)
{
    uint32_t number = tl->free_number;
    if (number != TIMELINE_NONE) {
        tl->free_number = timeline_leaf_of(tl, number)->next;
    } else {
        number = tl->numbers;
        if (number == tl->number_cap && number == 0)
            segment_add(tl, 0, 1);
        else if (number == tl->number_cap && number < TIMELINE_SEGMENT)
            segment_add(tl, 0, 2 * number);
        else if (number == tl->number_cap)
            segment_add(tl, number >> TIMELINE_SEGMENT_SHIFT, TIMELINE_SEGMENT);
        tl->numbers++;
    }
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

/* Frees an empty leaf that is not the only one. */
static void leaf_free(struct timeline *tl, uint32_t number)
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
    uint32_t right = leaf_new(tl, number, rounded_up(moved), timeline_slot_at(leaf, from));
    slots_shift(tl, timeline_leaf_of(tl, number), from, right);
    return right;
}

/* Merges two leaves, if they have the same parent, fit with room to spare, and lie in one span. */
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
    leaf_free(tl, right);
    return true;
}

/* Gives leaf *number, which has slots, a span that includes `at`, which belongs at *slot. If no
 * span includes it and all slots, moves `at` or the slots to a new leaf. */
static void make_span(struct timeline *tl, uint32_t *number, unsigned *slot, msec at)
{
    struct timeline_leaf *leaf = timeline_leaf_of(tl, *number);
    if (at >= leaf->base && in_span(leaf->base, at)) return;
    msec first = timeline_slot_at(leaf, 0), last = timeline_slot_at(leaf, leaf->node.total - 1);
    if (at >= first) { /* after the last one */
        if (in_span(first, at)) {
            leaf_rebase(leaf, first);
        } else {
            *number = leaf_new(tl, *number, STEP, at);
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

/* Makes room for `at`, which belongs at *slot of a leaf. Updates *number and *slot. */
static void leaf_make_room(struct timeline *tl, uint32_t *number, unsigned *slot, msec at)
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
        *number = leaf_new(tl, *number, cap, at);
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

/* --- finding --- */

/* Prefetches all slots of a leaf, because most will be read or moved. */
static inline void leaf_prefetch(const struct timeline_leaf *leaf)
{
    const char *end = (const char *)leaf->slots + timeline_slots_size(leaf->cap);
    for (const char *line = (const char *)leaf->slots; line < end; line += 64)
        __builtin_prefetch(line, 1);
}

/* Returns the first slot later than `at`. The loop has no branch that depends on an instant,
 * because such branches would be unpredictable. */
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

void timeline_add(struct timeline *tl, struct timeline_node *node, msec at)
{
    ensure(!timeline_node_armed(node), "already armed in leaf %u", node->leaf);
    ensure(tl->count < TIMELINE_NODE_IDLE - 1, "timeline is full: %u slots", tl->count);
    ensure(pointer48_fits(node), "pointer %p does not fit 48 bits", (void *)node);
    if (tl->count == 0) leaf_new(tl, TIMELINE_NONE, TIMELINE_LEAF_MIN, at);
    uint32_t number = tl->last;
    const struct timeline_leaf *last = timeline_leaf_of(tl, number);
    unsigned slot = (unsigned)last->node.total;
    if (slot > 0 && timeline_slot_at(last, slot - 1) > at) {
        const struct timeline_leaf *leaf = leaf_for_instant(tl, at);
        number = leaf->number;
        slot = slot_after(leaf, at);
    }
    leaf_make_room(tl, &number, &slot, at);
    struct timeline_leaf *leaf = timeline_leaf_of(tl, number);
    /* Open a gap. If there is room on both sides, move the slots on the shorter one. */
    unsigned count = (unsigned)leaf->node.total;
    bool at_end = leaf->begin + count == leaf->cap;
    if (at_end && slot == count) {
        timeline_slots_to_begin(leaf);
    } else if (at_end || (leaf->begin > 0 && slot < count / 2)) {
        timeline_slots_move(leaf, -1, 0, slot);
        leaf->begin--;
    } else if (slot < count) {
        timeline_slots_move(leaf, slot + 1, slot, count - slot);
    }
    counted_change(&leaf->node, 1);
    timeline_slot_set(leaf, slot, at, node);
    node->leaf = number;
    tl->count++;
}

static void slot_remove(struct timeline *tl, uint32_t number, unsigned i)
{
    struct timeline_leaf *leaf = timeline_leaf_of(tl, number);
    timeline_slot_node(leaf, i)->leaf = TIMELINE_NODE_IDLE;
    counted_change(&leaf->node, SIZE_MAX);
    unsigned count = (unsigned)leaf->node.total;
    if (i < count / 2) { /* close the gap from the shorter side */
        timeline_slots_move(leaf, 1, 0, i);
        leaf->begin++;
    } else {
        timeline_slots_move(leaf, i, i + 1, count - i);
    }
    if (--tl->count == 0) {
        timeline_drop(tl);
        return;
    }
    if (count == 0) {
        leaf_free(tl, number);
        return;
    }

    /* Free memory only if much is unused, so that alternate adding and cancelling does not
     * reallocate each time. Spare the first of several leaves, because draining will soon empty
     * it. */
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

struct timeline_node *timeline_pop_due(struct timeline *tl, msec now)
{
    if (tl->count == 0) return NULL;
    const struct timeline_leaf *leaf = timeline_leaf_of(tl, tl->first);
    if (!instant_due(timeline_slot_at(leaf, 0), now)) return NULL;
    struct timeline_node *node = timeline_slot_node(leaf, 0);
    if (leaf->node.total > AHEAD) {
        __builtin_prefetch(timeline_slot_node(leaf, AHEAD), 1);
    } else if (leaf->next != TIMELINE_NONE) {
        const struct timeline_leaf *next = timeline_leaf_of(tl, leaf->next);
        size_t i = AHEAD - leaf->node.total;
        if (i < next->node.total) __builtin_prefetch(timeline_slot_node(next, i), 1);
    }
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
