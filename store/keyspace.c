/* keyspace: a dict of entries and an agenda of their deaths. */
#include "store/keyspace.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "store/ensure.h"
#include "store/mem.h"
#include "store/prefetch.h"

/* For a volatile key among nodes of other keys. */
enum { DRAWS = 64, LOOKS = 1024 };

static struct bytes key_of(const void *element)
{
    return entry_key(element);
}

static const struct dict_type entries = { .key = key_of };

static_assert(sizeof(struct entry) == 24, "an entry has a gap");

static struct entry *entry_of(struct deadline *d)
{
    return (struct entry *)((char *)d - offsetof(struct entry, deadline));
}

/* ---- the key's own deadline ----------------------------------------------------------------- */

/* Of an entry whose type may be timed. */
static msec own_deadline(const struct entry *entry)
{
    msec at;
    memcpy(&at, entry->key + entry->key_len, sizeof(at));
    return at;
}

static void put_own_deadline(struct entry *entry, msec at)
{
    if (type_may_be_timed(entry->object.type)) memcpy(entry->key + entry->key_len, &at, sizeof(at));
}

static bool is_volatile(const struct entry *entry)
{
    if (type_may_be_timed(entry->object.type)) return own_deadline(entry) != NEVER;
    return deadline_armed(&entry->deadline);
}

msec entry_expires_at(const struct keyspace *ks, const struct entry *entry)
{
    if (type_may_be_timed(entry->object.type)) return own_deadline(entry);
    if (!deadline_armed(&entry->deadline)) return NEVER;
    return instant_of_deadline(agenda_at(&ks->agenda, &entry->deadline));
}

/* The first instant at which there is something to do for the entry with this own deadline. */
static msec moment_of(const struct entry *entry, msec expires_at)
{
    msec death = instant_of_death(expires_at);
    msec inside = entry->object.timed ? object_moment(&entry->object) : NEVER;
    return inside < death ? inside : death;
}

static void arm(struct keyspace *ks, struct entry *entry, msec moment)
{
    if (moment == NEVER)
        agenda_cancel(&ks->agenda, &entry->deadline);
    else if (!deadline_armed(&entry->deadline) ||
             agenda_at(&ks->agenda, &entry->deadline) != moment)
        agenda_move(&ks->agenda, &entry->deadline, moment);
    ks->next_due = agenda_next(&ks->agenda);
}

/* ---- entries --------------------------------------------------------------------------------- */

size_t entry_bytes(const struct entry *entry)
{
    return mem_size(entry) + object_bytes(&entry->object);
}

void keyspace_init(struct keyspace *ks, unsigned db)
{
    dict_init(&ks->dict, &entries);
    agenda_init(&ks->agenda);
    ks->next_due = NEVER;
    ks->count_volatile = 0;
    ks->db = db;
}

void keyspace_drop(struct keyspace *ks)
{
    struct entry *entry;
    while ((entry = dict_take(&ks->dict)) != NULL) {
        object_free(&entry->object);
        mem_free(entry);
    }
    dict_drop(&ks->dict);
    agenda_drop(&ks->agenda);
}

struct entry *keyspace_find(const struct keyspace *ks, struct bytes key)
{
    return dict_find(&ks->dict, key);
}

uint64_t keyspace_hint_bucket(const struct keyspace *ks, struct bytes key)
{
    return dict_hint_bucket(&ks->dict, key);
}

const struct entry *keyspace_hint_entry(const struct keyspace *ks, uint64_t hash)
{
    return dict_hint_element(&ks->dict, hash);
}

const struct entry *keyspace_hint_overflow(const struct keyspace *ks, uint64_t hash)
{
    return dict_hint_overflow(&ks->dict, hash);
}

void keyspace_hint_value(const struct entry *entry)
{
    if (!entry->object.is_small) prefetch(entry->object.any);
}

static struct entry *entry_new(struct bytes key, struct object object)
{
    ensure(key.len <= UINT32_MAX, "key of %zu bytes", key.len);
    size_t own = type_may_be_timed(object.type) ? sizeof(msec) : 0;
    struct entry *entry = mem_alloc(sizeof(*entry) + key.len + own);
    entry->object = object;
    entry->key_len = (uint32_t)key.len;
    entry->accessed = 0;
    deadline_init(&entry->deadline);
    if (key.len > 0) memcpy(entry->key, key.data, key.len);
    return entry;
}

