/* txn_hash: mutators of hashes. */
#include "store/txn/txn_internal.h"

bool txn_hash_put(struct txn *txn, struct entry *entry, struct bytes field, struct bytes value,
                  const struct hput *how)
{
    struct hash *hash = entry->object.hash;
    msec old = NEVER;
    bool present = txn_life_matters(txn, entry, how->life) && hash_deadline(hash, field, &old);
    msec at = txn_life_at(txn, entry, how->life, present, old);

    /* Record first: the arguments may point into the hash. */
    RECORD(txn, entry, EFFECT_HASH_PUT, how->event, .a = field, .b = value, .at = at,
           .by_policy = txn_life_by_policy(how->life, old, at));
    bool is_new = hash_set(hash, field, value, at);
    if (at != old && at != NEVER)
        txn_member_expiry_set(txn, entry, field, EVENT_HEXPIRE);
    else if (entry->object.has_expiry) /* HSET may have removed the deadline */
        keyspace_rearm(txn->ks, entry);
    return is_new;
}

bool txn_hash_remove(struct txn *txn, struct entry *entry, struct bytes field)
{
    struct bytes value;
    if (!hash_get(entry->object.hash, field, &value)) return false;
    RECORD(txn, entry, EFFECT_HASH_DROP, EVENT_HDEL, .a = field);
    hash_remove(entry->object.hash, field);
    txn_member_left(txn, entry);
    return true;
}
