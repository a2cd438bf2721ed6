/* persist_state: struct persist. Only for persist.c (every turn), persist_write.c (snapshots and
 * the child), persist_rewrite.c (the journal's rewrite), persist_find.c (finding files) and
 * persist_start.c (loading). */
#ifndef SERVER_DISK_PERSIST_STATE_H
#define SERVER_DISK_PERSIST_STATE_H

#include "server/disk/child.h"
#include "server/disk/file_job.h"
#include "server/disk/format/manifest.h"
#include "server/disk/format/stream_place.h"
#include "server/disk/journal.h"
#include "server/disk/persist.h"

enum persist_task { TASK_NONE, TASK_SAVE, TASK_REWRITE };

/* The steps of a rewrite in the journal's directory, before and after its child. A thread does
 * them. */
enum persist_step {
    STEP_NONE,
    STEP_TRY,     /* before the journal is turned on: its folder and a segment are created */
    STEP_FOLDER,  /* of a journal that needs a base: its folder is created, unless it exists */
    STEP_SEGMENT, /* a new segment is created and listed */
    STEP_ROTATE,  /* the segment exists: the journal switches to it at the end of a turn */
    STEP_BASE,    /* the base is listed */
    STEP_SWEEP,   /* files of the old journal are removed; the task has ended */
    STEP_NOTE,    /* the manifest notes that the closed journal is synced */
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
    struct manifest manifest;
    struct effect_writer writer;
    struct place_marks marks;  /* of the journal's records, to continue from */
    struct place_marks loaded; /* of the files, at the start */
    struct loop_io *synced;
    struct loop_timer *flush_again, *task_again;
    bool listens;     /* effects go to the journal */
    bool has_token;   /* the open record has a leap of the fencing tokens */
    size_t committed; /* bytes of the open record that are of committed transactions */
    bool opened;      /* the journal has had a file since appendonly was turned on */

    bool settle_asked;      /* persist_prepare has to be called again when a sync has ended */
    unsigned settled_turns; /* turns since the journal settled and could have been closed */

    uint64_t before; /* sum of the last positions of earlier journals */
    /* The safe position without a journal: UINT64_MAX, or less if closing the last one failed. */
    uint64_t safe_at_end;

    int folder; /* the working directory, locked for this daemon; -1: not locked */

    /* While `files` runs, `manifest`, `segment_seq` and `pending_segment` belong to its thread. */
    struct file_job *files;
    struct loop_io *files_done;
    enum persist_step step;
    bool step_ended;
    int step_error;

    struct child *child;
    enum persist_task task;
    int64_t task_began_usec;
    bool task_void;  /* its result will be ignored */
    bool restarts;   /* the journal needs the rewrite's base to restart */
    bool base_named; /* the manifest lists that base, but the journal has not switched to its new
                        segment yet */
    struct base_size base_size;
    uint64_t base_seq, segment_seq; /* of the running rewrite */
    int pending_segment;            /* created, but not used yet, or -1 */
    uint32_t segment_id;            /* of the next segment, or 0 until it is drawn */
    bool tried;                     /* STEP_TRY has ended, with try_error; not used yet */
    int try_error;
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

/* persist.c: creates a journal without a file. 0 or an errno. */
int persist_new_journal(struct persist *persist);
/* Call when the next record begins another file, or was preceded by records that were dropped: it
 * names its database and its place in full. */
void persist_restart_text(struct persist *persist);
/* Locks the working directory for this daemon. False: another daemon has it. If the system has no
 * locks, true. */
bool persist_own_folder(struct persist *persist);

/* persist_find.c */

/* Initializes the manifest for the journal's folder and loads it. Returns LOADED, NONE, or BAD with
 * `why`, which names the file. */
enum manifest_found persist_find_journal(struct persist *persist, char why[MANIFEST_WHY_MAX]);
/* Call when there is no data: true and `why` if an append-only file of Redis is where the journal
 * would be created. */
bool persist_refuse_redis(const struct persist *persist, char *why, size_t size);
/* Call when there is no data: logs which files of Redis are in dir, and how to import them. */
void persist_note_redis(const struct persist *persist);
/* Finds the file to import: the path given, or the one in that folder. False: `why` has the reason.
 */
bool persist_find_import(const struct conf *conf, char path[DISK_PATH_MAX], const char **why);
/* Loads the manifest at this path; the caller drops it. False: the file is not named like a
 * manifest. */
bool persist_load_manifest(struct manifest *manifest, const char *path, enum manifest_found *found,
                           char why[MANIFEST_WHY_MAX]);

/* persist_write.c */
/* Writes the store at once, without a child; `what` is for the log. 0 or an errno. */
int persist_write_now(struct persist *persist, const char *what, const char *path,
                      struct base_size *size);
/* After FLUSHALL: with save points, writes a snapshot at once, as Redis does. */
void persist_save_flushed(struct persist *persist);
/* Forks a child that writes the store, and begins the task. 0 or an errno. */
int persist_fork(struct persist *persist, enum persist_task task, const char *path);
/* Logs the failure and schedules another attempt. `step` is what failed. */
void persist_note_failure(struct persist *persist, enum persist_task task, const char *step,
                          int error);
void persist_end_tasks(struct persist *persist); /* handles the result of a child that has ended */
/* Starts scheduled tasks, and the base that the journal needs. */
void persist_begin_tasks(struct persist *persist);

/* persist_rewrite.c */

/* Starts a journal at once, with a base of the current store and an empty segment. 0 or an errno.
 */
int persist_begin_journal(struct persist *persist);
/* After the journal was closed without a base: writes the store as a base with an empty segment. 0
 * or an errno. */
int persist_write_last_base(struct persist *persist);
/* Begins to create the journal's folder and a segment, to see whether that is possible. */
void persist_begin_try(struct persist *persist);
/* The result of persist_begin_try; without one, does the same at once. 0 or an errno. */
int persist_try_folder(struct persist *persist);
/* Drops the result of persist_begin_try if there is one. */
void persist_drop_try(struct persist *persist);
/* True: the journal needs a base, and none is being written; it will be tried again. */
bool persist_waits_for_base(const struct persist *persist);
/* Begins a rewrite if one is scheduled, or if the journal needs a base. False: none began. */
bool persist_start_rewrite(struct persist *persist);
/* The child has written the base, or failed. */
void persist_end_base(struct persist *persist, const struct child_outcome *outcome);
/* Logs the error of manifest_sweep, if it is one. */
void persist_log_sweep(int error);
/* Call at the end of each turn: acts on the result of the thread. */
void persist_continue_rewrite(struct persist *persist);
/* Takes the result of the thread, if it has ended; persist_continue_rewrite acts on it. */
void persist_take_step(struct persist *persist);
/* Waits for the thread, after which the manifest may be used until the next turn. */
void persist_await_files(struct persist *persist);
/* Begins to note in the manifest that the closed journal is synced: the next start then knows that
 * no end of it is torn. */
void persist_begin_note(struct persist *persist);
/* Cancels a rewrite whose journal was closed. */
void persist_drop_rewrite(struct persist *persist);

#endif
