/* saved_call: see saved_call.h. */
#include "server/cmd/call/saved_call.h"

#include "server/cmd/call/session.h"
#include "store/mem/mem.h"

struct saved_call *saved_call_new(const struct call *call)
{
    size_t views = (size_t)call->argc * sizeof(struct bytes), text = 0;
    for (int i = 0; i < call->argc; i++)
        text += call->argv[i].len;
    struct saved_call *saved = mem_try_alloc(sizeof(*saved) + views + text);
    if (saved == NULL) return NULL;
    saved->command = call->command;
    saved->argc = call->argc;
    char *to = (char *)saved + sizeof(*saved) + views;
    for (int i = 0; i < call->argc; i++) {
        saved->argv[i] = bytes_of(to, call->argv[i].len);
        if (call->argv[i].len > 0) memcpy(to, call->argv[i].data, call->argv[i].len);
        to += call->argv[i].len;
    }
    return saved;
}

struct call saved_call_again(const struct saved_call *saved, struct session *session)
{
    return (struct call){ .command = saved->command,
                          .argc = saved->argc,
                          .argv = saved->argv,
                          .out = &session->out,
                          .session = session,
                          .context = saved->command.context };
}
