/* txn_policy: applies policies. A call notes what it did to each key. When the call ends, the key's
 * policy is applied once, by ordinary mutators, however often the call changed the key. Their
 * effects are recorded like any others, so that a replay needs no policies and cannot come to
 * another result. */
#include "store/mem/mem.h"
#include "store/txn/txn_internal.h"
#include "store/txn/txn_stream.h"
#include "store/txn/txn_trail.h"
#include "store/txn/txn_type.h"
#include "store/walk.h"

enum { NOTES_MIN = 8 };

/* The notes of a call are an array, in the order in which the keys were first noted. To find the
 * note of an entry, the same array also holds a hash table: chain i begins at notes[i].head and
 * continues by `next`. `head` thus has nothing to do with the other fields of its element, which
 * belong to note i. `head` and `next` are an index + 1, or 0 at the end. */
struct policy_note {
    struct entry *entry; /* NULL once the entry was freed */
    struct keyspace *ks;
    const struct policy *policy;
    unsigned causes;   /* a bit for each enum policy_cause */
    enum list_end end; /* of a list: the end of the last push */
    uint32_t head, next, chain;
};

#define CAUSE(word) (1u << POLICY_##word)

/* Applies the policies of all noted keys now. Call before the table of policies changes, because
 * notes and the cached policy point into the table. */
static void end_before_change(struct txn *txn)
{
    txn_write_expiry_log(txn);
    if (txn->note_count > 0) txn_policy_end(txn);
    txn->ruled_entry = NULL;
}

static void put_policy(struct txn *txn, struct bytes name, struct policy policy)
{
    struct policies *policies = &txn->store->policies;
    policies_set(policies, name, &policy);
    struct effect effect = { .kind = EFFECT_POLICY_SET, .policy = policies_get(policies, name) };
    txn_record_each(txn, name, &effect);
}

void txn_policy_set(struct txn *txn, struct bytes name, const struct policy *policy)
{
    end_before_change(txn);
    struct policy next = *policy;
    if (!txn_replays(txn)) {
        const struct policy *old = policies_get(&txn->store->policies, name);
        if (old != NULL && policy_equal(old, policy)) return;
        bool was_pending = old != NULL && old->pending;
        bool has_keys = false;
        for (unsigned db = 0; db < txn->store->database_count && !has_keys; db++)
            has_keys = keyspace_count(&txn->store->databases[db]) > 0;
        next.pending = has_keys && (was_pending || policy_changes_keys(policy, old));
    }
    put_policy(txn, name, next);
    if (next.fair && txn->origin == FROM_CLIENT)
        fair_keep(&txn->store->fair, txn->ks->db, name, txn->now);
}

void txn_policy_applied(struct txn *txn, struct bytes name)
{
    struct policy policy = *policies_get(&txn->store->policies, name);
    policy.pending = false;
    put_policy(txn, name, policy);
}

bool txn_policy_drop(struct txn *txn, struct bytes name)
{
    end_before_change(txn);
    if (!policies_remove(&txn->store->policies, name)) return false;
    txn_record_each(txn, name, &(struct effect){ .kind = EFFECT_POLICY_DROP });
    return true;
}

const struct policy *txn_policy_of(struct txn *txn, const struct entry *entry)
{
    if (txn->ruled_entry != entry) {
        txn->ruled_entry = entry;
        txn->ruled_by = policies_of(&txn->store->policies, entry_key(entry), NULL);
    }
    return txn->ruled_by;
}

/* Returns the policy's deadline for a member that is added now, or NEVER. */
static msec member_at(struct txn *txn, const struct policy *policy)
{
    if (policy == NULL || policy->member_ttl == 0) return NEVER;
    return policy_spread(policy, policy->member_ttl, txn->now, &txn->store->random);
}

static bool has_policies(const struct txn *txn)
{
    return txn->store->policies.count > 0 && txn->origin == FROM_CLIENT;
}

msec txn_life_at(struct txn *txn, const struct entry *entry, struct lifetime life, bool present,
                 msec old)
{
    if (life.rule == LIFE_SET) return life.at;
    if (life.rule == LIFE_SET_NEW) return present ? old : life.at;
    if (life.rule == LIFE_KEEP && present) return old;
    msec at = has_policies(txn) ? member_at(txn, txn_policy_of(txn, entry)) : NEVER;
    if (at == NEVER && present && life.rule == LIFE_ADD) return old;
    return at;
}

struct timing {
    struct txn *txn;
    const struct policy *policy;
    struct object *copy;
};

static void put_with_expiry(void *ctx, struct effect *effect)
{
    struct timing *timing = ctx;
    effect->at = member_at(timing->txn, timing->policy);
    walk_put(timing->copy, effect);
}

void txn_policy_time_members(struct txn *txn, struct bytes key, struct object *object)
{
    if (!has_policies(txn) || !type_has_members(object->type)) return;
    const struct policy *policy = policies_of(&txn->store->policies, key, NULL);
    if (policy == NULL || policy->member_ttl == 0) return;
    struct object copy = object_new(object->type);
    walk_object(object, put_with_expiry, &(struct timing){ txn, policy, &copy });
    copy.has_expiry = true;
    object_free(object);
    *object = copy;
}

