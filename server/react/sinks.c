/* sinks: see sinks.h. The hooks of watch, waiters, tracking and notify cannot fail and run no
 * command. */
#include "server/react/sinks.h"

#include "server/call/session.h"
#include "store/txn/txn.h"

static void take_effect(void *ctx, const struct effect *effect)
{
    struct sinks *sinks = ctx;
    if (sinks->keeps) persist_effect(sinks->persist, effect);
    if (effect_is_seen(effect)) {
        if (sinks->watches) watch_effect(sinks->watch, effect);
        if (sinks->waits) waiters_effect(sinks->waiters, effect);
        if (sinks->tracks) tracking_effect(sinks->tracking, effect);
    }
    if (effect->event != EVENT_NONE) notify_effect(sinks->notify, effect);
}

static void take_commit(void *ctx, const struct txn *txn)
{
    struct sinks *sinks = ctx;
    /* The call may have turned the journal off. */
    if (sinks->keeps && txn->changes > 0 && persist_listens(sinks->persist)) {
        persist_commit(sinks->persist);
        if (sinks->caller != NULL) sinks->caller->durable_at = persist_position(sinks->persist);
    }
    if (sinks->tracks) tracking_flush(sinks->tracking);
    notify_flush(sinks->notify);
}

/* Publishes the events of earlier calls of the transaction before this call. */
void sinks_call(struct sinks *sinks, struct session *session)
{
    sinks->caller = session;
    notify_flush(sinks->notify);
    if (sinks->tracks) tracking_begin_call(sinks->tracking, session);
}

void sinks_arm(struct sinks *sinks)
{
    unsigned mask = 0;
    sinks->watches = watch_active(sinks->watch);
    sinks->waits = waiters_count(sinks->waiters) > 0;
    sinks->tracks = sinks->tracking != NULL && tracking_active(sinks->tracking);
    sinks->keeps = sinks->persist != NULL && persist_listens(sinks->persist);
    sinks_call(sinks, NULL);
    if (sinks->keeps || sinks->tracks || sinks->watches || sinks->waits) mask |= LISTEN_CHANGES;
    mask |= notify_wants(sinks->notify);
    struct store *store = sinks->store;
    if (mask == store->listening && (mask == 0 || store->listener.ctx == sinks)) return;
    store_listen(
        store, mask,
        &(struct effect_listener){ .effect = take_effect, .commit = take_commit, .ctx = sinks });
}
