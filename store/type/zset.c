/* zset: a small sorted set is packed in order (zset_packed); a large one is a table by the bytes of
 * its members and a tree by their scores. A member of a large set is one allocation.
 *
 * Every sorted set begins small. It becomes large when something does not fit, or by zset_expect,
 * and then stays large. */
#include "store/type/zset.h"

#include "store/base/encoding_limits.h"
#include "store/base/ensure.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"
#include "store/mem/outbuf.h"
#include "store/struct/deadlines.h"
#include "store/struct/dict.h"
#include "store/struct/ranked.h"
#include "store/type/zset_packed.h"

/* ---- the large form -------------------------------------------------------------------------- */

struct zset_table {
    struct dict members; /* of struct ranked_member */
    struct ranked ranked;
    struct deadlines *deadlines;
    size_t bytes; /* memory of the members and this struct */
};

static struct ranked_member *zset_table_find(const struct zset_table *table, struct bytes member)
{
    return dict_find(&table->members, member);
}

static msec zset_table_at(const struct zset_table *table, const struct ranked_member *m)
{
    return ranked_has_expiry(m) ? deadlines_at(table->deadlines, ranked_deadline(m)) : NEVER;
}

static struct bytes member_key(const void *member)
{
    return ranked_bytes(member);
}

static const struct dict_type members_type = { .key = member_key };

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

/* m may move in memory. */
static void zset_table_expire(struct zset_table *table, struct ranked_member *m, msec at)
{
    if (zset_table_at(table, m) == at) return;
    if (at == NEVER) {
        /* Keep the room for a deadline, idle. */
        deadlines_cancel(&table->deadlines, ranked_deadline(m));
        return;
    }
    if (!ranked_has_expiry(m)) {
        struct ranked_member *old = m;
        m = member_new(table, ranked_bytes(old), old->score, true);
        dict_moved(&table->members, old, m);
        ranked_moved(&table->ranked, old, m);
        member_free(table, old);
    }
    deadlines_set(&table->deadlines, ranked_deadline(m), at);
}

static void zset_table_add(struct zset_table *table, struct bytes member, double score, msec at)
{
    struct ranked_member *m = member_new(table, member, score, at != NEVER);
    /* The hash of the caller's member may be known already, unlike that of the copy. */
    dict_add_hashed(&table->members, m, siphash(member.data, member.len));
    ranked_add(&table->ranked, m);
    if (at != NEVER) zset_table_expire(table, m, at);
}

static void zset_table_put(struct zset_table *table, struct bytes member, double score, msec at)
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

#define NOINLINE __attribute__((noinline))

struct zset {
    union {
        struct packed packed; /* if small: the records in order */
        struct zset_table *table;
    };
    bool is_large;
    bool skiplist; /* the encoding is "skiplist"; never reset */
};

/* ---- from small to large ------------------------------------------------------------------- */

/* Makes the set large. Returns the packed records for the caller to free, because the member that
 * the caller is about to put may point into them. */
static struct packed enlarge_zset(struct zset *zset)
{
    struct packed records = zset->packed;
    const struct zset_front front = zset_front_of(&records);
    struct zset_member found;
    char text[ZSET_TEXT_SIZE];
    struct zset_table *table = zset->table = mem_alloc(sizeof(*table));
    dict_init(&table->members, &members_type);
    ranked_init(&table->ranked);
    table->deadlines = NULL;
    table->bytes = mem_size(table);
    zset->is_large = true;
    for (uint32_t offset = 0; offset < records.len;) {
        offset = zset_packed_get(&records, &front, offset, text, &found);
        zset_table_add(table, found.member, found.score, found.at);
    }
    return records;
}

static void put_and_enlarge(struct zset *zset, struct bytes member, double score, msec at)
{
    struct packed records = enlarge_zset(zset);
    zset_table_put(zset->table, member, score, at);
    packed_drop(&records);
}

/* ---- the set ------------------------------------------------------------------------------- */

