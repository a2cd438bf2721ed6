/* txn_call: the begin, calls and commit of a transaction; passes effects to the listener. */
#include "store/txn/effect_row.h"
#include "store/txn/txn_internal.h"
#include "store/txn/txn_trail.h"

#include "store/access.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/txn/expiry_log.h"

/* Must the listener be asked for the mask in this transaction? Not in a replay: it passes the
 * listener no effects, and may run inside another transaction. */
static bool is_heard(const struct txn *txn)
{
    return txn->store->listener.begin != NULL && txn->origin != FROM_REPLAY;
}

void txn_begin(struct txn *txn, struct store *store, msec now, enum origin origin)
{
    *txn = (struct txn){ .store = store, .ks = &store->databases[0], .now = now, .origin = origin };
}

/* The effect has no journal record: a replay drops the emptied key by itself. */
void txn_drop_emptied(struct txn *txn, struct entry *entry, bool expired)
{
    txn_note_key_end(txn, entry, TRAIL_EMPTIED, expired);
    txn_record_event(txn, entry_key(entry), EVENT_DEL);
    reclaim_object(&txn->store->reclaim, txn_key_remove(txn, entry));
}

void txn_write_expiry_log(struct txn *txn)
{
    if (txn->expiry_log != NULL) expiry_log_write(txn);
}

void txn_drop_all_emptied(struct txn *txn)
{
    while (txn->emptied_count > 0) {
        struct entry *entry = txn->emptied[--txn->emptied_count];
        if (object_is_emptied(&entry->object)) txn_drop_emptied(txn, entry, false);
    }
}

/* Does what few calls need. Not inlined, so that it costs other calls little. */
__attribute__((noinline)) static void finish_call(struct txn *txn)
{
    if (txn->withheld != NULL) txn_give_back(txn);
    /* Background expiry first collects many entries, so that one look-up of the log serves all. */
    if (txn->expiry_log != NULL && (txn->origin != FROM_EXPIRY || expiry_log_full(txn->expiry_log)))
        expiry_log_write(txn);
    if (txn->note_count > 0) txn_policy_end(txn);
    txn_drop_all_emptied(txn);
    fair_settle(&txn->store->fair, txn->now);
}

static inline void end_call(struct txn *txn)
{
    if (txn->note_count > 0 || txn->emptied_count > 0 || txn->withheld != NULL ||
        txn->expiry_log != NULL || txn->store->fair.changed_count > 0)
        finish_call(txn);
    if (!txn->one_command) txn->recorded_entry = NULL;
}

void txn_call(struct txn *txn, unsigned db)
{
    end_call(txn);
    ensure(db < txn->store->database_count, "database %u of %u", db, txn->store->database_count);
    txn->ks = &txn->store->databases[db];
    txn->named = NULL;
    txn->newly_read = NULL;

    /* Ask the listener at each call of a client or master, because commands between the calls of a
     * transaction may watch, subscribe or track. Ask once for background work, which makes a call
     * for each key. */
    struct store *store = txn->store;
    bool again = txn->origin == FROM_CLIENT || txn->origin == FROM_MASTER;
    if ((again || !txn->has_begun_call) && is_heard(txn))
        store->event_mask = store->listener.begin(store->listener.ctx, txn);
    txn->has_begun_call = true;
}

void txn_names_members(struct txn *txn, const struct bytes *members, size_t count)
{
    txn->named = members;
    txn->named_count = count;
}

void txn_commit(struct txn *txn)
{
    ensure(txn->has_begun_call || txn->changes == 0 || !is_heard(txn),
           "%llu changes before the first call", (unsigned long long)txn->changes);
    if (txn->expiry_log != NULL) expiry_log_write(txn);
    end_call(txn);
    if (txn->expiry_log != NULL) expiry_log_free(txn->expiry_log);
    txn->expiry_log = NULL;
    if (txn->notes != NULL) mem_free(txn->notes);
    txn->notes = NULL;
    txn->note_cap = 0;
    txn->store->changes += txn->changes;
    if (txn->store->event_mask != 0 && txn->origin != FROM_REPLAY)
        txn->store->listener.commit(txn->store->listener.ctx, txn);
}

