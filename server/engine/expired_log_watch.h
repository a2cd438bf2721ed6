/* expired_log_watch: names, in the daemon's log, the keys to which a policy's EXPIRED TO could not
 * write, because they have another type. Depends on the store's policies and counters. */
#ifndef SERVER_ENGINE_EXPIRED_LOG_WATCH_H
#define SERVER_ENGINE_EXPIRED_LOG_WATCH_H

#include <stdint.h>

#include "store/store.h"

/* All zero at first. */
struct expired_log_watch {
    uint64_t seen;    /* errors that were named */
    unsigned seconds; /* left until errors are named again */
};

/* Call each second. Names new errors, at most once a minute. */
void expired_log_watch_second(struct expired_log_watch *watch, const struct store *store);

#endif
