/* agenda: a 4-ary heap in segments. The children of slot i are the slots 4i + 1 to 4i + 4. Slot i
 * is stored at cell i + 3, so that these four siblings share a cache line if the segment is
 * aligned, as full ones from our pool are. The last segment grows in small steps, so that few cells
 * are unused. An empty agenda takes no memory. */
#include "store/struct/agenda.h"

#include "store/base/ensure.h"
#include "store/base/prefetch.h"
#include "store/mem/mem.h"
#include "store/struct/agenda_slot.h"

enum {
    ARITY = 4,
    SKIPPED = ARITY - 1, /* unused cells before slot 0 */
    SEGMENT_SHIFT = 9,   /* 8 KB */
    SEGMENT = 1 << SEGMENT_SHIFT,
    SEGMENTS_MAX = UINT32_MAX >> SEGMENT_SHIFT, /* so that no slot equals DEADLINE_IDLE */
    FIRST_CAP = 8,
};

/* Rare cases are not inlined, so that the common path stays short. */
#define RARE __attribute__((noinline))

static inline struct agenda_slot *slot_at(const struct agenda *ag, uint32_t i)
{
    uint32_t cell = i + SKIPPED;
    return &ag->segments[cell >> SEGMENT_SHIFT][cell & (SEGMENT - 1)];
}

static inline number number_at(const struct agenda *ag, uint32_t i)
{
    return slot_at(ag, i)->bits;
}

static inline uint32_t parent_of(uint32_t i)
{
    return (i - 1) / ARITY;
}

/* 64 bits wide, because the children of a high slot lie beyond 2^32. */
static inline uint64_t first_child(uint64_t i)
{
    return i * ARITY + 1;
}

/* An agenda without slots is freed, and its arrival numbers restart, so the numbers alone don't
 * tell it from a later one of the same size, perhaps at the same address. */
static uint32_t last_generation;

void agenda_init(struct agenda *ag)
{
    *ag = (struct agenda){ .generation = ++last_generation };
}

/* --- numbers: see agenda_slot.h --- */

static RARE bool before_far(number a, number b)
{
    msec at = at_of(a), other = at_of(b);
    return at < other || (at == other && a < b);
}

static inline bool before(number a, number b)
{
    return is_far(a | b) ? before_far(a, b) : a < b;
}

static RARE number number_new_far(struct agenda *ag, struct deadline *d, msec at)
{
    struct far_instant *far = mem_alloc(sizeof(*far));
    *far = (struct far_instant){ at, d };
    ag->far_count++;
    return number_make(nearest_storable(at), ag->arrivals++, far) | FAR;
}

/* Gives all slots new arrival numbers, from 0 in their order. It is safe to change slots during
 * this walk, because the walk does not read a slot again after it has returned the deadline. */
static RARE void renumber(struct agenda *ag)
{
    struct agenda_walk walk;
    struct deadline *d;
    msec at;
    ag->arrivals = 0;
    ag->generation = ++last_generation;
    agenda_walk_begin(&walk, ag);
    while ((d = agenda_walk_next(&walk, &at)) != NULL) {
        struct agenda_slot *slot = slot_at(ag, d->slot);
        number n = number_make(stored_instant(slot->bits), ag->arrivals++, pointer_of(slot->bits));
        slot->bits = n | (slot->bits & FAR);
    }
    agenda_walk_end(&walk);
}

static inline number number_new(struct agenda *ag, struct deadline *d, msec at)
{
    if (__builtin_expect(ag->arrivals == ARRIVALS_MAX, false)) renumber(ag);
    return is_near(at) ? number_make(at, ag->arrivals++, d) : number_new_far(ag, d, at);
}

static void number_drop(struct agenda *ag, number n)
{
    if (!is_far(n)) return;
    mem_free(pointer_of(n));
    ag->far_count--;
}

/* --- memory --- */

static inline size_t cells(const struct agenda *ag)
{
    return ag->segment_count * (size_t)SEGMENT - ag->last_missing;
}

static void resize_directory(struct agenda *ag, uint32_t cap)
{
    ag->segments = mem_realloc(ag->segments, cap * sizeof(struct agenda_slot *));
    ag->segment_cap = cap;
}

static void last_segment_resize(struct agenda *ag, uint32_t cap)
{
    struct agenda_slot **last = &ag->segments[ag->segment_count - 1];
    *last = mem_realloc(*last, cap * sizeof(struct agenda_slot));
    ag->last_missing = SEGMENT - cap;
}

