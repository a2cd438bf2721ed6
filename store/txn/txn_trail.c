/* txn_trail: see txn_trail.h. */
#include "store/txn/txn_trail.h"

#include "store/base/siphash.h"
#include "store/txn/txn_type.h"

static uint64_t hash_of(const struct txn *txn, const struct entry *entry)
{
    if (txn->found == entry) return trail_hash(txn->found_hash, txn->ks->db);
    struct bytes key = entry_key(entry);
    return trail_hash(siphash(key.data, key.len), txn->ks->db);
}

/* Fills in the time, and who makes the change. Returns false for a replay of recorded data, whose
 * changes the trail leaves out. */
static bool sign(struct txn *txn, const struct entry *entry, struct trail_event *event)
{
    struct trail *trail = txn->store->trail;
    event->at = txn->now;
    /* Expired data ends by expiry, even if it is removed when a client reads it. */
    if (trail_is_expiry(event->what, event->extra) && txn->origin != FROM_REPLAY) {
        event->by = txn->origin == FROM_MASTER ? TRAIL_BY_MASTER : TRAIL_BY_EXPIRY;
        return true;
    }
    if (txn->by_option != 0) {
        struct bytes name = { 0 };
        if (entry != NULL) policies_of(&txn->store->policies, entry_key(entry), &name);
        event->by = TRAIL_BY_POLICY;
        event->option = txn->by_option;
        event->extra = trail_extra(siphash(name.data, name.len));
        return true;
    }
    switch (txn->origin) {
    case FROM_REPLAY: return false;
    case FROM_MASTER: event->by = TRAIL_BY_MASTER; return true;
    case FROM_EXPIRY: event->by = TRAIL_BY_EXPIRY; return true;
    case FROM_EVICTION: event->by = TRAIL_BY_EVICTION; return true;
    case FROM_POLICY: event->by = TRAIL_BY_POLICY; return true;
    case FROM_CLIENT: break;
    }
    if (txn->by >> 16 == 0 && txn->caller != NULL && trail->asker.author != NULL)
        txn->by |= (uint32_t)trail->asker.author(trail->asker.ctx, txn->caller, txn->now) << 16;
    event->by = TRAIL_BY_COMMAND;
    event->author = (uint16_t)(txn->by >> 16);
    event->command = (uint16_t)txn->by;
    return true;
}

/* The general case of txn_trail_set. Not inlined, because it is rare. */
__attribute__((noinline)) static void set_signed(struct txn *txn, const struct entry *entry,
                                                 msec at)
{
    struct trail_event event = { .what = TRAIL_SET, .deadline = at, .before = TRAIL_UNKNOWN };
    if (!sign(txn, entry, &event)) return;
    trail_set(txn->store->trail, hash_of(txn, entry), txn->ks->db, &event);
}

void txn_trail_set(struct txn *txn, const struct entry *entry, msec at)
{
    if (txn->by >> 16 == 0 || txn->found != entry) {
        set_signed(txn, entry, at);
        return;
    }
    unsigned db = txn->ks->db;
    trail_set_by(txn->store->trail, trail_hash(txn->found_hash, db), db, txn->now, at, txn->by);
}

uint32_t txn_trail_ruled(struct txn *txn, enum policy_option option)
{
    uint32_t by = txn->by;
    txn->by = 0;
    txn->by_option = (uint8_t)(option + 1);
    return by;
}

void txn_trail_unruled(struct txn *txn, uint32_t by)
{
    txn->by = by;
    txn->by_option = 0;
}

void txn_trail_end(struct txn *txn, const struct entry *entry, enum trail_what what, uint64_t extra)
{
    struct trail_event event = { .what = what, .extra = extra };
    if (!sign(txn, entry, &event)) return;
    event.deadline = entry_expires_at(txn->ks, entry);
    event.extra = extra;
    /* The stream of a master does not tell an expiry from a deletion. */
    bool has_expired = event.deadline != NEVER && instant_expired(event.deadline, txn->now);
    if (what == TRAIL_DELETED && txn->origin == FROM_MASTER && has_expired)
        event.what = TRAIL_EXPIRED;
    trail_add(txn->store->trail, hash_of(txn, entry), &event);
}

