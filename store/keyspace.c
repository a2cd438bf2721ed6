/* keyspace: a dict of entries and an agenda of their deaths. */
#include "store/keyspace.h"

#include <stddef.h>
#include <string.h>

#include "store/ensure.h"
#include "store/mem.h"

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
    return entry;
}

struct object keyspace_remove(struct keyspace *ks, struct entry *entry)
{
    struct object object = entry->object;
    agenda_cancel(&ks->agenda, &entry->deadline);
    dict_remove(&ks->dict, entry_key(entry));
    mem_free(entry);
    return object;
}

void keyspace_set_deadline(struct keyspace *ks, struct entry *entry, msec at)
{
    entry->expires_at = at;
    if (at == NEVER)
        agenda_cancel(&ks->agenda, &entry->deadline);
    else
        agenda_move(&ks->agenda, &entry->deadline, instant_of_death(at));
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

static bool count_one(void *count, struct deadline *d, msec at)
{
    (void)d;
    (void)at;
    ++*(size_t *)count;
    return true;
}

static size_t count_dead(const struct keyspace *ks, msec now)
{
    size_t dead = 0;
    agenda_each_until(&ks->agenda, now, count_one, &dead);
    return dead;
}

size_t keyspace_count_alive(const struct keyspace *ks, msec now)
{
    return dict_count(&ks->dict) - count_dead(ks, now);
}

size_t keyspace_count_volatile(const struct keyspace *ks, msec now)
{
    return agenda_count(&ks->agenda) - count_dead(ks, now);
}

struct entry *keyspace_random(const struct keyspace *ks, uint64_t (*next)(void *ctx), void *ctx)
{
    return dict_random(&ks->dict, next, ctx);
}

struct entry *keyspace_random_volatile(const struct keyspace *ks, uint64_t (*next)(void *ctx),
                                       void *ctx)
{
    uint32_t count = agenda_count(&ks->agenda);
    return count > 0 ? entry_of(agenda_nth(&ks->agenda, (uint32_t)(next(ctx) % count))) : NULL;
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
    ensure(deadline_armed(&entry->deadline) == (entry->expires_at != NEVER),
           "'%.*s' expires at %lld", (int)entry->key_len, entry->key, (long long)entry->expires_at);
    if (entry->expires_at == NEVER) return;
    msec armed = agenda_at(&ks->agenda, &entry->deadline);
    ensure(armed == instant_of_death(entry->expires_at), "armed at %lld, expires at %lld",
           (long long)armed, (long long)entry->expires_at);
}

void keyspace_check(const struct keyspace *ks)
{
    dict_check(&ks->dict);
    agenda_check(&ks->agenda);
    uint32_t is_volatile = 0;
    struct dict_iter iter;
    dict_iter_begin(&iter, &ks->dict);
    for (const struct entry *entry; (entry = dict_iter_next(&iter)) != NULL;) {
        check_entry(ks, entry);
        is_volatile += entry->expires_at != NEVER;
    }
    ensure(is_volatile == agenda_count(&ks->agenda), "%u volatile keys, %u deadlines", is_volatile,
           agenda_count(&ks->agenda));
}
