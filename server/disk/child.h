/* child: a forked process that writes the data as of the fork, while the parent continues. Depends
 * on the clock. The caller decides what the child writes, and to which file. */
#pragma once

#include "server/disk/format/base.h"

struct child;

struct child *child_new(void);        /* NULL with errno */
void child_free(struct child *child); /* kills a running child */

struct child_work {
    /* Runs in the child, which exits when it returns 0 or an errno; that is child_outcome.error.
     * Sets *size, which becomes child_outcome.size, and calls report(report_ctx, keys) now and then
     * with the number of keys written, for child_progress. `fd` is the number that the descriptor
     * `fd` below has in the child. */
    int (*run)(void *ctx, int fd, void (*report)(void *ctx, uint64_t keys), void *report_ctx,
               struct base_size *size);
    void *ctx;
    int fd; /* a descriptor that the child keeps in addition to 0, 1 and 2, or -1 */
};
/* Forks a child that does this work; no other child may be running. child_ended collects its
 * result. Returns 0, or an errno without a child. O(n) for n pages of memory */
int child_begin(struct child *child, const struct child_work *work);
bool child_runs(const struct child *child);
/* Does any child run? While one shares the parent's memory, each page that the parent writes is
 * copied. */
bool children_run(void);
/* Kills the child, if one runs. It must still be collected: child_ended then reports an error,
 * unless the child had already finished. */
void child_cancel(struct child *child);
/* Waits until the child has ended, if one runs; child_ended then returns its result. */
void child_await(struct child *child);

struct child_progress {
    uint64_t keys;                /* keys written so far */
    uint64_t copied, copied_peak; /* bytes of memory no longer shared with the parent */
    int64_t copied_usec;          /* monotonic: when that was measured; 0 before the first time */
};
struct child_progress child_progress(const struct child *child); /* of the running or last child */

struct child_outcome {
    int error; /* 0 if `run` succeeded */
    struct base_size size;
    uint64_t copied; /* bytes of memory that the parent and the child no longer shared at its end */
};
/* Collects the result of a child that has ended, so that the next one may begin. Returns false, and
 * leaves *outcome, if no child runs or the child has not ended. */
bool child_ended(struct child *child, struct child_outcome *outcome);
