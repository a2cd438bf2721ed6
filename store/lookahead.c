/* lookahead: prefetches for a window of look-ups, step by step. A look-up in a table that is larger
 * than the CPU caches waits for memory three times: for the bucket, the key and the value; and
 * again for a member of a large collection. A single look-up can't avoid these waits, because each
 * step needs the result of the one before. Each step is therefore done for all look-ups of the
 * window before the next step begins, so that the waits overlap. */
#include "store/lookahead.h"

#include "store/base/siphash.h"

enum { LARGE_TABLE = 4096 }; /* elements; smaller tables are usually in the CPU cache */

void lookahead(const struct trail *trail, struct prefetch *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct prefetch *one = &all[i];
        if (one->args == NULL || keyspace_count(one->ks) == 0) continue;
        if (one->key_hash != NULL)
            keyspace_hint_hashed(one->ks, one->hash = *one->key_hash);
        else
            one->hash = keyspace_hint_bucket(one->ks, one->args[0]);
        one->hashed = true;
    }
    if (count < 2) return;

    /* Entries, and the values and deadlines that they point to. */
    for (unsigned i = 0; i < count; i++)
        if (all[i].hashed) all[i].entry = keyspace_hint_entry(all[i].ks, all[i].hash);
    for (unsigned i = 0; i < count; i++)
        if (all[i].hashed && all[i].entry == NULL)
            all[i].entry = keyspace_hint_overflow(all[i].ks, all[i].hash);
    for (unsigned i = 0; i < count; i++) {
        if (all[i].entry == NULL) continue;
        keyspace_hint_value(all[i].entry);
        if (!all[i].writes || !deadline_armed(&all[i].entry->deadline)) continue;
        keyspace_hint_deadline(all[i].ks, all[i].entry);
        if (trail != NULL) trail_hint(trail, trail_hash(all[i].hash, all[i].ks->db));
    }

    /* Members of large collections. */
    for (unsigned i = 0; i < count; i++) {
        struct prefetch *one = &all[i];
        if (one->entry == NULL || one->count < 2) continue;
        one->table = object_hint(&one->entry->object);
        if (one->table == NULL || dict_count(one->table) < LARGE_TABLE) continue;
        /* Guess that the member is the argument after the key. But if there are more arguments, a
         * command on a sorted set has a score before the member, and a push to a dehydrator may
         * have its ID anywhere. */
        enum type type = one->entry->object.type;
        if (type == TYPE_DEHYDRATOR && one->count > 2) continue;
        bool behind_score = type == TYPE_ZSET && one->count > 2;
        one->member = one->args[behind_score ? 2 : 1];
        if (one->next_hash != NULL && !behind_score)
            dict_hint_hashed(one->table, one->member_hash = *one->next_hash);
        else
            one->member_hash = dict_hint_bucket(one->table, one->member);
        one->member_hashed = true;
    }
    void *members[PREFETCHES_MAX];
    for (unsigned i = 0; i < count; i++)
        if (all[i].member_hashed) members[i] = dict_hint_element(all[i].table, all[i].member_hash);
    for (unsigned i = 0; i < count; i++)
        if (all[i].member_hashed && members[i] == NULL)
            dict_hint_overflow(all[i].table, all[i].member_hash);
}

void lookahead_remember(const struct prefetch *one)
{
    if (one->hashed) siphash_remember(one->args[0].data, one->args[0].len, one->hash);
    if (one->member_hashed) siphash_remember(one->member.data, one->member.len, one->member_hash);
}

void lookahead_forget(void)
{
    siphash_forget();
}
