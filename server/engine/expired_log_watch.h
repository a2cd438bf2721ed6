/* expired_log_watch: reports in the daemon's log which keys a policy's EXPIRED TO can't write to,
 * because they are neither streams nor dehydrators. Depends on the store's policies and
 * counters. */
#pragma once

#include "store/store.h"

/* What was reported so far. All zero at first. */
struct expired_log_watch {
    uint64_t seen;    /* errors that have been reported */
    unsigned seconds; /* seconds until the next report is allowed */
};

/* Reports the errors since the last report, unless that was less than a minute ago. Call once a
 * second. */
void expired_log_watch_second(struct expired_log_watch *watch, const struct store *store);
