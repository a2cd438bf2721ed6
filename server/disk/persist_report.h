/* persist_report: the outcomes of a request to save or rewrite, and the figures of persistence for
 * INFO, the metrics port and the status line. saver fills in its own figures, persist the
 * others. */
#pragma once

#include <stddef.h>

#include "server/disk/progress.h"
#include "store/base/instant.h"

enum persist_outcome {
    PERSIST_DONE,      /* done, or starts in the background at the end of the turn */
    PERSIST_SCHEDULED, /* will start as soon as possible */
    PERSIST_SAVING,    /* not started: a snapshot is being written, or scheduled */
    PERSIST_REWRITING, /* not started: the journal is being rewritten */
    PERSIST_FAILED,
    PERSIST_FOREIGN, /* not started: dbfilename is a file of another program */
};

/* Counts of snapshots, or of rewrites. */
struct persist_counts {
    uint64_t begun, done, failed; /* since the start */
    uint64_t failures;            /* failures in a row */
    bool has_failed;              /* the last one has failed */
    int64_t sec;                  /* how long the last child took, or -1 */
    size_t copied_bytes;          /* memory copied during that time, because pages were changed */
};

struct persist_report {
    bool loading, journal, saving, rewriting, rewrite_scheduled;
    struct progress_report load; /* in bytes; while loading */
    int64_t start_sec;           /* unix time: when loading began */
    bool saves_inline; /* a file is being written without a child; `save` has the progress */
    struct progress_report save, task; /* in keys; `task` is the child's, and zero without one */
    int64_t last_save_sec;             /* unix time; without a snapshot, the time of the start */
    struct persist_counts saves, rewrites;
    const char *write_error;                       /* why the journal can't be written, or NULL */
    int64_t current_save_sec, current_rewrite_sec; /* -1 if there is none */
    uint64_t changes_since_save;
    uint64_t journal_bytes, base_bytes; /* of base and segments; of the base */
    /* Files that a base has replaced but that are kept. reachable_since is the first instant that a
     * start with `until` can reach, or -1. */
    uint64_t kept_files, kept_bytes;
    msec reachable_since;
    uint64_t journal_waiting, late_syncs;
    bool sync_running;
    size_t buffer_bytes; /* memory of data that waits to be written */
    size_t copied_now,
        copied_peak;        /* memory copied for the running child, and its maximum; else 0 */
    int64_t copied_age_sec; /* age of the measurement of copied_now */
    int64_t last_fork_usec; /* how long the last fork blocked the loop */
    int64_t forked_usec;    /* monotonic: when the last fork was; 0 before the first */
    uint64_t forks, keys_loaded;
    uint64_t syncs, journal_failures; /* syncs; failures of writes and syncs */
    int64_t last_sync_usec;           /* how long the last sync of the journal took */
};
