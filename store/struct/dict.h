/* dict: a hash table of pointers to elements that carry their own keys.
 * Knows hashes and keys; refuses to know what an element is or who frees it.
 *
 * Linear hashing (Litwin 1980; Larson 1988): the table grows and shrinks by one bucket at a time,
 * in segments behind a directory, so no operation ever rehashes more than one bucket, and memory
 * follows the count. A bucket is a cache line with eight tagged pointers (dict_bucket.h); nearly
 * all misses end at its tags, and most hits touch that line and the element.
 *
 * scan() keeps Redis' guarantee: an element present from the first call to the last is seen at
 * least once, across growth and shrinking (reverse-binary cursor, after Pieter Noordhuis). */
#ifndef STORE_STRUCT_DICT_H
#define STORE_STRUCT_DICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/bytes.h"
#include "store/mem/relocate.h"

struct dict_type {
    struct bytes (*key)(const void *element); /* must not change while the element is in */
};

struct dict_bucket;

struct dict {
    const struct dict_type *type;
    struct dict_bucket **segments; /* directory */
    size_t count;
    size_t buckets; /* in use: 2^level + split */
    uint32_t level;
    uint32_t segment_cap;
    size_t overflow_bytes;
    uint32_t longest; /* no bucket ever held more elements: what dict_random draws below */
};

void dict_init(struct dict *dict, const struct dict_type *type);
void dict_drop(struct dict *dict); /* frees the table, not the elements */

static inline size_t dict_count(const struct dict *dict)
{
    return dict->count;
}

void *dict_find(const struct dict *dict, struct bytes key); /* NULL if absent. O(1) */
void dict_add(struct dict *dict, void *element);            /* its key must be absent. O(1) */
void *dict_remove(struct dict *dict, struct bytes key);     /* the element, or NULL. O(1) */

/* The same for one who has the key's hash already, from siphash() or a hint. */
void *dict_find_hashed(const struct dict *dict, struct bytes key, uint64_t hash);
void dict_add_hashed(struct dict *dict, void *element, uint64_t hash);

/* For looking ahead: asks for the memory that a dict_find of the key will touch, first the bucket,
 * and with what that returned, later, the element: perhaps another one's, or NULL. Nothing is
 * waited for. The dict is not empty. */
uint64_t dict_hint_bucket(const struct dict *dict, struct bytes key);
void *dict_hint_element(const struct dict *dict, uint64_t hash);
/* And, later still, for those of which that found nothing: in the bucket's overflow. */
void *dict_hint_overflow(const struct dict *dict, uint64_t hash);

/* The element under the same key has moved from `old` to `now` in memory. `old` may be freed
 * already: only its address is used; the key is read from `now`. */
void dict_moved(struct dict *dict, const void *old, void *now);

/* A uniformly random element, for a uniformly random 64-bit number drawn by the caller with
 * `next` (called as often as needed); NULL if empty. Expected O(1). */
void *dict_random(const struct dict *dict, uint64_t (*next)(void *ctx), void *ctx);

/* Visits the elements of one bucket (and its twins) and returns the next cursor; 0 begins and
 * ends. The visitor must not change the dict. */
uint64_t dict_scan(const struct dict *dict, uint64_t cursor,
                   void (*visit)(void *ctx, void *element), void *ctx);

/* As dict_scan, and the table's own blocks are relocated. `move` may copy an element to other
 * memory and free it, and returns where it is now; NULL: they all stay. */
uint64_t dict_relocate(struct dict *dict, uint64_t cursor, struct relocation *relocation,
                       void *(*move)(void *ctx, void *element), void *ctx);

/* In table order; the dict must not change meanwhile. */
struct dict_iter {
    const struct dict *dict;
    size_t bucket;
    unsigned position;
};
void dict_iter_begin(struct dict_iter *iter, const struct dict *dict);
void *dict_iter_next(struct dict_iter *iter); /* NULL at the end */

/* Takes any one element out, cheaply, without hashing: for freeing a table in slices. NULL when
 * empty. O(1). */
void *dict_take(struct dict *dict);

size_t dict_bytes(const struct dict *dict); /* memory of the table itself */
void dict_check(const struct dict *dict);   /* every element in its bucket, tags and counts right */

#endif
