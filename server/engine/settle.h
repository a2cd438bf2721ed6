/* settle: delays a request for a key that contains many expired members (txn_settles_slowly) until
 * background slices have removed them, so that other clients need not wait for the removal. Also
 * delays requests that count all keys, until expiry has nearly caught up. Where keys must not be
 * removed (on a replica, during CLIENT PAUSE), these wait until the overdue keys are hidden instead
 * (keyspace_hide). Depends on the engine and the store.
 *
 * There is one queue of keys, each with its delayed sessions in order of arrival. A request adds
 * its slow keys to the queue, and the keys take turns, so that a small key need not wait for a huge
 * one. A delayed session takes no time until its key is done. Then the sessions are woken in order,
 * and their requests, which stayed in the input buffer, are parsed again. A key in the queue is
 * finished even if no session waits for it any more, and even during CLIENT PAUSE; a server that
 * becomes a replica leaves the rest to its master. */
#pragma once

#include "server/cmd/call/session.h"

struct call;
struct engine;
struct settle;
struct blocked_try;

struct settle *settle_new(struct engine *engine);
void settle_free(struct settle *settle); /* call when no session is delayed */

/* Must the session's request be delayed? Then the session waits, unless a message has closed it,
 * and the request is tried again after session_wake. For EXEC, checks the queued commands. Always
 * false if settle is NULL, and while data is loaded. O(keys of the call), in each database that the
 * call may change */
bool settle_delays(struct engine *engine, const struct call *call);
/* Must a blocked client that is about to be served be delayed, because a key of its command
 * contains many expired members? Then the caller skips the key of the try (blocked_skip_key): the
 * client stays blocked, and the key becomes ready again once the members are removed. */
bool settle_postpones(struct engine *engine, const struct blocked_try *try);

/* Removes about `amount` expired members of one key; before that, if sessions wait to count keys
 * where overdue keys stay, hides up to `amount` of these. Wakes up to `amount` sessions that need
 * wait no longer. Returns false if there is nothing to do, while data is loaded, or if settle is
 * NULL. */
bool settle_slice(struct settle *settle, size_t amount);

size_t settle_count(const struct settle *settle); /* number of delayed sessions; 0 if NULL */
void settle_check(const struct settle *settle);
