/* commit_hooks: see commit_hooks.h. The hooks must not fail and must not run a command, because a
 * transaction is open or being committed. */
#include "server/engine/react/commit_hooks.h"

#include "store/txn/effect_row.h"

/* Passes the effect to all hooks in use. Not inlined, so that take_effect saves no registers if
 * only the journal listens. */
__attribute__((noinline)) static void pass_on(struct commit_hooks *hooks, const struct txn *txn,
                                              const struct effect *effect)
{
    const struct session *caller = txn->caller;
    if (hooks->uses & USES_JOURNAL) persist_effect(hooks->persist, effect);
    if (hooks->feed != NULL) feed_add(hooks->feed, effect);
    if (hooks->keeps_only) return;
    /* Pass on even effects that no reader of the key sees, such as the drop of a stream's group. */
    if (hooks->uses & USES_BLOCKED) blocked_effect(hooks->blocked, effect);
    /* With CLAIMED, the end of a claim allows another one to begin. */
    if ((hooks->uses & USES_BLOCKED) && effect->kind == EFFECT_REDE_DROP &&
        hooks->store->policies.with[POLICY_CLAIMED] > 0)
        blocked_ready(hooks->blocked, effect->db, effect->key);
    if (effect_is_seen(effect)) {
        if (hooks->uses & USES_WATCH) watch_effect(hooks->watch, effect);
        if (hooks->uses & USES_TRACKING) tracking_effect(hooks->tracking, effect, caller);
    }
    if (effect->event != EVENT_NONE) notify_effect(hooks->notify, effect);
}

static void take_effect(void *ctx, const struct txn *txn, const struct effect *effect)
{
    struct commit_hooks *hooks = ctx;
    /* The stream is tested now, because a promotion creates it within its own call. */
    if (hooks->keeps_only && hooks->feed == NULL)
        persist_effect(hooks->persist, effect);
    else
        pass_on(hooks, txn, effect);
}

static inline void commit_to_journal(struct commit_hooks *hooks, const struct txn *txn)
{
    struct session *caller = txn->caller;
    /* The call may have turned the journal off. */
    bool keeps = (hooks->uses & USES_JOURNAL) && persist_listens(hooks->persist);
    if (txn->changes == 0) {
        /* A write that found nothing to change relies on earlier changes: its reply says that they
         * are safe. */
        if (keeps && txn->may_write && caller != NULL)
            caller->durable_at = persist_position(hooks->persist);
        return;
    }
    hooks->changed = true;
    if (keeps) persist_commit(hooks->persist, caller != NULL ? &caller->durable_at : NULL);
}

/* Not inlined, for the same reason as pass_on. */
__attribute__((noinline)) static void commit_to_all(struct commit_hooks *hooks,
                                                    const struct txn *txn)
{
    struct session *caller = txn->caller;
    /* The stream comes before the journal, because the journal's record contains the stream's
     * position after this transaction. */
    if (hooks->feed != NULL) {
        if (feed_pending(hooks->feed)) feed_commit(hooks->feed);
        if (caller != NULL) caller->streamed_at = feed_offset(hooks->feed);
    }
    commit_to_journal(hooks, txn);
    if (hooks->uses & USES_TRACKING) tracking_flush(hooks->tracking);
    notify_flush(hooks->notify);
}

static void take_commit(void *ctx, const struct txn *txn)
{
    struct commit_hooks *hooks = ctx;
    if (hooks->keeps_only && hooks->feed == NULL)
        commit_to_journal(hooks, txn);
    else
        commit_to_all(hooks, txn);
}

static unsigned take_begin(void *ctx, const struct txn *txn)
{
    (void)txn;
    struct commit_hooks *hooks = ctx;
    notify_flush(hooks->notify); /* the events of the transaction's earlier calls */
    unsigned uses = 0;
    if (hooks->persist != NULL && persist_listens(hooks->persist)) uses |= USES_JOURNAL;
    if (watch_active(hooks->watch)) uses |= USES_WATCH;
    if (blocked_count(hooks->blocked) > 0) uses |= USES_BLOCKED;
    if (hooks->tracking != NULL && tracking_active(hooks->tracking)) uses |= USES_TRACKING;
    hooks->uses = uses;
    if (uses & USES_TRACKING) tracking_begin_call(hooks->tracking);
    unsigned notifies = notify_wants(hooks->notify);
    bool hears = uses != 0 || hooks->feed != NULL;
    hooks->keeps_only = uses == USES_JOURNAL && hooks->feed == NULL && notifies == 0;
    if (hooks->keeps_only) return LISTEN_CHANGES | LISTEN_BRIEF;
    return (hears ? LISTEN_CHANGES : 0) | notifies;
}

struct effect_listener commit_hooks_listener(struct commit_hooks *hooks)
{
    return (struct effect_listener){
        .begin = take_begin, .effect = take_effect, .commit = take_commit, .ctx = hooks
    };
}

void commit_hooks_replaced(struct commit_hooks *hooks)
{
    for (unsigned db = 0; db < hooks->store->database_count; db++) {
        /* As if each database had been emptied, and then swapped with itself: any key may exist. */
        struct effect emptied = { .kind = EFFECT_FLUSH, .db = db };
        struct effect filled = { .kind = EFFECT_SWAP, .db = db, .to = db };
        watch_effect(hooks->watch, &emptied);
        watch_effect(hooks->watch, &filled);
        blocked_effect(hooks->blocked, &filled);
        if (hooks->tracking != NULL) tracking_effect(hooks->tracking, &emptied, NULL);
    }
    if (hooks->tracking != NULL) tracking_flush(hooks->tracking);
}
