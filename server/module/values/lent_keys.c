/* lent_keys: see lent_keys.h. */
#include "server/module/values/lent_keys.h"

#include "server/base/tzdata.h"
#include "server/module/values/canonical.h"
#include "server/module/values/held_value.h"
#include "store/base/ensure.h"
#include "store/calendar/calendar.h"
#include "store/guest.h"
#include "store/mem/mem.h"

static struct store *store;
static struct deadline never;
static struct lent_keys *current; /* the keys whose values are in the store */

static int class_of(enum event event)
{
    switch (event_class(event)) {
    case 's': return NOTIFY_SET;
    case 'h': return NOTIFY_HASH;
    case 'z': return NOTIFY_ZSET;
    case 'd': return NOTIFY_MODULE;
    case 'g': return NOTIFY_GENERIC;
    default: return 0; /* the host notifies "new" and "keymiss" */
    }
}

/* Makes room for twice as many items of `size` bytes. The first LENT_FEW items are in `few`. */
static void *grow(void *items, const void *few, unsigned *cap, size_t size)
{
    *cap *= 2;
    if (items != few) return mem_realloc(items, *cap * size);
    return memcpy(mem_alloc(*cap * size), few, LENT_FEW * size);
}

static void on_effect(void *ctx, const struct txn *txn, const struct effect *effect)
{
    (void)txn;
    struct lent_keys *lent = *(struct lent_keys **)ctx;
    bool has_event = class_of(effect->event) != 0 && !effect->again;
    if (effect->kind == EFFECT_NONE && !has_event) return;
    /* Most effects are about the same key as the one before. */
    unsigned index = lent->last, tried = 0;
    for (; tried < lent->count; tried++) {
        if (bytes_equal(api_bytes(lent->keys[index].name), effect->key)) break;
        index = index + 1 < lent->count ? index + 1 : 0;
    }
    ensure(tried < lent->count, "an effect on a key that was not lent: %.*s", (int)effect->key.len,
           effect->key.data);
    lent->last = index;
    struct lent_key *key = &lent->keys[index];
    if (effect->kind != EFFECT_NONE) {
        key->changed = true;
        if (effect->kind == EFFECT_DROP) key->replaced = true;
        if (!lent->verbatim) canonical_put(effect);
    }
    if (!has_event) return;
    key->has_event = true;
    if (lent->event_count == lent->event_cap)
        lent->events =
            grow(lent->events, lent->few_events, &lent->event_cap, sizeof(*lent->events));
    lent->events[lent->event_count++] = (struct lent_event){ index, effect->event };
}

static void on_commit(void *ctx, const struct txn *txn)
{
    (void)ctx;
    (void)txn;
}

void lent_keys_init(void)
{
    const struct effect_listener listener = { .effect = on_effect,
                                              .commit = on_commit,
                                              .ctx = &current };
    store = store_new(1);
    tokens_disable(&store->tokens);
    calendar_set_reader(store->calendar, tzdata_read);
    store->keeps_counts = false; /* keys of all databases of the host are lent here */
    guest_prepare(store, &never);
    store_listen(store, LISTEN_CHANGES | LISTEN_EVENTS, &listener);
}

void lent_keys_use_policies(const struct policies *policies)
{
    guest_use_policies(store, policies);
}

void lent_keys_begin(struct lent_keys *lent, RedisModuleCtx *ctx, bool writes)
{
    *lent =
        (struct lent_keys){ .ctx = ctx, .writes = writes, .cap = LENT_FEW, .event_cap = LENT_FEW };
    lent->keys = lent->few;
    lent->events = lent->few_events;
    current = lent;
}

bool lent_keys_overdue(const struct lent_keys *lent, msec now)
{
    for (unsigned i = 0; i < lent->count; i++)
        if (due_at_come(lent->keys[i].next, now)) return true;
    return false;
}

struct store *lent_keys_store(void)
{
    return store;
}

/* An empty list represents a value that is not of our types, so that the command replies WRONGTYPE
 * where it uses the key. */
void lent_keys_open(struct lent_keys *lent, RedisModuleString *name)
{
    struct lent_key key = { .name = name, .next = DUE_AT_NEVER, .next_before = DUE_AT_NEVER };
    struct bytes text = api_bytes(key.name);
    if (lent->count > 0 && keyspace_find(store_database(store, 0), text) != NULL) return;
    key.key = redis.OpenKey(lent->ctx, name, lent->writes ? KEY_WRITE : KEY_READ);
    key.held = held_value_of(key.key);
    key.foreign = key.held == NULL && redis.KeyType(key.key) != KEYTYPE_EMPTY;
    if (key.foreign) guest_lend(store, text, object_new(TYPE_LIST));
    if (key.held != NULL) {
        key.type = key.held->object.type;
        key.next = key.next_before = guest_lend(store, text, key.held->object);
    }
    if (lent->count == lent->cap)
        lent->keys = grow(lent->keys, lent->few, &lent->cap, sizeof(*lent->keys));
    lent->keys[lent->count++] = key;
}

void lent_keys_take_back(struct lent_keys *lent)
{
    bool changed = false;
    for (unsigned i = 0; i < lent->count; i++) {
        struct lent_key *key = &lent->keys[i];
        struct object object;
        key->next = DUE_AT_NEVER;
        bool exists = guest_take(store, api_bytes(key->name), &object, &key->next);
        if (key->foreign && !key->replaced) {
            if (exists) object_free(&object);
        } else if (exists && key->held != NULL && key->type == object.type) {
            key->held->object = object;
            /* A value that was replaced loses its deadline, as values of the host do. */
            if (key->replaced && redis.GetAbsExpire(key->key) != NO_EXPIRE)
                redis.SetExpire(key->key, NO_EXPIRE);
        } else {
            /* The store has freed the old value, so give the host an empty one to free. */
            if (key->held != NULL) key->held->object = object_new(key->type);
            if (key->held != NULL || key->foreign) redis.DeleteKey(key->key);
            if (exists) held_value_put(key->key, held_value_new(object));
        }
        redis.CloseKey(key->key);
        changed |= key->changed;
    }
    ensure(store_count(store) == 0, "%zu keys were written that were not lent", store_count(store));
    if (!lent->verbatim)
        canonical_replicate(lent->ctx);
    else if (changed) /* even if the stream has no reader: the host counts changes for `save` */
        redis.ReplicateVerbatim(lent->ctx);
}

void lent_keys_close(struct lent_keys *lent)
{
    for (unsigned i = 0; i < lent->count; i++)
        if (lent->keys[i].changed) redis.SignalModifiedKey(lent->ctx, lent->keys[i].name);
    for (unsigned i = 0; i < lent->event_count; i++) {
        const struct lent_event *event = &lent->events[i];
        redis.NotifyKeyspaceEvent(lent->ctx, class_of(event->event), event_name(event->event),
                                  lent->keys[event->key].name);
    }
    for (unsigned i = 0; i < lent->count; i++)
        if (lent->keys[i].changed || lent->keys[i].has_event)
            redis.SignalKeyAsReady(lent->ctx, lent->keys[i].name);
    if (lent->events != lent->few_events) mem_free(lent->events);
    if (lent->keys != lent->few) mem_free(lent->keys);
}

bool lent_keys_reclaim(size_t work)
{
    return reclaim_run(&store->reclaim, work);
}

bool lent_keys_dropped(void)
{
    return reclaim_pending(&store->reclaim);
}
