/* saved_call: a call that outlives its request: queued by MULTI, or waiting.
 * Knows the row and the arguments; refuses to know the session and when it runs. */
#ifndef SERVER_CALL_SAVED_CALL_H
#define SERVER_CALL_SAVED_CALL_H

#include <sys/queue.h>

#include "server/call/call.h"

struct saved_call {
    STAILQ_ENTRY(saved_call) next; /* its owner's */
    struct command_ref command;
    int argc;
    struct bytes argv[]; /* then their text, in the same allocation */
};

/* A copy; NULL without memory. mem_free ends it. */
struct saved_call *saved_call_new(const struct call *call);

/* The call that it stands for, of this session; without a transaction yet. */
struct session;
struct call saved_call_again(const struct saved_call *saved, struct session *session);

#endif
