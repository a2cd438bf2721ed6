/* observe: what is noted around every call: counts and times by command, errors by code, the slow
 * ones, and what MONITOR shows.
 * Knows calls from outside; refuses to know what they do. */
#ifndef SERVER_OBSERVE_OBSERVE_H
#define SERVER_OBSERVE_OBSERVE_H

#include <stdint.h>

#include "conf/conf.h"
#include "server/call/call.h"
#include "server/base/clock.h"
#include "server/observe/histogram.h"
#include "server/observe/latency.h"
#include "server/observe/monitor.h"
#include "server/observe/slowlog.h"
#include "store/struct/dict.h"

struct error_count {
    uint64_t count;
    struct blob *code; /* "ERR", "WRONGTYPE" */
};

struct observer {
    const struct conf *conf;
    const struct clock *clock;
    struct slowlog *slowlog;
    struct latency latency;
    struct monitor *monitor;
    struct dict errors; /* struct error_count by code */
    int64_t last_usec;  /* monotonic: when the last call ended, or the turn began */
};

void observer_init(struct observer *observer, const struct conf *conf, const struct clock *clock);
void observer_drop(struct observer *observer);
void observer_reset(struct observer *observer, struct commands *commands); /* CONFIG RESETSTAT */

/* Requests come to be run: what they take counts from now on (monotonic). */
void observe_turn(struct observer *observer, int64_t usec);
/* Around a call that runs; begin returns what end wants. A call begins when the one before it in
 * its turn has ended, so that the clock is read once for each. */
int64_t observe_begin(const struct observer *observer);
void observe_end(struct observer *observer, const struct call *call, int64_t began);
/* A call that waits has its entry in the slow log and among the spans when it is answered, with
 * what all its runs have taken; one that is answered because its time is over has none, as in
 * Redis. Around each further run, after which *usec has grown: */
int64_t observe_now(const struct observer *observer);
void observe_again(struct observer *observer, const struct call *call, int64_t began,
                   int64_t *usec);
/* Its wait was ended by CLIENT UNBLOCK, with an error if it has failed. */
void observe_ended(struct observer *observer, const struct call *call, int64_t usec);
/* A slice of expiry took so long. */
void observe_expiry(struct observer *observer, int64_t usec);
/* A call that a gate refused. */
void observe_rejected(struct observer *observer, const struct call *call);

#endif
