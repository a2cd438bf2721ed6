/* set: distinct byte strings without order.
 * Knows members; refuses to know keys or commands. */
#ifndef STORE_SET_H
#define STORE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/bytes.h"
#include "store/dict.h"

struct set;

struct set *set_new(void);
void set_free(struct set *set);
bool set_free_some(struct set *set, size_t *work); /* as list_free_some */

size_t set_count(const struct set *set);
bool set_has(const struct set *set, struct bytes member);
bool set_add(struct set *set, struct bytes member);    /* false if it was there */
bool set_remove(struct set *set, struct bytes member); /* false if it was not */
/* The member itself, out of the set and owned; NULL if it was not in. */
struct blob *set_take(struct set *set, struct bytes member);
struct bytes set_random(const struct set *set, uint64_t (*next)(void *ctx),
                        void *ctx); /* not empty */
/* As dict_scan; of an intset everything at once, whatever the cursor. */
uint64_t set_scan(const struct set *set, uint64_t cursor,
                  void (*visit)(void *ctx, struct bytes member), void *ctx);

struct set_iter {
    struct dict_iter in;
};
void set_iter_begin(struct set_iter *iter, const struct set *set);
bool set_iter_next(struct set_iter *iter, struct bytes *member); /* borrowed */

const char *
set_encoding(const struct set *set); /* intset (whole numbers only, at most 512) or hashtable */
void set_widen(struct set *set);     /* hashtable from now on */
size_t set_bytes(const struct set *set);
void set_check(const struct set *set);

#endif
