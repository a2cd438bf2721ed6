/* child: a forked process that writes the store, as it is at this moment, into a file.
 * Knows processes; refuses to know what the file is for. One at a time. */
#ifndef SERVER_PERSIST_CHILD_H
#define SERVER_PERSIST_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "server/persist/format/base.h"

struct child;

struct child *child_new(void);        /* NULL with errno */
void child_free(struct child *child); /* ends one that runs */

/* 0, or an errno: nothing runs then. O(pages of the process) */
int child_begin(struct child *child, const struct store *store, const char *path,
                const struct snapshot_options *options);
bool child_runs(const struct child *child);
/* What it does is not wanted any more: it is about to end, as failed. */
void child_cancel(struct child *child);
/* Waits for its end. */
void child_await(struct child *child);

struct child_outcome {
    int error; /* 0: the file is written */
    struct base_size size;
    uint64_t copied; /* bytes of memory that the child had for itself at its end */
};
/* False: it is still at it, or there is none. */
bool child_ended(struct child *child, struct child_outcome *outcome);

#endif
