/* pace: makes expiry wait for clients that can't read its events as fast as it writes them.
 *
 * A burst of expiry publishes hundreds of thousands of events a second. A subscriber that reads
 * some tens of thousands a second would soon exceed its limit of unread output, and lose its
 * connection and the rest of the events. So expiry waits for the subscriber. No command sees
 * overdue data meanwhile; the wait costs only its memory, and ends when maxmemory is exceeded. Each
 * client that background work has brought near its limit has a lag:
 *
 *            events fill 3/4 of its limit         the time is over
 *   LAG_NONE ---------------------------> LAG_HOLDS -------------> LAG_IGNORED
 *                                          |     ^
 *                      it has read down to |     | events fill 3/4 again
 *                                 one half v     |
 *                                         LAG_READS
 *
 * A client returns to LAG_NONE from any state when it has read everything, or is closed. Expiry
 * waits while a client is in LAG_HOLDS. The time, PACE_MSEC, begins when a client leaves LAG_NONE:
 * a client that reads too slowly, or not at all, can delay expiry only for that long, and is then
 * closed by its limit.
 *
 * Knows neither sockets nor the limits: server/net reports what a client has read. A struct of
 * zeros is valid: no client lags. */
#pragma once

#include <stddef.h>
#include <sys/queue.h>

#include "store/base/instant.h"

enum { PACE_MSEC = 10 * 1000 };

enum lag_state { LAG_NONE, LAG_HOLDS, LAG_READS, LAG_IGNORED };

/* Embedded in a client; all zero at first. */
struct lag {
    LIST_ENTRY(lag) next; /* in every state but LAG_NONE */
    enum lag_state state;
    msec until; /* the last instant at which expiry waits for it */
};

struct pace {
    LIST_HEAD(, lag) lags;
    /* Set if background work that can wait has run in this turn. Messages sent later in the turn
     * may then be caused by that work, such as those of client-side caching by prefixes, which are
     * sent at the end. */
    bool publishes;
};

/* Makes background work that publishes events wait for the client, whose unread events have reached
 * three quarters of its limit. The wait ends at the latest PACE_MSEC after the first of these calls
 * since pace_forget. */
void pace_filled(struct pace *pace, struct lag *lag, msec now);
/* Ends the wait for a client that has read down to half of its limit. pace_filled can begin it
 * again, but PACE_MSEC continues. */
void pace_halved(struct lag *lag);
/* Forgets a client that has read everything, lost its limit, or is closed: the next wait for it
 * begins with a new PACE_MSEC. */
void pace_forget(struct lag *lag);

/* Must background work that publishes events wait for a client? Ignores, from now on, each client
 * whose time is over. O(lags) */
bool pace_holds(struct pace *pace, msec now);
/* Returns the last instant at which background work that publishes events must wait if no client
 * reads anything. INT64_MIN if it need not wait. O(lags) */
msec pace_until(const struct pace *pace);
/* Moves the ends of all waits by `by` milliseconds, so that they keep their lengths. Call when the
 * system clock was set. */
void pace_clock_set(struct pace *pace, msec by);