struct entry *keyspace_add(struct keyspace *ks, struct bytes key, struct object object)
{
    struct entry *entry = entry_new(key, object);
    put_own_deadline(entry, NEVER);
    dict_add(&ks->dict, entry);
    if (object.timed) keyspace_rearm(ks, entry);
    return entry;
}

struct object keyspace_remove(struct keyspace *ks, struct entry *entry)
{
    struct object object = entry->object;
    ks->count_volatile -= is_volatile(entry);
    dict_remove(&ks->dict, entry_key(entry));
    arm(ks, entry, NEVER);
    mem_free(entry);
    return object;
}

/* The same key, deadline and node, with a block for the type of this object. */
static struct entry *reshape(struct keyspace *ks, struct entry *old, struct object object)
{
    struct entry *entry = entry_new(entry_key(old), object);
    entry->accessed = old->accessed;
    entry->deadline = old->deadline;
    if (deadline_armed(&entry->deadline)) agenda_moved(&ks->agenda, &entry->deadline);
    mem_free(old);
    dict_moved(&ks->dict, old, entry);
    return entry;
}

struct entry *keyspace_replace(struct keyspace *ks, struct entry *entry, struct object object)
{
    msec at = entry_expires_at(ks, entry);
    if (type_may_be_timed(object.type) != type_may_be_timed(entry->object.type))
        entry = reshape(ks, entry, object);
    entry->object = object;
    put_own_deadline(entry, at);
    arm(ks, entry, moment_of(entry, at));
    return entry;
}

void keyspace_set_deadline(struct keyspace *ks, struct entry *entry, msec at)
{
    ensure(instant_ok(at) || at == NEVER, "a deadline at %lld", (long long)at);
    ks->count_volatile -= is_volatile(entry);
    ks->count_volatile += at != NEVER;
    put_own_deadline(entry, at);
    arm(ks, entry, moment_of(entry, at));
}

void keyspace_rearm(struct keyspace *ks, struct entry *entry)
{
    entry->object.timed = object_moment(&entry->object) != NEVER;
    arm(ks, entry, moment_of(entry, entry_expires_at(ks, entry)));
}

/* ---- the dead -------------------------------------------------------------------------------- */

bool entry_dead(const struct keyspace *ks, const struct entry *entry, msec now)
{
    if (ks->next_due > now) return false;
    if (instant_dead(entry_expires_at(ks, entry), now)) return true;
    return entry->object.timed && object_all_dead(&entry->object, now);
}

struct entry *keyspace_first_due(const struct keyspace *ks, msec now)
{
    struct deadline *first = agenda_first(&ks->agenda);
    return ks->next_due <= now ? entry_of(first) : NULL;
}

struct entry *keyspace_first_volatile(const struct keyspace *ks)
{
    struct entry *first = NULL;
    if (ks->count_volatile == 0) return NULL;
    struct agenda_walk walk;
    agenda_walk_begin(&walk, &ks->agenda);
    for (unsigned looks = 0; looks < DRAWS && first == NULL; looks++) {
        msec at;
        struct deadline *d = agenda_walk_next(&walk, &at);
        if (d == NULL) break;
        if (is_volatile(entry_of(d))) first = entry_of(d);
    }
    agenda_walk_end(&walk);
    return first;
}

struct dead_count {
    const struct keyspace *ks;
    msec now;
    size_t keys, volatile_keys;
};

static bool count_dead_one(void *ctx, struct deadline *d, msec at)
{
    (void)at;
    struct dead_count *dead = ctx;
    const struct entry *entry = entry_of(d);
    if (!entry_dead(dead->ks, entry, dead->now)) return true;
    dead->keys++;
    dead->volatile_keys += is_volatile(entry);
    return true;
}

static struct dead_count count_dead(const struct keyspace *ks, msec now)
{
    struct dead_count dead = { .ks = ks, .now = now };
    agenda_each_until(&ks->agenda, now, count_dead_one, &dead);
    return dead;
}

size_t keyspace_count_alive(const struct keyspace *ks, msec now)
{
    return dict_count(&ks->dict) - count_dead(ks, now).keys;
}

size_t keyspace_count_volatile(const struct keyspace *ks, msec now)
{
    return ks->count_volatile - count_dead(ks, now).volatile_keys;
}

struct entry *keyspace_random(const struct keyspace *ks, uint64_t (*next)(void *ctx), void *ctx)
{
    return dict_random(&ks->dict, next, ctx);
}

/* Nodes that stand for members alone are drawn too. Where they are nearly all, the nodes behind the
 * last draw are looked at in turn. */
