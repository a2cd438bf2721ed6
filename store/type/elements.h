/* elements: the elements of a dehydrator, found by id and in order of (deadline, arrival). There
 * are two forms:
 *
 * - A few elements are in one sorted array, at 16 bytes per element. Dehydrators that are made for
 *   each tenant or user are often that small.
 * - If there are more than ELEMENTS_FEW, or one has an id of more than SHORT_ID bytes, all are in a
 *   table by id and in a timeline by deadline, which need about 400 bytes before the first element.
 *   Claimed elements are then also in a timeline of leases, so that they can be counted. This form
 *   stays until the last element is removed.
 *
 * The elements are not owned, but their memory is counted. An element's nodes (element.h) show
 * other code whether the element is in the collection, and whether it is claimed. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"
#include "store/struct/dict.h"
#include "store/struct/timeline.h"

enum { ELEMENTS_FEW = 16 };

struct element;
struct element_slot;
struct element_tables;

struct elements {
    union {
        struct element_slot *slots;
        struct element_tables *tables; /* if `cap` says that the elements are in tables */
    };
    uint16_t count, cap; /* slots in use, and allocated */
};

void elements_init(struct elements *elements);
/* Removes and returns some element, for freeing in slices; NULL if there is none. After the first
 * call, only this function, elements_count and elements_drop_some may be called. O(1) */
struct element *elements_take(struct elements *elements);
/* Frees what is left when all elements have been taken. Returns true when done (as
 * timeline_drop_some). */
bool elements_drop_some(struct elements *elements, size_t *work);

size_t elements_count(const struct elements *elements);
/* Makes room for `count` elements in all, before they are added: in tables if they are more than
 * ELEMENTS_FEW. O(count) */
void elements_expect(struct elements *elements, size_t count);

/* Returns what elements_find_hashed and elements_add need to know of an id, so that a caller of
 * both hashes it once. Valid until an element is added or removed. */
uint64_t elements_hash(const struct elements *elements, struct bytes id);
/* Adds an element whose id is absent; `hash` is the elements_hash of this id. O(log n) */
void elements_add(struct elements *elements, struct element *element, uint64_t hash, msec at,
                  bool claimed);
/* Sets the deadline of an element, and whether it is claimed. The element goes behind others with
 * the same deadline. A claimed element must have been allocated with a struct claim. O(log n) */
void elements_move(struct elements *elements, struct element *element, msec at, bool claimed);
void elements_remove(struct elements *elements, struct element *element); /* O(log n) */
/* Puts `by`, an element with the same id, in the place of an old one. O(1) */
void elements_replace(struct elements *elements, struct element *old, struct element *by);

struct element *elements_find(const struct elements *elements, struct bytes id); /* O(1) */
struct element *elements_find_hashed(const struct elements *elements, struct bytes id,
                                     uint64_t hash);             /* O(1) */
struct element *elements_first(const struct elements *elements); /* or NULL. O(1) */
msec elements_next(const struct elements *elements);             /* or NEVER. O(1) */
msec elements_at(const struct elements *elements, const struct element *element); /* O(1) */
size_t elements_count_until(const struct elements *elements, msec until);         /* O(log n) */
/* Return the first deadline, or the first end of a lease, after `at`; NEVER if there is none. O(log
 * n) */
msec elements_after(const struct elements *elements, msec at);
msec elements_lease_after(const struct elements *elements, msec at);
/* Counts the elements whose lease ends after now. O(log n) */
size_t elements_count_claimed(const struct elements *elements, msec now);
/* For prefetching: elements_hint returns the table of many elements, or prefetches the slots of a
 * few and returns NULL. A later elements_hint_first prefetches the first of a few. */
const struct dict *elements_hint(const struct elements *elements);
void elements_hint_first(const struct elements *elements);

/* Walks in order; the elements must not change meanwhile. */
struct elements_walk {
    const struct elements *few; /* NULL if the elements are in tables */
    unsigned slot;
    struct timeline_walk many;
};
void elements_walk_begin(struct elements_walk *walk, const struct elements *elements);
/* Begins at the first element that is not before `at`. O(log n) */
void elements_walk_from(struct elements_walk *walk, const struct elements *elements, msec at);
struct element *elements_walk_next(struct elements_walk *walk, msec *at);
void elements_walk_end(struct elements_walk *walk);

uint64_t elements_scan(const struct elements *elements, uint64_t cursor,
                       void (*visit)(void *ctx, void *element), void *ctx); /* as dict_scan */
/* Relocates elements and blocks: at least one, and more if the relocation has work left. */
void elements_relocate(struct elements *elements, struct relocation_cursor *cursor,
                       struct relocation *relocation);
size_t elements_bytes(const struct elements *elements); /* with the elements. O(1) */
void elements_check(const struct elements *elements);
