/* agenda: things ordered by when they fall due; equal instants in the order of arrival.
 * Knows instants and positions; knows neither keys nor clocks.
 *
 * Slot i's children are 4i + 1 to 4i + 4. The first segment doubles from a few slots until it is as
 * large as the others; an empty agenda has no memory. */
#include "store/agenda.h"

#include "store/ensure.h"
#include "store/mem.h"

enum {
    ARITY = 4,
    SEGMENT_SHIFT = 12,
    SEGMENT = 1 << SEGMENT_SHIFT,
    FIRST_ROOM = 4,
};

static inline struct agenda_slot *slot_at(const struct agenda *ag, uint32_t i)
{
    return &ag->segments[i >> SEGMENT_SHIFT][i & (SEGMENT - 1)];
}

static inline uint32_t parent_of(uint32_t i)
{
    return (i - 1) / ARITY;
}

/* 64 bits: the children of a late slot are beyond 2^32. */
static inline uint64_t first_child(uint64_t i)
{
    return i * ARITY + 1;
}

static inline bool before(const struct agenda_slot *a, const struct agenda_slot *b)
{
    return a->at < b->at || (a->at == b->at && a->arrival < b->arrival);
}

void agenda_init(struct agenda *ag)
{
    *ag = (struct agenda){ 0 };
}

/* --- memory --- */

static void segments_free(struct agenda *ag)
{
    for (uint32_t i = 0; i < ag->segment_count; i++)
        mem_free(ag->segments[i]);
    mem_free(ag->segments);
    ag->segments = NULL;
    ag->segment_count = ag->segment_cap = ag->first_cap = 0;
}

void agenda_drop(struct agenda *ag)
{
    segments_free(ag);
    agenda_init(ag);
}

static size_t room(const struct agenda *ag)
{
    return ag->segment_count > 1 ? (size_t)ag->segment_count * SEGMENT : ag->first_cap;
}

static void first_segment_resize(struct agenda *ag, uint32_t cap)
{
    ag->segments[0] = mem_realloc(ag->segments[0], cap * sizeof(struct agenda_slot));
    ag->first_cap = cap;
}

static void directory_resize(struct agenda *ag, uint32_t cap)
{
    ag->segments = mem_realloc(ag->segments, cap * sizeof(struct agenda_slot *));
    ag->segment_cap = cap;
}

static void segment_append(struct agenda *ag)
{
    if (ag->segment_count == ag->segment_cap)
        directory_resize(ag, ag->segment_cap == 0 ? 1 : 2 * ag->segment_cap);
    ag->segments[ag->segment_count++] = NULL;
}

static void reserve_one(struct agenda *ag)
{
    ensure(ag->count < DEADLINE_IDLE - 1, "%u deadlines", ag->count);
    if (ag->count < room(ag)) return;
    if (ag->segment_count == 0) {
        segment_append(ag);
        first_segment_resize(ag, FIRST_ROOM);
    } else if (ag->first_cap < SEGMENT) {
        first_segment_resize(ag, 2 * ag->first_cap);
    } else {
        segment_append(ag);
        ag->segments[ag->segment_count - 1] = mem_alloc(SEGMENT * sizeof(struct agenda_slot));
    }
}

/* Gives memory back late enough that an add and a cancel in turn don't pay for it each time. */
static void shrink(struct agenda *ag)
{
    if (ag->count == 0) {
        segments_free(ag);
    } else if (ag->segment_count > 1) {
        if (ag->count + SEGMENT + SEGMENT / 2 > room(ag)) return;
        mem_free(ag->segments[--ag->segment_count]);
        if (ag->segment_count < ag->segment_cap / 4) directory_resize(ag, ag->segment_cap / 2);
    } else if (ag->first_cap > FIRST_ROOM && ag->count <= ag->first_cap / 4) {
        first_segment_resize(ag, ag->first_cap / 2);
    }
}

size_t agenda_bytes(const struct agenda *ag)
{
    return room(ag) * sizeof(struct agenda_slot) + ag->segment_cap * sizeof(struct agenda_slot *);
}

/* --- heap --- */

static inline void place(const struct agenda *ag, uint32_t i, const struct agenda_slot *slot)
{
    *slot_at(ag, i) = *slot;
    slot->what->slot = i;
}

