/* sinks: see sinks.h. What watch, waiters, tracking and notify do with an effect cannot fail and
 * runs no command. */
#include "server/sinks.h"

#include "store/txn.h"

static void take_effect(void *ctx, const struct effect *effect)
{
    struct sinks *sinks = ctx;
    if (effect_is_seen(effect)) {
        watch_effect(sinks->watch, effect);
        waiters_effect(sinks->waiters, effect);
        if (sinks->tracks) tracking_effect(sinks->tracking, effect);
    }
    if (effect->event != EVENT_NONE) notify_effect(sinks->notify, effect);
}

static void take_commit(void *ctx, const struct txn *txn)
{
    (void)txn;
    struct sinks *sinks = ctx;
    if (sinks->tracks) tracking_flush(sinks->tracking);
    notify_flush(sinks->notify);
}

/* What earlier calls of the transaction caused is told before this one speaks. */
void sinks_call(struct sinks *sinks, const struct session *session)
{
    notify_flush(sinks->notify);
    if (sinks->tracks) tracking_begin_call(sinks->tracking, session);
}

void sinks_arm(struct sinks *sinks)
{
    unsigned mask = 0;
    sinks->tracks = sinks->tracking != NULL && tracking_active(sinks->tracking);
    sinks_call(sinks, NULL);
    if (sinks->tracks || watch_active(sinks->watch) || waiters_count(sinks->waiters) > 0)
        mask |= LISTEN_CHANGES;
    mask |= notify_wants(sinks->notify);
    struct store *store = sinks->store;
    if (mask == store->listening && (mask == 0 || store->listener.ctx == sinks)) return;
    store_listen(
        store, mask,
        &(struct effect_listener){ .effect = take_effect, .commit = take_commit, .ctx = sinks });
}
