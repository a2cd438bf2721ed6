/* persist_rewrite: a new base and a new segment for the journal. A thread changes the folder, a
 * child writes the base, and the journal switches at the end of a turn. */
#include "server/disk/persist_state.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "server/base/log.h"

/* ---- the folder: in a thread, except at a start ---------------------------------------------- */

/* Draws the ID of the next segment, unless an earlier attempt did: the manifest may list it. */
static void name_next_segment(struct persist *persist)
{
    if (persist->segment_id == 0) persist->segment_id = segment_id_new();
}

/* The journal has taken the next segment. */
static void forget_next_segment(struct persist *persist)
{
    persist->pending_segment = -1;
    persist->segment_id = 0;
}

/* Creates a segment, unless one is left from an earlier attempt. */
static int make_segment(struct persist *persist)
{
    if (persist->pending_segment >= 0) return 0;
    return manifest_make_segment(&persist->manifest, journal_create, &persist->segment_seq,
                                 &persist->pending_segment);
}

/* In the thread: creates a segment and lists it in the manifest, unless an earlier attempt did. */
static int list_segment(void *ctx)
{
    struct persist *persist = ctx;
    int error = make_segment(persist);
    if (error != 0) return error;
    if (manifest_last_segment(&persist->manifest) == persist->segment_seq)
        return manifest_sync_again(&persist->manifest);
    return manifest_add_segment(&persist->manifest, persist->segment_seq, persist->segment_id);
}

/* In the thread: lists the base, which is synced, in the manifest. */
static int list_base(void *ctx)
{
    struct persist *persist = ctx;
    int error = persist->restarts ? make_segment(persist) : 0;
    if (error == 0)
        error = manifest_put_base(&persist->manifest, persist->base_seq, persist->segment_seq,
                                  persist->segment_id);
    return error;
}

/* In the thread. */
static int sweep(void *ctx)
{
    struct persist *persist = ctx;
    return manifest_sweep(&persist->manifest);
}

/* In the thread. */
static int make_folder(void *ctx)
{
    struct persist *persist = ctx;
    return manifest_make_folder(&persist->manifest);
}

/* In the thread, unless nothing has begun it. */
static int try_folder(void *ctx)
{
    struct persist *persist = ctx;
    int error = make_folder(persist);
    return error != 0 ? error : make_segment(persist);
}

int persist_try_folder(struct persist *persist)
{
    persist_await_files(persist);
    int error = persist->tried ? persist->try_error : try_folder(persist);
    persist->tried = false;
    return error;
}

static void begin_step(struct persist *persist, enum persist_step step, int (*run)(void *ctx))
{
    persist->step = step;
    file_job_begin(persist->files, run, persist);
}

void persist_begin_try(struct persist *persist)
{
    begin_step(persist, STEP_TRY, try_folder);
}

/* In the thread. */
static int note_synced(void *ctx)
{
    struct persist *persist = ctx;
    return manifest_note_synced(&persist->manifest);
}

void persist_begin_note(struct persist *persist)
{
    persist_await_files(persist);
    begin_step(persist, STEP_NOTE, note_synced);
}

static void log_note(int error)
{
    if (error != 0)
        log_line(LOG_NOTICE,
                 "Can't note in the manifest that the journal is complete: %s. If its end is "
                 "damaged before the next start, this will look like a crash",
                 strerror(error));
}

void persist_drop_try(struct persist *persist)
{
    if (persist->tried) persist_drop_rewrite(persist); /* which closes its segment */
}

void persist_log_sweep(int error)
{
    if (error != 0)
        log_line(LOG_WARNING,
                 "Can't remove files of the old journal: %s. The next rewrite tries again",
                 strerror(error));
}

void persist_take_step(struct persist *persist)
{
    enum persist_step step = persist->step;
    if (!file_job_ended(persist->files, &persist->step_error)) return;
    if (step != STEP_TRY && step != STEP_SWEEP && step != STEP_NOTE) {
        persist->step_ended = true;
        return;
    }
    persist->step = STEP_NONE;
    if (step == STEP_SWEEP) persist_log_sweep(persist->step_error);
    if (step == STEP_NOTE) log_note(persist->step_error);
    persist->tried = step == STEP_TRY;
    persist->try_error = persist->step_error;
}

void persist_await_files(struct persist *persist)
{
    file_job_await(persist->files);
    persist_take_step(persist);
}

/* ---- the base -------------------------------------------------------------------------------- */

