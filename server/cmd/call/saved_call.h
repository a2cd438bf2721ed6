/* saved_call: a copy of a call that outlives its request: queued by MULTI, or blocked. */
#pragma once

#include <sys/queue.h>

#include "server/cmd/call/call.h"

struct saved_call {
    STAILQ_ENTRY(saved_call) next; /* for its owner's list */
    struct command_ref command;
    int argc;
    struct bytes argv[]; /* followed by their bytes, in the same allocation */
};

/* Copies the call and its arguments. Returns NULL if memory runs out. mem_free frees the copy. */
struct saved_call *saved_call_new(const struct call *call);

/* Makes a call for this session from the copy, still without a transaction. */
struct session;
struct call saved_call_again(const struct saved_call *saved, struct session *session);
