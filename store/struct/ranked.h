/* ranked: members ordered by (score, member bytes), with ranks. It does not own the members. Their
 * score and bytes must not change while they are in the tree.
 *
 * A B+ tree whose inner nodes store the count of each subtree (an order-statistics tree, Cormen et
 * al.). Finding by score, by member or by rank, and finding the rank of a member, cost O(log n)
 * each. */
#pragma once

#include "store/base/bytes.h"
#include "store/mem/relocate.h"
#include "store/struct/ranked_member.h"

struct ranked_node;

struct ranked {
    struct ranked_node *root; /* NULL when empty */
    size_t count;
    size_t bytes;
    unsigned depth;
    bool grows_at_end; /* the latest insertion was at the end: try there first */
};

void ranked_init(struct ranked *ranked);
void ranked_drop(struct ranked *ranked); /* frees the tree, not the members. O(nodes) */

void ranked_add(struct ranked *ranked, struct ranked_member *m);    /* must be absent. O(log n) */
void ranked_remove(struct ranked *ranked, struct ranked_member *m); /* must be in. O(log n) */
/* Changes the score of m, which is in the tree. O(log n) */
void ranked_move(struct ranked *ranked, struct ranked_member *m, double score);
/* Makes the tree point to `moved`, to which a member was copied from `old`. Call it before `old` is
 * freed, because the search may read it. O(log n) */
void ranked_moved(struct ranked *ranked, const struct ranked_member *old,
                  struct ranked_member *moved);

size_t ranked_rank(const struct ranked *ranked, const struct ranked_member *m); /* from 0 */
struct ranked_member *ranked_at(const struct ranked *ranked, size_t rank); /* NULL past the end */

/* Returns the number of members with a score below `score` (or equal, if or_equal). This is the
 * rank at which a range begins or ends. O(log n) */
size_t ranked_below_score(const struct ranked *ranked, double score, bool or_equal);
/* Returns the number of members whose bytes sort below `member` (or are equal, if or_equal), for
 * BYLEX ranges. All scores must be equal. O(log n) */
size_t ranked_below_member(const struct ranked *ranked, struct bytes member, bool or_equal);

/* A position that moves in either direction. The functions return NULL at a rank past the end, and
 * after a step past either end. The tree must not change meanwhile. */
struct ranked_iter {
    const struct ranked *ranked;
    const struct ranked_node *leaf; /* NULL past an end */
    unsigned index;
    size_t before; /* members before this leaf */
};
void ranked_iter_at(struct ranked_iter *iter, const struct ranked *ranked, size_t rank);
struct ranked_member *ranked_iter_next(struct ranked_iter *iter); /* then moves forward */
struct ranked_member *ranked_iter_prev(struct ranked_iter *iter); /* then moves back */

/* Relocates the nodes that begin at this rank, and the members of the leaf that contains it. `move`
 * may copy a member to new memory and free the old one, and returns the member's address. Returns
 * the rank after the leaf, or 0 after the last leaf. O(log n) */
size_t ranked_relocate(struct ranked *ranked, size_t rank, struct relocation *relocation,
                       struct ranked_member *(*move)(void *ctx, struct ranked_member *m),
                       void *ctx);

/* Removes and returns the highest member without rebalancing, for freeing in slices. Returns NULL
 * if the tree is empty. */
struct ranked_member *ranked_take(struct ranked *ranked);

size_t ranked_bytes_used(const struct ranked *ranked); /* memory of the tree, without members */
void ranked_check(const struct ranked *ranked);        /* order, counts, fill, links */
