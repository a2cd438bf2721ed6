/* settle: delays a request that needs a key with a lot of expired members inside
 * (txn_settles_slowly) until these are removed, in slices between the clients' turns. Also delays
 * requests that count all keys, until expiry has nearly caught up, or, where nothing may remove
 * keys (a replica, CLIENT PAUSE), until the overdue ones are hidden: see keyspace_hide. Depends on
 * engine and the store.
 *
 * There is one queue of keys, each with its delayed sessions in order of arrival. A key is examined
 * when a request first needs it, and the keys are worked on in turn. A delayed session costs
 * nothing until its key is done; then the sessions are woken in order, and their requests, which
 * stayed in the input buffer, are parsed again. Work on a key that was begun is finished even if no
 * session waits for it any more, and also during CLIENT PAUSE. */
#ifndef SERVER_ENGINE_SETTLE_H
#define SERVER_ENGINE_SETTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/cmd/call/session.h"

struct call;
struct engine;
struct settle;
struct blocked_try;

struct settle *settle_new(struct engine *engine);
void settle_free(struct settle *settle); /* no session may be delayed */

/* True: the session's request must not run now; it has to run again after session_wake. For EXEC
 * the queued commands are examined. Always false without a settle. O(keys of the call) */
bool settle_delays(struct engine *engine, const struct call *call);
/* The same for a blocked client that is about to be served. True: the turn's key becomes ready
 * again later. */
bool settle_postpones(struct engine *engine, const struct blocked_try *try);

/* Does up to `amount` of work on one key, and wakes up to `amount` sessions that are no longer
 * delayed. False: there was nothing to do. Does nothing without settle. */
bool settle_slice(struct settle *settle, size_t amount);

size_t settle_count(const struct settle *settle); /* number of delayed sessions; 0 without settle */
void settle_check(const struct settle *settle);

#endif
