/* txn_internal: functions for mutators and for background work in store/, in addition to txn.h.
 * Files outside store/ must not include this header; tools/lint/tree.py checks that. */
#pragma once

#include "store/trail/trail.h"
#include "store/txn/txn.h"

/* ---- events and effects: txn_call.c ---- */

/* Returns true if nothing needs the effects of this call. A frequent mutator may then count its
 * change in txn->changes instead of recording it. The index of turns (fair.h) is no reason to
 * record, because txn_key_put informs it itself. */
static inline bool txn_is_unheard(const struct txn *txn)
{
    return txn->store->event_mask == 0 && txn->ks->hidden == 0 && txn->ks->refreshers == NULL;
}
/* Returns where the effects of this call may be appended in brief form, because nothing but the
 * journal needs them; NULL if they must be recorded. */
static inline struct brief_tail *txn_brief_tail(const struct txn *txn)
{
    const struct store *store = txn->store;
    if (!(store->event_mask & LISTEN_BRIEF) || txn->origin == FROM_REPLAY) return NULL;
    if (txn->ks->hidden > 0 || txn->ks->refreshers != NULL) return NULL;
    return store->listener.brief;
}
/* Passes the effect to the listener, sets the access time, and notes the write for the key's
 * policy. An event that the call repeats on a key, before it records another key's, is marked
 * `again`: ZADD with three members is one "zadd". */
void txn_record(struct txn *txn, struct entry *entry, struct effect *effect);
/* Records an effect with these and further fields. Most mutators end with it. */
#define RECORD(txn, entry, KIND, EVENT, ...)                                                       \
    txn_record(txn, entry, &(struct effect){ .kind = (KIND), .event = (EVENT), __VA_ARGS__ })
/* As txn_record, for a change that is not a use of the key, such as an expired member. */
void txn_notify(struct txn *txn, struct entry *entry, struct effect *effect);
/* Only passes the effect on, and does not mark repeated events (MSET k a k b is two "set"). */
void txn_record_each(struct txn *txn, struct bytes key, struct effect *effect);
/* Records an event that changes no data. Costs two tests if nothing listens for events. */
void txn_record_event(struct txn *txn, struct bytes key, enum event event);
/* After a removal: if the collection is empty now, and still at the end of the call, drops its key
 * then. A call may note TXN_EMPTIED_MAX keys. */
void txn_note_emptied(struct txn *txn, struct entry *entry);
/* Drops the key of an empty collection now, with "del". `expired` is true if its last member has
 * expired. */
void txn_drop_emptied(struct txn *txn, struct entry *entry, bool expired);
/* Writes what has expired so far to the logs of its policies (expiry_log.h). */
void txn_write_expiry_log(struct txn *txn);
/* Removes the call's references to an entry that is about to be freed. */
void txn_forget(struct txn *txn, const struct entry *entry);

/* ---- keys: txn_key.c ---- */

/* Adds an entry with this object, whose ownership passes, and records the event "new". */
struct entry *txn_key_add(struct txn *txn, struct bytes key, struct object object);
/* Replaces the object at key, or adds it; ownership passes. The deadline stays, and the old entry
 * may be invalid. Records only "new", and only for an added key. */
struct entry *txn_key_put(struct txn *txn, struct bytes key, struct object object);
/* As txn_key_drop, but the caller says what ended the key, for the trail (`extra` as in struct
 * trail_event). */
void txn_key_drop_as(struct txn *txn, struct entry *entry, enum event event, enum trail_what what,
                     uint64_t extra);
/* Removes the entry without an effect; the caller owns the object. */
struct object txn_key_remove(struct txn *txn, struct entry *entry);

/* ---- rights to make a value: txn_refresh.c ---- */

/* Ends the right to refresh the value if the effect sets a new value or deletes the value, but not
 * if the value expires or is evicted. */
void txn_refresh_note(struct txn *txn, const struct effect *effect);

/* ---- members: txn_member.c ---- */

/* Rearms the key and records the event, after a put has changed a member's deadline. */
void txn_member_expiry_set(struct txn *txn, struct entry *entry, struct bytes member,
                           enum event event);
/* Rearms the key after members were removed, and notes it if it is empty (txn_note_emptied). */
void txn_member_left(struct txn *txn, struct entry *entry);
/* Records the event that members expired, once, when they are dropped with their key. */
void txn_member_notify_expired(struct txn *txn, struct entry *entry);
/* Removes at most `limit` members that had expired at the instant `by`, in the order of their
 * deadlines, and returns how many. Drops the key with the last member; *entry then becomes NULL. If
 * all have expired and nothing needs their names, removes all at once, whatever the limit. */
size_t txn_member_purge(struct txn *txn, struct entry **entry, msec by, size_t limit);

/* Must a put look up the deadline of an existing member? */
static inline bool txn_life_matters(const struct txn *txn, const struct entry *entry,
                                    struct lifetime life)
{
    if (life.rule == LIFE_ADD || life.rule == LIFE_KEEP)
        return entry->object.has_expiry || txn->store->policies.count > 0;
    return life.rule != LIFE_CLEAR || entry->object.has_expiry;
}
/* Returns the member's deadline after the put. `old` is its deadline before the put, if the member
 * was `present`. */
msec txn_life_at(struct txn *txn, const struct entry *entry, struct lifetime life, bool present,
                 msec old);
/* Has a policy chosen this result of txn_life_at? */
static inline bool txn_life_by_policy(struct lifetime life, msec old, msec at)
{
    return at != NEVER && at != old && life.rule != LIFE_SET && life.rule != LIFE_SET_NEW;
}

