/* zset: a small sorted set is packed in order (zset_packed); a large one is a table and a tree
 * (zset_table).
 *
 * Every sorted set begins small. It becomes large when something does not fit, or when zset_expect
 * announces many members, and then stays large. The name of the encoding does not depend on the
 * form: it follows Redis' limits. */
#include "store/type/zset.h"

#include "store/base/encoding_limits.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/mem/outbuf.h"
#include "store/type/zset_packed.h"
#include "store/type/zset_table.h"

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
    zset->table = zset_table_new();
    zset->is_large = true;
    for (uint32_t offset = 0; offset < records.len;) {
        offset = zset_packed_get(&records, &front, offset, text, &found);
        zset_table_add(zset->table, found.member, found.score, found.at);
    }
    return records;
}

/* Puts a member that does not fit a small set. */
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
        if (!zset_table_free_some(zset->table, work)) return false;
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

static bool small_find(const struct zset *zset, struct bytes member, struct zset_member *found)
{
    struct packed_record record;
    uint32_t offset = zset_packed_find(&zset->packed, member);
    if (offset == zset->packed.len) return false;
    packed_get(&zset->packed, offset, &record);
    *found =
        (struct zset_member){ member, zset_packed_score(&record, zset_front_base(&zset->packed)),
                              record.at };
    return true;
}

bool zset_score(const struct zset *zset, struct bytes member, double *score)
{
    if (!zset->is_large) {
        struct zset_member found;
        if (!small_find(zset, member, &found)) return false;
        *score = found.score;
        return true;
    }
    const struct ranked_member *m = zset_table_find(zset->table, member);
    if (m == NULL) return false;
    *score = m->score;
    return true;
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
    return zset_table_remove(zset->table, member);
}

void zset_remove_ranks(struct zset *zset, size_t from, size_t to)
{
    ensure(from <= to && to <= zset_count(zset), "ranks [%zu, %zu) of %zu", from, to,
           zset_count(zset));
    if (from == to) return;
    if (zset->is_large) {
        zset_table_remove_ranks(zset->table, from, to);
        return;
    }
    uint32_t offset = packed_nth(&zset->packed, (unsigned)from);
    packed_remove_some(&zset->packed, offset, (unsigned)(to - from));
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

/* Steps an iterator of a large set. Not inlined, so that zset_iter_next saves no registers for a
 * small one. */
NOINLINE static bool large_next(struct zset_iter *iter, struct bytes *member, double *score)
{
    return read_member(iter, ranked_iter_next(&iter->in), member, score);
}

NOINLINE static bool large_prev(struct zset_iter *iter, struct bytes *member, double *score)
{
    return read_member(iter, ranked_iter_prev(&iter->in), member, score);
}

/* Reads the record at the iterator's rank. Returns false past either end. */
static inline bool read_record(struct zset_iter *iter, struct bytes *member, double *score)
{
    const struct packed *packed = &iter->zset->packed;
    struct packed_record record;
    if (iter->rank >= packed->count) return false;
    packed_get(packed, iter->offsets[iter->rank], &record);
    *member = zset_packed_member(packed, &iter->front, record.member, iter->text);
    if (score != NULL) *score = zset_packed_score(&record, iter->front.base);
    iter->at = record.at;
    return true;
}

bool zset_iter_next(struct zset_iter *iter, struct bytes *member, double *score)
{
    if (iter->zset->is_large) return large_next(iter, member, score);
    if (!read_record(iter, member, score)) return false;
    iter->rank++;
    return true;
}

bool zset_iter_prev(struct zset_iter *iter, struct bytes *member, double *score)
{
    if (iter->zset->is_large) return large_prev(iter, member, score);
    if (!read_record(iter, member, score)) return false;
    iter->rank--; /* after 0 the rank stays past the end */
    return true;
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
    if (!zset->is_large) {
        struct zset_member found;
        if (!small_find(zset, member, &found)) return false;
        *at = found.at;
        return true;
    }
    const struct ranked_member *m = zset_table_find(zset->table, member);
    if (m == NULL) return false;
    *at = zset_table_at(zset->table, m);
    return true;
}

bool zset_expire(struct zset *zset, struct bytes member, msec at)
{
    if (!zset->is_large) {
        struct zset_member found;
        if (!small_find(zset, member, &found)) return false;
        if (!zset_packed_expire(&zset->packed, member, at))
            put_and_enlarge(zset, member, found.score, at);
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
    zset_table_relocate(zset->table, cursor, relocation);
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
    return mem_size(zset) +
           (zset->is_large ? zset_table_bytes(zset->table) : packed_bytes(&zset->packed));
}

void zset_check(const struct zset *zset)
{
    if (zset->is_large)
        zset_table_check(zset->table);
    else
        zset_packed_check(&zset->packed);
}
