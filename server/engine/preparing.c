/* preparing: see preparing.h. */
#include "server/engine/preparing.h"

#include "server/cmd/call/call.h"
#include "server/engine/multi.h"
#include "store/mem/mem.h"

struct preparing {
    LIST_ENTRY(preparing) next;
    struct preparing_list *list;
    struct session *session;
};

static void forget(struct session *session)
{
    struct preparing *preparing = session->preparing;
    LIST_REMOVE(preparing, next);
    preparing->list->count--;
    session->preparing = NULL;
    mem_free(preparing);
}

static void ask(void *ctx, const struct call *call)
{
    bool *waits = ctx;
    const struct command *row = call->command.row;
    if (row->prepares != NULL && row->prepares(call)) *waits = true;
}

bool preparing_delays(struct preparing_list *list, const struct call *call)
{
    struct session *session = call->session;
    bool waits = false;
    if (!(call->command.row->flags & RUNS_QUEUE))
        ask(&waits, call);
    else if (!multi_broken(session) && !session->watch_touched) /* else no command will run */
        multi_each(session, ask, &waits);
    if (!waits) return false;
    struct preparing *preparing = mem_alloc(sizeof(*preparing));
    *preparing = (struct preparing){ .list = list, .session = session };
    session->preparing = preparing;
    LIST_INSERT_HEAD(&list->waits, preparing, next);
    list->count++;
    session_wait(session, WAIT_PREPARING, forget);
    return true;
}

void preparing_ended(struct preparing_list *list)
{
    const struct preparing *preparing;
    while ((preparing = LIST_FIRST(&list->waits)) != NULL)
        session_wake(preparing->session);
}
