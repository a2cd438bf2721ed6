/* multi: the commands that a session has queued since MULTI.
 * Knows calls as copies of their arguments; refuses to know why one was refused. */
#ifndef SERVER_RUN_MULTI_H
#define SERVER_RUN_MULTI_H

#include <stdbool.h>
#include <stddef.h>

#include "server/call/session.h"

struct call;
struct dispatch;

void multi_begin(struct session *session); /* there must be none */
void multi_drop(struct session *session);  /* forgets what is queued; fine without one */
/* Copies the call behind the others; false without memory. A MULTI that is bound to fail keeps
 * nothing. */
bool multi_queue(struct session *session, const struct call *call);
void multi_break(struct session *session); /* a command was refused: EXEC will; fine without one */
bool multi_broken(const struct session *session);
unsigned multi_flags(const struct session *session); /* of all that is queued; 0 without one */
int multi_count(const struct session *session);      /* -1 without one */
size_t multi_bytes(const struct session *session);   /* memory of the queue */
void multi_each(struct session *session, void (*visit)(void *ctx, const struct call *call),
                void *ctx); /* what is queued, in order; fine without one */
/* Runs the queue inside the EXEC call, with its transaction, replies one array, and drops it. */
void multi_run(struct dispatch *dispatch, struct call *exec);

#endif
