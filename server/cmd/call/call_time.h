/* call_time: the duration of a call that may block, in microseconds of the monotonic clock. The
 * time spent blocked is the time since began_usec, minus ran_usec. */
#pragma once

#include <stdint.h>

struct call_time {
    int64_t ran_usec;   /* total duration of its runs so far */
    int64_t began_usec; /* start of its first run */
};
