/* zset: each member is one allocation, in a table by its bytes and in a tree by its score.
 * Knows members, scores and ranks; refuses to know keys or commands. */
#include "store/zset.h"

#include "store/dict.h"
#include "store/ensure.h"
#include "store/mem.h"

enum { LISTPACK_MEMBERS = 128, LISTPACK_LEN = 64 };

struct zset {
    struct dict members;
    struct ranked ranked;
    size_t bytes;  /* of the members and this struct */
    bool skiplist; /* the encoding's name; once true, always */
};

static struct bytes member_key(const void *member)
{
    return ranked_bytes(member);
}

static const struct dict_type members_type = { .key = member_key };

static struct ranked_member *member_new(struct zset *zset, struct bytes member, double score)
{
    ensure(member.len <= UINT32_MAX, "a member of %zu bytes", member.len);
    /* Up to data, not sizeof: no padding for short members. */
    struct ranked_member *m = mem_alloc(offsetof(struct ranked_member, data) + member.len);
    m->score = score;
    m->len = (uint32_t)member.len;
    if (member.len > 0) memcpy(m->data, member.data, member.len);
    zset->bytes += mem_size(m);
    return m;
}

static void member_free(struct zset *zset, struct ranked_member *m)
{
    zset->bytes -= mem_size(m);
    mem_free(m);
}

struct zset *zset_new(void)
{
    struct zset *zset = mem_alloc(sizeof(*zset));
    dict_init(&zset->members, &members_type);
    ranked_init(&zset->ranked);
    zset->bytes = mem_size(zset);
    zset->skiplist = false;
    return zset;
}

void zset_free(struct zset *zset)
{
    size_t work = SIZE_MAX;
    zset_free_some(zset, &work);
}

/* First the tree lets go of all members, then the table gives them up one by one. */
bool zset_free_some(struct zset *zset, size_t *work)
{
    for (; *work > 0 && ranked_take(&zset->ranked) != NULL; --*work) {
    }
    for (; *work > 0 && dict_count(&zset->members) > 0; --*work)
        member_free(zset, dict_take(&zset->members));
    if (dict_count(&zset->members) > 0) return false;
    ranked_drop(&zset->ranked);
    dict_drop(&zset->members);
    mem_free(zset);
    return true;
}

size_t zset_count(const struct zset *zset)
{
    return dict_count(&zset->members);
}

bool zset_score(const struct zset *zset, struct bytes member, double *score)
{
    const struct ranked_member *m = dict_find(&zset->members, member);
    if (m == NULL) return false;
    *score = m->score;
    return true;
}

bool zset_rank(const struct zset *zset, struct bytes member, size_t *rank)
{
    const struct ranked_member *m = dict_find(&zset->members, member);
    if (m == NULL) return false;
    *rank = ranked_rank(&zset->ranked, m);
    return true;
}

size_t zset_below_score(const struct zset *zset, double score, bool or_equal)
{
    return ranked_below_score(&zset->ranked, score, or_equal);
}

size_t zset_below_member(const struct zset *zset, struct bytes member, bool or_equal)
{
    return ranked_below_member(&zset->ranked, member, or_equal);
}

static void move(struct zset *zset, struct ranked_member *m, double score)
{
    /* -0 and 0 are the same place and, as in Redis, the same score. */
    if (m->score == score) return;
    ranked_remove(&zset->ranked, m);
    m->score = score;
    ranked_add(&zset->ranked, m);
}

static bool fits_listpack(const struct zset *zset, size_t member_len)
{
    return zset_count(zset) <= LISTPACK_MEMBERS && member_len <= LISTPACK_LEN;
}

void zset_put(struct zset *zset, struct bytes member, double score)
{
    struct ranked_member *m = dict_find(&zset->members, member);
    if (m != NULL) {
        move(zset, m, score);
        return;
    }
    m = member_new(zset, member, score);
    dict_add(&zset->members, m);
    ranked_add(&zset->ranked, m);
    if (!fits_listpack(zset, member.len)) zset->skiplist = true;
}

bool zset_remove(struct zset *zset, struct bytes member)
{
    struct ranked_member *m = dict_remove(&zset->members, member);
    if (m == NULL) return false;
    ranked_remove(&zset->ranked, m);
    member_free(zset, m);
    return true;
}

void zset_remove_ranks(struct zset *zset, size_t from, size_t to)
{
    ensure(from <= to && to <= zset_count(zset), "[%zu, %zu) of %zu", from, to, zset_count(zset));
    for (size_t left = to - from; left > 0; left--) {
        struct ranked_member *m = ranked_at(&zset->ranked, from);
        ranked_remove(&zset->ranked, m);
        dict_remove(&zset->members, ranked_bytes(m));
        member_free(zset, m);
    }
}

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
    if (!zset->skiplist) return visit_all(zset, visit, ctx);
    struct visitor visitor = { visit, ctx };
    return dict_scan(&zset->members, cursor, visit_member, &visitor);
}

void zset_iter_at(struct zset_iter *iter, const struct zset *zset, size_t rank)
{
    ranked_iter_at(&iter->in, &zset->ranked, rank);
}

static bool give(const struct ranked_member *m, struct bytes *member, double *score)
{
    if (m == NULL) return false;
    *member = ranked_bytes(m);
    *score = m->score;
    return true;
}

bool zset_iter_next(struct zset_iter *iter, struct bytes *member, double *score)
{
    return give(ranked_iter_next(&iter->in), member, score);
}

bool zset_iter_prev(struct zset_iter *iter, struct bytes *member, double *score)
{
    return give(ranked_iter_prev(&iter->in), member, score);
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
    return zset->bytes + dict_bytes(&zset->members) + ranked_bytes_used(&zset->ranked);
}

void zset_check(const struct zset *zset)
{
    dict_check(&zset->members);
    ranked_check(&zset->ranked);
    size_t bytes = mem_size(zset), count = 0;
    struct ranked_iter iter;
    const struct ranked_member *m;
    ranked_iter_at(&iter, &zset->ranked, 0);
    while ((m = ranked_iter_next(&iter)) != NULL) {
        ensure(dict_find(&zset->members, ranked_bytes(m)) == m, "rank %zu: other member", count);
        ensure(zset->skiplist || fits_listpack(zset, m->len), "listpack of %zu has %u bytes",
               zset_count(zset), m->len);
        bytes += mem_size(m);
        count++;
    }
    ensure(count == zset_count(zset), "%zu in the tree, count %zu", count, zset_count(zset));
    ensure(bytes == zset->bytes, "%zu bytes, total %zu", bytes, zset->bytes);
}
