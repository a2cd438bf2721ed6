/* hash: fields with values, each with a deadline if it has one.
 * Knows fields, values and instants; refuses to know keys, commands and now.
 *
 * A small hash is packed in one allocation; a large one is a table. Borrowed fields and values are
 * valid until the next change of the hash. */
#ifndef STORE_TYPE_HASH_H
#define STORE_TYPE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/struct/agenda.h"
#include "store/base/bytes.h"
#include "store/struct/dict.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"

struct hash;

struct hash *hash_new(void);
void hash_free(struct hash *hash);
bool hash_free_some(struct hash *hash, size_t *work); /* as list_free_some */

size_t hash_count(const struct hash *hash);
bool hash_get(const struct hash *hash, struct bytes field, struct bytes *value); /* borrowed */
/* The field has this value and this deadline (NEVER: none) from now on; true if it is new. `value`
 * may be the old value itself, or a part of it. */
bool hash_set(struct hash *hash, struct bytes field, struct bytes value, msec at);
bool hash_remove(struct hash *hash, struct bytes field);
void hash_random(const struct hash *hash, uint64_t (*next)(void *ctx), void *ctx,
                 struct bytes *field, struct bytes *value); /* not empty; borrowed */
/* As dict_scan; of a listpack everything at once, whatever the cursor. */
uint64_t hash_scan(const struct hash *hash, uint64_t cursor,
                   void (*visit)(void *ctx, struct bytes field, struct bytes value), void *ctx);

struct hash_iter {
    const struct hash *hash;
    struct dict_iter in; /* of a large one */
    uint32_t place;      /* of a small one: the next record */
    msec at;             /* the deadline of the field just given, or NEVER */
};
void hash_iter_begin(struct hash_iter *iter, const struct hash *hash);
bool hash_iter_next(struct hash_iter *iter, struct bytes *field, struct bytes *value);

/* ---- deadlines ---- */

/* False: no such field. NEVER: it has no deadline. O(1) */
bool hash_deadline(const struct hash *hash, struct bytes field, msec *at);
/* Sets it, or with NEVER takes it away; false: no such field. `field` may be the hash's own.
 * O(log n) */
bool hash_expire(struct hash *hash, struct bytes field, msec at);
/* The field that ends first; false: none has a deadline. O(1) */
bool hash_first(const struct hash *hash, struct bytes *field, msec *at);
size_t hash_count_timed(const struct hash *hash); /* with a deadline. O(1) */
/* No deadline in it is later; perhaps all are earlier. INT64_MIN without any. O(1) when large */
msec hash_latest(const struct hash *hash);
/* Have all deadlines in it passed by now? See deadlines_all_dead. */
bool hash_all_dead(const struct hash *hash, msec now);
/* Those with a deadline <= until, in no order; O(visited) when large. Return false to stop. */
void hash_each_until(const struct hash *hash, msec until,
                     bool (*visit)(void *ctx, struct bytes field, msec at), void *ctx);

/* Of a large one's deadlines, to look at in parts; NULL: it is small, or has none. */
const struct agenda *hash_agenda(const struct hash *hash);

/* For looking ahead: its table by member; NULL while it is small, and then its records are asked
 * for from memory. */
const struct dict *hash_hint(const struct hash *hash);

const char *
hash_encoding(const struct hash *hash); /* listpack (<= 512 fields, <= 64 bytes) or hashtable */
void hash_widen(struct hash *hash);     /* hashtable from now on */
/* Where the hash is now; nothing of it that was borrowed is valid any more. At least one step is
 * done, and more while there is work left. */
struct hash *hash_relocate(struct hash *hash, struct relocation_place *place,
                           struct relocation *relocation);
size_t hash_bytes(const struct hash *hash);
void hash_check(const struct hash *hash);

#endif
