/* serve: sessions that wait get their answer: their command run again because a key has become
 * ready, by an effect or by itself, or the news that their time is over.
 * Knows waiters and dispatch; refuses to know what the commands do. */
#ifndef SERVER_RUN_SERVE_H
#define SERVER_RUN_SERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "server/call/session.h"

struct call;
struct dispatch;
struct wait;

/* After a commit: whoever waits for what has become ready is served, each in a transaction of its
 * own, until no key is ready. Each turn answers one who waited or finds nothing to change. */
void serve_ready(struct dispatch *dispatch);

/* What has come by now, in the order of its instants, up to `most` of it: keys that are ready by
 * themselves are served, and sessions whose wait has ended are told, in this order at the same
 * instant. In a pause, which keeps the data as they are, the keys wait for its end. Returns how
 * many there were. */
size_t serve_due(struct dispatch *dispatch, size_t most);

/* A session that waits has its answer: it goes on with what it has sent meanwhile. */
void serve_answered(struct session *session);

/* CLIENT UNBLOCK: ends the wait of another session, as if its time were over or with an error.
 * False: it does not wait. */
bool serve_unblock(struct dispatch *dispatch, struct session *session, bool with_error);

#endif
