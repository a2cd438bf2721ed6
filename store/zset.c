/* zset: small, it is packed in order; large, it is a table and a tree (zset_table).
 * Knows members, scores, ranks and instants; refuses to know keys, commands and now.
 *
 * Every set begins small; what no longer fits makes it large, and large it stays. A small one's
 * records stand in (score, member) order, and a record's value is the score: the double as it is in
 * memory. The name of the encoding tells neither. */
#include "store/zset.h"

#include <string.h>

#include "store/ensure.h"
#include "store/mem.h"
#include "store/zset_table.h"

enum { LISTPACK_MEMBERS = 128, LISTPACK_LEN = 64 };

struct zset {
    struct zset_table *table; /* NULL: small */
    struct packed packed;     /* of a small one; else empty */
    bool skiplist;            /* the encoding's name; once true, always */
};

/* ---- small --------------------------------------------------------------------------------- */

static double score_in(const struct packed_record *record)
{
    double score;
    memcpy(&score, record->value.data, sizeof(score));
    return score;
}

static struct packed_record record_of(struct bytes member, const double *score, msec at)
{
    return (struct packed_record){ member, bytes_of((const char *)score, sizeof(*score)), at };
}

static bool small_find(const struct packed *packed, struct bytes member,
                       struct packed_record *record)
{
    uint32_t place = packed_find(packed, member);
    if (place == packed->len) return false;
    packed_get(packed, place, record);
    return true;
}

/* What is looked for: a place in the full order, or by one half of it. */
struct probe {
    enum { BY_BOTH, BY_SCORE, BY_MEMBER } by;
    bool or_equal;
    double score;
    struct bytes member;
};

/* Is the record below the probe (or equal, if that counts)? */
static bool record_below(const struct packed *packed, uint32_t place, const struct probe *probe)
{
    struct packed_record record;
    packed_get(packed, place, &record);
    if (probe->by != BY_MEMBER) {
        double score = score_in(&record);
        if (score != probe->score) return score < probe->score;
        if (probe->by == BY_SCORE) return probe->or_equal;
    }
    int order = bytes_compare(record.member, probe->member);
    return order < 0 || (order == 0 && probe->or_equal);
}