static inline void tell_listener(struct txn *txn, const struct effect *effect)
{
    const struct store *store = txn->store;
    unsigned wants = store->event_mask;
    if (wants == 0 || txn->origin == FROM_REPLAY) return;
    bool is_change = (wants & LISTEN_CHANGES) && effect->kind != EFFECT_NONE;
    bool is_event =
        effect->event != EVENT_NONE && (((wants & LISTEN_EVENTS) && !effect->again) ||
                                        ((wants & LISTEN_MEMBERS) && effect_names_member(effect)));
    if (is_change || is_event) store->listener.effect(store->listener.ctx, txn, effect);
}

/* Passes the effect to the parts of the store that follow effects, then to the listener. This is a
 * separate function so that txn_record_each saves no registers while no part follows effects. */
__attribute__((noinline)) static void tell_all(struct txn *txn, const struct effect *effect)
{
    if (effect->kind != EFFECT_NONE && txn->ks->hidden > 0) keyspace_changed(txn->ks, effect->key);
    if (txn->ks->refreshers != NULL) txn_refresh_note(txn, effect);
    if (txn->store->fair.count > 0) fair_note(&txn->store->fair, effect);
    tell_listener(txn, effect);
}

void txn_record_each(struct txn *txn, struct bytes key, struct effect *effect)
{
    effect->db = txn->ks->db;
    effect->key = key;
    txn->changes += effect->kind != EFFECT_NONE && !effect->is_part;
    if (txn->ks->hidden > 0 || txn->ks->refreshers != NULL || txn->store->fair.count > 0)
        tell_all(txn, effect);
    else
        tell_listener(txn, effect);
}

void txn_record_event(struct txn *txn, struct bytes key, enum event event)
{
    /* A right to make a value ends when its key is created. */
    if (!(txn->store->event_mask & LISTEN_EVENTS) && txn->ks->refreshers == NULL) return;
    struct effect effect = { .kind = EFFECT_NONE, .event = event };
    txn_record_each(txn, key, &effect);
}

void txn_notify(struct txn *txn, struct entry *entry, struct effect *effect)
{
    txn_note_member(txn, entry, effect);
    if (txn->recorded_entry != entry) {
        txn->recorded_entry = entry;
        memset(txn->recorded, 0, sizeof(txn->recorded));
    }
    uint64_t bit = (uint64_t)1 << (effect->event % 64);
    uint64_t *word = &txn->recorded[effect->event / 64];
    effect->again = *word & bit;
    *word |= bit;
    txn_record_each(txn, entry_key(entry), effect);
}

void txn_record(struct txn *txn, struct entry *entry, struct effect *effect)
{
    access_note(txn->store, entry, txn->now);
    txn_note(txn, entry, POLICY_WRITTEN);
    txn_notify(txn, entry, effect);
}

void txn_forget(struct txn *txn, const struct entry *entry)
{
    if (txn->recorded_entry == entry) txn->recorded_entry = NULL;
    if (txn->found == entry) txn->found = NULL;
    if (txn->newly_read == entry) txn->newly_read = NULL;
    for (unsigned i = 0; i < txn->emptied_count; i++)
        if (txn->emptied[i] == entry) txn->emptied[i--] = txn->emptied[--txn->emptied_count];
    if (txn->note_count > 0 || txn->ruled_entry == entry) txn_policy_forget(txn, entry);
}

void txn_note_emptied(struct txn *txn, struct entry *entry)
{
    if (!object_is_emptied(&entry->object)) return;
    for (unsigned i = 0; i < txn->emptied_count; i++)
        if (txn->emptied[i] == entry) return;
    ensure(txn->emptied_count < TXN_EMPTIED_MAX, "a call that empties more than %d keys",
           TXN_EMPTIED_MAX);
    txn->emptied[txn->emptied_count++] = entry;
}
