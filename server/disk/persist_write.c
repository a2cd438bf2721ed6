/* persist_write: writes snapshots and bases, at once or in a child process, and handles the
 * results.
 */
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
                                      .place = persist->w.place(persist->w.ctx) };
}

/* ---- failures -------------------------------------------------------------------------------- */

static uint64_t free_bytes(void)
{
    uint64_t bytes = 0;
    (void)disk_free_bytes(".",
                          &bytes); /* an error counts as no free space: then the delay decides */
    return bytes;
}

static void retry_later(struct persist *persist, enum persist_task task, int error)
{
    struct persist_retry *retry = &persist->retry;
    int64_t now = clock_mono_usec();
    int64_t delay = retry->delay > 0 ? 2 * retry->delay : RETRY_USEC;
    /* Each attempt at an ordinary rewrite leaves a segment. */
    int64_t most = task == TASK_REWRITE && !persist->restarts ? RARELY_USEC : RETRY_MOST_USEC;
    *(task == TASK_SAVE ? &retry->save : &retry->rewrite) = true;
    retry->delay = delay < most ? delay : most;
    retry->at_usec = now + retry->delay;
    retry->full = error == ENOSPC;
    retry->check_usec = now + RETRY_USEC;
    retry->free_then = free_bytes();
    loop_timer_set(persist->task_again, retry->full ? RETRY_USEC : retry->delay);
}

void persist_note_failure(struct persist *persist, enum persist_task task, const char *step,
                          int error)
{
    struct persist_report *report = &persist->report;
    *(task == TASK_SAVE ? &report->save_failed : &report->rewrite_failed) = true;
    ++*(task == TASK_SAVE ? &report->saves_failed : &report->rewrites_failed);
    report->rewrite_failures += task == TASK_REWRITE;
    retry_later(persist, task, error);
    log_line(LOG_WARNING, "%s failed (%s): %s. Trying again in %.1f s%s%s",
             task == TASK_SAVE ? SAVING : REWRITING, step, file_error_text(error),
             (double)persist->retry.delay / USEC_PER_SEC,
             persist->retry.full ? ", or once there is more space" : "", file_error_advice(error));
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
    persist->report.save_failed = false;
    persist->report.saves++;
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
    persist->report.saves_begun++;
    int error = persist_write_now(persist, SAVING, persist->w.conf->dbfilename, &size);
    if (error == 0) {
        note_saved(persist, persist->w.store->changes, &size);
        return PERSIST_DONE;
    }
    persist->report.save_failed = true;
    persist->report.saves_failed++;
    log_line(LOG_WARNING, "Can't write the snapshot %s/%s: %s%s", persist->w.conf->dir,
             persist->w.conf->dbfilename, file_error_text(error), file_error_advice(error));
    /* Without a retry, writes could be refused for ever (persist_refusal). */
    if (persist->w.conf->save[0] != '\0' && error != EEXIST) retry_later(persist, TASK_SAVE, error);
    return error == EEXIST ? PERSIST_FOREIGN : PERSIST_FAILED;
}

enum persist_outcome persist_save_at_end(struct persist *persist)
{
    if (persist->report.loading) return PERSIST_DONE;
    if (persist->task == TASK_SAVE) {
        persist->task_void = true;
        child_cancel(persist->child);
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

int persist_fork(struct persist *persist, enum persist_task task, const char *path)
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
    if (task == TASK_SAVE)
        persist->report.saves_begun++;
    else
        persist->report.rewrites_begun++;
    return 0;
}

/* Starts at the end of the turn, so that no snapshot contains half of a transaction. */
enum persist_outcome persist_begin_save(struct persist *persist, bool or_schedule)
{
    bool rewrites = persist->task == TASK_REWRITE;
    if (persist->task == TASK_SAVE) return PERSIST_SAVING;
    if (rewrites && !or_schedule) return PERSIST_REWRITING;
    if (file_check(persist->w.conf->dbfilename, FILE_SET(FILE_SNAPSHOT)) == EEXIST)
        return PERSIST_FOREIGN;
    if (!rewrites && persist->save_scheduled) return PERSIST_SAVING;
    persist->save_scheduled = true;
    return rewrites ? PERSIST_SCHEDULED : PERSIST_DONE;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

void persist_end_tasks(struct persist *persist)
{
    struct child_outcome outcome;
    if (!child_ended(persist->child, &outcome)) return;
    enum persist_task task = persist->task;
    int64_t seconds = (clock_mono_usec() - persist->task_began_usec) / USEC_PER_SEC;
    bool is_void = persist->task_void;
    persist->task = TASK_NONE;
    persist->task_void = false;
    if (is_void) return;
    if (task == TASK_SAVE) {
        persist->report.save_sec = seconds;
        persist->report.save_copied_bytes = outcome.copied;
        if (outcome.error != 0)
            persist_note_failure(persist, TASK_SAVE, persist->w.conf->dbfilename, outcome.error);
        else
            note_saved(persist, persist->changes_at_task, &outcome.size);
    } else {
        persist->report.rewrite_sec = seconds;
        persist->report.rewrite_copied_bytes = outcome.copied;
        persist->rewritten_usec = clock_mono_usec();
        persist->rewrite_took_usec = persist->rewritten_usec - persist->task_began_usec;
        persist_end_base(persist, &outcome);
    }
}

void persist_begin_tasks(struct persist *persist)
{
    struct persist_retry *retry = &persist->retry;
    persist_continue_rewrite(persist);
    if (persist->task != TASK_NONE || persist->base_named) return;
    if ((retry->save || retry->rewrite) && retry_is_due(persist)) {
        persist->save_scheduled |= retry->save;
        persist->rewrite_scheduled |= retry->rewrite && persist->listens;
        retry->save = retry->rewrite = false;
    }
    if (persist_start_rewrite(persist) || !persist->save_scheduled) return;
    persist->save_scheduled = retry->save = false;
    int error = persist_fork(persist, TASK_SAVE, persist->w.conf->dbfilename);
    if (error != 0)
        persist_note_failure(persist, TASK_SAVE, "fork", error);
    else
        log_line(LOG_NOTICE, "Writing a snapshot in the background");
}
