/* set: distinct byte strings with optional deadlines. An expired member stays until the caller
 * removes it.
 *
 * A small set is packed in one allocation; a large one is a table. Borrowed members are valid until
 * the next change of the set. Cost: O(1) unless stated, but O(log n) for adding or removing a
 * member with a deadline; the size of a small set counts as constant. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"
#include "store/struct/dict.h"
#include "store/struct/expiring.h"

struct set;

struct set *set_new(void);
void set_free(struct set *set);
bool set_free_some(struct set *set, size_t *work); /* as list_free_some */

size_t set_count(const struct set *set);
bool set_has(const struct set *set, struct bytes member);
/* Adds a member with a deadline (NEVER for none). If the member exists, returns false and changes
 * nothing. */
bool set_add(struct set *set, struct bytes member, msec at);
/* Removes the member; returns false if there is none. `member` may point into the set. */
bool set_remove(struct set *set, struct bytes member);
/* Returns a random member; the set must not be empty. */
struct bytes set_random(const struct set *set, uint64_t (*next)(void *ctx), void *ctx);
/* Visits some members, and returns the cursor to continue from (as dict_scan). A set that is small
 * or whose encoding is intset is visited as a whole, whatever the cursor, as in Redis. */
uint64_t set_scan(const struct set *set, uint64_t cursor,
                  void (*visit)(void *ctx, struct bytes member), void *ctx);

struct set_iter {
    const struct set *set;
    struct dict_iter in; /* if large: the position in the table */
    uint32_t offset;     /* if small: offset of the next record */
    msec at;             /* deadline of the member returned last, or NEVER */
};
void set_iter_begin(struct set_iter *iter, const struct set *set);
bool set_iter_next(struct set_iter *iter, struct bytes *member); /* borrowed */

/* ---- deadlines ---- */

/* Finds the member's deadline, which may be NEVER. Returns false if there is no such member.
 * O(1) */
bool set_deadline(const struct set *set, struct bytes member, msec *at);
/* Sets the member's deadline, or removes it (NEVER). Returns false if there is no such member.
 * `member` may point into the set. O(log n) */
bool set_expire(struct set *set, struct bytes member, msec at);
struct expiring set_expiring(const struct set *set); /* O(1) */

/* For prefetching: returns the table of a large set. For a small one, prefetches the records and
 * returns NULL. */
const struct dict *set_hint(const struct set *set);
/* Makes the set large, with room for `count` members in all, before they are added. O(count) */
void set_expect(struct set *set, size_t count);

/* Returns "intset" (integers only, by default at most 512) or "hashtable". The answer follows
 * Redis' rules, whatever the actual form. */
const char *set_encoding(const struct set *set);
void set_widen(struct set *set); /* the encoding is "hashtable" from now on */
/* Relocates at least one block, and more if the relocation has work left. Returns the set's
 * address. Invalidates everything borrowed from the set. */
struct set *set_relocate(struct set *set, struct relocation_cursor *cursor,
                         struct relocation *relocation);
size_t set_bytes(const struct set *set);
void set_check(const struct set *set);
