/* zset: members with scores, found by member, by score and by rank.
 * Knows members, scores, ranks and instants; refuses to know keys, commands and now. A range is a
 * pair of ranks [from, to), whatever it was asked by.
 *
 * A small sorted set is packed in one allocation, in order; a large one is a table and a tree.
 * Borrowed members are valid until the next change of the set. */
#ifndef STORE_TYPE_ZSET_H
#define STORE_TYPE_ZSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/struct/agenda.h"
#include "store/base/bytes.h"
#include "store/struct/dict.h"
#include "store/base/instant.h"
#include "store/struct/packed.h"
#include "store/struct/ranked.h"
#include "store/mem/relocate.h"

struct zset;

struct zset *zset_new(void);
void zset_free(struct zset *zset);
bool zset_free_some(struct zset *zset, size_t *work); /* as list_free_some */

size_t zset_count(const struct zset *zset);
bool zset_score(const struct zset *zset, struct bytes member, double *score); /* O(1) */
bool zset_rank(const struct zset *zset, struct bytes member, size_t *rank);   /* O(log n) */
size_t zset_below_score(const struct zset *zset, double score, bool or_equal);
size_t zset_below_member(const struct zset *zset, struct bytes member, bool or_equal);

/* Adds or moves; the member has this deadline (NEVER: none) from now on. `member` may be the set's
 * own. O(log n) */
void zset_put(struct zset *zset, struct bytes member, double score, msec at);
/* The same of a member that is known not to be there: nothing is looked for. */
void zset_add(struct zset *zset, struct bytes member, double score, msec at);
bool zset_remove(struct zset *zset, struct bytes member);
void zset_remove_ranks(struct zset *zset, size_t from, size_t to); /* from <= to <= count */

/* As dict_scan; of a listpack everything at once in order, whatever the cursor. */
uint64_t zset_scan(const struct zset *zset, uint64_t cursor,
                   void (*visit)(void *ctx, struct bytes member, double score), void *ctx);

struct zset_iter {
    const struct zset *zset;
    struct ranked_iter in;             /* of a large one */
    size_t rank;                       /* of a small one: where it stands */
    uint16_t places[PACKED_MAX_COUNT]; /* of its records */
    msec at;                           /* the deadline of the member just given, or NEVER */
};
void zset_iter_at(struct zset_iter *iter, const struct zset *zset, size_t rank);
/* The score may be NULL: it is not wanted. */
bool zset_iter_next(struct zset_iter *iter, struct bytes *member, double *score);
bool zset_iter_prev(struct zset_iter *iter, struct bytes *member, double *score);

/* ---- deadlines ---- */

/* False: no such member. NEVER: it has no deadline. O(1) */
bool zset_deadline(const struct zset *zset, struct bytes member, msec *at);
/* Sets it, or with NEVER takes it away; false: no such member. `member` may be the zset's own.
 * O(log n) */
bool zset_expire(struct zset *zset, struct bytes member, msec at);
/* The member that ends first; false: none has a deadline. O(1) */
bool zset_first(const struct zset *zset, struct bytes *member, msec *at);
size_t zset_count_timed(const struct zset *zset); /* with a deadline. O(1) */
/* No deadline in it is later; perhaps all are earlier. INT64_MIN without any. O(1) when large */
msec zset_latest(const struct zset *zset);
/* Have all deadlines in it passed by now? See deadlines_all_dead. */
bool zset_all_dead(const struct zset *zset, msec now);
/* Those with a deadline <= until, in no order; O(visited) when large. Return false to stop. */
void zset_each_until(const struct zset *zset, msec until,
                     bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx);

/* Of a large one's deadlines, to look at in parts; NULL: it is small, or has none. */
const struct agenda *zset_agenda(const struct zset *zset);

/* For looking ahead: its table by member; NULL while it is small, and then its records are asked
 * for from memory. */
const struct dict *zset_hint(const struct zset *zset);

const char *
zset_encoding(const struct zset *zset); /* listpack (<= 128 members, <= 64 bytes) or skiplist */
void zset_widen(struct zset *zset);     /* skiplist from now on */
/* Where the set is now; nothing of it that was borrowed is valid any more. At least one step is
 * done, and more while there is work left. */
struct zset *zset_relocate(struct zset *zset, struct relocation_place *place,
                           struct relocation *relocation);
size_t zset_bytes(const struct zset *zset);
void zset_check(const struct zset *zset);

#endif