static unsigned small_below(const struct packed *packed, const uint16_t *places,
                            const struct probe *probe)
{
    unsigned low = 0, high = packed->count;
    /* What is put is often the highest of all. */
    if (high > 0 && record_below(packed, places[high - 1], probe)) return high;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (record_below(packed, places[middle], probe))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t small_count_below(const struct packed *packed, const struct probe *probe)
{
    uint16_t places[PACKED_MAX_COUNT];
    packed_places(packed, places);
    return small_below(packed, places, probe);
}

/* Where a member that is not there belongs. */
static uint32_t small_place_for(const struct packed *packed, struct bytes member, double score)
{
    uint16_t places[PACKED_MAX_COUNT];
    packed_places(packed, places);
    struct probe probe = { BY_BOTH, false, score, member };
    unsigned below = small_below(packed, places, &probe);
    return below < packed->count ? places[below] : packed->len;
}

static bool small_rank(const struct packed *packed, struct bytes member, size_t *rank)
{
    uint16_t places[PACKED_MAX_COUNT];
    uint32_t place = packed_find(packed, member);
    if (place == packed->len) return false;
    packed_places(packed, places);
    for (*rank = 0; places[*rank] != place; ++*rank) {
    }
    return true;
}

/* ---- from small to large ------------------------------------------------------------------- */

static void grow(struct zset *zset)
{
    struct packed_record record;
    struct zset_table *table = zset_table_new();
    for (uint32_t place = 0; place < zset->packed.len;) {
        place = packed_get(&zset->packed, place, &record);
        zset_table_put(table, record.member, score_in(&record), record.at);
    }
    packed_drop(&zset->packed);
    zset->table = table;
}

/* False: the records would be too many bytes. */
static bool small_set_at(struct packed *packed, uint32_t place, struct packed_record record,
                         msec at)
{
    record.at = at;
    if (!packed_fits_instead(packed, place, &record)) return false;
    packed_replace(packed, place, &record);
    return true;
}

static void small_put(struct zset *zset, struct bytes member, double score, msec at)
{
    char kept[PACKED_MAX_PART];
    struct packed *packed = &zset->packed;
    struct packed_record old;
    uint32_t place = packed_find(packed, member);
    if (place < packed->len) {
        packed_get(packed, place, &old);
        if (score_in(&old) == score) {
            if (small_set_at(packed, place, old, at)) return;
            score = score_in(&old); /* -0 and 0, as in the table */
        }
        /* The member may be these very bytes. */
        member = bytes_of(memcpy(kept, old.member.data, old.member.len), old.member.len);
        packed_remove(packed, place);
    }
    struct packed_record record = record_of(member, &score, at);
    if (packed_fits(packed, &record)) {
        packed_insert(packed, small_place_for(packed, member, score), &record);
    } else {
        grow(zset);
        zset_table_put(zset->table, member, score, at);
    }
}

/* ---- the set ------------------------------------------------------------------------------- */

struct zset *zset_new(void)
{
    struct zset *zset = mem_alloc(sizeof(*zset));
    zset->table = NULL;
    packed_init(&zset->packed);
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
    if (zset->table != NULL) {
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
    return zset->table == NULL ? zset->packed.count : dict_count(&zset->table->members);
}

bool zset_score(const struct zset *zset, struct bytes member, double *score)
{
    if (zset->table == NULL) {
        struct packed_record record;
        if (!small_find(&zset->packed, member, &record)) return false;
        *score = score_in(&record);
        return true;
    }
    const struct ranked_member *m = zset_table_find(zset->table, member);
    if (m == NULL) return false;
    *score = m->score;
    return true;
}

bool zset_rank(const struct zset *zset, struct bytes member, size_t *rank)
{
    if (zset->table == NULL) return small_rank(&zset->packed, member, rank);
    const struct ranked_member *m = zset_table_find(zset->table, member);
    if (m == NULL) return false;
    *rank = ranked_rank(&zset->table->ranked, m);
    return true;
}

size_t zset_below_score(const struct zset *zset, double score, bool or_equal)
{
    if (zset->table == NULL) {
        struct probe probe = { .by = BY_SCORE, .or_equal = or_equal, .score = score };
        return small_count_below(&zset->packed, &probe);
    }
    return ranked_below_score(&zset->table->ranked, score, or_equal);
}

size_t zset_below_member(const struct zset *zset, struct bytes member, bool or_equal)
{
    if (zset->table == NULL) {
        struct probe probe = { .by = BY_MEMBER, .or_equal = or_equal, .member = member };
        return small_count_below(&zset->packed, &probe);
    }
    return ranked_below_member(&zset->table->ranked, member, or_equal);
}

static bool fits_listpack(const struct zset *zset, size_t member_len)
{
    return zset_count(zset) <= LISTPACK_MEMBERS && member_len <= LISTPACK_LEN;
}

void zset_put(struct zset *zset, struct bytes member, double score, msec at)
{
    if (zset->table == NULL)
        small_put(zset, member, score, at);
    else
        zset_table_put(zset->table, member, score, at);
    if (!fits_listpack(zset, member.len)) zset->skiplist = true;
}

bool zset_remove(struct zset *zset, struct bytes member)
{
    if (zset->table == NULL) {
        uint32_t place = packed_find(&zset->packed, member);
        if (place == zset->packed.len) return false;
        packed_remove(&zset->packed, place);
        return true;
    }
    return zset_table_remove(zset->table, member);
}

void zset_remove_ranks(struct zset *zset, size_t from, size_t to)
{
    ensure(from <= to && to <= zset_count(zset), "[%zu, %zu) of %zu", from, to, zset_count(zset));
    if (from == to) return;
    if (zset->table != NULL) {
        zset_table_remove_ranks(zset->table, from, to);
        return;
    }
    uint32_t place = packed_nth(&zset->packed, (unsigned)from);
    packed_remove_some(&zset->packed, place, (unsigned)(to - from));
}

/* ---- walking ------------------------------------------------------------------------------- */

struct visitor {
    void (*visit)(void *ctx, struct bytes member, double score);
    void *ctx;
};

static void visit_member(void *ctx, void *member)
{
    const struct visitor *visitor = ctx;
    const struct ranked_member *m = member;
    visitor->visit(visitor->ctx, ranked_bytes(m), m->score);
}

static uint64_t visit_all(const struct zset *zset,
                          void (*visit)(void *ctx, struct bytes member, double score), void *ctx)
{
    struct zset_iter iter;
    struct bytes member;
    double score;
    zset_iter_at(&iter, zset, 0);
    while (zset_iter_next(&iter, &member, &score))
        visit(ctx, member, score);
    return 0;
}

uint64_t zset_scan(const struct zset *zset, uint64_t cursor,
                   void (*visit)(void *ctx, struct bytes member, double score), void *ctx)
{
    if (zset->table == NULL || !zset->skiplist) return visit_all(zset, visit, ctx);
    struct visitor visitor = { visit, ctx };
    return dict_scan(&zset->table->members, cursor, visit_member, &visitor);
}

void zset_iter_at(struct zset_iter *iter, const struct zset *zset, size_t rank)
{
    iter->zset = zset;
    iter->rank = rank;
    if (zset->table == NULL)
        packed_places(&zset->packed, iter->places);
    else
        ranked_iter_at(&iter->in, &zset->table->ranked, rank);
}

static bool give_member(struct zset_iter *iter, const struct ranked_member *m, struct bytes *member,
                        double *score)
{
    if (m == NULL) return false;
    *member = ranked_bytes(m);
    *score = m->score;
    iter->at = zset_table_at(iter->zset->table, m);
    return true;
}

/* The record where the iterator stands. */
static bool give_record(struct zset_iter *iter, struct bytes *member, double *score)
{
    const struct packed *packed = &iter->zset->packed;
    struct packed_record record;
    if (iter->rank >= packed->count) return false;
    packed_get(packed, iter->places[iter->rank], &record);
    /* Not *member = record.member: a copy in one piece waits until both halves are in memory. */
    *member = bytes_of(record.member.data, (size_t)(record.value.data - record.member.data));
    *score = score_in(&record);
    iter->at = record.at;
    return true;
}

bool zset_iter_next(struct zset_iter *iter, struct bytes *member, double *score)
{
    if (iter->zset->table != NULL)
        return give_member(iter, ranked_iter_next(&iter->in), member, score);
    if (!give_record(iter, member, score)) return false;
    iter->rank++;
    return true;
}

bool zset_iter_prev(struct zset_iter *iter, struct bytes *member, double *score)
{
    if (iter->zset->table != NULL)
        return give_member(iter, ranked_iter_prev(&iter->in), member, score);
    if (!give_record(iter, member, score)) return false;
    iter->rank--; /* from 0 it is past the end for good */
    return true;
}

/* ---- deadlines ----------------------------------------------------------------------------- */

bool zset_deadline(const struct zset *zset, struct bytes member, msec *at)
{
    if (zset->table == NULL) {
        struct packed_record record;
        if (!small_find(&zset->packed, member, &record)) return false;
        *at = record.at;
        return true;
    }
    const struct ranked_member *m = zset_table_find(zset->table, member);
    if (m == NULL) return false;
    *at = zset_table_at(zset->table, m);
    return true;
}

bool zset_expire(struct zset *zset, struct bytes member, msec at)
{
    if (zset->table == NULL) {
        struct packed_record record;
        if (!small_find(&zset->packed, member, &record)) return false;
        small_put(zset, member, score_in(&record), at);
        return true;
    }
    struct ranked_member *m = zset_table_find(zset->table, member);
    if (m == NULL) return false;
    zset_table_expire(zset->table, m, at);
    return true;
}

bool zset_first(const struct zset *zset, struct bytes *member, msec *at)
{
    if (zset->table == NULL) {
        struct packed_record record;
        uint32_t place = packed_earliest(&zset->packed, at);
        if (place == zset->packed.len) return false;
        packed_get(&zset->packed, place, &record);
        *member = record.member;
        return true;
    }
    struct deadline *d = deadlines_first(zset->table->deadlines, at);
    if (d == NULL) return false;
    *member = ranked_bytes(ranked_of_deadline(d));
    return true;
}

size_t zset_count_timed(const struct zset *zset)
{
    return zset->table == NULL ? zset->packed.count_timed : deadlines_count(zset->table->deadlines);
}

const struct agenda *zset_agenda(const struct zset *zset)
{
    return zset->table != NULL ? deadlines_agenda(zset->table->deadlines) : NULL;
}

msec zset_latest(const struct zset *zset)
{
    if (zset->table != NULL) return deadlines_latest(zset->table->deadlines);
    struct packed_record record;
    msec latest = INT64_MIN;
    for (uint32_t place = 0; place < zset->packed.len;) {
        place = packed_get(&zset->packed, place, &record);
        if (record.at != NEVER && record.at > latest) latest = record.at;
    }
    return latest;
}

struct deadline_visitor {
    bool (*visit)(void *ctx, struct bytes member, msec at);
    void *ctx;
};

static bool visit_deadline(void *ctx, struct deadline *d, msec at)
{
    const struct deadline_visitor *visitor = ctx;
    return visitor->visit(visitor->ctx, ranked_bytes(ranked_of_deadline(d)), at);
}

void zset_each_until(const struct zset *zset, msec until,
                     bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx)
{
    if (zset->table != NULL) {
        struct deadline_visitor visitor = { visit, ctx };
        deadlines_each_until(zset->table->deadlines, until, visit_deadline, &visitor);
        return;
    }
    struct packed_record record;
    for (uint32_t place = 0; place < zset->packed.len;) {
        place = packed_get(&zset->packed, place, &record);
        if (record.at == NEVER || record.at > until) continue;
        if (!visit(ctx, record.member, record.at)) return;
    }
}

/* ---- what it is told as, and takes --------------------------------------------------------- */

const struct dict *zset_table(const struct zset *zset)
{
    return zset->table == NULL ? NULL : &zset->table->members;
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
    return mem_size(zset) + packed_bytes(&zset->packed) +
           (zset->table == NULL ? 0 : zset_table_bytes(zset->table));
}

static void check_small(const struct packed *packed)
{
    struct packed_record record;
    struct bytes last;
    double last_score = 0;
    packed_check(packed);
    for (uint32_t place = 0, next; place < packed->len; place = next) {
        next = packed_get(packed, place, &record);
        ensure(record.value.len == sizeof(double), "a score of %zu bytes", record.value.len);
        double score = score_in(&record);
        ensure(place == 0 || last_score < score ||
                   (last_score == score && bytes_compare(last, record.member) < 0),
               "%g behind %g at %u", score, last_score, place);
        last_score = score;
        last = record.member;
    }
}

void zset_check(const struct zset *zset)
{
    struct zset_iter iter;
    struct bytes member;
    double score;
    check_small(&zset->packed);
    if (zset->table != NULL) {
        ensure(zset->packed.count == 0, "large, and %u packed", zset->packed.count);
        zset_table_check(zset->table);
    }
    zset_iter_at(&iter, zset, 0);
    while (zset_iter_next(&iter, &member, &score))
        ensure(zset->skiplist || fits_listpack(zset, member.len), "listpack of %zu has %zu bytes",
               zset_count(zset), member.len);
}