struct entry *keyspace_random_volatile(const struct keyspace *ks, uint64_t (*next)(void *ctx),
                                       void *ctx)
{
    uint32_t count = agenda_count(&ks->agenda), i = 0;
    if (ks->count_volatile == 0) return NULL;
    for (unsigned looks = 0; looks < DRAWS + LOOKS; looks++) {
        i = (uint32_t)((looks < DRAWS ? next(ctx) : i + UINT64_C(1)) % count);
        struct entry *entry = entry_of(agenda_nth(&ks->agenda, i));
        if (is_volatile(entry)) return entry;
    }
    return NULL;
}

struct scan {
    void (*visit)(void *ctx, struct entry *entry);
    void *ctx;
};

static void scan_one(void *ctx, void *element)
{
    struct scan *scan = ctx;
    scan->visit(scan->ctx, element);
}

uint64_t keyspace_scan(const struct keyspace *ks, uint64_t cursor,
                       void (*visit)(void *ctx, struct entry *entry), void *ctx)
{
    struct scan scan = { visit, ctx };
    return dict_scan(&ks->dict, cursor, scan_one, &scan);
}

struct relocating {
    struct keyspace *ks;
    struct relocation *relocation;
    struct scan scan;
};

static void *entry_relocate(void *ctx, void *old)
{
    const struct relocating *relocating = ctx;
    struct entry *entry = relocation_copy(relocating->relocation, old);
    if (entry != NULL) {
        if (deadline_armed(&entry->deadline))
            agenda_moved(&relocating->ks->agenda, &entry->deadline);
        mem_free(old);
    } else {
        entry = old;
    }
    relocating->scan.visit(relocating->scan.ctx, entry);
    return entry;
}

uint64_t keyspace_relocate(struct keyspace *ks, uint64_t cursor, struct relocation *relocation,
                           void (*visit)(void *ctx, struct entry *entry), void *ctx)
{
    struct relocating relocating = { ks, relocation, { visit, ctx } };
    return dict_relocate(&ks->dict, cursor, relocation, entry_relocate, &relocating);
}

static void check_deadline(const struct keyspace *ks, const struct entry *entry)
{
    struct bytes key = entry_key(entry);
    msec inside = object_moment(&entry->object);
    ensure(entry->object.timed == (inside != NEVER), "'%.*s' is timed: %d, its next moment: %lld",
           (int)key.len, key.data, entry->object.timed, (long long)inside);
    msec at = entry_expires_at(ks, entry), moment = moment_of(entry, at);
    ensure(instant_ok(at) || at == NEVER, "'%.*s' ends at %lld", (int)key.len, key.data,
           (long long)at);
    ensure(deadline_armed(&entry->deadline) == (moment != NEVER), "'%.*s' has its moment at %lld",
           (int)key.len, key.data, (long long)moment);
    if (moment == NEVER) return;
    msec armed = agenda_at(&ks->agenda, &entry->deadline);
    ensure(armed == moment, "armed at %lld, not %lld", (long long)armed, (long long)moment);
}

static void check_entry(const struct keyspace *ks, const struct entry *entry)
{
    struct bytes key = entry_key(entry);
    size_t own = type_may_be_timed(entry->object.type) ? sizeof(msec) : 0;
    ensure(mem_size(entry) >= sizeof(*entry) + key.len + own, "'%.*s' in a block of %zu",
           (int)key.len, key.data, mem_size(entry));
    object_check(&entry->object);
    ensure(object_count(&entry->object) > 0, "an empty %s at '%.*s'", type_name(entry->object.type),
           (int)key.len, key.data);
    check_deadline(ks, entry);
}

void keyspace_check(const struct keyspace *ks)
{
    dict_check(&ks->dict);
    agenda_check(&ks->agenda);
    ensure(ks->next_due == agenda_next(&ks->agenda), "next due at %lld, not %lld",
           (long long)agenda_next(&ks->agenda), (long long)ks->next_due);
    size_t mortal = 0, armed = 0;
    struct dict_iter iter;
    dict_iter_begin(&iter, &ks->dict);
    for (const struct entry *entry; (entry = dict_iter_next(&iter)) != NULL;) {
        check_entry(ks, entry);
        mortal += is_volatile(entry);
        armed += deadline_armed(&entry->deadline);
    }
    ensure(mortal == ks->count_volatile, "%zu volatile keys, count %zu", mortal,
           ks->count_volatile);
    ensure(armed == agenda_count(&ks->agenda), "%zu armed keys, %u deadlines", armed,
           agenda_count(&ks->agenda));
}
