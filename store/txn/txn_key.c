/* txn_key: finds keys without their expired data; creates, drops, renames and copies keys; sets
 * their deadlines. */
#include "store/access.h"
#include "store/base/siphash.h"
#include "store/brief.h"
#include "store/mem/mem.h"
#include "store/policy_progress.h"
#include "store/txn/expiry_log.h"
#include "store/txn/txn_internal.h"
#include "store/txn/txn_trail.h"
#include "store/txn/txn_type.h"
#include "store/walk.h"

static bool is_expired(const struct txn *txn, const struct entry *entry)
{
    return !txn_replays(txn) && entry_expired(txn->ks, entry, txn->now);
}

/* Call before a key is dropped: records the event of members that had expired at the instant `by`.
 * Removes the members one by one only if a listener or a log needs each name. Returns NULL if this
 * has dropped the key. */
static struct entry *settle_before_drop(struct txn *txn, struct entry *entry, msec by)
{
    const struct object *object = &entry->object;
    struct bytes member;
    msec at;
    if (!object->has_expiry || !object_member_first(object, &member, &at) ||
        !instant_expired(at, by))
        return entry;
    if ((txn->store->event_mask & LISTEN_MEMBERS) || object_all_expired(object, by) ||
        expiry_is_logged(txn, entry))
        txn_member_purge(txn, &entry, by, SIZE_MAX);
    else
        txn_member_notify_expired(txn, entry);
    return entry;
}

static struct entry *settle_entry(struct txn *txn, struct entry *entry)
{
    msec at = entry_expires_at(txn->ks, entry);
    if (instant_expired(at, txn->now)) {
        if (txn->no_expiry) return NULL;
        /* Members that expired before their key are recorded first, as if removed on time. */
        entry = settle_before_drop(txn, entry, at);
        if (entry != NULL) txn_key_drop(txn, entry, EVENT_EXPIRED);
        return NULL;
    }
    bool is_due =
        entry->object.has_expiry && due_at_come(object_next_due(&entry->object), txn->now);
    return is_due ? txn_type_of(entry)->settle(txn, entry) : entry;
}

struct entry *txn_find_without_lru(struct txn *txn, struct bytes key)
{
    uint64_t hash = siphash(key.data, key.len);
    struct entry *entry = keyspace_find_hashed(txn->ks, key, hash);
    txn->found = entry;
    txn->found_hash = hash;
    bool has_expired = due_at_come(keyspace_next_due(txn->ks), txn->now) && !txn_replays(txn);
    return entry != NULL && has_expired ? settle_entry(txn, entry) : entry;
}

static void note_access(const struct txn *txn, struct entry *entry)
{
    if (!txn->no_touch) access_note(txn->store, entry, txn->now);
}

struct entry *txn_find(struct txn *txn, struct bytes key)
{
    struct entry *entry = txn_find_without_lru(txn, key);
    if (entry != NULL) note_access(txn, entry);
    return entry;
}

void txn_miss_again(struct txn *txn, struct bytes key)
{
    txn->store->stats.misses++;
    txn_record_event(txn, key, EVENT_KEYMISS);
}

static struct entry *note_read(struct txn *txn, struct bytes key, struct entry *entry)
{
    if (entry == NULL) {
        if (txn->store->trail != NULL) txn_trail_miss(txn, key);
        txn_miss_again(txn, key);
        return NULL;
    }
    txn->store->stats.hits++;
    txn->newly_read = entry->object.was_read ? NULL : entry;
    entry->object.was_read = true;
    note_access(txn, entry);
    txn_note(txn, entry, POLICY_READ);
    return entry;
}

struct entry *txn_find_counted(struct txn *txn, struct bytes key)
{
    return note_read(txn, key, txn_find_without_lru(txn, key));
}

static struct entry *find_alive(const struct txn *txn, const struct keyspace *ks, struct bytes key)
{
    struct entry *entry = keyspace_find(ks, key);
    bool is_expired = entry != NULL && !txn_replays(txn) && entry_expired(ks, entry, txn->now);
    return is_expired ? NULL : entry;
}

bool txn_exists_in(const struct txn *txn, unsigned db, struct bytes key)
{
    return find_alive(txn, &txn->store->databases[db], key) != NULL;
}