static void sift_up(const struct agenda *ag, uint32_t hole, struct agenda_slot moving)
{
    while (hole > 0) {
        uint32_t parent = parent_of(hole);
        if (!before(&moving, slot_at(ag, parent))) break;
        place(ag, hole, slot_at(ag, parent));
        hole = parent;
    }
    place(ag, hole, &moving);
}

/* The earliest child of slot i; `count` if it has none. */
static uint32_t earliest_child(const struct agenda *ag, uint32_t i)
{
    uint64_t child = first_child(i);
    uint64_t end = child + ARITY < ag->count ? child + ARITY : ag->count;
    if (child >= end) return ag->count;
    uint32_t best = (uint32_t)child;
    for (uint32_t c = best + 1; c < end; c++)
        if (before(slot_at(ag, c), slot_at(ag, best))) best = c;
    return best;
}

static void sift_down(const struct agenda *ag, uint32_t hole, struct agenda_slot moving)
{
    for (;;) {
        uint32_t child = earliest_child(ag, hole);
        if (child == ag->count || !before(slot_at(ag, child), &moving)) break;
        place(ag, hole, slot_at(ag, child));
        hole = child;
    }
    place(ag, hole, &moving);
}

/* Puts a slot where hole i is, or wherever from there it belongs. */
static void settle(const struct agenda *ag, uint32_t i, struct agenda_slot slot)
{
    if (i > 0 && before(&slot, slot_at(ag, parent_of(i))))
        sift_up(ag, i, slot);
    else
        sift_down(ag, i, slot);
}

static void remove_at(struct agenda *ag, uint32_t i)
{
    slot_at(ag, i)->what->slot = DEADLINE_IDLE;
    uint32_t last = --ag->count;
    if (i != last) settle(ag, i, *slot_at(ag, last));
    shrink(ag);
}

static const struct agenda_slot *slot_of(const struct agenda *ag, const struct deadline *d)
{
    ensure(d->slot < ag->count, "slot %u of %u", d->slot, ag->count);
    const struct agenda_slot *slot = slot_at(ag, d->slot);
    ensure(slot->what == d, "slot %u is not of this deadline", d->slot);
    return slot;
}

void agenda_add(struct agenda *ag, struct deadline *d, msec at)
{
    ensure(!deadline_armed(d), "armed already in slot %u", d->slot);
    reserve_one(ag);
    sift_up(ag, ag->count++, (struct agenda_slot){ at, ag->arrivals++, d });
}

void agenda_move(struct agenda *ag, struct deadline *d, msec at)
{
    if (!deadline_armed(d)) {
        agenda_add(ag, d, at);
        return;
    }
    slot_of(ag, d);
    settle(ag, d->slot, (struct agenda_slot){ at, ag->arrivals++, d });
}

void agenda_cancel(struct agenda *ag, struct deadline *d)
{
    if (!deadline_armed(d)) return;
    slot_of(ag, d);
    remove_at(ag, d->slot);
}

struct deadline *agenda_pop_due(struct agenda *ag, msec now)
{
    if (ag->count == 0 || !instant_due(slot_at(ag, 0)->at, now)) return NULL;
    struct deadline *d = slot_at(ag, 0)->what;
    remove_at(ag, 0);
    return d;
}

void agenda_moved(struct agenda *ag, struct deadline *d)
{
    ensure(d->slot < ag->count, "slot %u of %u", d->slot, ag->count);
    slot_at(ag, d->slot)->what = d;
}

msec agenda_next(const struct agenda *ag)
{
    return ag->count == 0 ? NEVER : slot_at(ag, 0)->at;
}

struct deadline *agenda_first(const struct agenda *ag)
{
    return ag->count == 0 ? NULL : slot_at(ag, 0)->what;
}

struct deadline *agenda_nth(const struct agenda *ag, uint32_t i)
{
    ensure(i < ag->count, "slot %u of %u", i, ag->count);
    return slot_at(ag, i)->what;
}

msec agenda_at(const struct agenda *ag, const struct deadline *d)
{
    return slot_of(ag, d)->at;
}

/* --- looking without removing --- */

struct search {
    const struct agenda *ag;
    msec until;
    bool (*visit)(void *ctx, struct deadline *d, msec at);
    void *ctx;
};

