/* hash: fields with values.
 * Knows fields and values; refuses to know keys or commands. */
#ifndef STORE_HASH_H
#define STORE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/bytes.h"
#include "store/dict.h"

struct hash;

struct hash *hash_new(void);
void hash_free(struct hash *hash);
bool hash_free_some(struct hash *hash, size_t *work); /* as list_free_some */

size_t hash_count(const struct hash *hash);
bool hash_get(const struct hash *hash, struct bytes field, struct bytes *value); /* borrowed */
bool hash_set(struct hash *hash, struct bytes field, struct bytes value);        /* true if new */
bool hash_remove(struct hash *hash, struct bytes field);
void hash_random(const struct hash *hash, uint64_t (*next)(void *ctx), void *ctx,
                 struct bytes *field, struct bytes *value); /* not empty; borrowed */
/* As dict_scan; of a listpack everything at once, whatever the cursor. */
uint64_t hash_scan(const struct hash *hash, uint64_t cursor,
                   void (*visit)(void *ctx, struct bytes field, struct bytes value), void *ctx);

struct hash_iter {
    struct dict_iter in;
};
void hash_iter_begin(struct hash_iter *iter, const struct hash *hash);
bool hash_iter_next(struct hash_iter *iter, struct bytes *field, struct bytes *value);

const char *
hash_encoding(const struct hash *hash); /* listpack (<= 512 fields, <= 64 bytes) or hashtable */
void hash_widen(struct hash *hash);     /* hashtable from now on */
size_t hash_bytes(const struct hash *hash);
void hash_check(const struct hash *hash);

#endif
