/* rewrite: see rewrite.h, which draws the states. */
#include "server/disk/rewrite.h"

#include <errno.h>

#include "server/base/log.h"
#include "server/disk/file_job.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

struct rewrite {
    struct rewrite_wiring w;
    enum rewrite_state state;

    /* While the thread works, `manifest` and `next` belong to it. */
    struct manifest manifest;
    struct next_segment {
        uint64_t seq;
        int fd;      /* created but not used yet, or -1 */
        uint32_t id; /* 0 until the ID is drawn */
    } next;

    struct file_job *files;
    struct loop_io *files_done;
    int try_error; /* in TRIED: the result, 0 or an errno */

    struct journal *journal; /* the journal of the running or last rewrite */
    bool restarts;           /* the rewrite began with FOLDER */
    uint64_t base_seq;
    struct base_size base_size;
};

/* ---- steps in the folder: in the thread, or called by rewrite_end_try and write_now ---- */

static int make_segment(struct rewrite *rewrite)
{
    if (rewrite->next.fd >= 0) return 0;
    return manifest_make_segment(&rewrite->manifest, journal_create, &rewrite->next.seq,
                                 &rewrite->next.fd);
}

/* Creates a segment and lists it in the manifest, unless an earlier attempt did. */
static int list_segment(void *ctx)
{
    struct rewrite *rewrite = ctx;
    int error = make_segment(rewrite);
    if (error != 0) return error;
    if (manifest_last_segment(&rewrite->manifest) == rewrite->next.seq)
        return manifest_sync_again(&rewrite->manifest);
    return manifest_add_segment(&rewrite->manifest, rewrite->next.seq, rewrite->next.id);
}

static int list_base(void *ctx)
{
    struct rewrite *rewrite = ctx;
    int error = rewrite->restarts ? make_segment(rewrite) : 0;
    if (error != 0) return error;
    return (rewrite->restarts ? manifest_put_anew : manifest_put_base)(
        &rewrite->manifest, rewrite->base_seq, rewrite->next.seq, rewrite->next.id);
}

static int sweep(void *ctx)
{
    struct rewrite *rewrite = ctx;
    return manifest_sweep(&rewrite->manifest);
}

static int make_folder(void *ctx)
{
    struct rewrite *rewrite = ctx;
    return manifest_make_folder(&rewrite->manifest);
}

static int try_folder(void *ctx)
{
    struct rewrite *rewrite = ctx;
    int error = make_folder(rewrite);
    return error != 0 ? error : make_segment(rewrite);
}

static int note_synced(void *ctx)
{
    struct rewrite *rewrite = ctx;
    return manifest_note_synced(&rewrite->manifest);
}

static void begin_step(struct rewrite *rewrite, enum rewrite_state state, int (*run)(void *ctx))
{
    rewrite->state = state;
    rewrite->manifest.keep_from = rewrite->w.keep_from(rewrite->w.ctx);
    file_job_begin(rewrite->files, run, rewrite);
}

static void log_sweep(int error)
{
    if (error != 0)
        log_line(LOG_WARNING,
                 "Can't remove files of the old journal: %s. The next rewrite tries again",
                 strerror(error));
}

static void fail(struct rewrite *rewrite, const char *step, int error)
{
    rewrite->state = REWRITE_IDLE;
    if (rewrite->restarts) journal_restart_cancel(rewrite->journal);
    rewrite->w.failed(rewrite->w.ctx, step, error);
}

static void end_step(struct rewrite *rewrite, enum rewrite_state next, const char *step, int error)
{
    if (error != 0)
        fail(rewrite, step, error);
    else
        rewrite->state = next;
}

