/* elements: a few in an array, many in tables. A slot of the array consists of the deadline and a
 * word:
 *
 *     bits 0 to 47     the element's address
 *     bit 48           set if the element is claimed
 *     bits 49 to 63    a tag, made from the id
 *
 * Thanks to the tag a search by id reads only elements with an equal tag, usually one. Counting
 * claims reads no element. The tag is not a secret hash, because clients that produce equal tags
 * gain little: the search then compares at most 16 short ids (one long id moves all elements to the
 * tables). */
#include "store/type/elements.h"

#include "store/base/ensure.h"
#include "store/base/pointer48.h"
#include "store/base/prefetch.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"
#include "store/type/element.h"

enum {
    MANY = UINT16_MAX, /* value of `cap` while the elements are in tables */
    CAP_STEP = 4,      /* slots by which an array grows; smaller arrays double */
};

#define CLAIMED (UINT64_C(1) << POINTER48_BITS)
#define TAG     (UINT64_MAX << (POINTER48_BITS + 1))
#define ADDRESS (CLAIMED - 1)

struct element_slot {
    msec at;
    uint64_t word;
};

struct element_tables {
    struct dict by_id;
    struct timeline timeline; /* all elements, by deadline */
    struct timeline leases;   /* claimed elements, by end of lease; ended ones included */
    size_t bytes;             /* memory of the elements */
};

static struct bytes dict_element_id(const void *element)
{
    return id_of_element(element);
}

static const struct dict_type by_id = { .key = dict_element_id };

static struct element *element_of(struct timeline_node *deadline)
{
    if (deadline == NULL) return NULL;
    return (struct element *)(void *)((char *)deadline - offsetof(struct element, deadline));
}

/* Functions for a few elements are not inlined: operations on tables then pay only for a jump. */
#define NOINLINE __attribute__((noinline))

static inline bool are_many(const struct elements *elements)
{
    return elements->cap == MANY;
}

/* ---- slots of a few -------------------------------------------------------------------------- */

static inline struct element *slot_element(const struct element_slot *slot)
{
    return (struct element *)(uintptr_t)(slot->word & ADDRESS);
}

static inline bool slot_is_claimed(const struct element_slot *slot)
{
    return (slot->word & CLAIMED) != 0;
}

/* Makes the tag from the last 8 bytes of the id, because numbered ids differ at their end. */
static uint64_t tag_of(struct bytes id)
{
    uint64_t word = 0;
    const size_t size = sizeof(word);
    if (id.len >= size)
        memcpy(&word, id.data + id.len - size, size);
    else if (id.len > 0)
        memcpy(&word, id.data, id.len);
    return (word + id.len) * UINT64_C(0x9e3779b97f4a7c15) & TAG;
}

static void slot_set(struct element_slot *slot, struct element *element, msec at, bool claimed)
{
    ensure(pointer48_fits(element), "pointer %p does not fit 48 bits", (void *)element);
    struct claim *claim = claim_of(element);
    slot->at = at;
    slot->word = (uintptr_t)element | tag_of(id_of_element(element)) | (claimed ? CLAIMED : 0);
    element->deadline.leaf = 0; /* marks the node as in use; a slot needs no leaf */
    if (claim != NULL) claim->lease.leaf = claimed ? 0 : TIMELINE_NODE_IDLE;
}

static unsigned slot_of(const struct elements *elements, const struct element *element)
{
    for (unsigned i = 0; i < elements->count; i++)
        if (slot_element(&elements->slots[i]) == element) return i;
    ensure(false, "not among %u elements", elements->count);
}

/* Returns the first slot later than `at`. Searches from the end, because deadlines mostly rise from
 * one push to the next. */
static unsigned slot_after(const struct elements *elements, msec at)
{
    unsigned i = elements->count;
    while (i > 0 && elements->slots[i - 1].at > at)
        i--;
    return i;
}

static NOINLINE struct element *few_find(const struct elements *elements, struct bytes id)
{
    uint64_t tag = elements->count > 0 ? tag_of(id) : 0;
    for (unsigned i = 0; i < elements->count; i++) {
        const struct element_slot *slot = &elements->slots[i];
        if ((slot->word & TAG) == tag && bytes_equal(id_of_element(slot_element(slot)), id))
            return slot_element(slot);
    }
    return NULL;
}

