/* world: see world.h. */
#include "tests/support/world.h"

#include <stdio.h>
#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/txn/apply.h"

struct bytes text(const char *text)
{
    return bytes_of(text, strlen(text));
}

static struct bytes copy_of(struct bytes bytes)
{
    if (bytes.data == NULL) return bytes;
    char *copy = mem_alloc(bytes.len + 1);
    if (bytes.len > 0) memcpy(copy, bytes.data, bytes.len);
    return bytes_of(copy, bytes.len);
}

static const struct bytes *copy_texts(const struct effect *effect)
{
    if (effect->text_count == 0) return NULL;
    struct bytes *texts = mem_alloc(effect->text_count * sizeof(*texts));
    for (size_t i = 0; i < effect->text_count; i++)
        texts[i] = copy_of(effect->texts[i]);
    return texts;
}

static void free_texts(const struct effect *effect)
{
    for (size_t i = 0; i < effect->text_count; i++)
        mem_free((void *)(uintptr_t)effect->texts[i].data);
    mem_free((void *)(uintptr_t)effect->texts);
}

void world_keep(struct world *world, const struct effect *effect)
{
    if (world->effect_count == world->effect_cap) {
        world->effect_cap = world->effect_cap > 0 ? world->effect_cap * 2 : 64;
        world->effects = mem_realloc(world->effects, world->effect_cap * sizeof(*world->effects));
    }
    struct effect kept = *effect;
    kept.key = copy_of(effect->key);
    kept.a = copy_of(effect->a);
    kept.b = copy_of(effect->b);
    kept.texts = copy_texts(effect);
    if (effect->policy != NULL) {
        struct policy *policy = mem_alloc(sizeof(*policy));
        *policy = *effect->policy;
        policy->dead_to = copy_of(policy->dead_to);
        policy->expired_to = copy_of(policy->expired_to);
        kept.policy = policy;
    }
    world->effects[world->effect_count++].effect = kept;
}

static void keep(void *world, const struct txn *txn, const struct effect *effect)
{
    (void)txn;
    world_keep(world, effect);
}

static void committed(void *ctx, const struct txn *txn)
{
    (void)txn;
    ((struct world *)ctx)->commits++;
}

void world_init(struct world *world)
{
    *world = (struct world){ .store = store_new(16), .now = 1000000 };
    struct effect_listener listener = { .effect = keep, .commit = committed, .ctx = world };
    store_listen(world->store, LISTEN_CHANGES | LISTEN_EVENTS, &listener);
}

static void forget_policy(const struct policy *policy)
{
    if (policy == NULL) return;
    mem_free((char *)policy->dead_to.data);
    mem_free((char *)policy->expired_to.data);
    mem_free((void *)(uintptr_t)policy);
}

void world_forget(struct world *world)
{
    for (size_t i = 0; i < world->effect_count; i++) {
        mem_free((char *)world->effects[i].effect.key.data);
        mem_free((char *)world->effects[i].effect.a.data);
        mem_free((char *)world->effects[i].effect.b.data);
        forget_policy(world->effects[i].effect.policy);
        free_texts(&world->effects[i].effect);
    }
    world->effect_count = 0;
}

void world_drop(struct world *world)
{
    world_forget(world);
    mem_free(world->effects);
    store_free(world->store);
}

struct txn *world_begin(struct world *world)
{
    txn_begin(&world->txn, world->store, world->now, FROM_CLIENT);
    txn_call(&world->txn, 0);
    return &world->txn;
}

void world_commit(struct world *world)
{
    txn_commit(&world->txn);
    store_check(world->store);
}

const char *world_events(struct world *world)
{
    static char line[4096];
    size_t len = 0;
    line[0] = '\0';
    for (size_t i = 0; i < world->effect_count; i++) {
        const struct effect *effect = &world->effects[i].effect;
        if (effect->event == EVENT_NONE || effect->again) continue;
        len += (size_t)snprintf(line + len, sizeof(line) - len, "%s:%.*s ",
                                event_name(effect->event), (int)effect->key.len, effect->key.data);
        ensure(len < sizeof(line), "events of %zu characters", len);
    }
    return line;
}

struct store *world_replay(struct world *world)
{
    struct store *copy = store_new(world->store->database_count);
    struct txn txn;
    txn_begin(&txn, copy, 0, FROM_REPLAY);
    for (size_t i = 0; i < world->effect_count; i++) {
        const struct effect *effect = &world->effects[i].effect;
        bool fits = apply_effect(&txn, effect);
        ensure(fits, "effect %zu of kind %d does not fit", i, (int)effect->kind);
    }
    txn_commit(&txn);
    store_check(copy);
    return copy;
}

void world_set(struct world *world, const char *key, const char *value, msec at)
{
    struct string_set how = { .at = at, .event = EVENT_SET };
    txn_string_set(world_begin(world), text(key), text(value), &how);
    world_commit(world);
}

void world_zadd(struct world *world, const char *key, double score, const char *member)
{
    struct txn *txn = world_begin(world);
    struct entry *entry = txn_find(txn, text(key));
    if (entry == NULL) entry = txn_create(txn, text(key), TYPE_ZSET);
    struct zput how = { .event = EVENT_ZADD, .life = LIFE(ADD) };
    txn_zset_put(txn, entry, text(member), &score, &how);
    world_commit(world);
}

bool world_has(struct world *world, const char *key)
{
    bool found = txn_find(world_begin(world), text(key)) != NULL;
    world_commit(world);
    return found;
}
