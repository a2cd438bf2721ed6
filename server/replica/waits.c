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

static bool is_met(const struct waits *waits, const struct wait_for *what)
{
    return replicas_that_have(waits->replicas, what->offset, what->synced) >= what->replicas &&
           (!what->local || persist_has_synced(waits->persist, what->position));
}

/* Writes how many replicas have what the client wrote and read and, for WAITAOF, whether (0 or 1)
 * our journal has what it wrote on disk. */
static void reply(const struct waits *waits, const struct wait_for *what, struct resp_writer *out)
{
    if (what->synced) {
        resp_array(out, 2);
        resp_integer(out, persist_has_synced(waits->persist, what->position));
    }
    resp_integer(out, (int64_t)replicas_that_have(waits->replicas, what->offset, what->synced));
}

static void forget_waiter(void *ctx)
{
    struct waiter *waiter = ctx;
    TAILQ_REMOVE(&waiter->all->list, waiter, in_order);
    if (waiter->timer != NULL) loop_timer_free(waiter->timer);
    mem_free(waiter);
}

/* Replies at the end of a wait, even if CLIENT UNBLOCK ends it without an error. */
static void reply_late(void *ctx)
{
    const struct waiter *waiter = ctx;
    reply(waiter->all, &waiter->what, &waiter->session->out);
}

static void answer(void *ctx)
{
    const struct waiter *waiter = ctx;
    reply_late(ctx);
    unblock_answered(waiter->session); /* frees the waiter */
}

bool waits_begin(struct waits *waits, struct call *call, const struct wait_for *what)
{
    if (call->block == NULL || is_met(waits, what)) {
        reply(waits, what, call->out);
        return false;
    }
    struct waiter *waiter = mem_zalloc(sizeof(*waiter));
    waiter->all = waits;
    waiter->session = call->session;
    waiter->what = *what;
    TAILQ_INSERT_TAIL(&waits->list, waiter, in_order);
    if (what->ttl > 0) {
        waiter->timer = loop_timer_new(waits->loop, answer, waiter);
        loop_timer_set_msec(waiter->timer, what->ttl);
    }
    blocked_wait(
        waits->blocked, call->session,
        &(struct blocked_wait){
            .reason = WAIT_REPLICAS, .gone = forget_waiter, .late = reply_late, .ctx = waiter });
    return true;
}

void waits_turn(struct waits *waits)
{
    struct waiter *waiter, *next;
    for (waiter = TAILQ_FIRST(&waits->list); waiter != NULL; waiter = next) {
        next = TAILQ_NEXT(waiter, in_order);
        if (is_met(waits, &waiter->what)) answer(waiter);
    }
}