static void slots_move(struct elements *elements, unsigned to, unsigned from, unsigned n)
{
    memmove(elements->slots + to, elements->slots + from, n * sizeof(*elements->slots));
}

static void slots_resize(struct elements *elements, unsigned cap)
{
    elements->slots = mem_realloc(elements->slots, cap * sizeof(*elements->slots));
    elements->cap = (uint16_t)cap;
}

static NOINLINE void few_add(struct elements *elements, struct element *element, msec at,
                             bool claimed)
{
    unsigned cap = elements->cap;
    if (elements->count >= cap) {
        cap = cap == 0 ? 1 : cap < CAP_STEP ? 2 * cap : cap + CAP_STEP;
        slots_resize(elements, cap < ELEMENTS_FEW ? cap : ELEMENTS_FEW);
    }
    unsigned i = slot_after(elements, at);
    slots_move(elements, i + 1, i, elements->count++ - i);
    slot_set(&elements->slots[i], element, at, claimed);
}

static NOINLINE void few_move(struct elements *elements, struct element *element, msec at,
                              bool claimed)
{
    unsigned from = slot_of(elements, element), to = slot_after(elements, at);
    if (from < to) {
        to--; /* the element itself is before `to`, and leaves its slot */
        slots_move(elements, from, from + 1, to - from);
    } else {
        slots_move(elements, to + 1, to, from - to);
    }
    slot_set(&elements->slots[to], element, at, claimed);
}

static NOINLINE void few_remove(struct elements *elements, const struct element *element)
{
    unsigned i = slot_of(elements, element);
    slots_move(elements, i, i + 1, --elements->count - i);
    if (elements->count == 0) {
        mem_free(elements->slots);
        elements_init(elements);
    } else if (elements->count <= elements->cap / CAP_STEP) {
        slots_resize(elements, elements->cap / 2);
    }
}

/* ---- tables of many -------------------------------------------------------------------------- */

static inline void tables_add(struct element_tables *tables, struct element *element, uint64_t hash,
                              msec at, bool claimed)
{
    timeline_node_init(&element->deadline);
    dict_add_hashed(&tables->by_id, element, hash);
    timeline_add(&tables->timeline, &element->deadline, at);
    tables->bytes += mem_size(element);
    struct claim *claim = claim_of(element);
    if (claim == NULL) return;
    timeline_node_init(&claim->lease);
    if (claimed) timeline_add(&tables->leases, &claim->lease, at);
}

static NOINLINE void widen(struct elements *elements)
{
    struct element_tables *tables = mem_zalloc(sizeof(*tables));
    dict_init(&tables->by_id, &by_id);
    timeline_init(&tables->timeline);
    timeline_init(&tables->leases);
    for (unsigned i = 0; i < elements->count; i++) {
        const struct element_slot *slot = &elements->slots[i];
        struct bytes id = id_of_element(slot_element(slot));
        tables_add(tables, slot_element(slot), siphash(id.data, id.len), slot->at,
                   slot_is_claimed(slot));
    }
    mem_free(elements->slots);
    elements->tables = tables;
    elements->count = 0;
    elements->cap = MANY;
}

/* ---- creating and freeing -------------------------------------------------------------------- */

void elements_init(struct elements *elements)
{
    *elements = (struct elements){ .slots = NULL };
}

struct element *elements_take(struct elements *elements)
{
    if (!are_many(elements))
        return elements->count == 0 ? NULL : slot_element(&elements->slots[--elements->count]);
    struct element *element = dict_take(&elements->tables->by_id);
    if (element != NULL) elements->tables->bytes -= mem_size(element);
    return element;
}

bool elements_drop_some(struct elements *elements, size_t *work)
{
    struct element_tables *tables = elements->tables;
    if (are_many(elements)) {
        if (!timeline_drop_some(&tables->timeline, work)) return false;
        if (!timeline_drop_some(&tables->leases, work)) return false;
        dict_drop(&tables->by_id);
    }
    mem_free(elements->slots); /* or the tables */
    elements_init(elements);
    return true;
}

