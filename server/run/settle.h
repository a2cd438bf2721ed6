/* settle: delays requests that need a key with very much overdue work inside (txn_settles_slowly),
 * until that is done, in slices between the clients' turns; and requests that count all keys, until
 * expiry has nearly caught up.
 * Depends on dispatch and the store.
 *
 * One queue of keys, each with its delayed sessions in the order of their arrival. A key is looked
 * at when a request first needs it, and worked on in turns with the other keys; however many
 * sessions wait for it, they cost nothing until it is done. Then they are woken in order, and their
 * requests are read again from the input, which keeps them. What has been begun for a key is done
 * to its end, whether or not somebody still waits, and also during CLIENT PAUSE. */
#ifndef SERVER_RUN_SETTLE_H
#define SERVER_RUN_SETTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/call/session.h"

struct call;
struct dispatch;
struct settle;
struct turn;

struct settle *settle_new(struct dispatch *dispatch);
void settle_free(struct settle *settle); /* no session may be delayed any more */

/* True: the session's request must not run now; it has to come again after session->wake. EXEC is
 * asked for all that it would run. Never where there is no settle. O(keys of the call) */
bool settle_delays(struct dispatch *dispatch, const struct call *call);
/* The same of a blocked session that is about to be served. True: the turn's key will be made ready
 * again. */
bool settle_postpones(struct dispatch *dispatch, const struct turn *turn);
/* Its request will not come again. Fine for one that is not delayed. */
void settle_forget(struct session *session);

/* Does up to `amount` of work on one key, and wakes up to as many sessions that are not delayed any
 * more. False: there was nothing to do. Fine without settle. */
bool settle_slice(struct settle *settle, size_t amount);

size_t settle_count(const struct settle *settle); /* sessions that are delayed; 0 without settle */
void settle_check(const struct settle *settle);

#endif