struct zset *zset_new(void)
{
    struct zset *zset = mem_alloc(sizeof(*zset));
    packed_init(&zset->packed);
    zset->is_large = false;
    zset->skiplist = false;
    return zset;
}

void zset_free(struct zset *zset)
{
    size_t work = SIZE_MAX;
    zset_free_some(zset, &work);
}

bool zset_free_some(struct zset *zset, size_t *work)
{
    if (zset->is_large) {
        /* The agenda comes last: freeing it does not access members. */
        struct zset_table *table = zset->table;
        for (; *work > 0 && ranked_take(&table->ranked) != NULL; --*work) {
        }
        for (; *work > 0 && dict_count(&table->members) > 0; --*work)
            mem_free(dict_take(&table->members));
        if (dict_count(&table->members) > 0) return false;
        if (!deadlines_free_some(&table->deadlines, work)) return false;
        ranked_drop(&table->ranked);
        dict_drop(&table->members);
        mem_free(table);
    } else if (zset->packed.count > 0) {
        if (*work == 0) return false;
        packed_drop(&zset->packed);
        --*work;
    }
    mem_free(zset);
    return true;
}

size_t zset_count(const struct zset *zset)
{
    return zset->is_large ? dict_count(&zset->table->members) : zset->packed.count;
}

static inline bool lookup(const struct zset *zset, struct bytes member, double *score, msec *at)
{
    if (!zset->is_large) {
        struct packed_record record;
        uint32_t offset = zset_packed_find(&zset->packed, member);
        if (offset == zset->packed.len) return false;
        packed_get(&zset->packed, offset, &record);
        if (score != NULL) *score = zset_packed_score(&record, zset_front_base(&zset->packed));
        if (at != NULL) *at = record.at;
        return true;
    }
    const struct ranked_member *m = zset_table_find(zset->table, member);
    if (m == NULL) return false;
    if (score != NULL) *score = m->score;
    if (at != NULL) *at = zset_table_at(zset->table, m);
    return true;
}

bool zset_score(const struct zset *zset, struct bytes member, double *score)
{
    return lookup(zset, member, score, NULL);
}

bool zset_rank(const struct zset *zset, struct bytes member, size_t *rank)
{
    if (!zset->is_large) return zset_packed_rank(&zset->packed, member, rank);
    const struct ranked_member *m = zset_table_find(zset->table, member);
    if (m == NULL) return false;
    *rank = ranked_rank(&zset->table->ranked, m);
    return true;
}

size_t zset_below_score(const struct zset *zset, double score, bool or_equal)
{
    if (!zset->is_large) return zset_packed_below_score(&zset->packed, score, or_equal);
    return ranked_below_score(&zset->table->ranked, score, or_equal);
}

size_t zset_below_member(const struct zset *zset, struct bytes member, bool or_equal)
{
    if (!zset->is_large) return zset_packed_below_member(&zset->packed, member, or_equal);
    return ranked_below_member(&zset->table->ranked, member, or_equal);
}

static bool members_fit_listpack(const struct zset *zset, size_t member_len)
{
    return zset_count(zset) <= encoding_limits.zset_members &&
           member_len <= encoding_limits.zset_len;
}

void zset_expect(struct zset *zset, size_t count)
{
    if (!zset->is_large) {
        struct packed records = enlarge_zset(zset);
        packed_drop(&records);
    }
    dict_reserve(&zset->table->members, count);
}

void zset_put(struct zset *zset, struct bytes member, double score, msec at)
{
    if (zset->is_large)
        zset_table_put(zset->table, member, score, at);
    else if (!zset_packed_put(&zset->packed, member, score, at))
        put_and_enlarge(zset, member, score, at);
    if (!members_fit_listpack(zset, member.len)) zset->skiplist = true;
}

void zset_add(struct zset *zset, struct bytes member, double score, msec at)
{
    if (zset->is_large)
        zset_table_add(zset->table, member, score, at);
    else if (!zset_packed_add(&zset->packed, member, score, at))
        put_and_enlarge(zset, member, score, at);
    if (!members_fit_listpack(zset, member.len)) zset->skiplist = true;
}

