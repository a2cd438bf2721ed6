/* saver: see saver.h. A snapshot and a rewrite are wanted independently of each other, but only one
 * of them runs at a time. The states of each:
 *
 *     NOT_WANTED   --- BGSAVE, save points, BGREWRITEAOF, growth --> WANTED_NOW
 *     WANTED_NOW   --- the turn's end, while no task runs ---------> NOT_WANTED, and it runs
 *     NOT_WANTED   --- it failed ----------------------------------> WANTED_AGAIN
 *     WANTED_AGAIN --- the delay is over, or there is space -------> WANTED_NOW
 *
 * A journal without a base also starts a rewrite (waits_for_base), unless the rewrite is in
 * WANTED_AGAIN. */
#include "server/disk/saver.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "conf/times.h"
#include "server/base/log.h"
#include "server/disk/child.h"
#include "server/disk/format/file_kind.h"
#include "server/disk/journal.h"
#include "server/disk/rewrite.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    MSEC_PER_SEC = 1000,
    REST_SHARE = 9,          /* growth causes rewrites for at most a tenth of the time */
    RETRY_USEC = 100 * 1000, /* doubles after each failure */
    RETRY_MOST_USEC = 10 * 1000 * 1000,
    RARELY_USEC = 10 * 60 * 1000 * 1000,
    USEC_PER_SEC = 1000 * 1000,
    SWEEP_REST = 60 * 1000, /* ms between two attempts to remove kept files */
};

#define SAVING    "Writing a snapshot"
#define REWRITING "Rewriting the journal"

/* What the child writes. */
enum task {
    TASK_NONE,
    TASK_SAVE, /* a snapshot */
    TASK_BASE, /* the base of the rewrite, which is in REWRITE_BASE */
    TASK_VOID, /* an unneeded base: it was cancelled, and has not ended yet */
};

enum want { NOT_WANTED, WANTED_AGAIN, WANTED_NOW };

/* When failed tasks are tried again. One instant for both: after a delay or, if the disk was full,
 * as soon as there is more space. */
struct retry {
    int64_t at_usec, delay; /* monotonic; the delay doubles after each failure */
    bool full;              /* the disk was, and its free space could be read */
    int64_t check_usec;     /* if full: when to check the free space again */
    uint64_t free_then;     /* if full: free bytes after the failure */
};

struct saver {
    struct saver_wiring w;
    const struct conf *conf;
    const struct store *store;
    struct clock *clock;

    struct rewrite *rewrite;
    struct child *child;
    enum task task;
    int64_t task_began_usec; /* monotonic: when the child or the rewrite began */
    uint64_t changes_at_task;
    enum want save_want, rewrite_want;
    struct retry retry;
    struct loop_timer *again; /* starts a turn when `retry` is due */

    uint64_t changes_saved; /* store->changes as of the last snapshot */
    uint64_t flush_seen;    /* store->flushed_at as of the last turn */
    int64_t last_save_sec;
    int64_t rewritten_usec, rewrite_took_usec; /* end and duration of the last rewrite */
    struct persist_counts saves, rewrites;
    msec swept_at;           /* when the last removal of kept files began outside a rewrite */
    struct progress at_task; /* keys that the child has written */
    bool saves_inline;
    struct progress at_save; /* keys, while saves_inline */
    int64_t last_fork_usec, forked_usec;
    uint64_t forks;
};

