/* hash: fields with values and optional deadlines. An expired field stays until the caller removes
 * it.
 *
 * A small hash is packed in one allocation; a large one is a table. Borrowed fields and values are
 * valid until the next change of the hash. Cost: O(1) unless stated, but O(log n) for setting or
 * removing a field with a deadline; the size of a small hash counts as constant. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"
#include "store/struct/dict.h"
#include "store/struct/expiring.h"

struct hash;

struct hash *hash_new(void);
void hash_free(struct hash *hash);
bool hash_free_some(struct hash *hash, size_t *work); /* as list_free_some */

size_t hash_count(const struct hash *hash);
/* Finds the field's value, borrowed. Returns false if there is no such field. */
bool hash_get(const struct hash *hash, struct bytes field, struct bytes *value);
/* Sets value and deadline (NEVER for none) of a field. Returns true if the field is new. `value`
 * may be (part of) the old value. */
bool hash_set(struct hash *hash, struct bytes field, struct bytes value, msec at);
bool hash_remove(struct hash *hash, struct bytes field); /* false if there is none */
/* Draws a random field and its value, borrowed; the hash must not be empty. */
void hash_random(const struct hash *hash, uint64_t (*next)(void *ctx), void *ctx,
                 struct bytes *field, struct bytes *value);
/* Visits some fields, and returns the cursor to continue from (as dict_scan). A hash that is small
 * or whose encoding is listpack is visited as a whole, whatever the cursor, as in Redis. */
uint64_t hash_scan(const struct hash *hash, uint64_t cursor,
                   void (*visit)(void *ctx, struct bytes field, struct bytes value), void *ctx);

struct hash_iter {
    const struct hash *hash;
    struct dict_iter in; /* if large: the position in the table */
    uint32_t offset;     /* if small: offset of the next record */
    msec at;             /* deadline of the field returned last, or NEVER */
};
void hash_iter_begin(struct hash_iter *iter, const struct hash *hash);
bool hash_iter_next(struct hash_iter *iter, struct bytes *field, struct bytes *value);

/* ---- deadlines ---- */

/* Does the work of hash_get and hash_deadline at once. O(1) */
bool hash_lookup(const struct hash *hash, struct bytes field, struct bytes *value, msec *at);
/* Finds the field's deadline, which may be NEVER. Returns false if there is no such field. O(1) */
bool hash_deadline(const struct hash *hash, struct bytes field, msec *at);
/* Sets the field's deadline, or removes it (NEVER). Returns false if there is no such field.
 * `field` may point into the hash. O(log n) */
bool hash_expire(struct hash *hash, struct bytes field, msec at);
struct expiring hash_expiring(const struct hash *hash); /* O(1) */

/* For prefetching: returns the table of a large hash. For a small one, prefetches the records and
 * returns NULL. */
const struct dict *hash_hint(const struct hash *hash);
/* Makes the hash large, with room for `count` fields in all, before they are added. O(count) */
void hash_expect(struct hash *hash, size_t count);

/* Returns "listpack" (by default at most 512 fields; names and values of at most 64 bytes) or
 * "hashtable". The answer follows Redis' rules, whatever the actual form. */
const char *hash_encoding(const struct hash *hash);
void hash_widen(struct hash *hash); /* the encoding is "hashtable" from now on */
/* Relocates at least one block, and more if the relocation has work left. Returns the hash's
 * address. Invalidates everything borrowed from the hash. */
struct hash *hash_relocate(struct hash *hash, struct relocation_cursor *cursor,
                           struct relocation *relocation);
size_t hash_bytes(const struct hash *hash);
void hash_check(const struct hash *hash);
