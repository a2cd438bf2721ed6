/* leases: the state that all leases of the data set share: limits, and the instant before which
 * this server must grant none. The server sets this state, and the commands of leases read it. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"

#define LEASE_MAX_TTL 60000 /* milliseconds, unless the server sets another limit */

struct leases {
    msec max_ttl; /* the longest ttl that TAKE and EXTEND accept */
    /* The server grants no lease before this instant, because others may hold leases that are not
     * in its data: after a start or a promotion the end of the journal or stream may be missing. 0
     * if no such lease can exist. */
    msec quiet_until;
    msec until; /* the latest end of any lease so far; 0 if none was granted */
    /* This server is a replica: only its master grants leases and fencing tokens. */
    bool granted_elsewhere;
    /* Counts the clients that wait for a lease of this key, up to `most`. NULL if no client can
     * wait. */
    size_t (*waiting)(void *ctx, unsigned db, struct bytes key, size_t most);
    void *ctx;
};

/* Returns the milliseconds until leases are granted; 0 if they are granted now. */
static inline msec leases_quiet(const struct leases *leases, msec now)
{
    return leases->quiet_until > now ? leases->quiet_until - now : 0;
}
/* Makes this server grant no lease for max_ttl, because others may have been granted leases that it
 * does not know; after that these have ended. */
static inline void leases_hush(struct leases *leases, msec now)
{
    msec until = instant_moved(now, leases->max_ttl);
    if (until > leases->quiet_until) leases->quiet_until = until;
}
/* Notes the end of a lease that was granted or extended. */
static inline void leases_note_end(struct leases *leases, msec end)
{
    if (end > leases->until) leases->until = end;
}
static inline size_t leases_waiting(const struct leases *leases, unsigned db, struct bytes key,
                                    size_t most)
{
    return leases->waiting != NULL ? leases->waiting(leases->ctx, db, key, most) : 0;
}
