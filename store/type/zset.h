/* zset: members with scores and optional deadlines, found by member, by score and by rank. A range
 * is a pair of ranks [from, to). An expired member stays until the caller removes it.
 *
 * A small sorted set is packed in one allocation, in order; a large one is a table and a tree.
 * Borrowed members are valid until the next change of the set. Members from an iterator, or passed
 * to a visitor, are valid only until the next step, because a small set may store them in a
 * shortened form (zset_front.h). */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"
#include "store/struct/dict.h"
#include "store/struct/expiring.h"
#include "store/struct/packed.h"
#include "store/struct/ranked.h"
#include "store/type/zset_front.h"

struct outbuf;
struct zset;

struct zset *zset_new(void);
void zset_free(struct zset *zset);
bool zset_free_some(struct zset *zset, size_t *work); /* as list_free_some */

size_t zset_count(const struct zset *zset);
/* Find a member's score, or its rank from 0. Return false if there is no such member. */
bool zset_score(const struct zset *zset, struct bytes member, double *score); /* O(1) */
bool zset_rank(const struct zset *zset, struct bytes member, size_t *rank);   /* O(log n) */
/* Count the members below a score, or below a member (if all scores are equal); with or_equal also
 * those that are equal. O(log n) */
size_t zset_below_score(const struct zset *zset, double score, bool or_equal);
size_t zset_below_member(const struct zset *zset, struct bytes member, bool or_equal);

/* Adds a member or changes its score, and sets its deadline (NEVER for none). `member` may point
 * into the set. O(log n) */
void zset_put(struct zset *zset, struct bytes member, double score, msec at);
/* As zset_put, for a member that is known to be absent, which saves a search. */
void zset_add(struct zset *zset, struct bytes member, double score, msec at);
bool zset_remove(struct zset *zset, struct bytes member);          /* false if there is none */
void zset_remove_ranks(struct zset *zset, size_t from, size_t to); /* from <= to <= count */

/* Visits some members, and returns the cursor to continue from (as dict_scan). A set that is small
 * or whose encoding is listpack is visited as a whole, in order, whatever the cursor. */
uint64_t zset_scan(const struct zset *zset, uint64_t cursor,
                   void (*visit)(void *ctx, struct bytes member, double score), void *ctx);

struct zset_iter {
    const struct zset *zset;
    struct ranked_iter in;              /* if large: the position in the tree */
    size_t rank;                        /* if small: the current rank */
    uint16_t offsets[PACKED_MAX_COUNT]; /* if small: offsets of all records */
    msec at;                            /* deadline of the member returned last, or NEVER */
    struct zset_front front;            /* if small: the front of the records */
    char text[ZSET_TEXT_SIZE];          /* may contain that member, if small */
};
void zset_iter_at(struct zset_iter *iter, const struct zset *zset, size_t rank);
/* Return the member at the iterator's rank, borrowed, and move one rank up or down. Return false
 * past either end. `score` may be NULL. */
bool zset_iter_next(struct zset_iter *iter, struct bytes *member, double *score);
bool zset_iter_prev(struct zset_iter *iter, struct bytes *member, double *score);
/* Returns the member of the last step as bytes that stay valid until the set changes, even after
 * the iterator has moved on. The bytes may be a copy at the end of `texts`, which the caller
 * drops. */
struct bytes zset_iter_keep(const struct zset_iter *iter, struct bytes member,
                            struct outbuf *texts);

/* ---- deadlines ---- */

/* Finds the member's deadline, which may be NEVER. Returns false if there is no such member.
 * O(1) */
bool zset_deadline(const struct zset *zset, struct bytes member, msec *at);
/* Sets the member's deadline, or removes it (NEVER). Returns false if there is no such member.
 * `member` may point into the set. O(log n) */
bool zset_expire(struct zset *zset, struct bytes member, msec at);
struct expiring zset_expiring(const struct zset *zset); /* O(1) */

/* For prefetching: returns the table of a large set. For a small one, prefetches the records and
 * returns NULL. */
const struct dict *zset_hint(const struct zset *zset);
/* Makes the set large, with room for `count` members in all, before they are added. O(count) */
void zset_expect(struct zset *zset, size_t count);

/* Returns "listpack" (by default at most 128 members, of at most 64 bytes) or "skiplist". The
 * answer follows Redis' rules, whatever the actual form. */
const char *zset_encoding(const struct zset *zset);
void zset_widen(struct zset *zset); /* the encoding is "skiplist" from now on */
/* Relocates at least one block, and more if the relocation has work left. Returns the set's
 * address. Invalidates everything borrowed from the set. */
struct zset *zset_relocate(struct zset *zset, struct relocation_cursor *cursor,
                           struct relocation *relocation);
size_t zset_bytes(const struct zset *zset);
void zset_check(const struct zset *zset);
