/* drive: keeps a number of connections busy with a script, and measures.
 * Every connection has one batch under way: it is sent with one write, and when its replies are
 * there the next one goes. Knows sockets, time and counts; refuses to know what commands mean. */
#ifndef TOOLS_BENCH_LOAD_DRIVE_H
#define TOOLS_BENCH_LOAD_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/bench/load/histogram.h"
#include "tools/bench/load/meter.h"
#include "tools/bench/load/script.h"
#include "tools/lib/link.h"

struct drive_plan {
    const struct link_target *target;
    const struct script *script;
    struct numbers *numbers;
    const struct meter *meter;
    unsigned connections;
    double seconds, warm_up_seconds;
    uint64_t requests; /* 0: by time; else rounded up to whole batches, and no warm-up */
    bool sleeps;       /* waits in the kernel instead of asking again and again */
    bool stalls;       /* one connection: what the server did while a batch waited */
};

struct drive_result {
    uint64_t requests; /* answered in the time measured */
    double seconds;
    double idle; /* share of it in which nothing was there to be read */
    struct histogram latency;
    struct reading spent; /* by the server */
    uint64_t errors;
    char error[120]; /* the first one */
    /* With `stalls`: the longest time that the server worked while a batch waited for it, after how
     * many requests, and how many batches waited for more than a millisecond of work. */
    int64_t stall_nsec;
    uint64_t stall_at, stalls_over_msec;
};

/* Ends the program with a message when a connection fails. */
void drive_run(const struct drive_plan *plan, struct drive_result *result);

#endif