struct entry *txn_find_unsettled(struct txn *txn, struct bytes key)
{
    return note_read(txn, key, find_alive(txn, txn->ks, key));
}

bool txn_member_lives(const struct txn *txn, const struct entry *entry, struct bytes member)
{
    msec at;
    return object_member_deadline(&entry->object, member, &at) && !instant_expired(at, txn->now);
}

static void note_added(struct txn *txn, struct entry *entry)
{
    const struct txn_type *type = txn_type_of(entry);
    if (type->added != NULL) type->added(txn, entry);
}

static void note_removing(struct txn *txn, struct entry *entry)
{
    const struct txn_type *type = txn_type_of(entry);
    if (type->removing != NULL) type->removing(txn, entry);
}

static struct entry *add_key(struct txn *txn, struct bytes key, struct object object,
                             bool is_counted)
{
    struct entry *entry = keyspace_add(txn->ks, key, object);
    txn->found = entry;
    txn->found_hash = siphash(key.data, key.len);
    access_begin(txn->store, entry, txn->now);
    if (is_counted) txn_begin_value(txn, entry);
    txn_note(txn, entry, POLICY_CREATED);
    note_added(txn, entry);
    txn_record_event(txn, entry_key(entry), EVENT_NEW);
    return entry;
}

struct entry *txn_key_add(struct txn *txn, struct bytes key, struct object object)
{
    return add_key(txn, key, object, true);
}

struct entry *txn_key_put(struct txn *txn, struct bytes key, struct object object)
{
    struct entry *entry = txn_find(txn, key);
    if (entry == NULL) return txn_key_add(txn, key, object);
    note_removing(txn, entry);
    struct object old = entry->object;
    struct entry *now = keyspace_replace(txn->ks, entry, object);
    if (now != entry) txn_forget(txn, entry);
    note_added(txn, now);
    /* A SET to which nothing listens records no effect that would inform the index of turns. */
    if (txn->store->fair.count > 0) fair_note_key(&txn->store->fair, txn->ks->db, entry_key(now));
    reclaim_object(&txn->store->reclaim, old);
    access_note(txn->store, now, txn->now);
    return now;
}

struct entry *txn_create(struct txn *txn, struct bytes key, enum type type)
{
    return txn_key_add(txn, key, object_new(type));
}

struct entry *txn_create_uncounted(struct txn *txn, struct bytes key, enum type type)
{
    return add_key(txn, key, object_new(type), false);
}

struct object txn_key_remove(struct txn *txn, struct entry *entry)
{
    note_removing(txn, entry);
    txn_forget(txn, entry);
    return keyspace_remove(txn->ks, entry);
}

void txn_key_drop(struct txn *txn, struct entry *entry, enum event event)
{
    uint64_t extra = event == EVENT_EVICTED ? mem_used() / 1024 : 0;
    enum trail_what what = event == EVENT_EXPIRED   ? TRAIL_EXPIRED
                           : event == EVENT_EVICTED ? TRAIL_EVICTED
                                                    : TRAIL_DELETED;
    txn_key_drop_as(txn, entry, event, what, extra);
}

void txn_key_drop_as(struct txn *txn, struct entry *entry, enum event event, enum trail_what what,
                     uint64_t extra)
{
    txn_note_key_end(txn, entry, what, extra);
    txn_record_each(txn, entry_key(entry), &(struct effect){ .kind = EFFECT_DROP, .event = event });
    if (event == EVENT_EXPIRED) {
        txn->store->stats.expired_keys++;
        histogram_add(&txn->store->stats.lag, txn->now - entry_expires_at(txn->ks, entry), 1);
    }
    bool logged = event == EVENT_EXPIRED && expiry_is_logged(txn, entry);
    bool keeps = logged && expiry_log_key(txn, entry);
    struct object object = txn_key_remove(txn, entry);
    if (keeps)
        expiry_log_keep(txn, object);
    else
        reclaim_object(&txn->store->reclaim, object);
}

