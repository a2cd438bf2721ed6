/* serve: answers blocked clients: runs their commands again when a key becomes ready, through an
 * effect or at its own time, and replies when their timeout passes. */
#ifndef SERVER_ENGINE_SERVE_H
#define SERVER_ENGINE_SERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "server/cmd/call/session.h"

struct call;
struct engine;
struct block_request;

/* Call after a commit. Runs the commands of blocked clients whose keys are ready, each in its own
 * transaction, until no key is ready. Each run answers a client or changes nothing. */
void serve_ready(struct engine *engine);

/* Does up to `most` of the work that is due, in the order of its time: serves keys that become
 * ready at that time, then answers clients whose timeout has passed. During a pause no keys are
 * served. Returns how much was done. */
size_t serve_due(struct engine *engine, size_t most);

/* Call when a blocked client has its reply: unblocks it, and it continues with its next request. */
void serve_answered(struct session *session);

/* CLIENT UNBLOCK: unblocks another session, as if its timeout had passed or with an error. False:
 * it is not blocked. */
bool serve_unblock(struct engine *engine, struct session *session, bool with_error);
/* The server becomes a replica: if the session is blocked, it gets an error and is closed. */
void serve_end_blocked(struct engine *engine, struct session *session);

#endif
