/* set: blobs in a table that finds them by their own bytes.
 * Knows members; refuses to know keys or commands. */
#include "store/set.h"

#include "store/ensure.h"
#include "store/mem.h"
#include "store/whole.h"

enum { INTSET_MAX = 512 };

struct set {
    struct dict members; /* of struct blob */
    size_t bytes;        /* of the members and this struct */
    bool hashtable;      /* the encoding's name; once true, always */
};

static struct bytes member_key(const void *member)
{
    return blob_view(member);
}

static const struct dict_type members_type = { .key = member_key };

struct set *set_new(void)
{
    struct set *set = mem_alloc(sizeof(*set));
    dict_init(&set->members, &members_type);
    set->bytes = mem_size(set);
    set->hashtable = false;
    return set;
}

void set_free(struct set *set)
{
    size_t work = SIZE_MAX;
    set_free_some(set, &work);
}

bool set_free_some(struct set *set, size_t *work)
{
    while (dict_count(&set->members) > 0) {
        if (*work == 0) return false;
        blob_free(dict_take(&set->members));
        --*work;
    }
    dict_drop(&set->members);
    mem_free(set);
    return true;
}

size_t set_count(const struct set *set)
{
    return dict_count(&set->members);
}

bool set_has(const struct set *set, struct bytes member)
{
    return dict_find(&set->members, member) != NULL;
}

static bool fits_intset(const struct set *set)
{
    return dict_count(&set->members) <= INTSET_MAX;
}

bool set_add(struct set *set, struct bytes member)
{
    if (set_has(set, member)) return false;
    struct blob *blob = blob_new(member);
    set->bytes += mem_size(blob);
    dict_add(&set->members, blob);
    if (!set->hashtable) set->hashtable = !fits_intset(set) || !whole_number(member);
    return true;
}

struct blob *set_take(struct set *set, struct bytes member)
{
    struct blob *blob = dict_remove(&set->members, member);
    if (blob != NULL) set->bytes -= mem_size(blob);
    return blob;
}

bool set_remove(struct set *set, struct bytes member)
{
    struct blob *blob = set_take(set, member);
    blob_free(blob);
    return blob != NULL;
}

struct bytes set_random(const struct set *set, uint64_t (*next)(void *ctx), void *ctx)
{
    const struct blob *member = dict_random(&set->members, next, ctx);
    ensure(member != NULL, "%zu members", set_count(set));
    return blob_view(member);
}

struct visitor {
    void (*visit)(void *ctx, struct bytes member);
    void *ctx;
};

static void visit_member(void *ctx, void *member)
{
    const struct visitor *visitor = ctx;
    visitor->visit(visitor->ctx, blob_view(member));
}

static uint64_t visit_all(const struct set *set, void (*visit)(void *ctx, struct bytes member),
                          void *ctx)
{
    struct set_iter iter;
    struct bytes member;
    set_iter_begin(&iter, set);
    while (set_iter_next(&iter, &member))
        visit(ctx, member);
    return 0;
}

uint64_t set_scan(const struct set *set, uint64_t cursor,
                  void (*visit)(void *ctx, struct bytes member), void *ctx)
{
    if (!set->hashtable) return visit_all(set, visit, ctx);
    struct visitor visitor = { visit, ctx };
    return dict_scan(&set->members, cursor, visit_member, &visitor);
}

void set_iter_begin(struct set_iter *iter, const struct set *set)
{
    dict_iter_begin(&iter->in, &set->members);
}

bool set_iter_next(struct set_iter *iter, struct bytes *member)
{
    const struct blob *blob = dict_iter_next(&iter->in);
    if (blob == NULL) return false;
    *member = blob_view(blob);
    return true;
}

const char *set_encoding(const struct set *set)
{
    return set->hashtable ? "hashtable" : "intset";
}

void set_widen(struct set *set)
{
    set->hashtable = true;
}

size_t set_bytes(const struct set *set)
{
    return set->bytes + dict_bytes(&set->members);
}

void set_check(const struct set *set)
{
    dict_check(&set->members);
    ensure(set->hashtable || fits_intset(set), "intset of %zu", set_count(set));
    size_t bytes = mem_size(set);
    struct dict_iter iter;
    const struct blob *member;
    dict_iter_begin(&iter, &set->members);
    while ((member = dict_iter_next(&iter)) != NULL) {
        bytes += mem_size(member);
        ensure(set->hashtable || whole_number(blob_view(member)), "intset has %.*s",
               (int)member->len, member->data);
    }
    ensure(bytes == set->bytes, "%zu bytes, total %zu", bytes, set->bytes);
}
