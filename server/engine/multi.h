/* multi: the queue of commands that a session has sent since MULTI. Stores copies of the calls'
 * arguments, and runs the calls at EXEC. */
#pragma once

#include "server/cmd/call/session.h"

struct call;
struct engine;

void multi_begin(struct session *session); /* the session must have no queue */
void multi_drop(struct session *session);  /* drops the queue; does nothing without one */
/* Appends a copy of the call to the queue. Returns false if memory runs out. If EXEC is bound to
 * fail, after multi_break or because a watched key has changed, stores nothing and returns true. */
bool multi_queue(struct session *session, const struct call *call);
/* Makes EXEC fail, because a command after MULTI was refused. No effect without a queue. */
void multi_break(struct session *session);
bool multi_broken(const struct session *session);
/* Returns the flags of the call. For EXEC they include those of the queued calls: a restriction is
 * included if any call has it, a permission (STALE, LOADING) only if all calls have it. */
unsigned multi_flags(const struct call *call);
int multi_count(const struct session *session);    /* -1 without a queue */
size_t multi_bytes(const struct session *session); /* memory of the queue */
/* Visits the queue in order; does nothing without one. */
void multi_each(struct session *session, void (*visit)(void *ctx, const struct call *call),
                void *ctx);
/* Runs the queue in the transaction of EXEC, replies with one array, and drops the queue. A call
 * that the ACL forbids by now has an error in the array. Messages to the session itself follow the
 * array. */
void multi_run(struct engine *engine, struct call *exec);
