/* serve: sessions that wait get their answer: their command run again because a key has become
 * ready, or the news that their time is over.
 * Knows waiters and dispatch; refuses to know what the commands do. */
#ifndef SERVER_SERVE_H
#define SERVER_SERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "server/session.h"

struct call;
struct dispatch;
struct wait;

/* After a commit: whoever waits for what has become ready is served, each in a transaction of its
 * own, until no key is ready. Each turn answers one who waited or finds nothing to change. */
void serve_ready(struct dispatch *dispatch);

/* Answers up to `most` sessions whose wait has ended by now; returns how many there were. */
size_t serve_late(struct dispatch *dispatch, size_t most);

/* A session that waits has its answer: it goes on with what it has sent meanwhile. */
void serve_answered(struct session *session);

/* CLIENT UNBLOCK: ends the wait of another session, as if its time were over or with an error.
 * False: it does not wait. */
bool serve_unblock(struct session *session, bool with_error);

#endif