static uint32_t chain_of(const struct txn *txn, const struct entry *entry)
{
    uint64_t mixed = (uint64_t)(uintptr_t)entry * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed >> 32) & (uint32_t)(txn->note_cap - 1);
}

static struct policy_note *note_of(const struct txn *txn, const struct entry *entry)
{
    if (txn->note_count == 0) return NULL;
    uint32_t number = txn->notes[chain_of(txn, entry)].head;
    while (number != 0 && txn->notes[number - 1].entry != entry)
        number = txn->notes[number - 1].next;
    return number != 0 ? &txn->notes[number - 1] : NULL;
}

static void link_note(struct txn *txn, uint32_t index)
{
    struct policy_note *note = &txn->notes[index];
    note->chain = chain_of(txn, note->entry);
    note->next = txn->notes[note->chain].head;
    txn->notes[note->chain].head = index + 1;
}

static bool policy_heeds(const struct policy *policy, enum policy_cause cause)
{
    switch (cause) {
    case POLICY_CREATED:
        return policy->ttl > 0 || policy->max_ttl > 0 || policy->max_len > 0 || policy->retain > 0;
    case POLICY_WRITTEN:
        return policy->max_ttl > 0 || (policy->ttl > 0 && policy->refresh != REFRESH_NEVER);
    case POLICY_EXPIRY_SET: return policy->ttl > 0 || policy->max_ttl > 0;
    case POLICY_GROWN: return policy->max_len > 0 || policy->retain > 0;
    case POLICY_PUSHED_HEAD:
    case POLICY_PUSHED_TAIL: return policy->max_len > 0;
    case POLICY_READ: return policy->ttl > 0 && policy->refresh == REFRESH_ACCESS;
    }
    return false;
}

void txn_policy_note(struct txn *txn, struct entry *entry, enum policy_cause cause)
{
    /* Some reads are no access: TTL, EXISTS, and reads under CLIENT NO-TOUCH. During CLIENT PAUSE
     * nothing may change. */
    if (cause == POLICY_READ && (txn->no_touch || txn->no_expiry)) return;
    struct policy_note *note = note_of(txn, entry);
    if (note == NULL) {
        const struct policy *policy = txn_policy_of(txn, entry);
        if (policy == NULL || !policy_heeds(policy, cause)) return;
        if (txn->note_count == txn->note_cap) {
            size_t cap = txn->note_cap > 0 ? 2 * txn->note_cap : NOTES_MIN;
            txn->notes = mem_realloc(txn->notes, cap * sizeof(*txn->notes));
            txn->note_cap = cap;
            for (size_t i = 0; i < cap; i++)
                txn->notes[i].head = 0;
            for (uint32_t i = 0; i < txn->note_count; i++)
                if (txn->notes[i].entry != NULL) link_note(txn, i);
        }
        note = &txn->notes[txn->note_count];
        note->entry = entry;
        note->ks = txn->ks;
        note->policy = policy;
        note->causes = 0;
        note->end = LIST_TAIL;
        link_note(txn, (uint32_t)txn->note_count++);
    }
    note->causes |= 1u << cause;
    if (cause == POLICY_PUSHED_HEAD) note->end = LIST_HEAD;
    if (cause == POLICY_PUSHED_TAIL) note->end = LIST_TAIL;
}

void txn_policy_count_set(struct txn *txn, struct entry *entry)
{
    const struct policy *policy = txn_policy_of(txn, entry);
    if (policy != NULL) policy->stats->set++;
}

void txn_policy_count_expired(struct txn *txn, const struct entry *entry)
{
    if (!entry->object.is_set_here) return;
    const struct policy *policy = txn_policy_of(txn, entry);
    if (policy == NULL) return;
    struct policy_stats *stats = policy->stats;
    ++*(entry->object.was_read ? &stats->expired_read : &stats->expired_unread);
}

static void forget_all(struct txn *txn)
{
    for (size_t i = 0; i < txn->note_count; i++)
        txn->notes[txn->notes[i].chain].head = 0;
    txn->note_count = 0;
    txn->ruled_entry = NULL;
}

void txn_call_failed(struct txn *txn)
{
    for (size_t i = 0; i < txn->note_count; i++)
        if (txn->notes[i].causes == CAUSE(READ)) txn->notes[i].entry = NULL;
    if (txn->newly_read != NULL) txn->newly_read->object.was_read = false;
}

void txn_policy_forget(struct txn *txn, const struct entry *entry)
{
    if (entry == NULL) {
        forget_all(txn);
        return;
    }
    if (txn->ruled_entry == entry) txn->ruled_entry = NULL;
    struct policy_note *note = note_of(txn, entry);
    if (note != NULL) note->entry = NULL;
}