/* Takes the result of the thread if it has ended. May run in the middle of a transaction. */
static void take_step(struct rewrite *rewrite)
{
    int error;
    if (!file_job_ended(rewrite->files, &error)) return;
    switch (rewrite->state) {
    case REWRITE_SEGMENT: end_step(rewrite, REWRITE_ROTATE, "new segment", error); return;
    case REWRITE_FOLDER: end_step(rewrite, REWRITE_RESTART, "folder", error); return;
    case REWRITE_LIST: end_step(rewrite, REWRITE_LISTED, "manifest", error); return;
    case REWRITE_TRY:
        rewrite->state = REWRITE_TRIED;
        rewrite->try_error = error;
        return;
    case REWRITE_SWEEP: log_sweep(error); break;
    case REWRITE_NOTE:
        if (error != 0)
            log_line(LOG_NOTICE,
                     "Can't note in the manifest that the journal is complete: %s. If its end is "
                     "damaged before the next start, this will look like a crash",
                     strerror(error));
        break;
    default: ensure(false, "a step in state %d", (int)rewrite->state);
    }
    rewrite->state = REWRITE_IDLE;
}

static void on_files_done(void *ctx, unsigned what)
{
    (void)what;
    struct rewrite *rewrite = ctx;
    take_step(rewrite);
    rewrite->w.step_done(rewrite->w.ctx);
}

bool rewrite_has_thread(const struct rewrite *rewrite)
{
    return file_job_runs(rewrite->files);
}

void rewrite_await(struct rewrite *rewrite)
{
    file_job_await(rewrite->files);
    take_step(rewrite);
}

struct manifest *rewrite_manifest(struct rewrite *rewrite)
{
    return &rewrite->manifest;
}

/* ---- creating and freeing -------------------------------------------------------------------- */

struct rewrite *rewrite_new(const struct rewrite_wiring *wiring, const char *dir, const char *name)
{
    struct file_job *files = file_job_new();
    if (files == NULL) return NULL;
    struct rewrite *rewrite = mem_zalloc(sizeof(*rewrite));
    rewrite->w = *wiring;
    rewrite->files = files;
    rewrite->files_done = loop_io_new(wiring->loop, file_job_fd(files), on_files_done, rewrite);
    loop_io_want(rewrite->files_done, LOOP_READ);
    rewrite->next.fd = -1;
    manifest_init(&rewrite->manifest, dir, name);
    return rewrite;
}

void rewrite_free(struct rewrite *rewrite)
{
    if (rewrite == NULL) return;
    rewrite_drop(rewrite);
    rewrite_await(rewrite); /* SWEEP or NOTE */
    loop_io_free(rewrite->files_done);
    file_job_free(rewrite->files);
    manifest_drop(&rewrite->manifest);
    mem_free(rewrite);
}

enum rewrite_state rewrite_state(const struct rewrite *rewrite)
{
    return rewrite->state;
}

bool rewrite_runs(const struct rewrite *rewrite)
{
    return rewrite->state >= REWRITE_SEGMENT && rewrite->state <= REWRITE_LISTED;
}

bool rewrite_restarts(const struct rewrite *rewrite)
{
    return rewrite->restarts;
}

/* ---- transitions ----------------------------------------------------------------------------- */

bool rewrite_begin(struct rewrite *rewrite, struct journal *journal)
{
    if (rewrite->state != REWRITE_IDLE) return false;
    if (journal_state(journal) == JOURNAL_CANNOT_WRITE) journal_give_up_segment(journal);
    rewrite->journal = journal;
    rewrite->restarts = journal_state(journal) == JOURNAL_NEEDS_BASE;
    /* An earlier attempt may have listed the segment with its ID. */
    if (rewrite->next.id == 0) rewrite->next.id = segment_id_new();
    if (rewrite->restarts) {
        begin_step(rewrite, REWRITE_FOLDER, make_folder);
        return true;
    }
    /* Syncing the new files may take long; request a sync of the written records first. */
    journal_sync_now(journal, clock_mono_usec());
    begin_step(rewrite, REWRITE_SEGMENT, list_segment);
    return true;
}

bool rewrite_begin_sweep(struct rewrite *rewrite)
{
    if (rewrite->state != REWRITE_IDLE) return false;
    begin_step(rewrite, REWRITE_SWEEP, sweep);
    return true;
}

/* Enters BASE: forks the child that writes the base, with all changes so far. */
static void begin_base(struct rewrite *rewrite)
{
    char path[DISK_PATH_MAX];
    int error = manifest_base_path(&rewrite->manifest, path, &rewrite->base_seq);
    if (error != 0) {
        fail(rewrite, "name of the base", error);
        return;
    }
    rewrite->state = REWRITE_BASE;
    error = rewrite->w.fork(rewrite->w.ctx, path);
    if (error == 0)
        log_line(LOG_NOTICE, "Rewriting the journal in the background");
    else
        fail(rewrite, "fork", error);
}