static RARE void heap_grow(struct agenda *ag)
{
    /* Grow by at most a quarter, or an eighth once a segment is full. The steps lead to sizes that
     * allocators have. */
    size_t all = cells(ag);
    uint32_t more = all < 8 * SEGMENT ? FIRST_CAP : SEGMENT;
    if (all >= FIRST_CAP && all < 8 * SEGMENT)
        more = UINT32_C(1) << (31 - __builtin_clz((unsigned)all)) >> (all < SEGMENT ? 2 : 3);
    if (ag->last_missing > 0) {
        last_segment_resize(ag, SEGMENT - ag->last_missing + more);
        return;
    }
    ensure(ag->segment_count < SEGMENTS_MAX, "agenda is full: %u deadlines", ag->count);
    if (ag->segment_count == ag->segment_cap)
        resize_directory(ag, ag->segment_cap == 0 ? 1 : 2 * ag->segment_cap);
    ag->segments[ag->segment_count++] = NULL;
    last_segment_resize(ag, more);
}

/* Frees the last segment with the far blocks of its slots; returns the number of blocks freed. */
static size_t segment_free(struct agenda *ag)
{
    uint32_t cell = --ag->segment_count << SEGMENT_SHIFT;
    uint32_t first = cell > SKIPPED ? cell - SKIPPED : 0;
    size_t freed = 1;
    for (uint32_t i = first; i < ag->count && ag->far_count > 0; i++) {
        freed += is_far(number_at(ag, i));
        number_drop(ag, number_at(ag, i));
    }
    if (ag->count > first) ag->count = first;
    mem_free(ag->segments[ag->segment_count]);
    ag->last_missing = 0;
    return freed;
}

bool agenda_drop_some(struct agenda *ag, size_t *work)
{
    while (ag->segment_count > 0) {
        if (*work == 0) return false;
        size_t freed = segment_free(ag);
        *work -= freed < *work ? freed : *work;
    }
    mem_free(ag->segments);
    agenda_init(ag);
    return true;
}

void agenda_drop(struct agenda *ag)
{
    size_t work = SIZE_MAX;
    agenda_drop_some(ag, &work);
}

size_t agenda_bytes(const struct agenda *ag)
{
    return cells(ag) * sizeof(struct agenda_slot) + ag->far_count * sizeof(struct far_instant) +
           ag->segment_cap * sizeof(struct agenda_slot *);
}

/* --- heap --- */

static inline void put(const struct agenda *ag, uint32_t i, number n)
{
    slot_at(ag, i)->bits = n;
    deadline_in(n)->slot = i;
}

static void sift_up(const struct agenda *ag, uint32_t hole, number moving)
{
    while (hole > 0) {
        uint32_t parent = parent_of(hole);
        number above = number_at(ag, parent);
        if (!before(moving, above)) break;
        put(ag, hole, above);
        hole = parent;
    }
    put(ag, hole, moving);
}

/* Puts a number into slot i, whose own number is gone, and moves it up or down to its place. */
static void heap_sift(const struct agenda *ag, uint32_t i, number n)
{
    if (i > 0 && before(n, number_at(ag, parent_of(i)))) {
        sift_up(ag, i, n);
        return;
    }
    for (uint64_t child; (child = first_child(i)) < ag->count;) {
        uint32_t siblings = ag->count - (uint32_t)child, best = 0;
        const struct agenda_slot *slots = slot_at(ag, (uint32_t)child); /* all in one segment */
        number earliest = slots[0].bits;
        for (uint32_t c = 1; c < ARITY && c < siblings; c++) {
            if (!before(slots[c].bits, earliest)) continue;
            best = c;
            earliest = slots[c].bits;
        }
        if (!before(earliest, n)) break;
        put(ag, i, earliest);
        i = (uint32_t)child + best;
    }
    put(ag, i, n);
}

static void heap_remove(struct agenda *ag, uint32_t i)
{
    number gone = number_at(ag, i);
    deadline_in(gone)->slot = DEADLINE_IDLE;
    number_drop(ag, gone);
    uint32_t last = --ag->count;
    if (i != last) heap_sift(ag, i, number_at(ag, last));

    /* Free memory only when much is unused or the agenda is empty, so that alternate adding and
     * cancelling seldom allocates. */
    size_t all = cells(ag), taken = (size_t)ag->count + SKIPPED;
    if (ag->count == 0) {
        agenda_drop(ag);
    } else if (ag->segment_count > 1) {
        if (taken + SEGMENT + SEGMENT / 2 > all) return;
        segment_free(ag);
        if (ag->segment_count < ag->segment_cap / 4) resize_directory(ag, ag->segment_cap / 2);
    } else if (all > FIRST_CAP && taken <= all / 4) {
        last_segment_resize(ag, (uint32_t)all / 2);
    }
}

static number armed_number(const struct agenda *ag, const struct deadline *d)
{
    ensure(d->slot < ag->count, "slot %u of %u", d->slot, ag->count);
    number n = number_at(ag, d->slot);
    ensure(deadline_in(n) == d, "slot %u holds another deadline", d->slot);
    return n;
}