/* ---- dehydrators: txn_dehydrator.c ---- */

/* Ends what is over by now: the pause, the spans of remembered ids and, if there are no elements,
 * the rate. Ends about `limit` of these, and returns how many. */
size_t txn_rede_end_spans(struct txn *txn, struct entry *entry, size_t limit);
/* txn_rede_keep_counts keeps the counts of a dehydrator for a while (drained.h) if it is dropped
 * because it became empty, unless store->keeps_counts is false. txn_rede_resume_counts lets a
 * dehydrator that is added at the same key continue these counts, unless it has counts of its
 * own. */
void txn_rede_keep_counts(struct txn *txn, struct entry *entry);
void txn_rede_resume_counts(struct txn *txn, struct entry *entry);
/* Records "rede.due" if elements have become due since the last announcement. The event is not
 * journaled. */
void txn_rede_announce(struct txn *txn, struct entry *entry);

/* ---- streams: txn_stream.c ---- */

/* Removes the first entries that had expired at the instant `by`, and the references of groups to
 * them: about `limit` of both together, at least one entry, with one event "xtrim". First updates
 * the stream's retention if it differs from its policy's. Returns the work done, or 0. */
size_t txn_stream_purge(struct txn *txn, struct entry *entry, msec by, size_t limit);

/* ---- policies: txn_policy.c ---- */

/* A change that makes the key's policy apply when the call ends. */
enum policy_cause {
    POLICY_CREATED, /* the key was created, or its whole value replaced */
    POLICY_WRITTEN,
    POLICY_EXPIRY_SET, /* the command itself set or removed the deadline */
    POLICY_GROWN,      /* a sorted set has a new member, a stream a new entry */
    POLICY_PUSHED_HEAD,
    POLICY_PUSHED_TAIL,
    POLICY_READ,
};
/* txn_note notes, in calls of clients and for entries of expiry logs, that the key's policy applies
 * when the call ends, and why. txn_policy_note is its slow part. */
void txn_policy_note(struct txn *txn, struct entry *entry, enum policy_cause cause);
static inline bool txn_has_policies(const struct txn *txn)
{
    return txn->store->policies.count > 0;
}
static inline void txn_note(struct txn *txn, struct entry *entry, enum policy_cause cause)
{
    if (txn_has_policies(txn) && (txn->origin == FROM_CLIENT || txn->writes_log))
        txn_policy_note(txn, entry, cause);
}
/* Counts a key that a client has set, for POLICY STATS. This function and txn_policy_count_expired
 * look up the policy: call them only if there are any. */
void txn_policy_count_set(struct txn *txn, struct entry *entry);
/* Counts a key that ends because its time is over, if a client of this server has set it. */
void txn_policy_count_expired(struct txn *txn, const struct entry *entry);
/* For a key that was added, or whose whole value was replaced: notes whether a client set it here,
 * and that it was not read. This is noted even without policies, so that POLICY STATS is right from
 * the moment a policy is set. */
static inline void txn_begin_value(struct txn *txn, struct entry *entry)
{
    entry->object.is_set_here = txn->origin == FROM_CLIENT;
    entry->object.was_read = false;
    if (txn_has_policies(txn) && txn->origin == FROM_CLIENT) txn_policy_count_set(txn, entry);
}
/* Returns the policy of the entry's key, or NULL. Remembers the last one. */
const struct policy *txn_policy_of(struct txn *txn, const struct entry *entry);
/* Cancels what the call has noted for the entry: its policy is not applied when the call ends. Call
 * before freeing the entry, or with NULL before freeing all entries. */
void txn_policy_forget(struct txn *txn, const struct entry *entry);
/* Applies the policies of all keys that the call has noted, at its end. */
void txn_policy_end(struct txn *txn);
/* Sets the deadlines of a new value's members by the policy of key, as if the members were added
 * now. O(n) */
void txn_policy_time_members(struct txn *txn, struct bytes key, struct object *object);

/* Sets the deadline of an existing key by TTL and MAXTTL, if the key has none or a later one than
 * MAXTTL allows. For sweep/policy_walk.c, which applies a new policy. */
void txn_policy_limit(struct txn *txn, struct entry *entry, const struct policy *policy);
/* Sets the deadline of an existing member by MEMBERTTL. For the same walk. */
void txn_policy_time_member(struct txn *txn, struct entry *entry, struct bytes member,
                            const struct policy *policy);
/* Sets a stream's retention to its policy's (NULL for none). Returns true if that changed it. */
bool txn_policy_retain(struct txn *txn, struct entry *entry, const struct policy *policy);
/* Cuts a value whose type has a `cut` (txn_type.h) to MAXLEN, by at most `limit` elements, and
 * returns by how many. */
size_t txn_policy_cut(struct txn *txn, struct entry *entry, const struct policy *policy,
                      size_t limit);
/* Marks the policy, which must exist, as applied to all keys. */
void txn_policy_applied(struct txn *txn, struct bytes name);

/* ---- txn_withheld.c: withholds expired members from one call, for reads on a replica ---- */
/* Withholds the expired members of a set, hash, sorted set or lease of which some but not all have
 * expired, or the expired entries of a stream. O(log n) for each expired member, or for each member
 * that the call names (txn_names_members). */
void txn_withhold_expired(struct txn *txn, struct entry *entry);
void txn_give_back(struct txn *txn); /* makes them visible again, at the end of the call */
