/* set: members are packed in one allocation while they are few and small; otherwise each is an
 * allocation in a table. A table is never packed again, because the cursors of scans in progress
 * would lose their meaning. */
#include "store/type/set.h"

#include "store/base/encoding_limits.h"
#include "store/base/ensure.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"
#include "store/type/canonical_integer.h"

/* A member of a table. With has_expiry, a struct deadline precedes the bytes. It stays, idle, when
 * the deadline is removed. */
struct set_member {
    uint32_t len : 31, has_expiry : 1;
    char data[];
};

struct set_table {
    struct dict members;         /* of struct set_member */
    struct deadlines *deadlines; /* NULL if no member has one */
    size_t bytes;                /* memory of the members */
};

struct set {
    union {
        struct packed packed; /* if small: the members, without values */
        struct set_table *table;
    };
    bool is_large;
    bool hashtable; /* the encoding is "hashtable"; never reset */
};

static inline struct bytes set_member_view(const struct set_member *member)
{
    return bytes_of(member->data + member->has_expiry * sizeof(struct deadline), member->len);
}

static struct bytes set_member_key(const void *member)
{
    return set_member_view(member);
}

static const struct dict_type members_type = { .key = set_member_key };

static inline struct deadline *deadline_of_set_member(struct set_member *member)
{
    return (struct deadline *)(void *)member->data;
}

static struct set_member *set_member_new(struct bytes content, bool has_expiry)
{
    ensure(content.len <= INT32_MAX, "set member of %zu bytes", content.len);
    size_t slot = has_expiry ? sizeof(struct deadline) : 0;
    struct set_member *member = mem_alloc_tight(sizeof(*member) + slot + content.len);
    member->len = (uint32_t)content.len & INT32_MAX;
    member->has_expiry = has_expiry;
    if (has_expiry) deadline_init(deadline_of_set_member(member));
    if (content.len > 0) memcpy(member->data + slot, content.data, content.len);
    return member;
}

static msec set_member_at(const struct set_table *table, struct set_member *member)
{
    return member->has_expiry ? deadlines_at(table->deadlines, deadline_of_set_member(member))
                              : NEVER;
}

static void set_table_add(struct set_table *table, struct bytes content, msec at)
{
    struct set_member *member = set_member_new(content, at != NEVER);
    table->bytes += mem_size(member);
    dict_add_hashed(&table->members, member, siphash(content.data, content.len));
    if (at != NEVER) deadlines_set(&table->deadlines, deadline_of_set_member(member), at);
}

static bool set_table_expire(struct set_table *table, struct bytes content, msec at)
{
    struct set_member *member = dict_find(&table->members, content);
    if (member == NULL) return false;
    if (at == NEVER) {
        if (member->has_expiry) deadlines_cancel(&table->deadlines, deadline_of_set_member(member));
        return true;
    }
    if (!member->has_expiry) {
        struct set_member *old = member;
        member = set_member_new(set_member_view(old), true);
        table->bytes += mem_size(member) - mem_size(old);
        dict_moved(&table->members, old, member);
        mem_free(old);
    }
    deadlines_set(&table->deadlines, deadline_of_set_member(member), at);
    return true;
}

enum { PHASE_MEMBERS, PHASE_DEADLINES };

struct mover {
    struct set_table *table;
    struct relocation *relocation;
};

static void *set_member_relocate(void *ctx, void *old)
{
    const struct mover *mover = ctx;
    struct set_member *moved = relocation_copy(mover->relocation, old);
    if (moved == NULL) return old;
    if (moved->has_expiry) deadlines_moved(mover->table->deadlines, deadline_of_set_member(moved));
    mem_free(old);
    return moved;
}

struct set *set_relocate(struct set *set, struct relocation_cursor *cursor,
                         struct relocation *relocation)
{
    bool begins = relocation_begins(cursor);
    if (begins) set = relocation_block(relocation, set);
    if (!set->is_large) {
        packed_relocate(&set->packed, relocation);
        *cursor = (struct relocation_cursor){ 0 };
        return set;
    }
    if (begins) set->table = relocation_block(relocation, set->table);
    struct set_table *table = set->table;
    if (cursor->phase == PHASE_DEADLINES) {
        deadlines_relocate(&table->deadlines, cursor, relocation);
        if (cursor->at == 0) cursor->phase = PHASE_MEMBERS;
        return set;
    }
    struct mover mover = { table, relocation };
    do
        cursor->at =
            dict_relocate(&table->members, cursor->at, relocation, set_member_relocate, &mover);
    while (cursor->at != 0 && relocation->left > 0);
    if (cursor->at == 0) cursor->phase = PHASE_DEADLINES;
    return set;
}

