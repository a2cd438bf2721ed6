/* zset_table: the large form of a sorted set: each member is one allocation, in a table by its
 * bytes and in a tree by its score; its deadline, if it ever had one, stands in it.
 * Knows members, scores and instants; refuses to know the small form and names of encodings. */
#ifndef STORE_TYPE_ZSET_TABLE_H
#define STORE_TYPE_ZSET_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/bytes.h"
#include "store/struct/deadlines.h"
#include "store/struct/dict.h"
#include "store/struct/ranked.h"

struct zset_table {
    struct dict members; /* of struct ranked_member */
    struct ranked ranked;
    struct deadlines *deadlines;
    size_t bytes; /* of the members and this struct */
};

struct zset_table *zset_table_new(void);
/* As list_free_some. Between slices nothing else may be done with the table. */
bool zset_table_free_some(struct zset_table *table, size_t *work);

static inline struct ranked_member *zset_table_find(const struct zset_table *table,
                                                    struct bytes member)
{
    return dict_find(&table->members, member);
}
/* A member's deadline, or NEVER. O(1) */
static inline msec zset_table_at(const struct zset_table *table, const struct ranked_member *m)
{
    return m->timed ? deadlines_at(table->deadlines, ranked_deadline(m)) : NEVER;
}

/* These three as zset_put, zset_remove and zset_remove_ranks. */
void zset_table_put(struct zset_table *table, struct bytes member, double score, msec at);
bool zset_table_remove(struct zset_table *table, struct bytes member);
void zset_table_remove_ranks(struct zset_table *table, size_t from, size_t to);
/* Sets the deadline of m, which may move in memory, or with NEVER takes it away. O(log n) */
void zset_table_expire(struct zset_table *table, struct ranked_member *m, msec at);

/* The blocks of all its parts; the table itself stays. */
void zset_table_relocate(struct zset_table *table, struct relocation_place *place,
                         struct relocation *relocation);
size_t zset_table_bytes(const struct zset_table *table);
void zset_table_check(const struct zset_table *table);

#endif