void txn_trail_miss(struct txn *txn, struct bytes key)
{
    struct store_stats *stats = &txn->store->stats;
    unsigned db = txn->ks->db;
    /* A replica, and a server during CLIENT PAUSE, keep a key that has expired. */
    bool is_hidden = txn->no_expiry && keyspace_find(txn->ks, key) != NULL;
    uint64_t hash = trail_hash(siphash(key.data, key.len), db);
    switch (is_hidden ? TRAIL_EXPIRED : trail_end_of(txn->store->trail, hash, db)) {
    case TRAIL_NONE: break;
    case TRAIL_EXPIRED: {
        const struct policy *policy = policies_of(&txn->store->policies, key, NULL);
        stats->expiration_misses++;
        if (policy != NULL) policy->stats->expired_misses++;
        break;
    }
    case TRAIL_EVICTED: stats->eviction_misses++; break;
    default: stats->deletion_misses++; break;
    }
}

void txn_trail_trim(struct txn *txn, const struct entry *entry)
{
    struct trail_event event = { .what = TRAIL_TRIMMED };
    if (txn->store->trail == NULL) return;
    uint32_t by = txn_trail_ruled(txn, POLICY_RETAIN);
    bool is_recorded = txn->origin != FROM_REPLAY && sign(txn, entry, &event);
    txn_trail_unruled(txn, by);
    event.deadline = entry_expires_at(txn->ks, entry);
    if (is_recorded) trail_add_again(txn->store->trail, hash_of(txn, entry), &event);
}

void txn_trail_whole(struct txn *txn, unsigned db, enum trail_what what, uint64_t extra)
{
    struct trail_event event = { .what = what };
    if (txn->store->trail == NULL || !sign(txn, NULL, &event)) return;
    event.deadline = NEVER;
    event.extra = extra;
    trail_add_whole(txn->store->trail, db, &event);
}

static enum trail_what end_of_member(const struct entry *entry, enum event event)
{
    switch (event) {
    case EVENT_REDE_PULL:
    case EVENT_REDE_POLL:
    case EVENT_REDE_ACK: return TRAIL_TAKEN;
    case EVENT_REDE_DEAD: return TRAIL_DEAD;
    default: return event == txn_type_of(entry)->on_expired ? TRAIL_EXPIRED : TRAIL_DELETED;
    }
}

void txn_trail_member(struct txn *txn, const struct entry *entry, const struct effect *effect)
{
    struct trail_event event = { .what = TRAIL_NONE };
    msec at = effect->at, old = NEVER;
    bool drops = false;
    switch (effect->kind) {
    case EFFECT_SET_DROP:
    case EFFECT_HASH_DROP:
    case EFFECT_ZSET_DROP:
    case EFFECT_LEASE_DROP: drops = true; break;
    case EFFECT_REDE_DROP:
        drops = true;
        old = dehydrator_stage(entry->object.dehydrator,
                               dehydrator_find(entry->object.dehydrator, effect->a))
                  .at;
        break;
    case EFFECT_SET_ADD: break; /* the set has the member already, with this deadline */
    case EFFECT_SET_EXPIRE:
    case EFFECT_HASH_PUT:
    case EFFECT_HASH_EXPIRE:
    case EFFECT_ZSET_PUT:
    case EFFECT_ZSET_EXPIRE:
    case EFFECT_LEASE_TAKE:
    case EFFECT_LEASE_EXTEND: break;
    default: return;
    }
    if (effect->kind != EFFECT_REDE_DROP && effect->kind != EFFECT_SET_ADD &&
        entry->object.has_expiry && !object_member_deadline(&entry->object, effect->a, &old))
        old = NEVER;
    if (drops ? old == NEVER : at == old) return;

    event.what = drops         ? end_of_member(entry, effect->event)
                 : at != NEVER ? TRAIL_SET
                               : TRAIL_REMOVED;
    event.deadline = event.what == TRAIL_SET ? at : old;
    event.before = old;
    uint32_t by = txn->by;
    if (effect->by_policy) txn_trail_ruled(txn, POLICY_MEMBERTTL);
    bool is_recorded = sign(txn, entry, &event);
    if (effect->by_policy) txn_trail_unruled(txn, by);
    if (!is_recorded) return;
    uint64_t hash = trail_member_hash(hash_of(txn, entry), siphash(effect->a.data, effect->a.len));
    if (event.what == TRAIL_SET)
        trail_set(txn->store->trail, hash, txn->ks->db, &event);
    else
        trail_add(txn->store->trail, hash, &event);
}

void txn_trail_ranks(struct txn *txn, const struct entry *entry, size_t from, size_t to,
                     enum event event)
{
    struct effect drop = { .kind = EFFECT_ZSET_DROP, .event = event };
    struct zset_iter iter;
    zset_iter_at(&iter, entry->object.zset, from);
    for (size_t left = to - from; left > 0 && zset_iter_next(&iter, &drop.a, NULL); left--)
        if (iter.at != NEVER) txn_trail_member(txn, entry, &drop);
}
