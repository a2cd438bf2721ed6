/* persist_write: snapshots and the rewrite: writes them, at once or in a child process, handles the
 * results, and tries again after failures. */
#include "server/disk/persist_state.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/disk/format/file_kind.h"

enum {
    RETRY_USEC = 100 * 1000, /* doubles after each failure */
    RETRY_MOST_USEC = 10 * 1000 * 1000,
    RARELY_USEC = 10 * 60 * 1000 * 1000,
    USEC_PER_SEC = 1000 * 1000,
};

#define SAVING    "Writing a snapshot"
#define REWRITING "Rewriting the journal"

static struct snapshot_options options_of(const struct persist *persist)
{
    return (struct snapshot_options){ .created = clock_now(persist->w.clock),
                                      .plain = !persist->w.conf->rdbcompression,
                                      .position = persist->w.stream_position(persist->w.ctx) };
}

/* ---- failures -------------------------------------------------------------------------------- */

static uint64_t free_bytes(void)
{
    uint64_t bytes = 0;
    (void)disk_free_bytes(".",
                          &bytes); /* an error counts as no free space: then the delay decides */
    return bytes;
}

/* Retries after at most that time. */
static void retry_later(struct persist *persist, int64_t most, int error)
{
    struct persist_retry *retry = &persist->retry;
    int64_t now = clock_mono_usec();
    int64_t delay = retry->delay > 0 ? 2 * retry->delay : RETRY_USEC;
    retry->delay = delay < most ? delay : most;
    retry->at_usec = now + retry->delay;
    retry->full = error == ENOSPC;
    retry->check_usec = now + RETRY_USEC;
    retry->free_then = free_bytes();
    loop_timer_set(persist->task_again, retry->full ? RETRY_USEC : retry->delay);
}

static void count_failure(struct persist_counts *counts)
{
    counts->has_failed = true;
    counts->failed++;
    counts->failures++;
}

static void count_success(struct persist_counts *counts)
{
    counts->has_failed = false;
    counts->done++;
    counts->failures = 0;
}

static void log_retry(const struct persist *persist, const char *what, const char *step, int error)
{
    log_line(LOG_WARNING, "%s failed (%s): %s. Trying again in %.1f s%s%s", what, step,
             file_error_text(error), (double)persist->retry.delay / USEC_PER_SEC,
             persist->retry.full ? ", or once there is more space" : "", file_error_advice(error));
}

static void save_failed(struct persist *persist, const char *step, int error)
{
    count_failure(&persist->report.saves);
    persist->retry.save = true;
    retry_later(persist, RETRY_MOST_USEC, error);
    log_retry(persist, SAVING, step, error);
}

