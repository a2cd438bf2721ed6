/* persist_state: struct persist. Only for persist.c (starting, every turn, stopping) and
 * persist_write.c (snapshots, the rewrite and the child). */
#ifndef SERVER_DISK_PERSIST_STATE_H
#define SERVER_DISK_PERSIST_STATE_H

#include "server/disk/child.h"
#include "server/disk/format/instant_mark.h"
#include "server/disk/format/manifest.h"
#include "server/disk/format/stream_position.h"
#include "server/disk/journal.h"
#include "server/disk/persist.h"
#include "server/disk/rewrite.h"

/* What the child writes. */
enum persist_task {
    TASK_NONE,
    TASK_SAVE, /* a snapshot */
    TASK_BASE, /* the base of the rewrite, which is in REWRITE_BASE */
    TASK_VOID, /* a base that nobody needs any more: it was cancelled, and has not ended yet */
};

/* Failed tasks that will be retried, both at the same time. If the disk was full, they are retried
 * earlier when there is more space. */
struct persist_retry {
    bool save, rewrite;
    int64_t at_usec, delay; /* monotonic; the delay doubles after each failure */
    bool full;
    int64_t check_usec; /* when to check the free space again */
    uint64_t free_then; /* free bytes after the failure */
};

struct persist {
    struct persist_wiring w;
    struct journal *journal;
    struct rewrite *rewrite;
    struct effect_writer writer;
    struct position_marks marks; /* of the journal's records, to continue from */
    struct instant_marks instants;
    struct position_marks loaded; /* of the files, at the start */
    struct loop_io *synced;
    struct loop_timer *flush_again, *task_again;
    bool listens;     /* effects go to the journal */
    bool has_token;   /* the open record has a leap of the fencing tokens */
    size_t committed; /* bytes of the open record that are of committed transactions */
    msec record_at;   /* when the first of them was committed */
    bool opened;      /* the journal has had a file since appendonly was turned on */

    bool settle_asked;      /* persist_prepare has to be called again when a sync has ended */
    unsigned settled_turns; /* turns since the journal settled and could have been closed */

    uint64_t before; /* sum of the last positions of earlier journals */
    /* The safe position without a journal: UINT64_MAX, or less if closing the last one failed. */
    uint64_t safe_at_end;

    int folder; /* the working directory, locked for this daemon; -1: not locked */

    struct child *child;
    enum persist_task task;
    int64_t task_began_usec;
    uint64_t changes_at_task;
    bool save_scheduled, rewrite_scheduled;
    int64_t rewritten_usec, rewrite_took_usec; /* end and duration of the last rewrite */
    int base_error; /* of the last attempt at a base that the journal needs, or 0 */
    struct persist_retry retry;

    uint64_t changes_saved;  /* store->changes as of the last snapshot */
    uint64_t flush_seen;     /* store->flushed_at as of the last turn */
    uint64_t segments_bytes; /* of the segments before the current one */
    struct progress load;    /* bytes, while report.loading */
    struct progress at_task; /* keys that the child has written */
    struct progress at_save; /* keys, while report.saves_inline */
    struct persist_report report;
};

/* persist.c: call when the next record begins another file, or was preceded by records that were
 * dropped: it names its database and its position in full. */
void persist_restart_text(struct persist *persist);

/* persist_write.c */
/* Writes the store at once, without a child; `what` is for the log. Returns 0 or an errno. */
int persist_write_now(struct persist *persist, const char *what, const char *path,
                      struct base_size *size);
/* After FLUSHALL: with save points, writes a snapshot at once, as Redis does. */
void persist_save_flushed(struct persist *persist);
/* Writes the base and an empty segment at once, after the journal was closed without a base. 0 or
 * an errno. */
int persist_write_last_base(struct persist *persist);
/* Creates the rewrite, whose hooks are in persist_write.c. Returns false with errno on failure. */
bool persist_new_rewrite(struct persist *persist);
/* Cancels a rewrite whose journal was closed, or whose data was replaced. */
void persist_drop_rewrite(struct persist *persist);
/* Does the journal need a base while none is being written? It will be tried again. */
bool persist_waits_for_base(const struct persist *persist);
/* Starts the journal at once, with a base of the current store and an empty segment. Returns 0 or
 * an errno. */
int persist_begin_journal(struct persist *persist);
void persist_end_tasks(struct persist *persist); /* handles the result of a child that has ended */
/* Starts scheduled tasks, and the base that the journal needs. */
void persist_begin_tasks(struct persist *persist);

#endif