static void note_rewritten(struct persist *persist, const struct base_size *size)
{
    persist->opened = true;
    persist->base_error = 0;
    persist->retry.delay = 0;
    persist->segments_bytes = 0;
    persist->report.base_bytes = size->bytes;
    persist->report.rewrite_failed = false;
    persist->report.rewrites++;
    persist->report.rewrite_failures = 0;
    log_line(LOG_NOTICE, "Journal rewritten: %" PRIu64 " key%s, %" PRIu64 " bytes", size->keys,
             log_plural(size->keys), size->bytes);
}

int persist_begin_journal(struct persist *persist)
{
    char path[DISK_PATH_MAX];
    struct base_size size = { 0 };
    int error = manifest_make_folder(&persist->manifest);
    if (error == 0) error = manifest_base_path(&persist->manifest, path, &persist->base_seq);
    if (error == 0) error = persist_write_now(persist, "Beginning the journal", path, &size);
    int fd = -1;
    if (error == 0)
        error =
            manifest_make_segment(&persist->manifest, journal_create, &persist->segment_seq, &fd);
    uint32_t id = segment_id_new();
    bool blank = size.keys == 0 && persist->w.store->policies.count == 0 &&
                 libraries_count(&persist->w.store->libraries) == 0;
    if (error == 0)
        error = (blank ? manifest_begin : manifest_put_base)(&persist->manifest, persist->base_seq,
                                                             persist->segment_seq, id);
    if (error == 0) error = journal_open(persist->journal, fd, id, NULL);
    if (error != 0) {
        if (fd >= 0) close(fd);
        return error;
    }
    note_rewritten(persist, &size);
    return 0;
}

int persist_write_last_base(struct persist *persist)
{
    char path[DISK_PATH_MAX];
    struct base_size size = { 0 };
    /* The thread may be sweeping, and a cancelled child may be in its last system call. */
    persist_await_files(persist);
    if (persist->task_void) child_await(persist->child);
    int error = manifest_make_folder(&persist->manifest);
    if (error == 0) error = manifest_base_path(&persist->manifest, path, &persist->base_seq);
    if (error == 0) error = persist_write_now(persist, "Writing the journal's base", path, &size);
    if (error == 0) error = make_segment(persist);
    name_next_segment(persist);
    if (error == 0)
        error = manifest_put_base(&persist->manifest, persist->base_seq, persist->segment_seq,
                                  persist->segment_id);
    if (error != 0) return error;
    note_rewritten(persist, &size);
    persist->safe_at_end = UINT64_MAX;
    return 0;
}

static void fail_rewrite(struct persist *persist, const char *what, int error)
{
    persist->task = TASK_NONE;
    if (persist->restarts && persist->listens) {
        journal_restart_cancel(persist->journal);
        persist->base_error = error;
    }
    persist_note_failure(persist, TASK_REWRITE, what, error);
}

/* The base will hold all changes so far; later ones go to the new segment. */
static void begin_base(struct persist *persist)
{
    char path[DISK_PATH_MAX];
    const char *what = "name of the base";
    int error = manifest_base_path(&persist->manifest, path, &persist->base_seq);
    if (error == 0) {
        what = "fork";
        error = persist_fork(persist, TASK_REWRITE, path);
    }
    if (error == 0)
        log_line(LOG_NOTICE, "Rewriting the journal in the background");
    else
        fail_rewrite(persist, what, error);
}

void persist_end_base(struct persist *persist, const struct child_outcome *outcome)
{
    if (outcome->error != 0) {
        fail_rewrite(persist, "child process", outcome->error);
        return;
    }
    persist->task = TASK_REWRITE;
    persist->base_size = outcome->size;
    begin_step(persist, STEP_BASE, list_base);
}

/* ---- the journal's next segment -------------------------------------------------------------- */

/* Switches the journal to its new segment and begins the base. Has no effect while the journal is
 * busy; called again at the end of the next turn. */
static void rotate(struct persist *persist)
{
    persist_end_record(persist);
    uint64_t length = journal_report(persist->journal).segment_length;
    /* The base has replaced all segments before the current one, which is listed before the new
     * one: so the next start will not know their end. */
    if (manifest_segments(&persist->manifest) == 2)
        journal_follow(persist->journal, &(struct journal_end){ 0 });
    int error = journal_rotate(persist->journal, persist->pending_segment, persist->segment_id);
    if (error == EBUSY) return;
    persist->step = STEP_NONE;
    if (error != 0) {
        fail_rewrite(persist, "new segment", error);
        return;
    }
    forget_next_segment(persist);
    persist->segments_bytes += length;
    persist_restart_text(persist);
    begin_base(persist);
}