static bool retry_is_due(struct persist *persist)
{
    struct persist_retry *retry = &persist->retry;
    int64_t now = clock_mono_usec();
    if (now >= retry->at_usec) return true;
    if (!retry->full || now < retry->check_usec) return false;
    /* Other programs change the free space a little all the time, and an attempt at a large base is
     * expensive, so an eighth more space is required. */
    uint64_t space = free_bytes();
    if (space > retry->free_then && space - retry->free_then > retry->free_then / 8) return true;
    retry->check_usec = now + RETRY_USEC;
    loop_timer_set(persist->task_again, RETRY_USEC);
    return false;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void note_saved(struct persist *persist, uint64_t changes, const struct base_size *size)
{
    count_success(&persist->report.saves);
    persist->retry.save = false;
    persist->retry.delay = 0;
    persist->report.last_save_sec = clock_now(persist->w.clock) / 1000;
    persist->changes_saved = changes;
    log_line(LOG_NOTICE, "Snapshot written: %" PRIu64 " key%s, %" PRIu64 " bytes", size->keys,
             log_plural(size->keys), size->bytes);
}

static void report_saving(void *ctx, uint64_t keys)
{
    struct persist *persist = ctx;
    persist->at_save.done = keys;
    progress_log(&persist->at_save, clock_mono_usec());
    if (persist->w.works != NULL) persist->w.works(persist->w.ctx);
}

/* Writes the store at once, without a child. 0 or an errno. */
int persist_write_now(struct persist *persist, const char *what, const char *path,
                      struct base_size *size)
{
    struct snapshot_options options = options_of(persist);
    options.report = report_saving;
    options.ctx = persist;
    progress_begin(&persist->at_save, what, store_count(persist->w.store), clock_mono_usec());
    persist->report.saves_inline = true;
    int error = base_write(persist->w.store, path, &options, size);
    persist->report.saves_inline = false;
    return error;
}

enum persist_outcome persist_save(struct persist *persist)
{
    struct base_size size;
    if (persist->task == TASK_SAVE) return PERSIST_SAVING;
    if (persist->report.loading) return PERSIST_FAILED;
    persist->report.saves.begun++;
    int error = persist_write_now(persist, SAVING, persist->w.conf->dbfilename, &size);
    if (error == 0) {
        note_saved(persist, persist->w.store->changes, &size);
        return PERSIST_DONE;
    }
    count_failure(&persist->report.saves);
    log_line(LOG_WARNING, "Can't write the snapshot %s/%s: %s%s", persist->w.conf->dir,
             persist->w.conf->dbfilename, file_error_text(error), file_error_advice(error));
    /* Without a retry, writes could be refused for ever (persist_refusal). */
    if (persist->w.conf->save[0] != '\0' && error != EEXIST) {
        persist->retry.save = true;
        retry_later(persist, RETRY_MOST_USEC, error);
    }
    return error == EEXIST ? PERSIST_FOREIGN : PERSIST_FAILED;
}

/* The result of the child will be ignored. */
static void cancel_child(struct persist *persist)
{
    child_cancel(persist->child);
    persist->task = TASK_VOID;
}

enum persist_outcome persist_save_at_end(struct persist *persist)
{
    if (persist->report.loading) return PERSIST_DONE;
    if (persist->task == TASK_SAVE) {
        cancel_child(persist);
        child_await(persist->child);
        persist_end_tasks(persist);
    }
    return persist_save(persist);
}

void persist_save_flushed(struct persist *persist)
{
    persist->flush_seen = persist->w.store->flushed_at;
    if (persist->w.conf->save[0] != '\0') persist_save_at_end(persist);
}

/* ---- the child process ----------------------------------------------------------------------- */

struct base_task {
    const struct store *store;
    const char *path;
    struct snapshot_options options;
};

static int write_base(void *ctx, int fd, void (*report)(void *ctx, uint64_t keys), void *report_ctx,
                      struct base_size *size)
{
    struct base_task *task = ctx;
    (void)fd;
    task->options.report = report;
    task->options.ctx = report_ctx;
    return base_write(task->store, task->path, &task->options, size);
}

/* Forks a child that writes the store, for this task. 0 or an errno. */
static int fork_child(struct persist *persist, enum persist_task task, const char *path)
{
    struct base_task base = { persist->w.store, path, options_of(persist) };
    int64_t began = clock_mono_usec();
    int error = child_begin(persist->child,
                            &(struct child_work){ .run = write_base, .ctx = &base, .fd = -1 });
    if (error != 0) return error;
    persist->task = task;
    persist->task_began_usec = clock_mono_usec();
    progress_begin(&persist->at_task, task == TASK_SAVE ? SAVING : REWRITING,
                   store_count(persist->w.store), persist->task_began_usec);
    persist->changes_at_task = persist->w.store->changes;
    persist->report.last_fork_usec = persist->task_began_usec - began;
    persist->report.forked_usec = persist->task_began_usec;
    persist->report.forks++;
    return 0;
}

static bool is_rewriting(const struct persist *persist)
{
    return rewrite_runs(persist->rewrite) || persist->task == TASK_VOID;
}

/* Starts at the end of the turn, so that no snapshot contains half of a transaction. */
enum persist_outcome persist_begin_save(struct persist *persist, bool or_schedule)
{
    bool rewrites = is_rewriting(persist);
    if (persist->task == TASK_SAVE) return PERSIST_SAVING;
    if (rewrites && !or_schedule) return PERSIST_REWRITING;
    if (file_check(persist->w.conf->dbfilename, FILE_SET(FILE_SNAPSHOT)) == EEXIST)
        return PERSIST_FOREIGN;
    if (!rewrites && persist->save_scheduled) return PERSIST_SAVING;
    persist->save_scheduled = true;
    return rewrites ? PERSIST_SCHEDULED : PERSIST_DONE;
}

void persist_end_tasks(struct persist *persist)
{
    struct child_outcome outcome;
    if (!child_ended(persist->child, &outcome)) return;
    enum persist_task task = persist->task;
    int64_t now = clock_mono_usec(), took = now - persist->task_began_usec;
    persist->task = TASK_NONE;
    if (task == TASK_SAVE) {
        persist->report.saves.sec = took / USEC_PER_SEC;
        persist->report.saves.copied_bytes = outcome.copied;
        if (outcome.error != 0)
            save_failed(persist, persist->w.conf->dbfilename, outcome.error);
        else
            note_saved(persist, persist->changes_at_task, &outcome.size);
    } else if (task == TASK_BASE) {
        persist->report.rewrites.sec = took / USEC_PER_SEC;
        persist->report.rewrites.copied_bytes = outcome.copied;
        persist->rewritten_usec = now;
        persist->rewrite_took_usec = took;
        rewrite_base_ended(persist->rewrite, &outcome);
    }
}

/* ---- the rewrite ----------------------------------------------------------------------------- */

static int fork_base(void *ctx, const char *path)
{
    struct persist *persist = ctx;
    int error = fork_child(persist, TASK_BASE, path);
    if (error == 0) persist->report.rewrites.begun++;
    return error;
}

static void end_open_record(void *ctx)
{
    persist_end_record(ctx);
}

static void next_file(void *ctx, uint64_t length)
{
    struct persist *persist = ctx;
    persist->segments_bytes += length;
    persist_restart_text(persist);
}

static void rewrite_failed(void *ctx, const char *step, int error)
{
    struct persist *persist = ctx;
    bool restarts = rewrite_restarts(persist->rewrite);
    if (restarts && persist->listens) persist->base_error = error;
    count_failure(&persist->report.rewrites);
    persist->retry.rewrite = true;
    /* Each attempt at an ordinary rewrite leaves a segment. */
    retry_later(persist, restarts ? RETRY_MOST_USEC : RARELY_USEC, error);
    log_retry(persist, REWRITING, step, error);
}

static void rewrite_done(void *ctx, const struct base_size *size)
{
    struct persist *persist = ctx;
    persist->opened = true;
    persist->base_error = 0;
    persist->retry.delay = 0;
    persist->segments_bytes = 0;
    persist->report.base_bytes = size->bytes;
    count_success(&persist->report.rewrites);
    log_line(LOG_NOTICE, "Journal rewritten: %" PRIu64 " key%s, %" PRIu64 " bytes", size->keys,
             log_plural(size->keys), size->bytes);
}

static void step_done(void *ctx)
{
    const struct persist *persist = ctx;
    if (persist->w.files_done != NULL) persist->w.files_done(persist->w.ctx);
}

bool persist_new_rewrite(struct persist *persist)
{
    const struct rewrite_wiring wiring = { persist->w.loop, fork_base,      end_open_record,
                                           next_file,       rewrite_failed, rewrite_done,
                                           step_done,       persist };
    persist->rewrite =
        rewrite_new(&wiring, persist->w.conf->appenddirname, persist->w.conf->appendfilename);
    return persist->rewrite != NULL;
}

void persist_drop_rewrite(struct persist *persist)
{
    if (rewrite_drop(persist->rewrite)) cancel_child(persist);
    persist->rewrite_scheduled = persist->retry.rewrite = false;
}

bool persist_waits_for_base(const struct persist *persist)
{
    return persist->listens && journal_state(persist->journal) == JOURNAL_NEEDS_BASE &&
           !is_rewriting(persist);
}

/* Starts at the end of the turn: the command may be part of a transaction, which is one record. */
enum persist_outcome persist_begin_rewrite(struct persist *persist)
{
    if (is_rewriting(persist)) return PERSIST_REWRITING;
    persist->rewrite_scheduled = persist->listens;
    return persist->task == TASK_SAVE || !persist->listens ? PERSIST_SCHEDULED : PERSIST_DONE;
}

/* Begins a rewrite if one is scheduled, or if the journal needs a base. False: none began. */
static bool begin_rewrite(struct persist *persist)
{
    bool wanted =
        persist->rewrite_scheduled || (persist_waits_for_base(persist) && !persist->retry.rewrite);
    if (!wanted || journal_settles(persist->journal)) return false;
    if (!rewrite_begin(persist->rewrite, persist->journal)) return false;
    persist->rewrite_scheduled = persist->retry.rewrite = false;
    persist->task_began_usec = clock_mono_usec();
    return true;
}

/* At once, for a start or a stop. */
static int write_base_now(void *ctx, const char *path, struct base_size *size)
{
    struct persist *persist = ctx;
    return persist_write_now(persist, "Writing the journal's base", path, size);
}

int persist_begin_journal(struct persist *persist)
{
    const struct store *store = persist->w.store;
    bool blank = store->policies.count == 0 && libraries_count(&store->libraries) == 0;
    struct rewrite_now now = { write_base_now, persist, blank };
    return rewrite_first_now(persist->rewrite, persist->journal, &now);
}

int persist_write_last_base(struct persist *persist)
{
    struct rewrite_now now = { write_base_now, persist, false };
    /* A cancelled child may be in its last system call. */
    if (persist->task == TASK_VOID) child_await(persist->child);
    int error = rewrite_last_now(persist->rewrite, &now);
    if (error == 0) persist->safe_at_end = UINT64_MAX;
    return error;
}

/* ---- both ------------------------------------------------------------------------------------ */

void persist_begin_tasks(struct persist *persist)
{
    struct persist_retry *retry = &persist->retry;
    rewrite_continue(persist->rewrite);
    if (persist->task != TASK_NONE || rewrite_runs(persist->rewrite)) return;
    if ((retry->save || retry->rewrite) && retry_is_due(persist)) {
        persist->save_scheduled |= retry->save;
        persist->rewrite_scheduled |= retry->rewrite && persist->listens;
        retry->save = retry->rewrite = false;
    }
    if (begin_rewrite(persist) || !persist->save_scheduled) return;
    persist->save_scheduled = retry->save = false;
    int error = fork_child(persist, TASK_SAVE, persist->w.conf->dbfilename);
    if (error != 0) {
        save_failed(persist, "fork", error);
        return;
    }
    persist->report.saves.begun++;
    log_line(LOG_NOTICE, "Writing a snapshot in the background");
}
