/* sinks: see sinks.h. What watch and notify do with an effect cannot fail and runs no command. */
#include "server/sinks.h"

#include "store/txn.h"

static void take_effect(void *ctx, const struct effect *effect)
{
    struct sinks *sinks = ctx;
    if (effect->kind != EFFECT_NONE) watch_effect(sinks->watch, effect);
    if (effect->event != EVENT_NONE) notify_effect(sinks->notify, effect);
}

static void take_commit(void *ctx, const struct txn *txn)
{
    (void)txn;
    struct sinks *sinks = ctx;
    notify_flush(sinks->notify);
}

void sinks_arm(struct sinks *sinks)
{
    unsigned mask = 0;
    if (watch_active(sinks->watch)) mask |= LISTEN_CHANGES;
    if (notify_active(sinks->notify)) mask |= LISTEN_EVENTS;
    struct store *store = sinks->store;
    if (mask == store->listening && (mask == 0 || store->listener.ctx == sinks)) return;
    store_listen(
        store, mask,
        &(struct effect_listener){ .effect = take_effect, .commit = take_commit, .ctx = sinks });
}