/* Forgets the next segment, which the journal has taken over or whose file was closed. */
static void forget_next(struct rewrite *rewrite)
{
    rewrite->next.fd = -1;
    rewrite->next.id = 0;
}

/* Switches the journal to the new segment and enters BASE. Stays in ROTATE while the journal is
 * busy. */
static void rotate(struct rewrite *rewrite)
{
    struct journal *journal = rewrite->journal;
    rewrite->w.end_record(rewrite->w.ctx);
    uint64_t length = journal_report(journal).segment_length;
    /* If only the current and the new segment are listed, a base has replaced all earlier segments.
     * The current segment must then name no predecessor, because the next start could not check the
     * predecessor's end. */
    if (manifest_segments(&rewrite->manifest) == 2)
        journal_follow(journal, &(struct journal_end){ 0 });
    int error = journal_rotate(journal, rewrite->next.fd, rewrite->next.id);
    if (error == EBUSY) return;
    if (error != 0) {
        fail(rewrite, "new segment", error);
        return;
    }
    forget_next(rewrite);
    rewrite->w.next_file(rewrite->w.ctx, length);
    begin_base(rewrite);
}

static void restart(struct rewrite *rewrite)
{
    rewrite->w.end_record(rewrite->w.ctx);
    journal_restart_begin(rewrite->journal, rewrite->next.id);
    rewrite->w.next_file(rewrite->w.ctx, 0);
    begin_base(rewrite);
}

void rewrite_base_ended(struct rewrite *rewrite, const struct child_outcome *outcome)
{
    ensure(rewrite->state == REWRITE_BASE, "state %d", (int)rewrite->state);
    if (outcome->error != 0) {
        fail(rewrite, "child process", outcome->error);
        return;
    }
    rewrite->base_size = outcome->size;
    begin_step(rewrite, REWRITE_LIST, list_base);
}

/* After RESTART, gives the journal its new segment; then enters SWEEP. Stays in LISTED while the
 * previous segment is being synced. */
static void end_rewrite(struct rewrite *rewrite)
{
    if (rewrite->restarts) {
        if (journal_restart_end(rewrite->journal, rewrite->next.fd) == EBUSY) return;
        forget_next(rewrite);
    }
    rewrite->w.done(rewrite->w.ctx, &rewrite->base_size);
    begin_step(rewrite, REWRITE_SWEEP, sweep);
}

void rewrite_continue(struct rewrite *rewrite)
{
    switch (rewrite->state) {
    case REWRITE_ROTATE: rotate(rewrite); break;
    case REWRITE_RESTART: restart(rewrite); break;
    case REWRITE_LISTED: end_rewrite(rewrite); break;
    default: break;
    }
}

bool rewrite_drop(struct rewrite *rewrite)
{
    int ignored;
    bool has_child = rewrite->state == REWRITE_BASE;
    /* SWEEP and NOTE do not use the next segment, and end by themselves. */
    if (rewrite->state != REWRITE_SWEEP && rewrite->state != REWRITE_NOTE) {
        file_job_await(rewrite->files);
        file_job_ended(rewrite->files, &ignored);
        rewrite->state = REWRITE_IDLE;
    }
    if (rewrite->next.fd >= 0) disk_close(rewrite->next.fd);
    forget_next(rewrite);
    return has_child;
}

/* ---- turning the journal on and off ---------------------------------------------------------- */

void rewrite_begin_try(struct rewrite *rewrite)
{
    ensure(rewrite->state == REWRITE_IDLE, "state %d", (int)rewrite->state);
    begin_step(rewrite, REWRITE_TRY, try_folder);
}

int rewrite_end_try(struct rewrite *rewrite)
{
    rewrite_await(rewrite);
    if (rewrite->state != REWRITE_TRIED) return try_folder(rewrite);
    rewrite->state = REWRITE_IDLE;
    return rewrite->try_error;
}

