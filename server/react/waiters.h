/* waiters: blocked clients: the keys they wait for, their timeouts, and the keys that have become
 * ready. Stores a copy of each client's command; serve.h runs it again.
 *
 * Data do not change because a client is blocked. Effects make keys ready, in order. Serving goes
 * through the ready keys in this order, and through the clients of each key in the order in which
 * they blocked, until no key is ready. An effect on a key that no client waits for costs one table
 * look-up, and nothing while no client is blocked.
 *
 * A key can also become ready at a time, when something in it falls due: the earliest time that its
 * clients asked for is kept for each key, and removed when it has come. That time may be too early,
 * if what was due has gone meanwhile, but never too late. */
#ifndef SERVER_REACT_WAITERS_H
#define SERVER_REACT_WAITERS_H

#include <stdbool.h>
#include <stddef.h>

#include "server/call/call.h"
#include "server/call/saved_call.h"
#include "server/call/session.h"
#include "store/effect.h"

struct waiters;

struct waiters *waiters_new(void);
void waiters_free(struct waiters *waiters); /* no client may be blocked */

/* Blocks the call's session on the keys that `wait` names, in its database; it must not be blocked
 * yet. False: no memory for a copy of the call. */
bool waiters_block(struct waiters *waiters, const struct call *call, const struct wait *wait);
/* Blocks the session without a key, until survey has its answer; it must not be blocked yet. Calls
 * `gone` when it is unblocked, with or without an answer. */
void waiters_hold(struct waiters *waiters, struct session *session, void (*gone)(void *ctx),
                  void *ctx);
/* Unblocks the session: it was served, timed out, or ended. Does nothing if it is not blocked. */
void waiters_forget(struct session *session);
/* The call that the session is blocked in, borrowed, and the time its runs have taken so far. NULL:
 * it is not blocked on a key. */
const struct saved_call *waiters_call(const struct session *session, int64_t *usec);
size_t waiters_count(const struct waiters *waiters); /* number of blocked clients */

/* ---- keys that become ready ----------------------------------------------------------------- */

void waiters_effect(struct waiters *waiters, const struct effect *effect);
void waiters_ready(struct waiters *waiters, unsigned db, struct bytes key);
/* Makes the key ready at this time (not 0), or earlier. */
void waiters_wake_at(struct waiters *waiters, unsigned db, struct bytes key, msec at);
msec waiters_next_wake(const struct waiters *waiters); /* the earliest time that a key becomes ready
                                                          by itself, or NEVER */
/* Makes the key with the earliest time ready; false: none is due by now. O(log n) */
bool waiters_wake(struct waiters *waiters, msec now);
bool waiters_pending(const struct waiters *waiters); /* waiters_next_turn may find a turn */

/* ---- serving -------------------------------------------------------------------------------- */

/* A blocked client to run again, because its key is ready. Borrowed until it is unblocked. */
struct turn {
    struct session *session;
    const struct saved_call *call;
    enum type type; /* that the client waits for */
    unsigned db;
    struct bytes key;
    int64_t *usec; /* the time that its runs have taken so far */
};

/* The next client to try; false: none is left. A client that is not unblocked after its turn keeps
 * its place in the queue. */
bool waiters_next_turn(struct waiters *waiters, struct turn *turn);
/* The key of the last turn has nothing more: skip its other clients. */
void waiters_skip_key(struct waiters *waiters);
/* The key has nothing for the command of this turn. Skips other clients with the same command until
 * the key is ready again: at `again`, or earlier through an effect. 0 and NEVER: only through an
 * effect. */
void waiters_in_vain(struct waiters *waiters, const struct turn *turn, msec again);

/* ---- deadlines ------------------------------------------------------------------------------ */

msec waiters_next_late(const struct waiters *waiters); /* the next timeout; NEVER: none. O(1) */
msec waiters_next_due(const struct waiters *waiters);  /* the earlier of next_wake and next_late */
/* The system clock was set by this much: moves all timeouts, so that their spans stay the same.
 * O(1) */
void waiters_clock_set(struct waiters *waiters, msec by);
/* The client with the earliest timeout that has passed (until <= now), or NULL. */
struct session *waiters_first_due(const struct waiters *waiters, msec now);
/* Does the client get an empty array when it times out? Else it gets null. */
bool waiters_wants_array(const struct session *session);

/* Checks every invariant; aborts with the values if one is broken. */
void waiters_check(const struct waiters *waiters);

#endif
