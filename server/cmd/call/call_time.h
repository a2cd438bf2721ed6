/* call_time: the time of a call that blocks, from its first run until it is answered. In
 * microseconds of the monotonic clock. */
#ifndef SERVER_CMD_CALL_CALL_TIME_H
#define SERVER_CMD_CALL_CALL_TIME_H

#include <stdint.h>

struct call_time {
    int64_t ran_usec;   /* what its runs have taken so far; the rest of the time it was blocked */
    int64_t began_usec; /* when its first run began */
};

#endif