void elements_expect(struct elements *elements, size_t count)
{
    if (!are_many(elements) && count <= ELEMENTS_FEW) return;
    if (!are_many(elements)) widen(elements);
    dict_reserve(&elements->tables->by_id, count);
}

/* ---- changing -------------------------------------------------------------------------------- */

uint64_t elements_hash(const struct elements *elements, struct bytes id)
{
    bool fits = elements->count < ELEMENTS_FEW && id.len <= SHORT_ID;
    return are_many(elements) || !fits ? siphash(id.data, id.len) : 0;
}

void elements_add(struct elements *elements, struct element *element, uint64_t hash, msec at,
                  bool claimed)
{
    if (!are_many(elements)) {
        if (elements->count < ELEMENTS_FEW && id_of_element(element).len <= SHORT_ID) {
            few_add(elements, element, at, claimed);
            return;
        }
        widen(elements);
    }
    tables_add(elements->tables, element, hash, at, claimed);
}

void elements_move(struct elements *elements, struct element *element, msec at, bool claimed)
{
    if (!are_many(elements)) {
        few_move(elements, element, at, claimed);
        return;
    }
    struct element_tables *tables = elements->tables;
    struct claim *claim = claim_of(element);
    if (claimed)
        timeline_move(&tables->leases, &claim->lease, at);
    else if (claim != NULL)
        timeline_cancel(&tables->leases, &claim->lease);
    timeline_move(&tables->timeline, &element->deadline, at);
}

void elements_remove(struct elements *elements, struct element *element)
{
    if (!are_many(elements)) {
        few_remove(elements, element);
        return;
    }
    struct element_tables *tables = elements->tables;
    timeline_cancel(&tables->timeline, &element->deadline);
    if (is_claimed(element)) timeline_cancel(&tables->leases, &claim_of(element)->lease);
    dict_remove(&tables->by_id, id_of_element(element));
    tables->bytes -= mem_size(element);
    if (dict_count(&tables->by_id) > 0) return;
    mem_free(tables); /* without elements, dict and timelines have no memory */
    elements_init(elements);
}

static void redirect_timelines(struct element_tables *tables, const struct element *old,
                               struct element *by)
{
    by->deadline = old->deadline;
    timeline_moved(&tables->timeline, &old->deadline, &by->deadline);
    if (!is_claimed(old)) return;
    claim_of(by)->lease = claim_of(old)->lease;
    timeline_moved(&tables->leases, &claim_of(old)->lease, &claim_of(by)->lease);
}

void elements_replace(struct elements *elements, struct element *old, struct element *by)
{
    if (!are_many(elements)) {
        struct element_slot *slot = &elements->slots[slot_of(elements, old)];
        slot_set(slot, by, slot->at, slot_is_claimed(slot));
        return;
    }
    struct element_tables *tables = elements->tables;
    dict_moved(&tables->by_id, old, by);
    redirect_timelines(tables, old, by);
    tables->bytes += mem_size(by) - mem_size(old);
}

/* ---- reading --------------------------------------------------------------------------------- */

size_t elements_count(const struct elements *elements)
{
    return are_many(elements) ? dict_count(&elements->tables->by_id) : elements->count;
}

struct element *elements_find(const struct elements *elements, struct bytes id)
{
    return are_many(elements) ? dict_find(&elements->tables->by_id, id) : few_find(elements, id);
}

struct element *elements_find_hashed(const struct elements *elements, struct bytes id,
                                     uint64_t hash)
{
    return are_many(elements) ? dict_find_hashed(&elements->tables->by_id, id, hash)
                              : few_find(elements, id);
}

struct element *elements_first(const struct elements *elements)
{
    if (are_many(elements)) return element_of(timeline_first(&elements->tables->timeline));
    return elements->count > 0 ? slot_element(&elements->slots[0]) : NULL;
}

msec elements_next(const struct elements *elements)
{
    if (are_many(elements)) return timeline_next(&elements->tables->timeline);
    return elements->count > 0 ? elements->slots[0].at : NEVER;
}