struct set *set_new(void)
{
    struct set *set = mem_alloc(sizeof(*set));
    packed_init(&set->packed);
    set->is_large = false;
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
    if (set->is_large) {
        struct set_table *table = set->table;
        for (; dict_count(&table->members) > 0; --*work) {
            if (*work == 0) return false;
            mem_free(dict_take(&table->members));
        }
        if (!deadlines_free_some(&table->deadlines, work)) return false;
        dict_drop(&table->members);
        mem_free(table);
    } else if (set->packed.count > 0) {
        if (*work == 0) return false;
        packed_drop(&set->packed);
        --*work;
    }
    mem_free(set);
    return true;
}

size_t set_count(const struct set *set)
{
    return set->is_large ? dict_count(&set->table->members) : set->packed.count;
}

bool set_has(const struct set *set, struct bytes member)
{
    if (set->is_large) return dict_find(&set->table->members, member) != NULL;
    return packed_find(&set->packed, member) != set->packed.len;
}

/* Makes the set large. Returns the packed records for the caller to free, because the caller's
 * member may point into them. */
static struct packed enlarge(struct set *set)
{
    struct packed records = set->packed;
    struct packed_record record;
    set->table = mem_alloc(sizeof(*set->table));
    *set->table = (struct set_table){ .bytes = 0 };
    dict_init(&set->table->members, &members_type);
    set->is_large = true;
    for (uint32_t offset = 0; offset < records.len;) {
        offset = packed_get(&records, offset, &record);
        set_table_add(set->table, record.member, record.at);
    }
    return records;
}

void set_expect(struct set *set, size_t count)
{
    if (!set->is_large) {
        struct packed records = enlarge(set);
        packed_drop(&records);
    }
    dict_reserve(&set->table->members, count);
}

bool set_add(struct set *set, struct bytes member, msec at)
{
    if (set_has(set, member)) return false;
    const struct packed_record record = { .member = member, .at = at };
    if (!set->is_large && !packed_fits(&set->packed, &record)) {
        struct packed records = enlarge(set);
        packed_drop(&records);
    }
    if (set->is_large)
        set_table_add(set->table, member, at);
    else
        packed_insert(&set->packed, set->packed.len, &record);
    if (!set->hashtable)
        set->hashtable =
            set_count(set) > encoding_limits.intset_members || !is_canonical_integer(member);
    return true;
}

bool set_remove(struct set *set, struct bytes member)
{
    if (!set->is_large) {
        uint32_t offset = packed_find(&set->packed, member);
        if (offset == set->packed.len) return false;
        packed_remove(&set->packed, offset);
        return true;
    }
    struct set_table *table = set->table;
    struct set_member *removed = dict_remove(&table->members, member);
    if (removed == NULL) return false;
    /* Cancel before freeing: the agenda points into this member. */
    if (removed->has_expiry) deadlines_cancel(&table->deadlines, deadline_of_set_member(removed));
    table->bytes -= mem_size(removed);
    mem_free(removed);
    return true;
}

struct bytes set_random(const struct set *set, uint64_t (*next)(void *ctx), void *ctx)
{
    ensure(set_count(set) > 0, "random member of an empty set: %zu members", set_count(set));
    if (set->is_large) return set_member_view(dict_random(&set->table->members, next, ctx));
    struct packed_record record;
    unsigned n = (unsigned)(next(ctx) % set->packed.count);
    packed_get(&set->packed, packed_nth(&set->packed, n), &record);
    return record.member;
}

struct scan_visitor {
    void (*visit)(void *ctx, struct bytes member);
    void *ctx;
};

static void visit_scanned_member(void *ctx, void *member)
{
    const struct scan_visitor *visitor = ctx;
    visitor->visit(visitor->ctx, set_member_view(member));
}

