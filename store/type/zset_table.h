/* zset_table: the large form of a sorted set. Each member is one allocation, in a table by its
 * bytes and in a tree by its score. A member embeds a deadline if it ever had one. */
#pragma once

#include "store/base/bytes.h"
#include "store/struct/deadlines.h"
#include "store/struct/dict.h"
#include "store/struct/ranked.h"

struct zset_table {
    struct dict members; /* of struct ranked_member */
    struct ranked ranked;
    struct deadlines *deadlines;
    size_t bytes; /* memory of the members and this struct */
};

struct zset_table *zset_table_new(void);
/* As list_free_some. The table must not be used between slices. */
bool zset_table_free_some(struct zset_table *table, size_t *work);

static inline struct ranked_member *zset_table_find(const struct zset_table *table,
                                                    struct bytes member)
{
    return dict_find(&table->members, member);
}
/* Returns a member's deadline, or NEVER. O(1) */
static inline msec zset_table_at(const struct zset_table *table, const struct ranked_member *m)
{
    return ranked_has_expiry(m) ? deadlines_at(table->deadlines, ranked_deadline(m)) : NEVER;
}

/* As zset_add, zset_put, zset_remove and zset_remove_ranks. */
void zset_table_add(struct zset_table *table, struct bytes member, double score, msec at);
void zset_table_put(struct zset_table *table, struct bytes member, double score, msec at);
bool zset_table_remove(struct zset_table *table, struct bytes member);
void zset_table_remove_ranks(struct zset_table *table, size_t from, size_t to);
/* Sets the deadline of m, or removes it (NEVER); m may move in memory. O(log n) */
void zset_table_expire(struct zset_table *table, struct ranked_member *m, msec at);

/* Relocates blocks of all parts, but not the struct itself. */
void zset_table_relocate(struct zset_table *table, struct relocation_cursor *cursor,
                         struct relocation *relocation);
size_t zset_table_bytes(const struct zset_table *table);
void zset_table_check(const struct zset_table *table);
