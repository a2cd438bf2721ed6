/* progress: measures how far a long task has come, and estimates the time left, for INFO, the log
 * and the service manager. Depends on the log. */
#pragma once

#include <stdint.h>

struct progress {
    const char *what; /* as the log names it: "Loading" */
    uint64_t done, total;
    int64_t began_usec, logged_usec; /* monotonic */
};

/* Begins a task. `total` is the work to do, in any unit; the caller increases `done` up to it.
 * `what` is borrowed. */
void progress_begin(struct progress *progress, const char *what, uint64_t total, int64_t now_usec);

struct progress_report {
    const char *what;
    uint64_t done, total;
    double percent;   /* 0 to 100 */
    int64_t left_sec; /* -1: not known yet */
};
struct progress_report progress_report(const struct progress *progress, int64_t now_usec);

/* Call often during the task: logs the progress at most every five seconds, beginning five seconds
 * after the start, and only once the time left can be estimated. */
void progress_log(struct progress *progress, int64_t now_usec);
