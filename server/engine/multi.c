/* multi: see multi.h. */
#include "server/engine/multi.h"

#include <limits.h>

#include "server/cmd/call/call.h"
#include "server/cmd/call/saved_call.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

STAILQ_HEAD(queue, saved_call);

/* Flags that permit something. All others restrict. */
enum { PERMISSIONS = STALE | LOADING };

struct multi {
    struct queue queue;
    size_t count, bytes;
    unsigned flags;       /* flags that at least one queued call has */
    unsigned permissions; /* those of PERMISSIONS that all queued calls have */
    bool broken;
};

void multi_begin(struct session *session)
{
    ensure(session->multi == NULL, "session %llu begins a MULTI inside a MULTI",
           (unsigned long long)session->id);
    session->multi = mem_zalloc(sizeof(*session->multi));
    STAILQ_INIT(&session->multi->queue);
    session->multi->permissions = PERMISSIONS;
}

void multi_drop(struct session *session)
{
    struct multi *multi = session->multi;
    if (multi == NULL) return;
    struct saved_call *queued;
    while ((queued = STAILQ_FIRST(&multi->queue)) != NULL) {
        STAILQ_REMOVE_HEAD(&multi->queue, next);
        mem_free(queued);
    }
    mem_free(multi);
    session->multi = NULL;
}

bool multi_queue(struct session *session, const struct call *call)
{
    struct multi *multi = session->multi;
    if (multi->broken || session->watch_touched) return true;
    struct saved_call *queued = saved_call_new(call);
    if (queued == NULL) return false;
    STAILQ_INSERT_TAIL(&multi->queue, queued, next);
    multi->count++;
    multi->bytes += mem_size(queued);
    unsigned flags = call_flags(call);
    multi->flags |= flags;
    multi->permissions &= flags;
    return true;
}

void multi_break(struct session *session)
{
    if (session->multi != NULL) session->multi->broken = true;
}

bool multi_broken(const struct session *session)
{
    return session->multi != NULL && session->multi->broken;
}

unsigned multi_flags(const struct call *call)
{
    unsigned flags = call_flags(call);
    const struct multi *multi = call->session->multi;
    if (!(flags & RUNS_QUEUE) || multi == NULL) return flags;
    return (flags | multi->flags) & ~(PERMISSIONS & ~multi->permissions);
}

int multi_count(const struct session *session)
{
    if (session->multi == NULL) return -1;
    return session->multi->count < INT_MAX ? (int)session->multi->count : INT_MAX;
}

size_t multi_bytes(const struct session *session)
{
    if (session->multi == NULL) return 0;
    return session->multi->bytes + mem_size(session->multi);
}

void multi_each(struct session *session, void (*visit)(void *ctx, const struct call *call),
                void *ctx)
{
    if (session->multi == NULL) return;
    const struct saved_call *queued;
    STAILQ_FOREACH(queued, &session->multi->queue, next)
    {
        struct call call = saved_call_again(queued, session);
        visit(ctx, &call);
    }
}