msec elements_at(const struct elements *elements, const struct element *element)
{
    if (are_many(elements)) return timeline_at(&elements->tables->timeline, &element->deadline);
    return elements->slots[slot_of(elements, element)].at;
}

size_t elements_count_until(const struct elements *elements, msec until)
{
    if (are_many(elements)) return timeline_count_until(&elements->tables->timeline, until);
    return slot_after(elements, until);
}

msec elements_after(const struct elements *elements, msec at)
{
    msec found;
    if (are_many(elements))
        return timeline_after(&elements->tables->timeline, at, &found) != NULL ? found : NEVER;
    unsigned i = slot_after(elements, at);
    return i < elements->count ? elements->slots[i].at : NEVER;
}

msec elements_lease_after(const struct elements *elements, msec at)
{
    msec found;
    if (are_many(elements))
        return timeline_after(&elements->tables->leases, at, &found) != NULL ? found : NEVER;
    for (unsigned i = slot_after(elements, at); i < elements->count; i++)
        if (slot_is_claimed(&elements->slots[i])) return elements->slots[i].at;
    return NEVER;
}

size_t elements_count_claimed(const struct elements *elements, msec now)
{
    size_t count = 0;
    if (are_many(elements)) {
        const struct timeline *leases = &elements->tables->leases;
        return timeline_count(leases) - timeline_count_until(leases, now);
    }
    for (unsigned i = slot_after(elements, now); i < elements->count; i++)
        count += slot_is_claimed(&elements->slots[i]);
    return count;
}

const struct dict *elements_hint(const struct elements *elements)
{
    if (are_many(elements)) return &elements->tables->by_id;
    prefetch(elements->slots);
    return NULL;
}

void elements_hint_first(const struct elements *elements)
{
    if (!are_many(elements) && elements->count > 0) prefetch(slot_element(&elements->slots[0]));
}

/* ---- walking --------------------------------------------------------------------------------- */

void elements_walk_begin(struct elements_walk *walk, const struct elements *elements)
{
    *walk = (struct elements_walk){ .few = are_many(elements) ? NULL : elements };
    if (walk->few == NULL) timeline_walk_begin(&walk->many, &elements->tables->timeline);
}

void elements_walk_from(struct elements_walk *walk, const struct elements *elements, msec at)
{
    *walk = (struct elements_walk){ .few = are_many(elements) ? NULL : elements };
    if (walk->few == NULL)
        timeline_walk_from(&walk->many, &elements->tables->timeline, at);
    else
        walk->slot = at == INT64_MIN ? 0 : slot_after(elements, at - 1);
}

struct element *elements_walk_next(struct elements_walk *walk, msec *at)
{
    if (walk->few == NULL) return element_of(timeline_walk_next(&walk->many, at));
    if (walk->slot == walk->few->count) return NULL;
    const struct element_slot *slot = &walk->few->slots[walk->slot++];
    *at = slot->at;
    return slot_element(slot);
}

void elements_walk_end(struct elements_walk *walk)
{
    if (walk->few == NULL) timeline_walk_end(&walk->many);
}

uint64_t elements_scan(const struct elements *elements, uint64_t cursor,
                       void (*visit)(void *ctx, void *element), void *ctx)
{
    if (are_many(elements)) return dict_scan(&elements->tables->by_id, cursor, visit, ctx);
    for (unsigned i = 0; i < elements->count; i++)
        visit(ctx, slot_element(&elements->slots[i]));
    return 0;
}

/* ---- relocating ------------------------------------------------------------------------------ */

enum { PHASE_ELEMENTS, PHASE_TIMELINE, PHASE_LEASES };

struct mover {
    struct element_tables *tables;
    struct relocation *relocation;
};

static void *element_relocate(void *ctx, void *element)
{
    const struct mover *mover = ctx;
    struct element *old = element, *moved = relocation_copy(mover->relocation, old);
    if (moved == NULL) return old;
    redirect_timelines(mover->tables, old, moved);
    mem_free(old);
    return moved;
}