void txn_key_end(struct txn *txn, struct entry *entry)
{
    struct effect effect = { .kind = EFFECT_DROP, .event = EVENT_DEL };
    /* Not by txn_key_drop with EVENT_EXPIRED. That would count how late the expiry is, although no
     * deadline passed, and would write to the logs of policies, which a replica does not do. */
    if (txn->on_replica) {
        effect.event = EVENT_EXPIRED;
        txn->store->stats.expired_keys++;
    }
    txn_note_end(txn, entry, TRAIL_DELETED, 0);
    txn_record_each(txn, entry_key(entry), &effect);
    reclaim_object(&txn->store->reclaim, txn_key_remove(txn, entry));
}

/* Not inlined, so that txn_key_expire saves fewer registers. */
__attribute__((noinline)) static void record_expire(struct txn *txn, const struct entry *entry,
                                                    msec at)
{
    /* Static, so that the many unused fields are zeroed only once. */
    static struct effect effect = { .kind = EFFECT_EXPIRE, .event = EVENT_EXPIRE };
    effect.at = at;
    txn_record_each(txn, entry_key(entry), &effect);
}

bool txn_key_expire(struct txn *txn, struct entry *entry, msec at)
{
    if (instant_past(at, txn->now) && !txn_replays(txn)) {
        if (txn->on_replica) txn_record_event(txn, entry_key(entry), EVENT_EXPIRE);
        txn_key_end(txn, entry);
        return false;
    }
    keyspace_set_deadline(txn->ks, entry, at);
    txn_note_deadline(txn, entry, at);
    txn_note(txn, entry, POLICY_EXPIRY_SET);
    if (txn_is_unheard(txn)) {
        txn->changes++;
        return true;
    }
    struct brief_tail *tail = txn_brief_tail(txn);
    const struct brief_parts parts = { .key = entry_key(entry), .number = (uint64_t)at };
    if (tail != NULL && brief_append(tail, txn->ks->db, BRIEF_EXPIRE, &parts, BRIEF_SHORT))
        txn->changes++;
    else
        record_expire(txn, entry, at);
    return true;
}

bool txn_key_persist(struct txn *txn, struct entry *entry)
{
    if (entry_expires_at(txn->ks, entry) == NEVER) return false;
    txn_note_end(txn, entry, TRAIL_REMOVED, 0);
    keyspace_set_deadline(txn->ks, entry, NEVER);
    txn_note(txn, entry, POLICY_EXPIRY_SET);
    struct effect effect = { .kind = EFFECT_PERSIST, .event = EVENT_PERSIST };
    txn_record_each(txn, entry_key(entry), &effect);
    return true;
}

/* Removes a key that another key replaces, without an event of its own. Returns false if there is
 * no such key. */
static bool vacate_key(struct txn *txn, struct bytes key)
{
    struct entry *old = keyspace_find(txn->ks, key);
    if (old != NULL && due_at_come(keyspace_next_due(txn->ks), txn->now) && !txn_replays(txn)) {
        bool is_expired = instant_expired(entry_expires_at(txn->ks, old), txn->now);
        if (is_expired || txn_type_of(old)->due_stays)
            old = settle_entry(txn, old);
        else
            old = settle_before_drop(txn, old, txn->now);
    }
    if (old == NULL) return false;
    txn_note_end(txn, old, TRAIL_OVERWRITTEN, 0);
    reclaim_object(&txn->store->reclaim, txn_key_remove(txn, old));
    return true;
}

void txn_key_rename(struct txn *txn, struct entry *entry, struct bytes to)
{
    vacate_key(txn, to);
    rewind_entry(&txn->store->rewind, txn->ks, entry);
    struct entry *moved = txn_key_add(txn, to, entry->object);
    moved->accessed = entry->accessed;
    msec at = entry_expires_at(txn->ks, entry);
    keyspace_set_deadline(txn->ks, moved, at);
    if (at != NEVER) txn_note_deadline(txn, moved, at);
    if (txn->store->trail != NULL) {
        uint64_t hash = trail_hash(siphash(to.data, to.len), txn->ks->db);
        txn_trail_end(txn, entry, TRAIL_RENAMED, trail_extra(hash));
    }

    struct effect from = { .kind = EFFECT_RENAME, .event = EVENT_RENAME_FROM, .a = to };
    txn_record_each(txn, entry_key(entry), &from);
    txn_record_event(txn, to, EVENT_RENAME_TO);
    txn_forget(txn, entry);
    keyspace_remove(txn->ks, entry);
}

