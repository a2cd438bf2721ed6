/* txn_member: the deadlines of members, for sets, hashes, sorted sets and leases alike. Takes the
 * effects and events of each type from its row (txn_type.h). */
#include "store/txn/expiry_log.h"
#include "store/txn/txn_internal.h"
#include "store/txn/txn_type.h"

void txn_member_left(struct txn *txn, struct entry *entry)
{
    if (entry->object.has_expiry) keyspace_rearm(txn->ks, entry);
    txn_note_emptied(txn, entry);
}

void txn_member_expiry_set(struct txn *txn, struct entry *entry, struct bytes member,
                           enum event event)
{
    keyspace_rearm(txn->ks, entry);
    txn_notify(txn, entry, &(struct effect){ .kind = EFFECT_NONE, .event = event, .a = member });
}

/* Records the effect before the change, because `member` may point into the collection. */
static void set_member_deadline(struct txn *txn, struct entry *entry, struct bytes member, msec at,
                                enum event event)
{
    struct effect effect = {
        .kind = txn_type_of(entry)->expire, .event = event, .a = member, .at = at
    };
    if (at == NEVER && effect.kind == EFFECT_HASH_EXPIRE)
        hash_get(entry->object.hash, member, &effect.b);
    txn_record(txn, entry, &effect);
    object_member_expire(&entry->object, member, at);
    keyspace_rearm(txn->ks, entry);
    if (txn_type_of(entry)->note_end != NULL) txn_type_of(entry)->note_end(txn, at);
}

enum member_fate txn_member_expire(struct txn *txn, struct entry *entry, struct bytes member,
                                   msec at)
{
    msec old;
    if (!object_member_deadline(&entry->object, member, &old)) return MEMBER_MISSING;
    /* On a replica the member is withheld, and the master removes it. */
    if (!instant_past(at, txn->now) || txn_replays(txn) || txn->on_replica) {
        enum event event =
            at == NEVER ? txn_type_of(entry)->on_persist : txn_type_of(entry)->on_expire;
        set_member_deadline(txn, entry, member, at, event);
        return MEMBER_EXPIRY_SET;
    }
    RECORD(txn, entry, txn_type_of(entry)->drop, txn_type_of(entry)->on_removed, .a = member);
    object_member_remove(&entry->object, member);
    txn_member_left(txn, entry);
    return MEMBER_REMOVED;
}

bool txn_member_persist(struct txn *txn, struct entry *entry, struct bytes member)
{
    msec old;
    if (!object_member_deadline(&entry->object, member, &old) || old == NEVER) return false;
    set_member_deadline(txn, entry, member, NEVER, txn_type_of(entry)->on_persist);
    return true;
}

static void count_expired(struct txn *txn, msec at, size_t count)
{
    txn->store->stats.expired_members += count;
    histogram_add(&txn->store->stats.lag, txn->now - at, count);
}

void txn_member_notify_expired(struct txn *txn, struct entry *entry)
{
    struct effect notice = { .kind = EFFECT_NONE, .event = txn_type_of(entry)->on_expired };
    txn_notify(txn, entry, &notice);
}

size_t txn_member_purge(struct txn *txn, struct entry **purged, msec by, size_t limit)
{
    struct entry *entry = *purged;
    bool logged = expiry_is_logged(txn, entry);
    size_t done = 0;
    struct bytes member;
    msec at;
    if (!logged && !(txn->store->event_mask & LISTEN_MEMBERS) &&
        object_all_expired(&entry->object, by)) {
        /* Neither listener nor log wants names: drop the key at once, in O(1). */
        done = object_count(&entry->object);
        object_member_first(&entry->object, &member, &at);
        count_expired(txn, at, done);
        txn_member_notify_expired(txn, entry);
        txn_key_drop_as(txn, entry, EVENT_DEL, TRAIL_EMPTIED, true);
        *purged = NULL;
        return done;
    }
    for (; done < limit && object_member_first(&entry->object, &member, &at) &&
           instant_expired(at, by);
         done++) {
        struct effect effect = {
            .kind = txn_type_of(entry)->drop,
            .event = txn_type_of(entry)->on_expired,
            .a = member,
        };
        txn_notify(txn, entry, &effect);
        count_expired(txn, at, 1);
        if (logged) expiry_log_member(txn, entry, member, at);
        object_member_remove(&entry->object, member);
    }
    keyspace_rearm(txn->ks, entry);
    if (object_count(&entry->object) == 0) {
        txn_drop_emptied(txn, entry, true);
        *purged = NULL;
    }
    return done;
}
