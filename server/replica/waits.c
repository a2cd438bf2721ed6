/* waits: see waits.h. */
#include "server/replica/waits.h"

#include "server/engine/unblock.h"
#include "store/mem/mem.h"

TAILQ_HEAD(wait_list, waiter);

struct waiter {
    TAILQ_ENTRY(waiter) in_order;
    struct waits *all;
    struct session *session;
    struct wait_for what;
    struct loop_timer *timer; /* fires at the timeout; NULL without one */
};

struct waits {
    struct loop *loop;
    struct blocked *blocked;
    const struct replicas *replicas;
    const struct persist *persist;
    struct wait_list list;
};

struct waits *waits_new(struct loop *loop, struct blocked *blocked, const struct replicas *replicas,
                        const struct persist *persist)
{
    struct waits *waits = mem_zalloc(sizeof(*waits));
    waits->loop = loop;
    waits->blocked = blocked;
    waits->replicas = replicas;
    waits->persist = persist;
    TAILQ_INIT(&waits->list);
    return waits;
}

void waits_free(struct waits *waits)
{
    mem_free(waits);
}

struct waited waits_progress(const struct waits *waits, const struct wait_for *what)
{
    return (struct waited){
        .replicas = replicas_that_have(waits->replicas, what->offset, what->synced),
        .local = persist_has_synced(waits->persist, what->position),
    };
}

bool waits_is_met(const struct waits *waits, const struct wait_for *what)
{
    struct waited waited = waits_progress(waits, what);
    return waited.replicas >= what->replicas && (!what->local || waited.local > 0);
}

void waits_reply(struct resp_writer *out, const struct wait_for *what, const struct waited *waited)
{
    if (what->synced) {
        resp_array(out, 2);
        resp_integer(out, (int64_t)waited->local);
    }
    resp_integer(out, (int64_t)waited->replicas);
}

static void forget_waiter(void *ctx)
{
    struct waiter *waiter = ctx;
    TAILQ_REMOVE(&waiter->all->list, waiter, in_order);
    if (waiter->timer != NULL) loop_timer_free(waiter->timer);
    mem_free(waiter);
}

/* Replies with the current counts. */
static void reply(void *ctx)
{
    const struct waiter *waiter = ctx;
    struct waited waited = waits_progress(waiter->all, &waiter->what);
    waits_reply(&waiter->session->out, &waiter->what, &waited);
}

static void answer(struct waiter *waiter)
{
    reply(waiter);
    unblock_answered(waiter->session); /* frees the waiter */
}

static void on_time(void *ctx)
{
    answer(ctx);
}

void waits_block(struct waits *waits, struct session *session, const struct wait_for *what)
{
    struct waiter *waiter = mem_zalloc(sizeof(*waiter));
    waiter->all = waits;
    waiter->session = session;
    waiter->what = *what;
    TAILQ_INSERT_TAIL(&waits->list, waiter, in_order);
    if (what->ttl > 0) {
        waiter->timer = loop_timer_new(waits->loop, on_time, waiter);
        loop_timer_set_msec(waiter->timer, what->ttl);
    }
    blocked_wait(
        waits->blocked, session,
        &(struct blocked_wait){
            .reason = WAIT_REPLICAS, .gone = forget_waiter, .late = reply, .ctx = waiter });
}

void waits_turn(struct waits *waits)
{
    struct waiter *waiter, *next;
    for (waiter = TAILQ_FIRST(&waits->list); waiter != NULL; waiter = next) {
        next = TAILQ_NEXT(waiter, in_order);
        if (waits_is_met(waits, &waiter->what)) answer(waiter);
    }
}

bool waits_any(const struct waits *waits)
{
    return !TAILQ_EMPTY(&waits->list);
}
