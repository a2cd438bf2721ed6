/* observe: statistics about calls: counts and times by command, errors by code, slow calls, and
 * MONITOR. Depends on calls and the clock; treats all commands alike.
 *
 * Folder server/engine/observe: measures calls. Start here.
 *
 *     observe    counts and times each call
 *     slowlog    keeps slow calls
 *     latency    keeps slow events: calls, further runs of blocked calls, expiry
 *     monitor    sends calls to MONITOR
 *     stats      the counters that no other part owns: connections, turns, peaks
 *
 * Counters of stats are incremented by the code in which the event happens.
 *
 * May use: conf proto/resp server/base server/cmd/call store/. */
#pragma once

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/cmd/call/call.h"
#include "server/cmd/call/call_time.h"
#include "server/engine/observe/latency.h"
#include "server/engine/observe/monitor.h"
#include "server/engine/observe/slowlog.h"
#include "store/base/histogram.h"
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
    uint64_t run_usec;  /* time of all requests' calls; a script's time includes its calls */
};

void observer_init(struct observer *observer, const struct conf *conf, const struct clock *clock);
void observer_drop(struct observer *observer);
void observer_reset(struct observer *observer, struct commands *commands); /* CONFIG RESETSTAT */

/* Begins a turn's requests: the first call is timed from `usec`, which is monotonic. */
void observe_turn(struct observer *observer, int64_t usec);
/* Record a call: observe_begin before it runs, whose result is passed to observe_end after it. A
 * call is timed from the end of the previous call of its turn, so that each call needs only one
 * reading of the clock. */
int64_t observe_begin(const struct observer *observer);
void observe_end(struct observer *observer, const struct call *call, int64_t began);
/* Record a further run of a blocked call: observe_now before it, whose result is passed to
 * observe_again after it, which adds the run to time->ran_usec. The slow log and the histogram
 * receive the call only when it is answered, with the time of all its runs. As in Redis, a call
 * that times out is not recorded. */
int64_t observe_now(const struct observer *observer);
void observe_again(struct observer *observer, const struct call *call, int64_t began,
                   struct call_time *time);
/* Records a blocked call whose wait CLIENT UNBLOCK or a change of role has ended, with the time of
 * its runs. If it was answered with an error (call->failed), counts that too. */
void observe_ended(struct observer *observer, const struct call *call,
                   const struct call_time *time);
/* Records the time that a turn has spent on expiry, for LATENCY. */
void observe_expiry(struct observer *observer, int64_t usec);
/* Sends the call to monitors now. For commands with SKIP_MONITOR, such as EVAL, which observe_end
 * does not send: they call this before they run other commands, so that monitors see the commands
 * in order. */
void observe_monitor(struct observer *observer, const struct call *call);
/* Counts a refused call in its command's statistics, and its error by code. */
void observe_rejected(struct observer *observer, const struct call *call);
/* Counts the error of a failed call by its code, and nothing else: for a queued call that EXEC
 * refuses, as Redis does. Here and above, only the first 128 codes are counted. */
void observe_error(struct observer *observer, const struct call *call);
