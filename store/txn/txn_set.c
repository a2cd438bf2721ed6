/* txn_set: mutators of sets. */
#include "store/txn/txn_internal.h"

bool txn_set_add(struct txn *txn, struct entry *entry, struct bytes member, struct lifetime life)
{
    msec at = txn_life_at(txn, entry, life, false, NEVER), old;
    if (set_add(entry->object.set, member, at)) {
        RECORD(txn, entry, EFFECT_SET_ADD, EVENT_SADD, .a = member, .at = at,
               .by_policy = txn_life_by_policy(life, NEVER, at));
        if (at != NEVER) txn_member_expiry_set(txn, entry, member, EVENT_SEXPIRE);
        return true;
    }

    /* The member exists: only its deadline may change. */
    if (!txn_life_matters(txn, entry, life)) return false;
    set_deadline(entry->object.set, member, &old);
    at = txn_life_at(txn, entry, life, true, old);
    if (at == old) return false;
    RECORD(txn, entry, EFFECT_SET_EXPIRE, at == NEVER ? EVENT_SPERSIST : EVENT_SEXPIRE, .a = member,
           .at = at, .by_policy = txn_life_by_policy(life, old, at));
    set_expire(entry->object.set, member, at);
    keyspace_rearm(txn->ks, entry);
    return false;
}

bool txn_set_remove(struct txn *txn, struct entry *entry, struct bytes member, enum event event)
{
    struct set *set = entry->object.set;
    if (!set_has(set, member)) return false;
    /* Record first: `member` may point into the set. */
    RECORD(txn, entry, EFFECT_SET_DROP, event, .a = member);
    set_remove(set, member);
    txn_member_left(txn, entry);
    return true;
}

void txn_set_remove_all(struct txn *txn, struct entry *entry, enum event event)
{
    struct effect notice = { .kind = EFFECT_NONE, .event = event };
    if (txn->store->event_mask & LISTEN_MEMBERS) {
        struct set_iter iter;
        set_iter_begin(&iter, entry->object.set);
        while (set_iter_next(&iter, &notice.a))
            txn_notify(txn, entry, &notice);
        notice.a = bytes_of(NULL, 0);
    }
    txn_record(txn, entry, &notice);
    txn_key_drop_as(txn, entry, EVENT_DEL, TRAIL_EMPTIED, 0);
}