bool zset_remove(struct zset *zset, struct bytes member)
{
    if (!zset->is_large) {
        uint32_t offset = zset_packed_find(&zset->packed, member);
        if (offset == zset->packed.len) return false;
        packed_remove(&zset->packed, offset);
        return true;
    }
    struct ranked_member *m = dict_remove(&zset->table->members, member);
    if (m == NULL) return false;
    ranked_remove(&zset->table->ranked, m);
    member_free(zset->table, m);
    return true;
}

void zset_remove_ranks(struct zset *zset, size_t from, size_t to)
{
    ensure(from <= to && to <= zset_count(zset), "ranks [%zu, %zu) of %zu", from, to,
           zset_count(zset));
    if (from == to) return;
    if (!zset->is_large) {
        uint32_t offset = packed_nth(&zset->packed, (unsigned)from);
        packed_remove_some(&zset->packed, offset, (unsigned)(to - from));
        return;
    }
    for (size_t left = to - from; left > 0; left--) {
        struct ranked_member *m = ranked_at(&zset->table->ranked, from);
        ranked_remove(&zset->table->ranked, m);
        dict_remove(&zset->table->members, ranked_bytes(m));
        member_free(zset->table, m);
    }
}

/* ---- walking ------------------------------------------------------------------------------- */

struct visitor {
    void (*visit)(void *ctx, struct bytes member, double score);
    void *ctx;
};

static void visit_ranked_member(void *ctx, void *member)
{
    const struct visitor *visitor = ctx;
    const struct ranked_member *m = member;
    visitor->visit(visitor->ctx, ranked_bytes(m), m->score);
}

uint64_t zset_scan(const struct zset *zset, uint64_t cursor,
                   void (*visit)(void *ctx, struct bytes member, double score), void *ctx)
{
    if (!zset->is_large || !zset->skiplist) {
        struct zset_iter iter;
        struct bytes member;
        double score;
        zset_iter_at(&iter, zset, 0);
        while (zset_iter_next(&iter, &member, &score))
            visit(ctx, member, score);
        return 0;
    }
    struct visitor visitor = { visit, ctx };
    return dict_scan(&zset->table->members, cursor, visit_ranked_member, &visitor);
}

void zset_iter_at(struct zset_iter *iter, const struct zset *zset, size_t rank)
{
    iter->zset = zset;
    iter->rank = rank;
    if (zset->is_large) {
        ranked_iter_at(&iter->in, &zset->table->ranked, rank);
        return;
    }
    packed_offsets(&zset->packed, iter->offsets);
    iter->front = zset_front_of(&zset->packed);
}

static bool read_member(struct zset_iter *iter, const struct ranked_member *m, struct bytes *member,
                        double *score)
{
    if (m == NULL) return false;
    *member = ranked_bytes(m);
    if (score != NULL) *score = m->score;
    iter->at = zset_table_at(iter->zset->table, m);
    return true;
}

/* Not inlined, so that zset_iter_next saves no registers for a small set. */
NOINLINE static bool large_next(struct zset_iter *iter, struct bytes *member, double *score)
{
    return read_member(iter, ranked_iter_next(&iter->in), member, score);
}

NOINLINE static bool large_prev(struct zset_iter *iter, struct bytes *member, double *score)
{
    return read_member(iter, ranked_iter_prev(&iter->in), member, score);
}

/* Not inlined, for the same reason. */
NOINLINE static bool spell_any(struct zset_iter *iter, struct bytes stored, struct bytes *member)
{
    *member = zset_front_spell_any(&iter->front, stored, iter->text);
    return true;
}