void agenda_add(struct agenda *ag, struct deadline *d, msec at)
{
    ensure(!deadline_armed(d), "already armed in slot %u", d->slot);
    if (ag->count + SKIPPED >= cells(ag)) heap_grow(ag);
    number n = number_new(ag, d, at);
    sift_up(ag, ag->count++, n);
}

void agenda_move(struct agenda *ag, struct deadline *d, msec at)
{
    if (!deadline_armed(d)) {
        agenda_add(ag, d, at);
        return;
    }
    /* Drop the old number last: number_new may renumber all slots, which reads it. */
    number n = number_new(ag, d, at);
    number_drop(ag, armed_number(ag, d));
    heap_sift(ag, d->slot, n);
}

void agenda_cancel(struct agenda *ag, struct deadline *d)
{
    if (!deadline_armed(d)) return;
    armed_number(ag, d);
    heap_remove(ag, d->slot);
}

struct deadline *agenda_pop_due(struct agenda *ag, msec now)
{
    if (ag->count == 0 || !instant_due(agenda_next(ag), now)) return NULL;
    struct deadline *d = agenda_first(ag);
    heap_remove(ag, 0);
    return d;
}

void agenda_moved(struct agenda *ag, struct deadline *d)
{
    ensure(d->slot < ag->count, "slot %u of %u", d->slot, ag->count);
    number n = number_at(ag, d->slot);
    if (is_far(n))
        ((struct far_instant *)pointer_of(n))->deadline = d;
    else
        slot_at(ag, d->slot)->bits = number_make(stored_instant(n), arrival_of(n), d);
}

void agenda_relocate(struct agenda *ag, struct relocation_cursor *cursor,
                     struct relocation *relocation)
{
    if (cursor->at == 0) ag->segments = relocation_block(relocation, ag->segments);
    while (cursor->at < ag->segment_count) {
        struct agenda_slot **segment = &ag->segments[cursor->at];
        *segment = relocation_block(relocation, *segment);
        uint32_t cell = (uint32_t)cursor->at++ << SEGMENT_SHIFT, end = cell + SEGMENT - SKIPPED;
        for (uint32_t i = cell > SKIPPED ? cell - SKIPPED : 0;
             i < end && i < ag->count && ag->far_count > 0; i++) {
            number n = number_at(ag, i);
            if (!is_far(n)) continue;
            struct far_instant *far = relocation_block(relocation, pointer_of(n));
            slot_at(ag, i)->bits = number_make(stored_instant(n), arrival_of(n), far) | FAR;
        }
        if (relocation->left == 0) break;
    }
    if (cursor->at >= ag->segment_count) cursor->at = 0;
}

msec agenda_next(const struct agenda *ag)
{
    return ag->count == 0 ? NEVER : at_of(number_at(ag, 0));
}

struct deadline *agenda_first(const struct agenda *ag)
{
    return ag->count == 0 ? NULL : deadline_in(number_at(ag, 0));
}

struct deadline *agenda_nth(const struct agenda *ag, uint32_t i)
{
    ensure(i < ag->count, "slot %u of %u", i, ag->count);
    return deadline_in(number_at(ag, i));
}

msec agenda_nth_at(const struct agenda *ag, uint32_t i)
{
    ensure(i < ag->count, "slot %u of %u", i, ag->count);
    return at_of(number_at(ag, i));
}

msec agenda_at(const struct agenda *ag, const struct deadline *d)
{
    return at_of(armed_number(ag, d));
}

void agenda_hint(const struct agenda *ag, const struct deadline *d)
{
    if (d->slot < ag->count) prefetch(slot_at(ag, d->slot));
}

void agenda_hint_move(const struct agenda *ag, const struct deadline *d)
{
    if (d->slot >= ag->count) return;
    uint64_t child = first_child(d->slot);
    prefetch(slot_at(ag, d->slot));
    uint32_t parent = d->slot > 0 ? parent_of(d->slot) : 0;
    prefetch(slot_at(ag, parent));
    if (parent > 0) prefetch(slot_at(ag, parent_of(parent)));
    if (child < ag->count) prefetch(slot_at(ag, (uint32_t)child));
}

bool agenda_has(const struct agenda *ag, const struct deadline *d)
{
    return d->slot < ag->count && deadline_in(number_at(ag, d->slot)) == d;
}

/* --- visiting without removing --- */

struct search {
    const struct agenda *ag;
    msec until;
    bool (*visit)(void *ctx, struct deadline *d, msec at);
    void *ctx;
};