void rewrite_begin_note(struct rewrite *rewrite)
{
    rewrite_await(rewrite);
    ensure(rewrite->state == REWRITE_IDLE, "state %d", (int)rewrite->state);
    begin_step(rewrite, REWRITE_NOTE, note_synced);
}

static int write_now(struct rewrite *rewrite, const struct rewrite_now *now, struct base_size *size)
{
    char path[DISK_PATH_MAX];
    int error = manifest_make_folder(&rewrite->manifest);
    if (error == 0) error = manifest_base_path(&rewrite->manifest, path, &rewrite->base_seq);
    if (error == 0) error = now->write(now->ctx, path, size);
    if (error == 0) error = make_segment(rewrite);
    if (rewrite->next.id == 0) rewrite->next.id = segment_id_new();
    if (error != 0) return error;
    rewrite->manifest.keep_from = rewrite->w.keep_from(rewrite->w.ctx);
    return (now->blank && size->keys == 0 ? manifest_begin : manifest_put_anew)(
        &rewrite->manifest, rewrite->base_seq, rewrite->next.seq, rewrite->next.id);
}

int rewrite_first_now(struct rewrite *rewrite, struct journal *journal,
                      const struct rewrite_now *now)
{
    struct base_size size = { 0 };
    int error = write_now(rewrite, now, &size);
    if (error == 0) error = journal_open(journal, rewrite->next.fd, rewrite->next.id, NULL);
    if (error != 0) {
        rewrite_drop(rewrite); /* closes the segment */
        return error;
    }
    forget_next(rewrite);
    rewrite->w.done(rewrite->w.ctx, &size);
    return 0;
}

int rewrite_last_now(struct rewrite *rewrite, const struct rewrite_now *now)
{
    struct base_size size = { 0 };
    rewrite_await(rewrite); /* the thread may be sweeping */
    int error = write_now(rewrite, now, &size);
    rewrite_drop(rewrite);
    if (error == 0) rewrite->w.done(rewrite->w.ctx, &size);
    return error;
}

void rewrite_sweep_now(struct rewrite *rewrite)
{
    rewrite->manifest.keep_from = rewrite->w.keep_from(rewrite->w.ctx);
    log_sweep(manifest_sweep(&rewrite->manifest));
}

/* ---- checking -------------------------------------------------------------------------------- */

/* Does the thread of the files work in this state? */
static bool is_step(enum rewrite_state state)
{
    switch (state) {
    case REWRITE_SEGMENT:
    case REWRITE_FOLDER:
    case REWRITE_LIST:
    case REWRITE_SWEEP:
    case REWRITE_TRY:
    case REWRITE_NOTE: return true;
    case REWRITE_IDLE:
    case REWRITE_ROTATE:
    case REWRITE_RESTART:
    case REWRITE_BASE:
    case REWRITE_LISTED:
    case REWRITE_TRIED: return false;
    }
    return false;
}

void rewrite_check(const struct rewrite *rewrite, const struct journal *journal)
{
    enum rewrite_state state = rewrite->state;
    bool works = file_job_runs(rewrite->files);
    ensure(is_step(state) == works, "state %d, thread %d", (int)state, works);
    ensure(!rewrite_runs(rewrite) || (journal != NULL && journal == rewrite->journal),
           "state %d of another journal", (int)state);
    ensure(journal == NULL ||
               (state != REWRITE_TRY && state != REWRITE_TRIED && state != REWRITE_NOTE),
           "state %d with a journal", (int)state);
    ensure((state != REWRITE_SEGMENT && state != REWRITE_ROTATE) || !rewrite->restarts,
           "state %d of a restart", (int)state);
    ensure((state != REWRITE_FOLDER && state != REWRITE_RESTART) || rewrite->restarts,
           "state %d of a rotation", (int)state);
    if (works) return; /* the thread may be changing the rest */
    bool needs_next = state == REWRITE_ROTATE || (state == REWRITE_LISTED && rewrite->restarts);
    ensure(!needs_next || (rewrite->next.fd >= 0 && rewrite->next.id != 0),
           "state %d without the next segment", (int)state);
    bool needs_base = rewrite->restarts && (state == REWRITE_BASE || state == REWRITE_LISTED);
    ensure(!needs_base || journal_is_restarting(journal),
           "state %d of a journal that does not restart", (int)state);
}
