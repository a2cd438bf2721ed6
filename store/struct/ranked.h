/* ranked: members in (score, member bytes) order, with ranks.
 * Knows scores and bytes; refuses to know keys, commands, instants or who owns the members.
 *
 * A B+ tree whose inner nodes carry the count of each subtree (an order-statistics tree): find by
 * score, by member, by rank, and the rank of a member, each O(log n). A range is always a pair of
 * ranks [from, to). */
#ifndef STORE_STRUCT_RANKED_H
#define STORE_STRUCT_RANKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/struct/agenda.h"
#include "store/base/bytes.h"
#include "store/mem/relocate.h"

/* Owned by the caller; score and bytes must not change while it is in the tree. */
struct ranked_member {
    double score; /* never NaN */
    uint32_t len : 31;
    uint32_t timed : 1; /* a struct deadline, which is the owner's, stands before the bytes */
    char data[];
};

#define RANKED_LEN_MAX ((UINT32_C(1) << 31) - 1)

/* What to allocate: up to the bytes' end, without padding. */
static inline size_t ranked_size(size_t len, bool timed)
{
    return offsetof(struct ranked_member, data) + (timed ? sizeof(struct deadline) : 0) + len;
}

static inline struct bytes ranked_bytes(const struct ranked_member *m)
{
    return (struct bytes){ m->data + m->timed * sizeof(struct deadline), m->len };
}

/* Of a timed one; and back. */
static inline struct deadline *ranked_deadline(const struct ranked_member *m)
{
    return (struct deadline *)(uintptr_t)m->data;
}
static inline struct ranked_member *ranked_of_deadline(struct deadline *d)
{
    return (struct ranked_member *)(void *)((char *)d - offsetof(struct ranked_member, data));
}
_Static_assert(offsetof(struct ranked_member, data) % _Alignof(struct deadline) == 0,
               "a deadline stands where the bytes begin");

struct ranked_node;

struct ranked {
    struct ranked_node *root; /* NULL when empty */
    size_t count;
    size_t bytes;
    unsigned depth;
};

void ranked_init(struct ranked *ranked);
void ranked_drop(struct ranked *ranked); /* frees the tree, not the members; O(nodes) */

void ranked_add(struct ranked *ranked, struct ranked_member *m);    /* must be absent */
void ranked_remove(struct ranked *ranked, struct ranked_member *m); /* must be present */
/* Gives a member that is in the tree another score. */
void ranked_move(struct ranked *ranked, struct ranked_member *m, double score);
/* The member has been copied, score and bytes, from `old` to `now`; `old` is not freed yet.
 * O(log n) */
void ranked_moved(struct ranked *ranked, const struct ranked_member *old,
                  struct ranked_member *now);

size_t ranked_rank(const struct ranked *ranked, const struct ranked_member *m); /* from 0 */
struct ranked_member *ranked_at(const struct ranked *ranked, size_t rank); /* NULL past the end */

/* How many have a score below `score` (or equal, if or_equal): the rank where a range begins or
 * ends. */
size_t ranked_below_score(const struct ranked *ranked, double score, bool or_equal);
/* The same by member bytes, where all scores are equal (the lex ranges). */
size_t ranked_below_member(const struct ranked *ranked, struct bytes member, bool or_equal);

/* Stands on a rank and steps from it in either direction; from a rank past the end, and after a
 * step past either end, there is only NULL. The tree must not change meanwhile. */
struct ranked_iter {
    const struct ranked *ranked;
    const struct ranked_node *leaf; /* NULL: nothing left */
    unsigned index;
    size_t before; /* members before this leaf */
};
void ranked_iter_at(struct ranked_iter *iter, const struct ranked *ranked, size_t rank);
struct ranked_member *ranked_iter_next(struct ranked_iter *iter); /* returns, then steps on */
struct ranked_member *ranked_iter_prev(struct ranked_iter *iter); /* returns, then steps back */

/* The leaf that has this rank, and what it begins on the way to it. `move` may copy a member to
 * other memory and free it, and returns where it is now. Returns the rank behind the leaf; 0: it
 * was the last. O(log n) */
size_t ranked_relocate(struct ranked *ranked, size_t rank, struct relocation *relocation,
                       struct ranked_member *(*move)(void *ctx, struct ranked_member *m),
                       void *ctx);

/* Takes out the highest member without rebalancing work: for freeing in slices. NULL when empty. */
struct ranked_member *ranked_take(struct ranked *ranked);

size_t ranked_bytes_used(const struct ranked *ranked); /* memory of the tree itself */
void ranked_check(const struct ranked *ranked);        /* order, counts, fill, links */

#endif