/* Skips the subtrees of slots later than `until`. Recursion is as deep as the heap: at most 17. */
static bool visit_below(const struct search *search, uint64_t i)
{
    if (i >= search->ag->count) return true;
    number n = number_at(search->ag, (uint32_t)i);
    if (at_of(n) > search->until) return true;
    if (!search->visit(search->ctx, deadline_in(n), at_of(n))) return false;
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

bool agenda_search_after(const struct agenda *ag, msec after, struct agenda_search *search,
                         size_t budget, size_t *steps)
{
    bool is_stale = search->generation != ag->generation || search->arrivals != ag->arrivals ||
                    search->count != ag->count;
    if (!search->begun || is_stale) {
        uint32_t changes = search->begun ? search->changes + 1 : 0;
        *search = (struct agenda_search){ .first = NEVER,
                                          .generation = ag->generation,
                                          .arrivals = ag->arrivals,
                                          .count = ag->count,
                                          .changes = changes,
                                          .begun = true };
    }
    if (ag->count == 0) return true;
    uint32_t doublings = search->changes < 32 ? search->changes : 32;
    budget = budget > SIZE_MAX >> doublings ? SIZE_MAX : budget << doublings;
    for (; budget > 0; budget--) {
        uint32_t i = search->slot;
        msec at = at_of(number_at(ag, i));
        uint64_t child = first_child(i);
        bool descends = at <= after && child < ag->count;
        if (at > after && at < search->first) search->first = at;
        ++*steps;
        /* Visit parents before children. After the subtree of a slot, continue with the next
         * sibling of the slot, or of the closest ancestor that has one. */
        while (!descends && i > 0 && (i % ARITY == 0 || i + 1 >= ag->count))
            i = parent_of(i);
        search->slot = descends ? (uint32_t)child : i > 0 ? i + 1 : 0;
        if (search->slot == 0) return true;
    }
    return false;
}

/* The frontier of a walk is a binary heap of slot indexes. It contains the slots that were not
 * visited but whose parents were; the next deadline in order is always among them. */
static bool frontier_before(const struct agenda_walk *walk, uint32_t a, uint32_t b)
{
    return before(number_at(walk->ag, walk->frontier[a]), number_at(walk->ag, walk->frontier[b]));
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

void agenda_walk_begin(struct agenda_walk *walk, const struct agenda *ag)
{
    *walk = (struct agenda_walk){ .ag = ag };
    if (ag->count > 0) frontier_push(walk, 0);
}

struct deadline *agenda_walk_next(struct agenda_walk *walk, msec *at)
{
    if (walk->count == 0) return NULL;
    uint32_t first = walk->frontier[0];
    walk->frontier[0] = walk->frontier[--walk->count];
    for (uint32_t i = 0;;) { /* restore the order of the frontier */
        uint32_t child = 2 * i + 1;
        if (child + 1 < walk->count && frontier_before(walk, child + 1, child)) child++;
        if (child >= walk->count || !frontier_before(walk, child, i)) break;
        frontier_swap(walk, i, child);
        i = child;
    }
    for (unsigned c = 0; c < ARITY && first_child(first) + c < walk->ag->count; c++)
        frontier_push(walk, (uint32_t)(first_child(first) + c));
    number n = number_at(walk->ag, first);
    *at = at_of(n);
    return deadline_in(n);
}

void agenda_walk_end(struct agenda_walk *walk)
{
    mem_free(walk->frontier);
    *walk = (struct agenda_walk){ 0 };
}

void agenda_check(const struct agenda *ag)
{
    uint32_t far_count = 0;
    ensure(ag->count == 0 || ag->count + SKIPPED <= cells(ag), "%u slots, %zu cells", ag->count,
           cells(ag));
    ensure(ag->segment_count <= ag->segment_cap, "%u segments, directory of %u", ag->segment_count,
           ag->segment_cap);
    ensure(ag->count > 0 || ag->segments == NULL, "empty, but has %u segments", ag->segment_count);
    ensure(ag->last_missing < SEGMENT, "last segment lacks %u cells", ag->last_missing);
    for (uint32_t i = 0; i < ag->count; i++) {
        number n = number_at(ag, i);
        msec at = at_of(n);
        ensure(deadline_in(n)->slot == i, "deadline of slot %u has slot %u", i,
               deadline_in(n)->slot);
        ensure(is_far(n) != is_near(at) && stored_instant(n) == nearest_storable(at),
               "slot %u: %lld stored as %lld", i, (long long)at, (long long)stored_instant(n));
        ensure(arrival_of(n) < ag->arrivals, "slot %u: arrival %llu, next is %llu", i,
               (unsigned long long)arrival_of(n), (unsigned long long)ag->arrivals);
        ensure(i == 0 || before(number_at(ag, parent_of(i)), n), "slot %u is before its parent", i);
        far_count += is_far(n);
    }
    ensure(far_count == ag->far_count, "%u far instants, counted %u", far_count, ag->far_count);
}
