/* txn_key: finding keys, settled; making, dropping, renaming them; their deadlines. */
#include "store/txn.h"

/* An entry is about to be freed: the call must not remember it. */
static void forget(struct txn *txn, const struct entry *entry)
{
    if (txn->told_entry == entry) txn->told_entry = NULL;
    for (unsigned i = 0; i < txn->emptied_count; i++)
        if (txn->emptied[i] == entry) txn->emptied[i--] = txn->emptied[--txn->emptied_count];
}

static bool is_dead(const struct txn *txn, const struct entry *entry)
{
    return txn->origin != FROM_REPLAY && instant_dead(entry->expires_at, txn->now);
}

struct entry *txn_find(struct txn *txn, struct bytes key)
{
    struct entry *entry = keyspace_find(txn->ks, key);
    if (entry == NULL || !is_dead(txn, entry)) return entry;
    txn_key_drop(txn, entry, EVENT_EXPIRED);
    return NULL;
}

struct entry *txn_read(struct txn *txn, struct bytes key)
{
    struct entry *entry = txn_find(txn, key);
    if (entry == NULL) {
        txn->store->stats.misses++;
        struct effect effect = { .kind = EFFECT_NONE, .event = EVENT_KEYMISS };
        txn_record_each(txn, key, &effect);
        return NULL;
    }
    txn->store->stats.hits++;
    if (!txn->no_touch) entry->accessed = (uint32_t)(txn->now / 1000);
    return entry;
}

struct entry *txn_key_add(struct txn *txn, struct bytes key, struct object object)
{
    struct entry *entry = keyspace_add(txn->ks, key, object);
    entry->accessed = (uint32_t)(txn->now / 1000);
    struct effect effect = { .kind = EFFECT_NONE, .event = EVENT_NEW };
    txn_record_each(txn, entry_key(entry), &effect);
    return entry;
}

struct entry *txn_create(struct txn *txn, struct bytes key, enum type type)
{
    return txn_key_add(txn, key, object_new(type));
}

void txn_key_drop(struct txn *txn, struct entry *entry, enum event event)
{
    struct effect effect = { .kind = EFFECT_DROP, .event = event };
    txn_record_each(txn, entry_key(entry), &effect);
    if (event == EVENT_EXPIRED) txn->store->stats.expired_keys++;
    forget(txn, entry);
    reclaim_object(&txn->store->reclaim, keyspace_remove(txn->ks, entry));
}

bool txn_key_expire(struct txn *txn, struct entry *entry, msec at)
{
    if (at <= txn->now && txn->origin != FROM_REPLAY) {
        txn_key_drop(txn, entry, EVENT_DEL);
        return false;
    }
    keyspace_set_deadline(txn->ks, entry, at);
    struct effect effect = { .kind = EFFECT_EXPIRE, .event = EVENT_EXPIRE, .at = at };
    txn_record_each(txn, entry_key(entry), &effect);
    return true;
}

bool txn_key_persist(struct txn *txn, struct entry *entry)
{
    if (entry->expires_at == NEVER) return false;
    keyspace_set_deadline(txn->ks, entry, NEVER);
    struct effect effect = { .kind = EFFECT_PERSIST, .event = EVENT_PERSIST };
    txn_record_each(txn, entry_key(entry), &effect);
    return true;
}

void txn_key_rename(struct txn *txn, struct entry *entry, struct bytes to)
{
    struct entry *old = txn_find(txn, to);
    if (old != NULL) {
        forget(txn, old);
        reclaim_object(&txn->store->reclaim, keyspace_remove(txn->ks, old));
    }
    struct entry *moved = txn_key_add(txn, to, entry->object);
    keyspace_set_deadline(txn->ks, moved, entry->expires_at);

    struct effect from = { .kind = EFFECT_RENAME, .event = EVENT_RENAME_FROM, .a = to };
    txn_record_each(txn, entry_key(entry), &from);
    struct effect now = { .kind = EFFECT_NONE, .event = EVENT_RENAME_TO };
    txn_record_each(txn, to, &now);
    forget(txn, entry);
    keyspace_remove(txn->ks, entry);
}

void txn_flush(struct txn *txn, unsigned db)
{
    struct keyspace *ks = &txn->store->databases[db];
    struct effect effect = { .kind = EFFECT_FLUSH };
    struct keyspace *before = txn->ks;
    txn->ks = ks;
    txn_record_each(txn, (struct bytes){ NULL, 0 }, &effect);
    txn->ks = before;
    txn->emptied_count = 0;
    txn->told_entry = NULL;
    if (dict_count(&ks->dict) == 0) return;
    reclaim_keyspace(&txn->store->reclaim, *ks);
    keyspace_init(ks, db);
}

size_t txn_count(struct txn *txn)
{
    return keyspace_count_alive(txn->ks, txn->now);
}

struct entry *txn_random(struct txn *txn)
{
    /* Nearly always the first draw lives. When most are dead, any that lives will do. */
    for (int tries = 0; tries < 100; tries++) {
        struct entry *entry = keyspace_random(txn->ks, random_next, &txn->store->random);
        if (entry == NULL || !is_dead(txn, entry)) return entry;
    }
    struct dict_iter iter;
    dict_iter_begin(&iter, &txn->ks->dict);
    struct entry *entry;
    while ((entry = dict_iter_next(&iter)) != NULL && is_dead(txn, entry))
        continue;
    return entry;
}

struct live_scan {
    const struct txn *txn;
    void (*visit)(void *ctx, struct entry *entry);
    void *ctx;
};

static void visit_live(void *ctx, struct entry *entry)
{
    struct live_scan *scan = ctx;
    if (!is_dead(scan->txn, entry)) scan->visit(scan->ctx, entry);
}

uint64_t txn_scan(struct txn *txn, uint64_t cursor, void (*visit)(void *ctx, struct entry *entry),
                  void *ctx)
{
    struct live_scan scan = { txn, visit, ctx };
    return keyspace_scan(txn->ks, cursor, visit_live, &scan);
}
