/* zset: members with scores, found by member, by score and by rank.
 * Knows members, scores and ranks; refuses to know keys or commands. A range is a pair of ranks
 * [from, to), whatever it was asked by. */
#ifndef STORE_ZSET_H
#define STORE_ZSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/bytes.h"
#include "store/ranked.h"

struct zset;

struct zset *zset_new(void);
void zset_free(struct zset *zset);
bool zset_free_some(struct zset *zset, size_t *work); /* as list_free_some */

size_t zset_count(const struct zset *zset);
bool zset_score(const struct zset *zset, struct bytes member, double *score); /* O(1) */
bool zset_rank(const struct zset *zset, struct bytes member, size_t *rank);   /* O(log n) */
size_t zset_below_score(const struct zset *zset, double score, bool or_equal);
size_t zset_below_member(const struct zset *zset, struct bytes member, bool or_equal);

void zset_put(struct zset *zset, struct bytes member, double score); /* adds or moves. O(log n) */
bool zset_remove(struct zset *zset, struct bytes member);
void zset_remove_ranks(struct zset *zset, size_t from, size_t to); /* from <= to <= count */

/* As dict_scan; of a listpack everything at once in order, whatever the cursor. */
uint64_t zset_scan(const struct zset *zset, uint64_t cursor,
                   void (*visit)(void *ctx, struct bytes member, double score), void *ctx);

struct zset_iter {
    struct ranked_iter in;
};
void zset_iter_at(struct zset_iter *iter, const struct zset *zset, size_t rank);
bool zset_iter_next(struct zset_iter *iter, struct bytes *member, double *score);
bool zset_iter_prev(struct zset_iter *iter, struct bytes *member, double *score);

const char *
zset_encoding(const struct zset *zset); /* listpack (<= 128 members, <= 64 bytes) or skiplist */
void zset_widen(struct zset *zset);     /* skiplist from now on */
size_t zset_bytes(const struct zset *zset);
void zset_check(const struct zset *zset);

#endif