static void end_rewrite(struct persist *persist)
{
    persist->base_named = false;
    note_rewritten(persist, &persist->base_size);
    begin_step(persist, STEP_SWEEP, sweep);
}

/* ---- a rewrite ------------------------------------------------------------------------------- */

/* Starts at the end of the turn: the command may be part of a transaction, which is one record. */
enum persist_outcome persist_begin_rewrite(struct persist *persist)
{
    if (persist->task == TASK_REWRITE) return PERSIST_REWRITING;
    persist->rewrite_scheduled = persist->listens;
    return persist->task == TASK_SAVE || !persist->listens ? PERSIST_SCHEDULED : PERSIST_DONE;
}

bool persist_waits_for_base(const struct persist *persist)
{
    return persist->listens && journal_state(persist->journal) == JOURNAL_NEEDS_BASE &&
           persist->task != TASK_REWRITE && !persist->base_named;
}

bool persist_start_rewrite(struct persist *persist)
{
    bool wanted =
        persist->rewrite_scheduled || (persist_waits_for_base(persist) && !persist->retry.rewrite);
    bool is_closing = persist->listens && journal_settles(persist->journal);
    if (!wanted || is_closing || persist->step != STEP_NONE) return false;
    persist->rewrite_scheduled = persist->retry.rewrite = false;
    persist->task = TASK_REWRITE;
    persist->task_began_usec = clock_mono_usec();
    if (journal_state(persist->journal) == JOURNAL_CANNOT_WRITE)
        journal_give_up_segment(persist->journal);
    persist->restarts = journal_state(persist->journal) == JOURNAL_NEEDS_BASE;
    name_next_segment(persist);
    if (!persist->restarts) {
        /* Syncing the new files may take long; request a sync of the written records first. */
        journal_sync_now(persist->journal, clock_mono_usec());
        begin_step(persist, STEP_SEGMENT, list_segment);
        return true;
    }
    begin_step(persist, STEP_FOLDER, make_folder);
    return true;
}

/* The base will hold all changes so far; later records wait for it in memory. */
static void begin_restart(struct persist *persist)
{
    persist_end_record(persist);
    journal_restart_begin(persist->journal, persist->segment_id);
    persist_restart_text(persist);
    begin_base(persist);
}

static void end_step(struct persist *persist)
{
    enum persist_step step = persist->step;
    int error = persist->step_error;
    if (!persist->step_ended) return;
    persist->step_ended = false;
    persist->step = STEP_NONE;
    if (step == STEP_FOLDER) {
        if (error != 0)
            fail_rewrite(persist, "folder", error);
        else
            begin_restart(persist);
    } else if (step == STEP_BASE) {
        persist->task = TASK_NONE;
        if (error != 0)
            fail_rewrite(persist, "manifest", error);
        else if (persist->restarts)
            persist->base_named = true;
        else
            end_rewrite(persist);
    } else if (error != 0) {
        fail_rewrite(persist, "new segment", error);
    } else {
        persist->step = STEP_ROTATE;
    }
}

void persist_continue_rewrite(struct persist *persist)
{
    end_step(persist);
    if (persist->step == STEP_ROTATE) rotate(persist);
    if (!persist->base_named) return;
    /* Switch the journal to its new segment, with all records kept since the base began. While the
     * segment before is being synced, try again in the next turn. */
    if (journal_restart_end(persist->journal, persist->pending_segment) == EBUSY) return;
    forget_next_segment(persist);
    end_rewrite(persist);
}

void persist_drop_rewrite(struct persist *persist)
{
    if (persist->step == STEP_TRY) persist_await_files(persist);
    persist->tried = false;
    if (persist->task == TASK_REWRITE && child_runs(persist->child)) {
        child_cancel(persist->child);
        persist->task_void = true;
    } else if (persist->task == TASK_REWRITE) {
        persist_await_files(persist);
        persist->task = TASK_NONE;
        persist->step = STEP_NONE;
        persist->step_ended = false;
    }
    if (persist->pending_segment >= 0) disk_close(persist->pending_segment);
    forget_next_segment(persist);
    persist->base_named = persist->rewrite_scheduled = persist->retry.rewrite = false;
}
