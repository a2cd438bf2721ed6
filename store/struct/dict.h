/* dict: a hash table of pointers to elements, which contain their own keys. It does not own the
 * elements.
 *
 * Linear hashing (Litwin 1980; Larson 1988): the table grows and shrinks by one bucket at a time,
 * in segments behind a directory. No operation but dict_reserve rehashes more than one bucket.
 * Memory stays proportional to the count, except in a reserved table and after elements were
 * removed in the order of a scan. The classic doubling needs two tables at once: memory peaks even
 * if the elements are moved in steps, as in Redis. A bucket is a cache line of eight tagged
 * pointers (dict_bucket.h), so that nearly all misses touch only that line, and most hits that line
 * and the element.
 *
 * dict_scan gives Redis' guarantee: an element that is present from the first call to the last is
 * visited at least once, whether the table grows or shrinks meanwhile (reverse-binary cursor, after
 * Pieter Noordhuis). */
#pragma once

#include "store/base/bytes.h"
#include "store/mem/relocate.h"

struct dict_type {
    struct bytes (*key)(const void *element); /* constant while the element is in the table */
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
    uint32_t longest; /* the most elements that any bucket has held; for dict_random */
    bool reserved;    /* the table waits for more elements, and must not shrink */
};

void dict_init(struct dict *dict, const struct dict_type *type);
void dict_drop(struct dict *dict); /* frees the table, not the elements */
/* Enlarges the table for `count` elements in all, which are about to be added. No element then
 * moves while they are added. The table does not shrink before most of them were added, or one was
 * removed. O(count) */
void dict_reserve(struct dict *dict, size_t count);

static inline size_t dict_count(const struct dict *dict)
{
    return dict->count;
}

void *dict_find(const struct dict *dict, struct bytes key); /* NULL if absent. O(1) */
void dict_add(struct dict *dict, void *element);            /* its key must be absent. O(1) */
void *dict_remove(struct dict *dict, struct bytes key);     /* the element, or NULL. O(1) */

/* As dict_find and dict_add, given the key's hash from siphash() or dict_hint_bucket(). */
void *dict_find_hashed(const struct dict *dict, struct bytes key, uint64_t hash);
void dict_add_hashed(struct dict *dict, void *element, uint64_t hash);

/* Prefetch for a later dict_find, in steps: each one reads what the step before it has prefetched.
 * The dict must not be empty.
 *
 *     1    dict_hint_bucket prefetches the bucket, and returns the key's hash for the next
 *          steps; dict_hint_hashed is for a caller that knows the hash
 *     2    dict_hint_element returns and prefetches the element with the key's tag, which may
 *          belong to another key; or NULL
 *     3    dict_hint_overflow searches the bucket's overflow, if step 2 has returned NULL */
uint64_t dict_hint_bucket(const struct dict *dict, struct bytes key);
void dict_hint_hashed(const struct dict *dict, uint64_t hash);
void *dict_hint_element(const struct dict *dict, uint64_t hash);
void *dict_hint_overflow(const struct dict *dict, uint64_t hash);

/* Makes the table point to `moved`, to which an element has moved in memory from `old` with the
 * same key. `old` may be freed already: only its address is used. */
void dict_moved(struct dict *dict, const void *old, void *moved);

/* Returns a uniformly random element, or NULL if the table is empty. `next` must return uniformly
 * random 64-bit numbers, and is called as often as needed. Expected O(1); at most O(buckets),
 * because a scan that removes elements leaves empty buckets behind. */
void *dict_random(const struct dict *dict, uint64_t (*next)(void *ctx), void *ctx);

/* Visits the elements of one bucket, and of the bucket split from it, and returns the next cursor.
 * A scan begins and ends with cursor 0. The visitor must not change the dict. */
uint64_t dict_scan(const struct dict *dict, uint64_t cursor,
                   void (*visit)(void *ctx, void *element), void *ctx);

/* As dict_scan, but also relocates the table's own blocks. `move` may copy an element to new memory
 * and free the old one, and returns the element's address. If `move` is NULL, elements stay where
 * they are. */
uint64_t dict_relocate(struct dict *dict, uint64_t cursor, struct relocation *relocation,
                       void *(*move)(void *ctx, void *element), void *ctx);

/* Iterates in table order; the dict must not change meanwhile. */
struct dict_iter {
    const struct dict *dict;
    size_t bucket;
    unsigned position;
};
void dict_iter_begin(struct dict_iter *iter, const struct dict *dict);
/* Begins at bucket lot % buckets instead of the first one. */
void dict_iter_from(struct dict_iter *iter, const struct dict *dict, uint64_t lot);
void *dict_iter_next(struct dict_iter *iter); /* NULL at the end */
/* Returns an element that the iteration will reach soon and has prefetched, or NULL. The caller can
 * prefetch what this element points to. Successive calls return most elements. O(1) */
void *dict_iter_ahead(const struct dict_iter *iter);

/* Removes and returns some element, whichever is cheapest, or NULL if the table is empty. Hashes
 * nothing. For freeing a table in slices. Amortized O(1) */
void *dict_take(struct dict *dict);

size_t dict_bytes(const struct dict *dict); /* memory of the table, without elements */
void dict_check(const struct dict *dict);   /* buckets, tags, counts. O(n) */