static void record_in(struct txn *txn, unsigned db, struct bytes key, struct effect *effect)
{
    struct keyspace *before = txn->ks;
    txn->ks = &txn->store->databases[db];
    txn_record_each(txn, key, effect);
    txn->ks = before;
}

void txn_key_copy(struct txn *txn, struct entry *entry, unsigned db, struct bytes to)
{
    struct keyspace *before = txn->ks;
    struct object copy = walk_copy(&entry->object);
    msec at = entry_expires_at(txn->ks, entry);
    txn->ks = &txn->store->databases[db];
    vacate_key(txn, to);
    struct entry *added = txn_key_add(txn, to, copy);
    keyspace_set_deadline(txn->ks, added, at);
    if (at != NEVER) txn_note_deadline(txn, added, at);
    txn->ks = before;

    struct effect effect = { .kind = EFFECT_COPY, .a = to, .to = db };
    txn_record_each(txn, entry_key(entry), &effect);
    record_in(txn, db, to, &(struct effect){ .kind = EFFECT_NONE, .event = EVENT_COPY_TO });
}

bool txn_key_move(struct txn *txn, struct entry *entry, unsigned db)
{
    struct keyspace *from = txn->ks;
    struct bytes key = entry_key(entry);
    msec at = entry_expires_at(from, entry);
    if (txn_exists_in(txn, db, key)) return false;
    rewind_entry(&txn->store->rewind, from, entry);
    txn->ks = &txn->store->databases[db];
    vacate_key(txn, key); /* an expired one */
    struct entry *moved = txn_key_add(txn, key, entry->object);
    moved->accessed = entry->accessed;
    keyspace_set_deadline(txn->ks, moved, at);
    if (at != NEVER) txn_note_deadline(txn, moved, at);
    txn->ks = from;
    txn_note_end(txn, entry, TRAIL_MOVED, db);

    struct effect effect = { .kind = EFFECT_MOVE, .event = EVENT_MOVE_FROM, .to = db };
    txn_record_each(txn, key, &effect);
    record_in(txn, db, key, &(struct effect){ .kind = EFFECT_NONE, .event = EVENT_MOVE_TO });
    txn_forget(txn, entry);
    keyspace_remove(txn->ks, entry);
    return true;
}

struct recording {
    struct txn *txn;
    struct entry *entry;
};

static void record_element(void *ctx, struct effect *effect)
{
    struct recording *recording = ctx;
    txn_record_each(recording->txn, entry_key(recording->entry), effect);
}

static void record_whole(struct txn *txn, struct entry *entry, enum event event)
{
    struct recording recording = { txn, entry };
    if (txn->store->event_mask & LISTEN_CHANGES)
        walk_object(&entry->object, record_element, &recording);
    else
        txn->changes++;
    if (txn->store->fair.count > 0) fair_note_key(&txn->store->fair, txn->ks->db, entry_key(entry));
    msec at = entry_expires_at(txn->ks, entry);
    struct effect expire = { .kind = EFFECT_EXPIRE, .at = at };
    if (at != NEVER) txn_record_each(txn, entry_key(entry), &expire);
    txn_record_event(txn, entry_key(entry), event);
}

struct entry *txn_key_store(struct txn *txn, struct bytes key, struct object object,
                            enum event event)
{
    struct entry *entry = txn_find(txn, key);
    if (object_is_emptied(&object)) {
        object_free(&object);
        if (entry != NULL) txn_key_drop(txn, entry, EVENT_DEL);
        return NULL;
    }
    txn_policy_time_members(txn, key, &object);
    if (entry != NULL) {
        if (entry_expires_at(txn->ks, entry) != NEVER || entry->object.has_expiry)
            txn_note_end(txn, entry, TRAIL_OVERWRITTEN, 0);
        txn_record_each(txn, key, &(struct effect){ .kind = EFFECT_DROP });
    }
    bool replaces = entry != NULL;
    entry = txn_key_put(txn, key, object);
    if (replaces) txn_begin_value(txn, entry);
    keyspace_set_deadline(txn->ks, entry, NEVER);
    txn_note(txn, entry, POLICY_CREATED);
    record_whole(txn, entry, event);
    return entry;
}