/* Nothing below a later slot is earlier. The depth is that of the heap: at most 17. */
static bool visit_below(const struct search *search, uint64_t i)
{
    if (i >= search->ag->count) return true;
    const struct agenda_slot *slot = slot_at(search->ag, (uint32_t)i);
    if (slot->at > search->until) return true;
    if (!search->visit(search->ctx, slot->what, slot->at)) return false;
    for (unsigned c = 0; c < ARITY; c++)
        if (!visit_below(search, first_child(i) + c)) return false;
    return true;
}

void agenda_each_until(const struct agenda *ag, msec until,
                       bool (*visit)(void *ctx, struct deadline *d, msec at), void *ctx)
{
    struct search search = { ag, until, visit, ctx };
    visit_below(&search, 0);
}

/* A walk keeps the slots whose parents it has passed, as a binary heap of their indexes. */
static bool frontier_before(const struct agenda_walk *walk, uint32_t a, uint32_t b)
{
    return before(slot_at(walk->ag, walk->frontier[a]), slot_at(walk->ag, walk->frontier[b]));
}

static void frontier_swap(struct agenda_walk *walk, uint32_t a, uint32_t b)
{
    uint32_t index = walk->frontier[a];
    walk->frontier[a] = walk->frontier[b];
    walk->frontier[b] = index;
}

static void frontier_push(struct agenda_walk *walk, uint32_t index)
{
    if (walk->count == walk->cap) {
        walk->cap = walk->cap == 0 ? 16 : 2 * walk->cap;
        walk->frontier = mem_realloc(walk->frontier, walk->cap * sizeof(*walk->frontier));
    }
    uint32_t i = walk->count++;
    walk->frontier[i] = index;
    for (; i > 0 && frontier_before(walk, i, (i - 1) / 2); i = (i - 1) / 2)
        frontier_swap(walk, i, (i - 1) / 2);
}

static uint32_t frontier_pop(struct agenda_walk *walk)
{
    uint32_t first = walk->frontier[0];
    walk->frontier[0] = walk->frontier[--walk->count];
    for (uint32_t i = 0;;) {
        uint32_t child = 2 * i + 1;
        if (child + 1 < walk->count && frontier_before(walk, child + 1, child)) child++;
        if (child >= walk->count || !frontier_before(walk, child, i)) break;
        frontier_swap(walk, i, child);
        i = child;
    }
    return first;
}

void agenda_walk_begin(struct agenda_walk *walk, const struct agenda *ag)
{
    *walk = (struct agenda_walk){ .ag = ag };
    if (ag->count > 0) frontier_push(walk, 0);
}

struct deadline *agenda_walk_next(struct agenda_walk *walk, msec *at)
{
    if (walk->count == 0) return NULL;
    uint32_t i = frontier_pop(walk);
    uint64_t child = first_child(i);
    for (unsigned c = 0; c < ARITY && child + c < walk->ag->count; c++)
        frontier_push(walk, (uint32_t)(child + c));
    *at = slot_at(walk->ag, i)->at;
    return slot_at(walk->ag, i)->what;
}

void agenda_walk_end(struct agenda_walk *walk)
{
    mem_free(walk->frontier);
    *walk = (struct agenda_walk){ 0 };
}

void agenda_check(const struct agenda *ag)
{
    ensure(ag->count <= room(ag), "%u slots, room for %zu", ag->count, room(ag));
    ensure(ag->segment_count <= ag->segment_cap, "%u segments, directory of %u", ag->segment_count,
           ag->segment_cap);
    ensure(ag->count > 0 || ag->segments == NULL, "%u segments, all empty", ag->segment_count);
    ensure(ag->segment_count <= 1 || ag->first_cap == SEGMENT, "first segment of %u",
           ag->first_cap);
    for (uint32_t i = 0; i < ag->count; i++) {
        const struct agenda_slot *slot = slot_at(ag, i);
        ensure(slot->what->slot == i, "slot %u, but its deadline says %u", i, slot->what->slot);
        ensure(slot->arrival < ag->arrivals, "slot %u arrived as %llu of %llu", i,
               (unsigned long long)slot->arrival, (unsigned long long)ag->arrivals);
        ensure(i == 0 || before(slot_at(ag, parent_of(i)), slot), "slot %u before its parent", i);
    }
}
