/* lookahead: see lookahead.h. A find in a table that is larger than the caches waits for memory
 * three times: for the bucket, for the key, for the value; and so does one of a member in a large
 * collection. Here all finds of a window wait together: each step is taken for all of them before
 * the next one, which needs what it brought. */
#include "server/lookahead.h"

enum { FEW = 4096 }; /* a table with less is in the cache already */

static void find_entries(struct look *looks, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (dict_count(&looks[i].ks->dict) >= FEW)
            looks[i].hash = keyspace_hint_bucket(looks[i].ks, looks[i].args[0]);
    for (unsigned i = 0; i < count; i++)
        looks[i].entry = dict_count(&looks[i].ks->dict) >= FEW
                             ? keyspace_hint_entry(looks[i].ks, looks[i].hash)
                             : keyspace_find(looks[i].ks, looks[i].args[0]);
    for (unsigned i = 0; i < count; i++)
        if (looks[i].entry != NULL) keyspace_hint_value(looks[i].entry);
}

/* A sorted set's commands have the score in front of the member, or nothing behind it. */
static struct bytes member_of(const struct look *look)
{
    bool behind = look->entry->object.type == TYPE_ZSET && look->count > 2;
    return look->args[behind ? 2 : 1];
}

static void find_members(struct look *looks, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct look *look = &looks[i];
        if (look->entry == NULL || look->count < 2) continue;
        const struct dict *table = object_hint(&look->entry->object);
        if (table == NULL || dict_count(table) < FEW) continue;
        look->table = table;
        look->member_hash = dict_hint_bucket(table, member_of(look));
    }
    for (unsigned i = 0; i < count; i++)
        if (looks[i].table != NULL) dict_hint_element(looks[i].table, looks[i].member_hash);
}

void lookahead(struct look *looks, unsigned count)
{
    if (count < 2) return;
    find_entries(looks, count);
    find_members(looks, count);
}
