/* zset_table: see zset_table.h. */
#include "store/type/zset_table.h"

#include "store/base/ensure.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"

static struct bytes member_key(const void *member)
{
    return ranked_bytes(member);
}

static const struct dict_type members_type = { .key = member_key };

struct zset_table *zset_table_new(void)
{
    struct zset_table *table = mem_alloc(sizeof(*table));
    dict_init(&table->members, &members_type);
    ranked_init(&table->ranked);
    table->deadlines = NULL;
    table->bytes = mem_size(table);
    return table;
}

/* Frees the tree first, then the members one by one from the table. The agenda comes last: freeing
 * it does not access members. */
bool zset_table_free_some(struct zset_table *table, size_t *work)
{
    for (; *work > 0 && ranked_take(&table->ranked) != NULL; --*work) {
    }
    for (; *work > 0 && dict_count(&table->members) > 0; --*work)
        mem_free(dict_take(&table->members));
    if (dict_count(&table->members) > 0) return false;
    if (!deadlines_free_some(&table->deadlines, work)) return false;
    ranked_drop(&table->ranked);
    dict_drop(&table->members);
    mem_free(table);
    return true;
}

/* ---- one member ---- */

static struct ranked_member *member_new(struct zset_table *table, struct bytes member, double score,
                                        bool has_expiry)
{
    ensure(member.len <= RANKED_LEN_MAX, "zset member of %zu bytes", member.len);
    struct ranked_member *m = mem_alloc_tight(ranked_size(member.len, has_expiry));
    ranked_member_init(m, score, member, has_expiry);
    table->bytes += mem_size(m);
    return m;
}

static void member_free(struct zset_table *table, struct ranked_member *m)
{
    /* Cancel before freeing: the agenda points into this member. */
    if (ranked_has_expiry(m)) deadlines_cancel(&table->deadlines, ranked_deadline(m));
    table->bytes -= mem_size(m);
    mem_free(m);
}

/* ---- the table ---- */

void zset_table_expire(struct zset_table *table, struct ranked_member *m, msec at)
{
    if (zset_table_at(table, m) == at) return;
    if (at == NEVER) {
        /* Keep the room for a deadline, idle. */
        deadlines_cancel(&table->deadlines, ranked_deadline(m));
        return;
    }
    if (!ranked_has_expiry(m)) { /* reallocate it with room for a deadline */
        struct ranked_member *old = m;
        m = member_new(table, ranked_bytes(old), old->score, true);
        dict_moved(&table->members, old, m);
        ranked_moved(&table->ranked, old, m);
        member_free(table, old);
    }
    deadlines_set(&table->deadlines, ranked_deadline(m), at);
}

void zset_table_add(struct zset_table *table, struct bytes member, double score, msec at)
{
    struct ranked_member *m = member_new(table, member, score, at != NEVER);
    /* The hash of the caller's member may be known already, unlike that of the copy. */
    dict_add_hashed(&table->members, m, siphash(member.data, member.len));
    ranked_add(&table->ranked, m);
    if (at != NEVER) zset_table_expire(table, m, at);
}

void zset_table_put(struct zset_table *table, struct bytes member, double score, msec at)
{
    struct ranked_member *m = zset_table_find(table, member);
    if (m == NULL) {
        zset_table_add(table, member, score, at);
        return;
    }
    /* -0 and 0 are equal scores, as in Redis. */
    if (m->score != score) ranked_move(&table->ranked, m, score);
    zset_table_expire(table, m, at);
}

bool zset_table_remove(struct zset_table *table, struct bytes member)
{
    struct ranked_member *m = dict_remove(&table->members, member);
    if (m == NULL) return false;
    ranked_remove(&table->ranked, m);
    member_free(table, m);
    return true;
}

void zset_table_remove_ranks(struct zset_table *table, size_t from, size_t to)
{
    for (size_t left = to - from; left > 0; left--) {
        struct ranked_member *m = ranked_at(&table->ranked, from);
        ranked_remove(&table->ranked, m);
        dict_remove(&table->members, ranked_bytes(m));
        member_free(table, m);
    }
}

enum { PHASE_TREE, PHASE_TABLE, PHASE_DEADLINES };

struct mover {
    struct zset_table *table;
    struct relocation *relocation;
};

static struct ranked_member *member_relocate(void *ctx, struct ranked_member *old)
{
    const struct mover *mover = ctx;
    struct ranked_member *moved = relocation_copy(mover->relocation, old);
    if (moved == NULL) return old;
    dict_moved(&mover->table->members, old, moved);
    if (ranked_has_expiry(moved)) deadlines_moved(mover->table->deadlines, ranked_deadline(moved));
    mem_free(old);
    return moved;
}

void zset_table_relocate(struct zset_table *table, struct relocation_cursor *cursor,
                         struct relocation *relocation)
{
    struct mover mover = { table, relocation };
    do {
        switch (cursor->phase) {
        case PHASE_TREE:
            cursor->at =
                ranked_relocate(&table->ranked, cursor->at, relocation, member_relocate, &mover);
            break;
        case PHASE_TABLE:
            cursor->at = dict_relocate(&table->members, cursor->at, relocation, NULL, NULL);
            break;
        default: deadlines_relocate(&table->deadlines, cursor, relocation); break;
        }
        if (cursor->at == 0) cursor->phase = (cursor->phase + 1) % (PHASE_DEADLINES + 1);
    } while (!relocation_begins(cursor) && relocation->left > 0);
}

size_t zset_table_bytes(const struct zset_table *table)
{
    return table->bytes + dict_bytes(&table->members) + ranked_bytes_used(&table->ranked) +
           deadlines_bytes(table->deadlines);
}

void zset_table_check(const struct zset_table *table)
{
    size_t bytes = mem_size(table), count = 0, expiring = 0;
    struct ranked_iter iter;
    const struct ranked_member *m;
    dict_check(&table->members);
    ranked_check(&table->ranked);
    deadlines_check(table->deadlines);
    ranked_iter_at(&iter, &table->ranked, 0);
    while ((m = ranked_iter_next(&iter)) != NULL) {
        ensure(zset_table_find(table, ranked_bytes(m)) == m,
               "rank %zu: not the member in the table", count);
        bytes += mem_size(m);
        expiring += zset_table_at(table, m) != NEVER;
        count++;
    }
    ensure(count == dict_count(&table->members), "%zu in the tree, %zu in the table", count,
           dict_count(&table->members));
    ensure(expiring == deadlines_count(table->deadlines), "%zu armed members, %zu deadlines",
           expiring, deadlines_count(table->deadlines));
    ensure(bytes == table->bytes, "%zu bytes, counted %zu", bytes, table->bytes);
}
