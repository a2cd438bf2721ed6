/* lookahead: see lookahead.h. A look-up in a table that is larger than the CPU caches waits for
 * memory three times: for the bucket, the key and the value, and again for a member of a large
 * collection. One look-up can't avoid these waits, as each needs the result of the one before. So
 * each step is done for all look-ups of a window before the next step begins, and their waits
 * overlap. */
#include "server/net/lookahead.h"

#include "store/base/siphash.h"

enum { LARGE_TABLE = 4096 }; /* elements; smaller tables are usually in the CPU cache */

static void prefetch_buckets(struct look *looks, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct look *look = &looks[i];
        if (look->args == NULL || keyspace_count(look->ks) == 0) continue;
        look->hash = keyspace_hint_bucket(look->ks, look->args[0]);
        look->hashed = true;
    }
}

static void prefetch_entries(struct look *looks, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (looks[i].hashed) looks[i].entry = keyspace_hint_entry(looks[i].ks, looks[i].hash);
    for (unsigned i = 0; i < count; i++)
        if (looks[i].hashed && looks[i].entry == NULL)
            looks[i].entry = keyspace_hint_overflow(looks[i].ks, looks[i].hash);
    for (unsigned i = 0; i < count; i++)
        if (looks[i].entry != NULL) keyspace_hint_value(looks[i].entry);
}

/* The argument that is probably the member: sorted set commands either put a score before it or
 * have no argument after it. */
static struct bytes guess_member(const struct look *look)
{
    bool behind = look->entry->object.type == TYPE_ZSET && look->count > 2;
    return look->args[behind ? 2 : 1];
}

static void prefetch_members(struct look *looks, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct look *look = &looks[i];
        if (look->entry == NULL || look->count < 2) continue;
        look->table = object_hint(&look->entry->object);
        if (look->table == NULL || dict_count(look->table) < LARGE_TABLE) continue;
        look->member = guess_member(look);
        look->member_hash = dict_hint_bucket(look->table, look->member);
        look->member_hashed = true;
    }
    void *members[LOOKS_MAX];
    for (unsigned i = 0; i < count; i++)
        if (looks[i].member_hashed)
            members[i] = dict_hint_element(looks[i].table, looks[i].member_hash);
    for (unsigned i = 0; i < count; i++)
        if (looks[i].member_hashed && members[i] == NULL)
            dict_hint_overflow(looks[i].table, looks[i].member_hash);
}

void lookahead(struct look *looks, unsigned count)
{
    prefetch_buckets(looks, count);
    if (count < 2) return;
    prefetch_entries(looks, count);
    prefetch_members(looks, count);
}

void look_remember(const struct look *look)
{
    if (look->hashed) siphash_remember(look->args[0].data, look->args[0].len, look->hash);
    if (look->member_hashed)
        siphash_remember(look->member.data, look->member.len, look->member_hash);
}

void look_forget(void)
{
    siphash_forget();
}
