/* txn: the life of a transaction, and how an effect is told. */
#include "store/access.h"
#include "store/txn.h"

#include "store/ensure.h"

void txn_begin(struct txn *txn, struct store *store, msec now, enum origin origin)
{
    *txn = (struct txn){ .store = store, .ks = &store->databases[0], .now = now, .origin = origin };
}

/* The collections that the call left empty go. Replay does the same, so it is no effect. */
static void end_call(struct txn *txn)
{
    for (unsigned i = 0; i < txn->emptied_count; i++) {
        struct entry *entry = txn->emptied[i];
        if (object_count(&entry->object) > 0) continue;
        struct effect effect = { .kind = EFFECT_NONE, .event = EVENT_DEL };
        txn_record_each(txn, entry_key(entry), &effect);
        reclaim_object(&txn->store->reclaim, keyspace_remove(txn->ks, entry));
    }
    txn->emptied_count = 0;
    txn->told_entry = NULL;
}

void txn_call(struct txn *txn, unsigned db)
{
    end_call(txn);
    ensure(db < txn->store->database_count, "database %u of %u", db, txn->store->database_count);
    txn->ks = &txn->store->databases[db];
}

void txn_commit(struct txn *txn)
{
    end_call(txn);
    txn->store->changes += txn->changes;
    if (txn->store->listening != 0 && txn->origin != FROM_REPLAY)
        txn->store->listener.commit(txn->store->listener.ctx, txn);
}

static void tell(struct txn *txn, const struct effect *effect)
{
    unsigned wants = txn->store->listening;
    if (wants == 0 || txn->origin == FROM_REPLAY) return;
    if (((wants & LISTEN_CHANGES) && effect->kind != EFFECT_NONE) ||
        ((wants & LISTEN_EVENTS) && effect->event != EVENT_NONE))
        txn->store->listener.effect(txn->store->listener.ctx, effect);
}

void txn_record_each(struct txn *txn, struct bytes key, struct effect *effect)
{
    effect->db = txn->ks->db;
    effect->key = key;
    txn->changes += effect->kind != EFFECT_NONE;
    tell(txn, effect);
}

void txn_record(struct txn *txn, struct entry *entry, struct effect *effect)
{
    access_note(txn->store, entry, txn->now);
    if (txn->told_entry == entry && txn->told_event == effect->event) {
        effect->event = EVENT_NONE;
    } else {
        txn->told_entry = entry;
        txn->told_event = effect->event;
    }
    txn_record_each(txn, entry_key(entry), effect);
}

void txn_note_emptied(struct txn *txn, struct entry *entry)
{
    if (object_count(&entry->object) > 0) return;
    for (unsigned i = 0; i < txn->emptied_count; i++)
        if (txn->emptied[i] == entry) return;
    ensure(txn->emptied_count < TXN_EMPTIED_MAX, "a call that empties more than %d keys",
           TXN_EMPTIED_MAX);
    txn->emptied[txn->emptied_count++] = entry;
}
