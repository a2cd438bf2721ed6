/* txn_trail: adds to the store's trail (trail/trail.h) what mutators do to deadlines, and the ends
 * of keys and members. Private to store/txn. Without a trail each call costs one test. */
#pragma once

#include "store/trail/trail.h"
#include "store/txn/txn_internal.h"

/* Records that the entry's key was given this deadline, which may be NEVER. */
void txn_trail_set(struct txn *txn, const struct entry *entry, msec at);
static inline void txn_note_deadline(struct txn *txn, const struct entry *entry, msec at)
{
    if (txn->store->trail != NULL) txn_trail_set(txn, entry, at);
}

/* Records that the key, or its deadline, ends. Call before the change, because the record contains
 * the old deadline. `extra` as in struct trail_event. */
void txn_trail_end(struct txn *txn, const struct entry *entry, enum trail_what what,
                   uint64_t extra);
static inline void txn_note_end(struct txn *txn, const struct entry *entry, enum trail_what what,
                                uint64_t extra)
{
    if (txn->store->trail != NULL) txn_trail_end(txn, entry, what, extra);
}

/* As txn_trail_end, for a key that is dropped: POLICY STATS also counts it if its time was over. */
static inline void txn_note_key_end(struct txn *txn, const struct entry *entry,
                                    enum trail_what what, uint64_t extra)
{
    txn_note_end(txn, entry, what, extra);
    if (trail_is_expiry(what, extra) && txn_has_policies(txn)) txn_policy_count_expired(txn, entry);
}

/* From txn_trail_ruled to txn_trail_unruled, the trail names this option of the key's policy, not
 * the command, as the author of each deadline that is set and each key or member that is removed.
 * Data that has expired still ends by expiry. Pass the result of txn_trail_ruled, the author until
 * then, to txn_trail_unruled. */
uint32_t txn_trail_ruled(struct txn *txn, enum policy_option option);
void txn_trail_unruled(struct txn *txn, uint32_t by);

/* Counts, for INFO and POLICY STATS, why a read has not found this key: it expired, was evicted or
 * was deleted. Call only if the store has a trail. */
void txn_trail_miss(struct txn *txn, struct bytes key);

/* Records that the RETAIN of the stream's policy has removed expired entries. */
void txn_trail_trim(struct txn *txn, const struct entry *entry);

/* Records one change of all keys of a database. `extra` as in struct trail_event. */
void txn_trail_whole(struct txn *txn, unsigned db, enum trail_what what, uint64_t extra);

/* Records what the effect does to a member's deadline, if anything. Call before the change, because
 * the record contains the old deadline. */
void txn_trail_member(struct txn *txn, const struct entry *entry, const struct effect *effect);
static inline void txn_note_member(struct txn *txn, const struct entry *entry,
                                   const struct effect *effect)
{
#define KIND(kind) (UINT64_C(1) << EFFECT_##kind)
    static const uint64_t of_members =
        KIND(SET_ADD) | KIND(SET_EXPIRE) | KIND(SET_DROP) | KIND(HASH_PUT) | KIND(HASH_EXPIRE) |
        KIND(HASH_DROP) | KIND(ZSET_PUT) | KIND(ZSET_EXPIRE) | KIND(ZSET_DROP) | KIND(REDE_DROP) |
        KIND(LEASE_TAKE) | KIND(LEASE_EXTEND) | KIND(LEASE_DROP);
#undef KIND
    _Static_assert(EFFECT_LEASE_DROP < 64, "a bit for each kind");
    if (effect->kind > EFFECT_LEASE_DROP || !(of_members >> effect->kind & 1)) return;
    /* Most puts are of members that neither had a deadline nor receive one. */
    if (effect->at == NEVER && !entry->object.has_expiry) return;
    if (txn->store->trail != NULL) txn_trail_member(txn, entry, effect);
}

/* Records the removal of the members with deadlines among the ranks from `from` to before `to`.
 * Call before the change. */
void txn_trail_ranks(struct txn *txn, const struct entry *entry, size_t from, size_t to,
                     enum event event);
static inline void txn_note_ranks(struct txn *txn, const struct entry *entry, size_t from,
                                  size_t to, enum event event)
{
    if (txn->store->trail != NULL && entry->object.has_expiry)
        txn_trail_ranks(txn, entry, from, to, event);
}