struct entry *txn_key_restore(struct txn *txn, struct bytes key, struct object object, msec at)
{
    struct effect drop = { .kind = EFFECT_DROP };
    if (vacate_key(txn, key)) txn_record_each(txn, key, &drop);
    if (txn_types[object.type].adopt != NULL) txn_types[object.type].adopt(txn, &object);
    struct entry *entry = txn_key_add(txn, key, object);
    keyspace_set_deadline(txn->ks, entry, at);
    if (at != NEVER) txn_note_deadline(txn, entry, at);
    if (at != NEVER) txn_note(txn, entry, POLICY_EXPIRY_SET);
    record_whole(txn, entry, EVENT_RESTORE);
    return entry;
}

void txn_key_accessed(struct txn *txn, struct entry *entry, int64_t idle_seconds, int frequency)
{
    access_set(txn->store, entry, txn->now, idle_seconds, frequency);
}

void txn_swap(struct txn *txn, unsigned a, unsigned b)
{
    if (a == b) return;
    txn_call(txn, txn->ks->db); /* the call may hold references to entries of both databases */
    struct keyspace *databases = txn->store->databases, kept = databases[a];
    databases[a] = databases[b];
    databases[b] = kept;
    databases[a].db = a;
    databases[b].db = b;
    policy_progress_swap(txn->store->policy_progress, a, b);
    rewind_swapped(&txn->store->rewind);
    txn_trail_whole(txn, a, TRAIL_SWAPPED, b);
    txn_trail_whole(txn, b, TRAIL_SWAPPED, a);
    record_in(txn, a, (struct bytes){ NULL, 0 }, &(struct effect){ .kind = EFFECT_SWAP, .to = b });
}

static void flush(struct txn *txn, unsigned db)
{
    struct keyspace *ks = &txn->store->databases[db];
    record_in(txn, db, (struct bytes){ NULL, 0 }, &(struct effect){ .kind = EFFECT_FLUSH });
    txn->emptied_count = 0;
    txn->recorded_entry = NULL;
    txn->newly_read = NULL;
    txn->found = NULL;
    txn_policy_forget(txn, NULL);
    if (keyspace_is_blank(ks)) return;
    reclaim_keyspace(&txn->store->reclaim, *ks);
    keyspace_init(ks, db);
}

void txn_flush(struct txn *txn, unsigned db)
{
    txn_trail_whole(txn, db, TRAIL_FLUSHED, 0);
    flush(txn, db);
}

void txn_flush_all(struct txn *txn)
{
    txn_trail_whole(txn, TRAIL_ALL_DATABASES, TRAIL_FLUSHED, 0);
    for (unsigned db = 0; db < txn->store->database_count; db++)
        flush(txn, db);
    txn->store->flushed_at = txn->store->changes + txn->changes;
}

/* Call before visiting all keys, so that expired keys that must stay are not visited each time. */
static void hide_expired(struct txn *txn)
{
    if (txn->no_expiry) keyspace_hide(txn->ks, txn->now, SIZE_MAX);
}

size_t txn_count(struct txn *txn)
{
    hide_expired(txn);
    return keyspace_count_alive(txn->ks, txn->now);
}

struct entry *txn_random(struct txn *txn)
{
    /* Nearly always the first draw is a key that has not expired. */
    for (int tries = 0; tries < 100; tries++) {
        struct entry *entry = keyspace_random(txn->ks, random_next, &txn->store->random);
        if (entry == NULL || !is_expired(txn, entry)) return entry;
    }
    hide_expired(txn);
    return keyspace_random_alive(txn->ks, txn->now, random_next, &txn->store->random);
}

struct live_scan {
    const struct txn *txn;
    void (*visit)(void *ctx, struct entry *entry);
    void *ctx;
};

static void visit_live(void *ctx, struct entry *entry)
{
    struct live_scan *scan = ctx;
    if (!is_expired(scan->txn, entry)) scan->visit(scan->ctx, entry);
}

uint64_t txn_scan(struct txn *txn, uint64_t cursor, void (*visit)(void *ctx, struct entry *entry),
                  void *ctx)
{
    struct live_scan scan = { txn, visit, ctx };
    return keyspace_scan(txn->ks, cursor, visit_live, &scan);
}