static struct snapshot_options options_of(const struct saver *saver)
{
    const struct persist_wiring *persist = saver->w.persist;
    return (struct snapshot_options){ .created = clock_now(saver->clock),
                                      .plain = !saver->conf->rdbcompression,
                                      .position = persist->stream_position(persist->ctx) };
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Sets `want` to WANTED_AGAIN unless the task is wanted already, and the next attempt to at most
 * `most` microseconds from now. */
static void retry_later(struct saver *saver, enum want *want, int64_t most, int error)
{
    struct retry *retry = &saver->retry;
    if (*want == NOT_WANTED) *want = WANTED_AGAIN;
    int64_t now = clock_mono_usec();
    int64_t delay = retry->delay > 0 ? 2 * retry->delay : RETRY_USEC;
    retry->delay = delay < most ? delay : most;
    retry->at_usec = now + retry->delay;
    retry->full = error == ENOSPC && disk_free_bytes(".", &retry->free_then) == 0;
    retry->check_usec = now + RETRY_USEC;
    loop_timer_set(saver->again, retry->full ? RETRY_USEC : retry->delay);
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

static void log_retry(const struct saver *saver, const char *what, const char *step, int error)
{
    log_line(LOG_WARNING, "%s failed (%s): %s. Trying again in %.1f s%s%s", what, step,
             file_error_text(error), (double)saver->retry.delay / USEC_PER_SEC,
             saver->retry.full ? ", or once there is more space" : "", file_error_advice(error));
}

static void save_failed(struct saver *saver, const char *step, int error)
{
    count_failure(&saver->saves);
    retry_later(saver, &saver->save_want, RETRY_MOST_USEC, error);
    log_retry(saver, SAVING, step, error);
}

static bool retries(const struct saver *saver)
{
    return saver->save_want == WANTED_AGAIN || saver->rewrite_want == WANTED_AGAIN;
}

static bool retry_is_due(struct saver *saver)
{
    struct retry *retry = &saver->retry;
    int64_t now = clock_mono_usec();
    if (now >= retry->at_usec) return true;
    if (!retry->full || now < retry->check_usec) return false;
    /* Require an eighth more space than after the failure: other programs change the free space a
     * little all the time, and an attempt at a large base is expensive. */
    uint64_t space = 0; /* stays 0 on an error */
    (void)disk_free_bytes(".", &space);
    if (space > retry->free_then && space - retry->free_then > retry->free_then / 8) return true;
    retry->check_usec = now + RETRY_USEC;
    loop_timer_set(saver->again, RETRY_USEC);
    return false;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void note_saved(struct saver *saver, uint64_t changes, const struct base_size *size)
{
    count_success(&saver->saves);
    if (saver->save_want == WANTED_AGAIN) saver->save_want = NOT_WANTED;
    saver->retry.delay = 0;
    saver->last_save_sec = clock_now(saver->clock) / MSEC_PER_SEC;
    saver->changes_saved = changes;
    log_line(LOG_NOTICE, "Snapshot written: %" PRIu64 " key%s, %" PRIu64 " bytes", size->keys,
             log_plural(size->keys), size->bytes);
}

static void report_saving(void *ctx, uint64_t keys)
{
    struct saver *saver = ctx;
    const struct persist_wiring *persist = saver->w.persist;
    saver->at_save.done = keys;
    progress_log(&saver->at_save, clock_mono_usec());
    if (persist->works != NULL) persist->works(persist->ctx);
}

/* Writes the store at once, without a child. Returns 0 or an errno. */
static int write_inline(struct saver *saver, const char *what, const char *path,
                        struct base_size *size)
{
    struct snapshot_options options = options_of(saver);
    options.report = report_saving;
    options.ctx = saver;
    progress_begin(&saver->at_save, what, store_count(saver->store), clock_mono_usec());
    saver->saves_inline = true;
    int error = base_write(saver->store, path, &options, size);
    saver->saves_inline = false;
    return error;
}

enum persist_outcome saver_save(struct saver *saver)
{
    struct base_size size;
    if (saver->task == TASK_SAVE) return PERSIST_SAVING;
    saver->saves.begun++;
    int error = write_inline(saver, SAVING, saver->conf->dbfilename, &size);
    if (error == 0) {
        note_saved(saver, saver->store->changes, &size);
        return PERSIST_DONE;
    }
    count_failure(&saver->saves);
    log_line(LOG_WARNING, "Can't write the snapshot %s/%s: %s%s", saver->conf->dir,
             saver->conf->dbfilename, file_error_text(error), file_error_advice(error));
    /* Without a retry, writes could be refused for ever (persist_refusal). */
    if (saver->conf->save[0] != '\0' && error != EEXIST)
        retry_later(saver, &saver->save_want, RETRY_MOST_USEC, error);
    return error == EEXIST ? PERSIST_FOREIGN : PERSIST_FAILED;
}

const struct persist_counts *saver_saves(const struct saver *saver)
{
    return &saver->saves;
}

/* Kills the child, whose result is then ignored. */
static void cancel_child(struct saver *saver)
{
    child_cancel(saver->child);
    saver->task = TASK_VOID;
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

static int fork_child(struct saver *saver, enum task task, const char *path)
{
    struct base_task base = { saver->store, path, options_of(saver) };
    int64_t began = clock_mono_usec();
    int error = child_begin(saver->child,
                            &(struct child_work){ .run = write_base, .ctx = &base, .fd = -1 });
    if (error != 0) return error;
    saver->task = task;
    saver->task_began_usec = clock_mono_usec();
    progress_begin(&saver->at_task, task == TASK_SAVE ? SAVING : REWRITING,
                   store_count(saver->store), saver->task_began_usec);
    saver->changes_at_task = saver->store->changes;
    saver->last_fork_usec = saver->task_began_usec - began;
    saver->forked_usec = saver->task_began_usec;
    saver->forks++;
    return 0;
}

static bool is_rewriting(const struct saver *saver)
{
    return rewrite_runs(saver->rewrite) || saver->task == TASK_VOID;
}

/* Schedules the snapshot. It starts at the end of the turn, or after a rewrite that runs: so it
 * never contains a part of a transaction. */
enum persist_outcome saver_begin_save(struct saver *saver, bool or_schedule)
{
    bool rewrites = is_rewriting(saver);
    if (saver->task == TASK_SAVE) return PERSIST_SAVING;
    if (rewrites && !or_schedule) return PERSIST_REWRITING;
    if (file_check(saver->conf->dbfilename, FILE_SET(FILE_SNAPSHOT)) == EEXIST)
        return PERSIST_FOREIGN;
    if (!rewrites && saver->save_want == WANTED_NOW) return PERSIST_SAVING;
    saver->save_want = WANTED_NOW;
    return rewrites ? PERSIST_SCHEDULED : PERSIST_DONE;
}

static void end_task(void *ctx)
{
    struct saver *saver = ctx;
    struct child_outcome outcome;
    if (!child_ended(saver->child, &outcome)) return;
    enum task task = saver->task;
    int64_t now = clock_mono_usec(), took = now - saver->task_began_usec;
    saver->task = TASK_NONE;
    if (task == TASK_SAVE) {
        saver->saves.sec = took / USEC_PER_SEC;
        saver->saves.copied_bytes = outcome.copied;
        if (outcome.error != 0)
            save_failed(saver, saver->conf->dbfilename, outcome.error);
        else
            note_saved(saver, saver->changes_at_task, &outcome.size);
    } else if (task == TASK_BASE) {
        saver->rewrites.sec = took / USEC_PER_SEC;
        saver->rewrites.copied_bytes = outcome.copied;
        saver->rewritten_usec = now;
        saver->rewrite_took_usec = took;
        rewrite_base_ended(saver->rewrite, &outcome);
    }
}

enum persist_outcome saver_save_at_end(struct saver *saver)
{
    if (saver->task == TASK_SAVE) {
        cancel_child(saver);
        child_await(saver->child);
        end_task(saver);
    }
    return saver_save(saver);
}

bool saver_sees_flush(const struct saver *saver)
{
    return saver->store->flushed_at != saver->flush_seen;
}

void saver_save_flushed(struct saver *saver)
{
    saver->flush_seen = saver->store->flushed_at;
    if (saver->conf->save[0] != '\0') saver_save_at_end(saver);
}

bool saver_is_busy(const struct saver *saver)
{
    return saver->task != TASK_NONE || saver->save_want == WANTED_NOW;
}

/* ---- the rewrite ----------------------------------------------------------------------------- */

static int fork_base(void *ctx, const char *path)
{
    struct saver *saver = ctx;
    int error = fork_child(saver, TASK_BASE, path);
    if (error == 0) saver->rewrites.begun++;
    return error;
}

static void pass_end_record(void *ctx)
{
    const struct saver *saver = ctx;
    saver->w.end_record(saver->w.ctx);
}

static void pass_next_file(void *ctx, uint64_t length)
{
    const struct saver *saver = ctx;
    saver->w.next_file(saver->w.ctx, length);
}

static void rewrite_failed(void *ctx, const char *step, int error)
{
    struct saver *saver = ctx;
    bool restarts = rewrite_restarts(saver->rewrite);
    if (restarts) saver->w.base_failed(saver->w.ctx, error);
    count_failure(&saver->rewrites);
    /* Retry rarely, because each attempt at an ordinary rewrite leaves a segment. */
    retry_later(saver, &saver->rewrite_want, restarts ? RETRY_MOST_USEC : RARELY_USEC, error);
    log_retry(saver, REWRITING, step, error);
}

static void rewrite_done(void *ctx, const struct base_size *size)
{
    struct saver *saver = ctx;
    saver->retry.delay = 0;
    saver->w.base_done(saver->w.ctx, size->bytes);
    count_success(&saver->rewrites);
    log_line(LOG_NOTICE, "Journal rewritten: %" PRIu64 " key%s, %" PRIu64 " bytes", size->keys,
             log_plural(size->keys), size->bytes);
}

static void step_done(void *ctx)
{
    const struct saver *saver = ctx;
    const struct persist_wiring *persist = saver->w.persist;
    if (persist->files_done != NULL) persist->files_done(persist->ctx);
}

struct rewrite *saver_rewrite(struct saver *saver)
{
    return saver->rewrite;
}

static msec keep_from(void *ctx)
{
    const struct saver *saver = ctx;
    msec span = 0;
    conf_read_span(saver->conf->journal_keep, &span);
    return span > 0 ? instant_moved(clock_now(saver->clock), -span) : NEVER;
}

void saver_drop_rewrite(struct saver *saver)
{
    if (rewrite_drop(saver->rewrite)) cancel_child(saver);
    saver->rewrite_want = NOT_WANTED;
}

/* Schedules the rewrite. It starts at the end of the turn: the command may be part of a
 * transaction, whose effects form one record, and a rewrite begins between records. Without a
 * journal, schedules nothing, but returns PERSIST_SCHEDULED. */
enum persist_outcome saver_begin_rewrite(struct saver *saver, bool journal_is_on)
{
    if (is_rewriting(saver)) return PERSIST_REWRITING;
    saver->rewrite_want = journal_is_on ? WANTED_NOW : NOT_WANTED;
    return saver->task == TASK_SAVE || !journal_is_on ? PERSIST_SCHEDULED : PERSIST_DONE;
}

void saver_schedule_rewrite(struct saver *saver)
{
    saver->rewrite_want = WANTED_NOW;
}

void saver_hurry_rewrite(struct saver *saver)
{
    if (saver->rewrite_want == WANTED_AGAIN) saver->rewrite_want = NOT_WANTED;
}

/* Does the journal need a base that is not being written? */
static bool waits_for_base(const struct saver *saver, const struct journal *journal)
{
    return journal != NULL && journal_state(journal) == JOURNAL_NEEDS_BASE && !is_rewriting(saver);
}

static int write_base_now(void *ctx, const char *path, struct base_size *size)
{
    return write_inline(ctx, "Writing the journal's base", path, size);
}

int saver_begin_journal(struct saver *saver, struct journal *journal)
{
    const struct store *store = saver->store;
    bool blank = store->policies.count == 0 && libraries_count(&store->libraries) == 0;
    struct rewrite_now now = { write_base_now, saver, blank };
    return rewrite_first_now(saver->rewrite, journal, &now);
}

int saver_write_last_base(struct saver *saver)
{
    struct rewrite_now now = { write_base_now, saver, false };
    /* A cancelled child may be in its last system call. */
    if (saver->task == TASK_VOID) child_await(saver->child);
    return rewrite_last_now(saver->rewrite, &now);
}

/* ---- both ------------------------------------------------------------------------------------ */

static void on_again(void *ctx)
{
    (void)ctx; /* the timer only has to start a turn */
}

struct saver *saver_new(const struct saver_wiring *wiring)
{
    const struct persist_wiring *persist = wiring->persist;
    struct child *child = child_new();
    if (child == NULL) return NULL;
    struct saver *saver = mem_zalloc(sizeof(*saver));
    saver->w = *wiring;
    saver->conf = persist->conf;
    saver->store = persist->store;
    saver->clock = persist->clock;
    saver->child = child;
    const struct rewrite_wiring rewrite = {
        .loop = persist->loop,
        .fork = fork_base,
        .end_record = pass_end_record,
        .next_file = pass_next_file,
        .failed = rewrite_failed,
        .done = rewrite_done,
        .keep_from = keep_from,
        .step_done = step_done,
        .ctx = saver,
    };
    saver->rewrite =
        rewrite_new(&rewrite, persist->conf->appenddirname, persist->conf->appendfilename);
    if (saver->rewrite == NULL) {
        child_free(child);
        mem_free(saver);
        return NULL;
    }
    saver->again = loop_timer_new(persist->loop, on_again, saver);
    loop_on_signal(persist->loop, SIGCHLD, end_task, saver);
    saver->last_save_sec = clock_now(saver->clock) / MSEC_PER_SEC;
    saver->saves.sec = saver->rewrites.sec = -1;
    return saver;
}

void saver_free(struct saver *saver)
{
    if (saver == NULL) return;
    rewrite_free(saver->rewrite);
    child_free(saver->child);
    loop_timer_free(saver->again);
    mem_free(saver);
}

void saver_loaded(struct saver *saver)
{
    saver->changes_saved = saver->store->changes;
    saver->flush_seen = saver->store->flushed_at;
}

void saver_turn(struct saver *saver, struct journal *journal)
{
    rewrite_continue(saver->rewrite);
    if (saver->task != TASK_NONE || rewrite_runs(saver->rewrite)) return;
    if (retries(saver) && retry_is_due(saver)) {
        if (saver->save_want == WANTED_AGAIN) saver->save_want = WANTED_NOW;
        if (saver->rewrite_want == WANTED_AGAIN)
            saver->rewrite_want = journal != NULL ? WANTED_NOW : NOT_WANTED;
    }

    bool wants_base = saver->rewrite_want == WANTED_NOW ||
                      (saver->rewrite_want == NOT_WANTED && waits_for_base(saver, journal));
    if (wants_base && !journal_settles(journal) && rewrite_begin(saver->rewrite, journal)) {
        saver->rewrite_want = NOT_WANTED;
        saver->task_began_usec = clock_mono_usec();
        return;
    }

    if (saver->save_want != WANTED_NOW) return;
    saver->save_want = NOT_WANTED;
    int error = fork_child(saver, TASK_SAVE, saver->conf->dbfilename);
    if (error != 0) {
        save_failed(saver, "fork", error);
        return;
    }
    saver->saves.begun++;
    log_line(LOG_NOTICE, "Writing a snapshot in the background");
}

void saver_second(struct saver *saver, bool has_grown)
{
    int64_t now = clock_mono_usec();
    if (child_runs(saver->child)) {
        saver->at_task.done = child_progress(saver->child).keys;
        progress_log(&saver->at_task, now);
    }
    msec at = clock_now(saver->clock), swept = at - saver->swept_at;
    bool may_sweep = rewrite_state(saver->rewrite) == REWRITE_IDLE &&
                     (swept < 0 || swept >= SWEEP_REST); /* negative: the clock was set back */
    if (may_sweep) {
        const struct manifest_kept *kept = &rewrite_manifest(saver->rewrite)->kept;
        if (kept->files > 0 && kept->next <= keep_from(saver)) {
            saver->swept_at = at;
            rewrite_begin_sweep(saver->rewrite);
        }
    }
    if (retries(saver)) return;
    uint64_t changes = saver->store->changes - saver->changes_saved, least;
    int64_t seconds, age = at / MSEC_PER_SEC - saver->last_save_sec;
    int used;
    for (const char *point = saver->conf->save;
         sscanf(point, "%" SCNd64 " %" SCNu64 "%n", &seconds, &least, &used) == 2; point += used)
        if (changes >= least && changes > 0 && age >= seconds) saver->save_want = WANTED_NOW;
    bool has_rested = now - saver->rewritten_usec >= REST_SHARE * saver->rewrite_took_usec;
    bool is_idle = saver->task == TASK_NONE && !rewrite_runs(saver->rewrite);
    if (has_grown && is_idle && has_rested) saver->rewrite_want = WANTED_NOW;
}

void saver_report(const struct saver *saver, const struct journal *journal,
                  struct persist_report *report)
{
    int64_t now = clock_mono_usec(), task_sec = (now - saver->task_began_usec) / USEC_PER_SEC;
    report->saves = saver->saves;
    report->rewrites = saver->rewrites;
    report->last_save_sec = saver->last_save_sec;
    report->last_fork_usec = saver->last_fork_usec;
    report->forked_usec = saver->forked_usec;
    report->forks = saver->forks;
    report->saves_inline = saver->saves_inline;
    report->save = progress_report(&saver->at_save, now);
    if (child_runs(saver->child)) {
        struct child_progress child = child_progress(saver->child);
        struct progress at = saver->at_task;
        at.done = child.keys;
        report->task = progress_report(&at, now);
        report->copied_now = child.copied;
        report->copied_peak = child.copied_peak;
        report->copied_age_sec =
            child.copied_usec > 0 ? (now - child.copied_usec) / USEC_PER_SEC : 0;
    }
    report->saving = saver->task == TASK_SAVE;
    /* A restart has ended only when the changes since the fork are written too: until then a crash
     * loses those that were acknowledged without waiting. */
    report->rewriting = is_rewriting(saver) || rewrite_state(saver->rewrite) == REWRITE_SWEEP ||
                        (journal != NULL && journal_catches_up(journal));
    report->rewrite_scheduled = saver->rewrite_want == WANTED_NOW || waits_for_base(saver, journal);
    report->current_save_sec = report->saving ? task_sec : -1;
    report->current_rewrite_sec = report->rewriting ? task_sec : -1;
    /* After FLUSHALL a snapshot is written at the end of this turn. */
    bool was_flushed = saver_sees_flush(saver) && saver->conf->save[0] != '\0';
    uint64_t saved = was_flushed ? saver->store->flushed_at : saver->changes_saved;
    report->changes_since_save = saver->store->changes - saved;
}

void saver_check(const struct saver *saver, const struct journal *journal)
{
    int state = (int)rewrite_state(saver->rewrite);
    ensure((saver->task == TASK_BASE) == (state == REWRITE_BASE), "task %d in state %d",
           (int)saver->task, state);
    ensure(!child_runs(saver->child) || saver->task != TASK_NONE, "a child without a task");
    rewrite_check(saver->rewrite, journal);
}