/* Reads the record at this rank, which exists. Returns true. */
static inline bool read_record(struct zset_iter *iter, size_t rank, struct bytes *member,
                               double *score)
{
    const struct packed *packed = &iter->zset->packed;
    struct packed_record record;
    packed_get(packed, iter->offsets[rank], &record);
    iter->at = record.at;
    if (score != NULL) *score = zset_packed_score(&record, iter->front.base);
    struct bytes stored = record.member;
    if (!packed->has_front)
        *member = stored;
    else if (zset_front_is_short(&iter->front, stored, packed->data + packed->len))
        *member = zset_front_spell_short(&iter->front, stored, iter->text);
    else
        return spell_any(iter, stored, member);
    return true;
}

bool zset_iter_next(struct zset_iter *iter, struct bytes *member, double *score)
{
    if (iter->zset->is_large) return large_next(iter, member, score);
    if (iter->rank >= iter->zset->packed.count) return false;
    return read_record(iter, iter->rank++, member, score);
}

bool zset_iter_prev(struct zset_iter *iter, struct bytes *member, double *score)
{
    if (iter->zset->is_large) return large_prev(iter, member, score);
    if (iter->rank >= iter->zset->packed.count) return false;
    return read_record(iter, iter->rank--, member, score); /* after 0 the rank is past the end */
}

struct bytes zset_iter_keep(const struct zset_iter *iter, struct bytes member, struct outbuf *texts)
{
    if (member.data != iter->text) return member;
    char *copy = memcpy(outbuf_reserve(texts, member.len), member.data, member.len);
    outbuf_commit(texts, member.len);
    return bytes_of(copy, member.len);
}

/* ---- deadlines ----------------------------------------------------------------------------- */

bool zset_deadline(const struct zset *zset, struct bytes member, msec *at)
{
    return lookup(zset, member, NULL, at);
}

bool zset_expire(struct zset *zset, struct bytes member, msec at)
{
    if (!zset->is_large) {
        double score;
        if (!lookup(zset, member, &score, NULL)) return false;
        if (!zset_packed_expire(&zset->packed, member, at))
            put_and_enlarge(zset, member, score, at);
        return true;
    }
    struct ranked_member *m = zset_table_find(zset->table, member);
    if (m == NULL) return false;
    zset_table_expire(zset->table, m, at);
    return true;
}

static struct bytes ranked_name_of_deadline(struct deadline *d)
{
    return ranked_bytes(ranked_of_deadline(d));
}

struct expiring zset_expiring(const struct zset *zset)
{
    if (!zset->is_large) return (struct expiring){ .packed = &zset->packed };
    return (struct expiring){ .deadlines = zset->table->deadlines,
                              .name_of = ranked_name_of_deadline };
}

/* ---- relocating ---------------------------------------------------------------------------- */

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

struct zset *zset_relocate(struct zset *zset, struct relocation_cursor *cursor,
                           struct relocation *relocation)
{
    bool begins = relocation_begins(cursor);
    if (begins) zset = relocation_block(relocation, zset);
    if (!zset->is_large) {
        packed_relocate(&zset->packed, relocation);
        *cursor = (struct relocation_cursor){ 0 };
        return zset;
    }
    if (begins) zset->table = relocation_block(relocation, zset->table);
    struct zset_table *table = zset->table;
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
    return zset;
}

/* ---- encoding, memory, self-check ---------------------------------------------------------- */

const struct dict *zset_hint(const struct zset *zset)
{
    if (zset->is_large) return &zset->table->members;
    packed_hint(&zset->packed);
    return NULL;
}

const char *zset_encoding(const struct zset *zset)
{
    return zset->skiplist ? "skiplist" : "listpack";
}

void zset_widen(struct zset *zset)
{
    zset->skiplist = true;
}

size_t zset_bytes(const struct zset *zset)
{
    if (!zset->is_large) return mem_size(zset) + packed_bytes(&zset->packed);
    const struct zset_table *table = zset->table;
    return mem_size(zset) + table->bytes + dict_bytes(&table->members) +
           ranked_bytes_used(&table->ranked) + deadlines_bytes(table->deadlines);
}

void zset_check(const struct zset *zset)
{
    if (!zset->is_large) {
        zset_packed_check(&zset->packed);
        return;
    }
    const struct zset_table *table = zset->table;
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