uint64_t set_scan(const struct set *set, uint64_t cursor,
                  void (*visit)(void *ctx, struct bytes member), void *ctx)
{
    if (!set->is_large || !set->hashtable) {
        struct set_iter iter;
        struct bytes member;
        set_iter_begin(&iter, set);
        while (set_iter_next(&iter, &member))
            visit(ctx, member);
        return 0;
    }
    struct scan_visitor visitor = { visit, ctx };
    return dict_scan(&set->table->members, cursor, visit_scanned_member, &visitor);
}

void set_iter_begin(struct set_iter *iter, const struct set *set)
{
    iter->set = set;
    iter->offset = 0;
    iter->at = NEVER;
    if (set->is_large) dict_iter_begin(&iter->in, &set->table->members);
}

bool set_iter_next(struct set_iter *iter, struct bytes *member)
{
    if (!iter->set->is_large) {
        const struct packed *packed = &iter->set->packed;
        struct packed_record record;
        if (iter->offset == packed->len) return false;
        iter->offset = packed_get(packed, iter->offset, &record);
        *member = record.member;
        iter->at = record.at;
        return true;
    }
    struct set_member *next = dict_iter_next(&iter->in);
    if (next == NULL) return false;
    struct set_member *ahead = dict_iter_ahead(&iter->in);
    if (ahead != NULL && ahead->has_expiry)
        deadlines_hint(iter->set->table->deadlines, deadline_of_set_member(ahead));
    *member = set_member_view(next);
    iter->at = set_member_at(iter->set->table, next);
    return true;
}

bool set_deadline(const struct set *set, struct bytes member, msec *at)
{
    if (set->is_large) {
        struct set_member *found = dict_find(&set->table->members, member);
        if (found != NULL) *at = set_member_at(set->table, found);
        return found != NULL;
    }
    struct packed_record record;
    if (!packed_lookup(&set->packed, member, &record)) return false;
    *at = record.at;
    return true;
}

bool set_expire(struct set *set, struct bytes member, msec at)
{
    if (set->is_large) return set_table_expire(set->table, member, at);
    uint32_t offset = packed_find(&set->packed, member);
    if (offset == set->packed.len) return false;
    if (packed_expire(&set->packed, offset, at)) return true;
    struct packed records = enlarge(set);
    set_table_expire(set->table, member, at);
    packed_drop(&records);
    return true;
}

static struct bytes member_of_deadline(struct deadline *d)
{
    return set_member_view((void *)((char *)d - offsetof(struct set_member, data)));
}

struct expiring set_expiring(const struct set *set)
{
    if (!set->is_large) return (struct expiring){ .packed = &set->packed };
    return (struct expiring){ .deadlines = set->table->deadlines, .name_of = member_of_deadline };
}

const struct dict *set_hint(const struct set *set)
{
    if (set->is_large) return &set->table->members;
    packed_hint(&set->packed);
    return NULL;
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
    if (!set->is_large) return mem_size(set) + packed_bytes(&set->packed);
    const struct set_table *table = set->table;
    return mem_size(set) + mem_size(table) + table->bytes + dict_bytes(&table->members) +
           deadlines_bytes(table->deadlines);
}

void set_check(const struct set *set)
{
    struct set_iter members;
    struct bytes view;
    if (!set->is_large) packed_check(&set->packed);
    set_iter_begin(&members, set);
    while (set_iter_next(&members, &view))
        ensure(set->hashtable || is_canonical_integer(view), "intset with member %.*s",
               (int)view.len, view.data);
    if (!set->is_large) return;

    const struct set_table *table = set->table;
    size_t bytes = 0, armed = 0;
    struct dict_iter iter;
    struct set_member *member;
    dict_check(&table->members);
    deadlines_check(table->deadlines);
    dict_iter_begin(&iter, &table->members);
    while ((member = dict_iter_next(&iter)) != NULL) {
        bytes += mem_size(member);
        if (!member->has_expiry || !deadline_armed(deadline_of_set_member(member))) continue;
        armed++;
        uint32_t slot = deadline_of_set_member(member)->slot;
        ensure(table->deadlines != NULL && slot < deadlines_count(table->deadlines) &&
                   agenda_nth(&table->deadlines->agenda, slot) == deadline_of_set_member(member),
               "slot %u of %zu belongs to another member", slot, deadlines_count(table->deadlines));
    }
    ensure(bytes == table->bytes, "%zu bytes, counted %zu", bytes, table->bytes);
    ensure(armed == deadlines_count(table->deadlines), "%zu armed members, %zu deadlines", armed,
           deadlines_count(table->deadlines));
}
