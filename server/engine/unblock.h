/* unblock: runs the command of a blocked client again when its key becomes ready, through an effect
 * or because an element is due, and replies to the client when its timeout passes. */
#pragma once

#include "server/cmd/call/error.h"
#include "server/cmd/call/session.h"

struct call;
struct engine;
struct block_request;

/* Serves the blocked clients whose keys a commit has made ready: runs their commands again, each in
 * its own transaction. Continues until no key is ready, because a served command (BLMOVE) may make
 * another key ready. While a master is paused, keys stay ready; a pause of writes does not delay
 * REDE.FAIRINFO. Skips keys that must settle first (settle_postpones), and leases while there are
 * fewer replicas than min-replicas-to-write: these keys become ready again later. */
void unblock_ready(struct engine *engine);

/* Does what is due by now for blocked clients, in order of time: serves a key that becomes ready by
 * time, or answers a client whose timeout has passed. Takes at most `most` such steps, and returns
 * their number. During a pause serves no keys. A timeout of this millisecond waits until expiry has
 * removed what is due. */
size_t unblock_due(struct engine *engine, size_t most);

/* Unblocks a client that has received its reply, so that its next request runs. */
void unblock_answered(struct session *session);

/* CLIENT UNBLOCK: ends the wait of a session with an error, or as if the session's timeout had
 * passed. Returns false if the session is not blocked. */
bool unblock_client(struct engine *engine, struct session *session, bool with_error);
/* Unblocks a session with this error. No effect if it is not blocked. */
void unblock_with_error(struct engine *engine, struct session *session, enum error error);
/* Ends a session's wait with an error and closes the session, because the server becomes a replica.
 * No effect if it is not blocked. */
void unblock_and_close(struct engine *engine, struct session *session);
