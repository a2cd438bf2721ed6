/* multi: see multi.h. Each queued call is one allocation: its arguments' views, then their text. */
#include "server/multi.h"

#include <limits.h>
#include <string.h>
#include <sys/queue.h>

#include "server/call.h"
#include "server/dispatch.h"
#include "store/ensure.h"
#include "store/mem.h"

struct queued {
    STAILQ_ENTRY(queued) next;
    struct command_ref command;
    int argc;
    struct bytes argv[];
};

STAILQ_HEAD(queue, queued);

struct multi {
    struct queue queue;
    size_t count, bytes;
    unsigned flags; /* of all rows that are queued */
    bool broken;
};

void multi_begin(struct session *session)
{
    ensure(session->multi == NULL, "session %llu begins a MULTI inside a MULTI",
           (unsigned long long)session->id);
    session->multi = mem_zalloc(sizeof(*session->multi));
    STAILQ_INIT(&session->multi->queue);
}

void multi_drop(struct session *session)
{
    struct multi *multi = session->multi;
    if (multi == NULL) return;
    struct queued *queued;
    while ((queued = STAILQ_FIRST(&multi->queue)) != NULL) {
        STAILQ_REMOVE_HEAD(&multi->queue, next);
        mem_free(queued);
    }
    mem_free(multi);
    session->multi = NULL;
}

static struct queued *copy_call(const struct call *call)
{
    size_t views = (size_t)call->argc * sizeof(struct bytes), text = 0;
    for (int i = 0; i < call->argc; i++)
        text += call->argv[i].len;
    struct queued *queued = mem_try_alloc(sizeof(*queued) + views + text);
    if (queued == NULL) return NULL;
    queued->command = call->command;
    queued->argc = call->argc;
    char *to = (char *)queued + sizeof(*queued) + views;
    for (int i = 0; i < call->argc; i++) {
        queued->argv[i] = bytes_of(to, call->argv[i].len);
        if (call->argv[i].len > 0) memcpy(to, call->argv[i].data, call->argv[i].len);
        to += call->argv[i].len;
    }
    return queued;
}

bool multi_queue(struct session *session, const struct call *call)
{
    struct multi *multi = session->multi;
    if (multi->broken || session->watch_touched) return true;
    struct queued *queued = copy_call(call);
    if (queued == NULL) return false;
    STAILQ_INSERT_TAIL(&multi->queue, queued, next);
    multi->count++;
    multi->bytes += mem_size(queued);
    multi->flags |= call->command.row->flags;
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

unsigned multi_flags(const struct session *session)
{
    return session->multi != NULL ? session->multi->flags : 0;
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

/* DIFFERS: Redis 7.0 puts a message that the session publishes to itself into the middle of EXEC's
 * array, which no parser of the protocol has to accept; here it follows the array, as in Redis 7.2.
 * (doc/differs.md) */
void multi_run(struct dispatch *dispatch, struct call *exec)
{
    struct session *session = exec->session;
    struct multi *multi = session->multi;
    struct outbuf pushes;
    outbuf_init(&pushes);
    session->pushes = &pushes;
    resp_array(exec->out, multi->count);
    const struct queued *queued;
    STAILQ_FOREACH(queued, &multi->queue, next)
    {
        struct call call = { .command = queued->command,
                             .argc = queued->argc,
                             .argv = queued->argv,
                             .txn = exec->txn,
                             .out = exec->out,
                             .session = session,
                             .context = queued->command.context };
        dispatch_call(dispatch, &call);
    }
    session->pushes = NULL;
    multi_drop(session);
    outbuf_splice(session->out.out, &pushes);
}
