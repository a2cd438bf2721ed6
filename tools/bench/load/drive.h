/* drive: sends a script over a number of connections, and measures. Each connection has one batch
 * under way; when all its replies have arrived, the next batch follows. */
#pragma once

#include "store/base/histogram.h"
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
    uint64_t requests; /* 0 to run for `seconds`; otherwise rounded up to whole batches, and sent
                          without warm-up */
    bool sleeps;       /* waits in the kernel instead of polling */
    bool stalls;       /* with one connection: measure the server's work while a batch waits */
};

struct drive_result {
    uint64_t requests; /* answered in the time measured */
    double seconds;
    double idle; /* share of `seconds` in which there was nothing to read */
    struct histogram latency;
    struct reading spent; /* by the server */
    uint64_t errors;
    char error[120]; /* the first one */
    /* With `stalls`: the longest time for which the server worked while a batch waited; the number
     * of requests before that batch; and the number of batches that waited for more than 1 ms of
     * work. */
    int64_t stall_nsec;
    uint64_t stall_at, stalls_over_msec;
};

/* Ends the program with a message when a connection fails. */
void drive_run(const struct drive_plan *plan, struct drive_result *result);
