/* waiters: which sessions wait for which keys, until when, and which of these keys have become
 * ready. Knows sessions, keys and a copy of each one's command; refuses to know what a command
 * waits for, and how it is run again (serve.h does that).
 *
 * Nothing in the data changes while a client waits. Effects make keys ready, in order; whoever
 * serves takes turns until none is left: for each ready key, in the order in which they became
 * ready, its waiters, first come first served. A key that nobody waits for costs one table look-up,
 * and nothing at all while nobody waits for any.
 *
 * What is there but not due yet makes its key ready by itself, at the instant that its waiters
 * said: the earliest of them is kept for each key, and forgotten when it has come. It may be too
 * early, when what was due then has gone meanwhile, but never too late. */
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
void waiters_free(struct waiters *waiters); /* nobody may wait any more */

/* The call's session waits for the keys that `wait` names, in its database; it must not wait yet.
 * False without memory for a copy of the call. */
bool waiters_block(struct waiters *waiters, const struct call *call, const struct wait *wait);
/* The session waits for no key, but for an answer that somebody works out; it must not wait
 * yet. `gone` is told when it waits no more, whether it has its answer or not. */
void waiters_hold(struct waiters *waiters, struct session *session, void (*gone)(void *ctx),
                  void *ctx);
/* It waits no more: served, late, or gone. Fine for one that does not wait. */
void waiters_forget(struct session *session);
/* What the session waits with: the call, borrowed, and what it has taken so far. NULL: it does not
 * wait for a key. */
const struct saved_call *waiters_call(const struct session *session, int64_t *usec);
size_t waiters_count(const struct waiters *waiters); /* sessions that wait */

/* ---- keys that become ready ----------------------------------------------------------------- */

void waiters_effect(struct waiters *waiters, const struct effect *effect);
void waiters_ready(struct waiters *waiters, unsigned db, struct bytes key);
/* The key is ready by itself at this instant (not 0), or earlier. */
void waiters_wake_at(struct waiters *waiters, unsigned db, struct bytes key, msec at);
msec waiters_next_wake(const struct waiters *waiters); /* the first key's own instant, or NEVER */
/* Makes the key ready whose instant has come first; false: none has come by now. O(log n) */
bool waiters_wake(struct waiters *waiters, msec now);
bool waiters_pending(const struct waiters *waiters); /* a turn may be there */

/* ---- serving -------------------------------------------------------------------------------- */

/* A session that may find something at a key now. Everything is borrowed until it is forgotten. */
struct turn {
    struct session *session;
    const struct saved_call *call;
    enum type type; /* of what it waits for */
    unsigned db;
    struct bytes key;
    int64_t *usec; /* what its runs have taken so far */
};

/* The next one to try; false: none is left. Whoever was not forgotten after its turn waits on, in
 * its place. */
bool waiters_next_turn(struct waiters *waiters, struct turn *turn);
/* The key of the last turn has nothing more: its other waiters need no turn. */
void waiters_skip_key(struct waiters *waiters);
/* It has nothing yet for the command that had the turn: nor has it for the same command of others,
 * which get no turn until it is ready again. That is at `again`, if nothing makes it so earlier; 0
 * and NEVER: only effects do. */
void waiters_in_vain(struct waiters *waiters, const struct turn *turn, msec again);

/* ---- deadlines ------------------------------------------------------------------------------ */

msec waiters_next_late(const struct waiters *waiters); /* NEVER: no wait ends by itself. O(1) */
msec waiters_next_due(const struct waiters *waiters);  /* the earlier of next_wake and next_late */
/* The machine's clock was set by so much: each wait is as long as it was. O(1) */
void waiters_clock_set(struct waiters *waiters, msec by);
/* The one whose wait has ended first at this instant (until <= now), or NULL. */
struct session *waiters_first_due(const struct waiters *waiters, msec now);
/* Is an array what a session that waits is told when nothing came? Else it is null. */
bool waiters_wants_array(const struct session *session);

/* Verifies every invariant, or ends the process with the values. */
void waiters_check(const struct waiters *waiters);

#endif
