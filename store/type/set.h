/* set: distinct byte strings without order, each with a deadline if it has one.
 * Knows members and instants; refuses to know keys, commands and now.
 *
 * A small set is packed in one allocation; a large one is a table. Borrowed members are valid until
 * the next change of the set. */
#ifndef STORE_TYPE_SET_H
#define STORE_TYPE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/struct/agenda.h"
#include "store/base/bytes.h"
#include "store/struct/dict.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"

struct set;

struct set *set_new(void);
void set_free(struct set *set);
bool set_free_some(struct set *set, size_t *work); /* as list_free_some */

size_t set_count(const struct set *set);
bool set_has(const struct set *set, struct bytes member);
/* With this deadline (NEVER: none); false if it was there, and then nothing changes. */
bool set_add(struct set *set, struct bytes member, msec at);
/* False if it was not in. `member` may be the set's own. */
bool set_remove(struct set *set, struct bytes member);
struct bytes set_random(const struct set *set, uint64_t (*next)(void *ctx),
                        void *ctx); /* not empty */
/* As dict_scan; of a small set or an intset everything at once, whatever the cursor. */
uint64_t set_scan(const struct set *set, uint64_t cursor,
                  void (*visit)(void *ctx, struct bytes member), void *ctx);

struct set_iter {
    const struct set *set;
    struct dict_iter in; /* of a large one */
    uint32_t place;      /* of a small one: the next record */
    msec at;             /* the deadline of the member just given, or NEVER */
};
void set_iter_begin(struct set_iter *iter, const struct set *set);
bool set_iter_next(struct set_iter *iter, struct bytes *member); /* borrowed */

/* ---- deadlines ---- */

/* False: no such member. NEVER: it has no deadline. O(1) */
bool set_deadline(const struct set *set, struct bytes member, msec *at);
/* Sets it, or with NEVER takes it away; false: no such member. `member` may be the set's own.
 * O(log n) */
bool set_expire(struct set *set, struct bytes member, msec at);
/* The member that ends first; false: none has a deadline. O(1) */
bool set_first(const struct set *set, struct bytes *member, msec *at);
size_t set_count_timed(const struct set *set); /* with a deadline. O(1) */
/* No deadline in it is later; perhaps all are earlier. INT64_MIN without any. O(1) when large */
msec set_latest(const struct set *set);
/* Have all deadlines in it passed by now? See deadlines_all_dead. */
bool set_all_dead(const struct set *set, msec now);
/* Those with a deadline <= until, in no order; O(visited) when large. Return false to stop. */
void set_each_until(const struct set *set, msec until,
                    bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx);

/* Of a large one's deadlines, to look at in parts; NULL: it is small, or has none. */
const struct agenda *set_agenda(const struct set *set);

/* For looking ahead: its table by member; NULL while it is small, and then its records are asked
 * for from memory. */
const struct dict *set_hint(const struct set *set);

const char *
set_encoding(const struct set *set); /* intset (whole numbers only, at most 512) or hashtable */
void set_widen(struct set *set);     /* hashtable from now on */
/* Where the set is now; nothing of it that was borrowed is valid any more. At least one step is
 * done, and more while there is work left. */
struct set *set_relocate(struct set *set, struct relocation_place *place,
                         struct relocation *relocation);
size_t set_bytes(const struct set *set);
void set_check(const struct set *set);

#endif
