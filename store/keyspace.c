/* keyspace: a dict of entries and an agenda of their deaths. */
#include "store/keyspace.h"

#include <stddef.h>
#include <string.h>

#include "store/ensure.h"
#include "store/mem.h"

enum { DRAWS = 64 }; /* for a volatile key among nodes of other keys */

static struct bytes key_of(const void *element)
{
    return entry_key(element);
}

static const struct dict_type entries = { .key = key_of };

static struct entry *entry_of(struct deadline *d)
{
    return (struct entry *)((char *)d - offsetof(struct entry, deadline));
}

size_t entry_bytes(const struct entry *entry)
{
    return mem_size(entry) + object_bytes(&entry->object);
}

void keyspace_init(struct keyspace *ks, unsigned db)
{
    dict_init(&ks->dict, &entries);
    agenda_init(&ks->agenda);
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

void keyspace_hint_value(const struct entry *entry)
{
    __builtin_prefetch(entry->object.any);
}

struct entry *keyspace_add(struct keyspace *ks, struct bytes key, struct object object)
{
    ensure(key.len <= UINT32_MAX, "key of %zu bytes", key.len);
    struct entry *entry = mem_alloc(sizeof(*entry) + key.len);
    entry->object = object;
    entry->expires_at = NEVER;
    deadline_init(&entry->deadline);
    entry->accessed = 0;
    entry->key_len = (uint32_t)key.len;
    if (key.len > 0) memcpy(entry->key, key.data, key.len);
    dict_add(&ks->dict, entry);
    if (object.timed) keyspace_rearm(ks, entry);
    return entry;
}

struct object keyspace_remove(struct keyspace *ks, struct entry *entry)
{
    struct object object = entry->object;
    ks->count_volatile -= entry->expires_at != NEVER;
    agenda_cancel(&ks->agenda, &entry->deadline);
    dict_remove(&ks->dict, entry_key(entry));
    mem_free(entry);
    return object;
}

/* The first instant at which there is something to do for the entry. */
static msec moment_of(const struct entry *entry)
{
    msec death = instant_of_death(entry->expires_at);
    msec inside = entry->object.timed ? object_moment(&entry->object) : NEVER;
    return inside < death ? inside : death;
}

static void arm(struct keyspace *ks, struct entry *entry)
{
    msec moment = moment_of(entry);
    if (moment == NEVER)
        agenda_cancel(&ks->agenda, &entry->deadline);
    else if (!deadline_armed(&entry->deadline) ||
             agenda_at(&ks->agenda, &entry->deadline) != moment)
        agenda_move(&ks->agenda, &entry->deadline, moment);
}

void keyspace_set_deadline(struct keyspace *ks, struct entry *entry, msec at)
{
    ks->count_volatile -= entry->expires_at != NEVER;
    ks->count_volatile += at != NEVER;
    entry->expires_at = at;
    arm(ks, entry);
}

void keyspace_rearm(struct keyspace *ks, struct entry *entry)
{
    entry->object.timed = object_moment(&entry->object) != NEVER;
    arm(ks, entry);
}

bool entry_dead(const struct entry *entry, msec now)
{
    if (instant_dead(entry->expires_at, now)) return true;
    return entry->object.timed && object_all_dead(&entry->object, now);
}

msec keyspace_next_due(const struct keyspace *ks)
{
    return agenda_next(&ks->agenda);
}

struct entry *keyspace_first_due(const struct keyspace *ks, msec now)
{
    struct deadline *first = agenda_first(&ks->agenda);
    return first != NULL && agenda_next(&ks->agenda) <= now ? entry_of(first) : NULL;
}

/* A node may stand for a member that ends before its key: then the key counts by the member. */
struct entry *keyspace_first_volatile(const struct keyspace *ks)
{
    if (ks->count_volatile == 0) return NULL;
    struct agenda_walk walk;
    struct deadline *d;
    msec at;
    agenda_walk_begin(&walk, &ks->agenda);
    while ((d = agenda_walk_next(&walk, &at)) != NULL && entry_of(d)->expires_at == NEVER)
        continue;
    agenda_walk_end(&walk);
    return d == NULL ? NULL : entry_of(d);
}

struct dead_count {
    msec now;
    size_t keys, volatile_keys;
};

static bool count_dead_one(void *ctx, struct deadline *d, msec at)
{
    (void)at;
    struct dead_count *dead = ctx;
    const struct entry *entry = entry_of(d);
    if (!entry_dead(entry, dead->now)) return true;
    dead->keys++;
    dead->volatile_keys += entry->expires_at != NEVER;
    return true;
}

static struct dead_count count_dead(const struct keyspace *ks, msec now)
{
    struct dead_count dead = { .now = now };
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

struct entry *keyspace_random_volatile(const struct keyspace *ks, uint64_t (*next)(void *ctx),
                                       void *ctx)
{
    uint32_t count = agenda_count(&ks->agenda);
    if (ks->count_volatile == 0) return NULL;
    /* Nodes that stand for members alone are drawn too. Where they are nearly all, the nodes behind
     * a draw are looked at in turn. */
    uint32_t i = 0;
    for (unsigned tries = 0; tries < DRAWS; tries++) {
        i = (uint32_t)(next(ctx) % count);
        struct entry *entry = entry_of(agenda_nth(&ks->agenda, i));
        if (entry->expires_at != NEVER) return entry;
    }
    for (;;) {
        i = (i + 1) % count;
        struct entry *entry = entry_of(agenda_nth(&ks->agenda, i));
        if (entry->expires_at != NEVER) return entry;
    }
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

static void check_entry(const struct keyspace *ks, const struct entry *entry)
{
    object_check(&entry->object);
    ensure(object_count(&entry->object) > 0, "an empty %s at '%.*s'", type_name(entry->object.type),
           (int)entry->key_len, entry->key);
    msec inside = object_moment(&entry->object);
    ensure(entry->object.timed == (inside != NEVER), "'%.*s' is timed: %d, its next moment: %lld",
           (int)entry->key_len, entry->key, entry->object.timed, (long long)inside);
    msec moment = moment_of(entry);
    ensure(deadline_armed(&entry->deadline) == (moment != NEVER), "'%.*s' has its moment at %lld",
           (int)entry->key_len, entry->key, (long long)moment);
    if (moment == NEVER) return;
    msec armed = agenda_at(&ks->agenda, &entry->deadline);
    ensure(armed == moment, "armed at %lld, not %lld", (long long)armed, (long long)moment);
}

void keyspace_check(const struct keyspace *ks)
{
    dict_check(&ks->dict);
    agenda_check(&ks->agenda);
    size_t is_volatile = 0, armed = 0;
    struct dict_iter iter;
    dict_iter_begin(&iter, &ks->dict);
    for (const struct entry *entry; (entry = dict_iter_next(&iter)) != NULL;) {
        check_entry(ks, entry);
        is_volatile += entry->expires_at != NEVER;
        armed += deadline_armed(&entry->deadline);
    }
    ensure(is_volatile == ks->count_volatile, "%zu volatile keys, count %zu", is_volatile,
           ks->count_volatile);
    ensure(armed == agenda_count(&ks->agenda), "%zu armed keys, %u deadlines", armed,
           agenda_count(&ks->agenda));
}
