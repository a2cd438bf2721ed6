/* one_key: see one_key.h. */
#include "server/module/one_key.h"

#include "server/module/canonical.h"
#include "server/module/held_value.h"
#include "store/guest.h"
#include "store/mem/mem.h"

static struct store *store;

static void on_effect(void *ctx, const struct txn *txn, const struct effect *effect)
{
    (void)txn;
    struct one_key *one = *(struct one_key **)ctx;
    if (effect->kind != EFFECT_NONE) canonical_put(effect);
    bool told = event_class(effect->event) == 'd' || effect->event == EVENT_DEL;
    if (told && !effect->again && one->event_count < ONE_KEY_EVENTS)
        one->events[one->event_count++] = effect->event;
}

static void on_commit(void *ctx, const struct txn *txn)
{
    struct one_key *one = *(struct one_key **)ctx;
    one->changes += txn->changes;
}

static struct one_key *current; /* whose value the store has */

void one_key_init(void)
{
    const struct effect_listener listener = { on_effect, on_commit, &current };
    store = store_new(1);
    store_listen(store, LISTEN_CHANGES | LISTEN_EVENTS, &listener);
}

struct store *one_key_store(struct one_key *one)
{
    current = one;
    return store;
}

static struct bytes key_of(const struct one_key *one)
{
    struct bytes key;
    key.data = redis.StringPtrLen(one->name, &key.len);
    return key;
}

/* A value of another type is represented by an empty list: the command replies WRONGTYPE when it
 * comes to that. */
void one_key_open(struct one_key *one, RedisModuleCtx *ctx, RedisModuleString *name, bool writes)
{
    *one = (struct one_key){ .ctx = ctx, .name = name, .writes = writes, .next = DUE_AT_NEVER };
    one->key = redis.OpenKey(ctx, name, writes ? KEY_WRITE : KEY_READ);
    one->held = held_value_of(one->key);
    one->foreign = one->held == NULL && redis.KeyType(one->key) != KEYTYPE_EMPTY;
    if (one->foreign)
        guest_lend(store, key_of(one), object_new(TYPE_LIST));
    else if (one->held != NULL)
        guest_lend(store, key_of(one), one->held->object);
}

/* What the transaction has left becomes the engine's value. */
static void give_back(struct one_key *one)
{
    struct object object;
    bool is_there = guest_take(store, key_of(one), &object);
    if (one->foreign) {
        if (is_there) object_free(&object);
    } else if (is_there) {
        one->next = object_next_due(&object);
        if (one->held != NULL)
            one->held->object = object;
        else
            held_value_put(one->key, held_value_new(object));
    } else if (one->held != NULL) {
        /* The store has freed the value: the engine gets an empty one to free. */
        one->held->object = object_new(TYPE_DEHYDRATOR);
        redis.DeleteKey(one->key);
    }
}

void one_key_close(struct one_key *one, bool replicates)
{
    give_back(one);
    redis.CloseKey(one->key);
    if (replicates) canonical_replicate(one->ctx);
    if (one->changes > 0) redis.SignalModifiedKey(one->ctx, one->name);
    for (unsigned i = 0; i < one->event_count; i++) {
        int class = one->events[i] == EVENT_DEL ? NOTIFY_GENERIC : NOTIFY_MODULE;
        redis.NotifyKeyspaceEvent(one->ctx, class, event_name(one->events[i]), one->name);
    }
    if (one->changes > 0 || one->event_count > 0) redis.SignalKeyAsReady(one->ctx, one->name);
}