bool txn_policy_retain(struct txn *txn, struct entry *entry, const struct policy *policy)
{
    if (entry->object.type != TYPE_STREAM) return false;
    msec span = policy != NULL ? policy->retain : 0;
    if (stream_retention(entry->object.stream) == span) return false;
    txn_stream_set_retention(txn, entry, span);
    return true;
}

size_t txn_policy_cut(struct txn *txn, struct entry *entry, const struct policy *policy,
                      size_t limit)
{
    size_t count = object_count(&entry->object);
    if (policy->max_len == 0 || count <= policy->max_len) return 0;
    size_t excess = count - (size_t)policy->max_len;
    if (excess > limit) excess = limit;
    uint32_t by = txn_trail_ruled(txn, POLICY_MAXLEN);
    txn_type_of(entry)->cut(txn, entry, policy, excess);
    txn_trail_unruled(txn, by);
    return excess;
}

void txn_policy_limit(struct txn *txn, struct entry *entry, const struct policy *policy)
{
    msec old = entry_expires_at(txn->ks, entry), at;
    const struct policy_use use = { .now = txn->now, .at = old, .created = true };
    msec by_ttl = policy_ttl_deadline(policy, &use, &txn->store->random);
    at = policy_limit(policy, by_ttl, txn->now);
    if (at == old) return;
    uint32_t by = txn_trail_ruled(txn, at == by_ttl ? POLICY_TTL : POLICY_MAXTTL);
    txn_key_expire(txn, entry, at);
    txn_trail_unruled(txn, by);
}

void txn_policy_time_member(struct txn *txn, struct entry *entry, struct bytes member,
                            const struct policy *policy)
{
    uint32_t by = txn_trail_ruled(txn, POLICY_MEMBERTTL);
    txn_member_expire(txn, entry, member, member_at(txn, policy));
    txn_trail_unruled(txn, by);
}

static void follow_policy(struct txn *txn, const struct policy_note *note)
{
    if (note->causes & (CAUSE(CREATED) | CAUSE(GROWN)))
        txn_policy_retain(txn, note->entry, note->policy);

    enum { GREW = CAUSE(CREATED) | CAUSE(GROWN) | CAUSE(PUSHED_HEAD) | CAUSE(PUSHED_TAIL) };
    size_t count = object_count(&note->entry->object), most = (size_t)note->policy->max_len;
    if (most > 0 && (note->causes & GREW) && count > most) {
        /* A list that was stored as a whole counts as pushed to its tail. */
        if (note->entry->object.type == TYPE_LIST && note->end == LIST_HEAD)
            txn_list_keep(txn, note->entry, 0, most);
        else if (note->entry->object.type == TYPE_LIST)
            txn_list_keep(txn, note->entry, count - most, count);
        else if (txn_type_of(note->entry)->cut != NULL)
            txn_policy_cut(txn, note->entry, note->policy, SIZE_MAX);
    }

    /* A deadline that the command itself set is changed by MAXTTL only. */
    enum policy_refresh refresh = note->policy->refresh;
    bool read_only = note->causes == CAUSE(READ);
    msec old = entry_expires_at(note->ks, note->entry);
    const struct policy_use use = {
        .now = txn->now,
        .at = old,
        .created = note->causes & CAUSE(CREATED),
        .expiry_set = note->causes & CAUSE(EXPIRY_SET),
        .refreshed = read_only ? refresh == REFRESH_ACCESS : refresh != REFRESH_NEVER,
    };
    msec at = policy_ttl_deadline(note->policy, &use, &txn->store->random);
    enum policy_option option = use.created ? POLICY_TTL : POLICY_REFRESH;
    if ((!read_only || at != old) && note->policy->max_ttl > 0) {
        msec limited = policy_limit(note->policy, at, txn->now);
        if (limited != at) option = POLICY_MAXTTL;
        at = limited;
    }
    if (at == old) return;
    uint32_t by = txn_trail_ruled(txn, option);
    if (read_only) {
        /* Unlike txn_key_expire, mark the effect as made by a read, so that WATCH and client caches
         * see no change of the key. */
        struct effect effect = {
            .kind = EFFECT_EXPIRE, .event = EVENT_EXPIRE, .by_read = true, .at = at
        };
        keyspace_set_deadline(txn->ks, note->entry, at);
        txn_note_deadline(txn, note->entry, at);
        txn_record_each(txn, entry_key(note->entry), &effect);
    } else {
        txn_key_expire(txn, note->entry, at);
    }
    txn_trail_unruled(txn, by);
}

void txn_policy_end(struct txn *txn)
{
    struct keyspace *ks = txn->ks;
    /* Applying a policy notes the same entries again, which reuses their notes. */
    for (size_t i = 0; i < txn->note_count; i++) {
        const struct policy_note note = txn->notes[i];
        if (note.entry == NULL || object_is_emptied(&note.entry->object)) continue;
        txn->ks = note.ks;
        follow_policy(txn, &note);
    }
    txn->ks = ks;
    forget_all(txn);
}