void elements_relocate(struct elements *elements, struct relocation_cursor *cursor,
                       struct relocation *relocation)
{
    if (!are_many(elements)) {
        elements->slots = relocation_block(relocation, elements->slots);
        for (unsigned i = 0; i < elements->count; i++) {
            struct element_slot *slot = &elements->slots[i];
            struct element *element = relocation_block(relocation, slot_element(slot));
            ensure(pointer48_fits(element), "pointer %p does not fit 48 bits", (void *)element);
            slot->word = (uintptr_t)element | (slot->word & ~ADDRESS);
        }
        *cursor = (struct relocation_cursor){ 0 };
        return;
    }
    if (relocation_begins(cursor))
        elements->tables = relocation_block(relocation, elements->tables);
    struct element_tables *tables = elements->tables;
    struct mover mover = { tables, relocation };
    do {
        switch (cursor->phase) {
        case PHASE_ELEMENTS:
            cursor->at =
                dict_relocate(&tables->by_id, cursor->at, relocation, element_relocate, &mover);
            break;
        case PHASE_TIMELINE:
            cursor->at = timeline_relocate(&tables->timeline, (uint32_t)cursor->at, relocation);
            break;
        default:
            cursor->at = timeline_relocate(&tables->leases, (uint32_t)cursor->at, relocation);
            break;
        }
        if (cursor->at == 0) cursor->phase = (cursor->phase + 1) % (PHASE_LEASES + 1);
    } while (!relocation_begins(cursor) && relocation->left > 0);
}

/* ---- memory, self-check ---------------------------------------------------------------------- */

size_t elements_bytes(const struct elements *elements)
{
    const struct element_tables *tables = elements->tables;
    if (are_many(elements))
        return mem_size(tables) + tables->bytes + dict_bytes(&tables->by_id) +
               timeline_bytes(&tables->timeline) + timeline_bytes(&tables->leases);
    size_t bytes = mem_size(elements->slots);
    for (unsigned i = 0; i < elements->count; i++)
        bytes += mem_size(slot_element(&elements->slots[i]));
    return bytes;
}

void elements_check(const struct elements *elements)
{
    for (unsigned i = 0; i < elements->count; i++) {
        const struct element_slot *slot = &elements->slots[i];
        const struct element *element = slot_element(slot);
        ensure(i == 0 || slot[-1].at <= slot->at, "%lld comes after %lld", (long long)slot->at,
               (long long)slot[-1].at);
        ensure(elements_find(elements, id_of_element(element)) == element,
               "an element is not found");
        ensure(timeline_node_armed(&element->deadline) &&
                   is_claimed(element) == slot_is_claimed(slot),
               "an element disagrees with its slot");
    }
    if (!are_many(elements)) {
        ensure(elements->count <= elements->cap && elements->cap <= ELEMENTS_FEW,
               "%u elements, room for %u", elements->count, elements->cap);
        return;
    }

    const struct element_tables *tables = elements->tables;
    ensure(elements->count == 0, "%u slots besides the tables", elements->count);
    dict_check(&tables->by_id);
    timeline_check(&tables->timeline);
    timeline_check(&tables->leases);
    size_t count = dict_count(&tables->by_id), bytes = 0, claimed = 0;
    uint32_t armed = timeline_count(&tables->timeline), leases = timeline_count(&tables->leases);
    ensure(count == armed, "%zu elements, but %u in the timeline", count, armed);
    struct dict_iter iter;
    const struct element *element;
    dict_iter_begin(&iter, &tables->by_id);
    while ((element = dict_iter_next(&iter)) != NULL) {
        ensure(timeline_node_armed(&element->deadline), "element is not in the timeline");
        bytes += mem_size(element);
        if (!is_claimed(element)) continue;
        claimed++;
        msec lease = timeline_at(&tables->leases, &claim_of(element)->lease);
        msec at = timeline_at(&tables->timeline, &element->deadline);
        ensure(lease == at, "lease ends at %lld, deadline is %lld", (long long)lease,
               (long long)at);
    }
    ensure(bytes == tables->bytes, "%zu bytes, counted %zu", bytes, tables->bytes);
    ensure(claimed == leases, "%zu claimed, %u leases", claimed, leases);
}
