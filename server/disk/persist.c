/* persist: see persist.h. Writes the journal of each turn, starts and stops with the files, and
 * turns the journal on and off. saver writes snapshots and bases. */
#include "server/disk/persist.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/disk/data_folder.h"
#include "server/disk/format/file_kind.h"
#include "server/disk/format/instant_mark.h"
#include "server/disk/format/manifest.h"
#include "server/disk/format/stream_position.h"
#include "server/disk/journal.h"
#include "server/disk/load.h"
#include "server/disk/rewrite.h"
#include "server/disk/saver.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    /* While the disk can't be written, clients' writes are refused, and only expiry changes data.
     * Once the journal holds more than this many bytes of these changes in memory, it drops them
     * and needs a base. */
    WAITING_MAX = 32 << 20,
    /* A record ends with the transaction that brings its text to this size, or else with the turn.
     * Short transactions thus share a checksum, which is computed while their text is still in the
     * processor's first cache. */
    RECORD_BYTES = 4096,
    SETTLED_TURNS = 2, /* turns that a settled journal waits for being turned off */
    /* A start with a journal tries for a second to lock its folder. */
    LOCK_TRIES = 100,
    LOCK_PAUSE_NSEC = 10 * 1000 * 1000,
};

struct persist {
    struct persist_wiring w;
    struct saver *saver;
    struct rewrite *rewrite;            /* the rewrite of `saver` */
    const struct persist_counts *saves; /* counts of `saver`; each write checks them */

    struct journal *journal;
    struct effect_writer writer;
    struct position_marks marks; /* position of the last record written */
    struct instant_marks instants;
    struct position_marks loaded; /* position of the files loaded at the start */
    struct loop_io *synced;
    struct loop_timer *flush_again;
    int64_t turn_at;  /* monotonic: when the timer will start a turn; 0 if it is not set */
    bool listens;     /* effects go to the journal */
    bool has_token;   /* the open record contains a leap of the fencing tokens */
    size_t committed; /* bytes of committed transactions in the open record */
    /* While the open record has fewer bytes, a commit has nothing to do but to count its bytes. 0
     * for the first transaction of a record, and with has_token. */
    size_t plain_until;
    msec record_at; /* when the first transaction of the open record was committed */
    bool opened;    /* the journal has had a file since appendonly was turned on */
    int base_error; /* errno of the last attempt at a base that the journal needs, or 0 */

    bool settle_asked;      /* persist_prepare must be called again when a sync has ended */
    unsigned settled_turns; /* turns since the journal settled and could have been closed */

    uint64_t before; /* sum of the last positions of earlier journals */
    /* The safe position without a journal: UINT64_MAX, or less if closing the last one failed. */
    uint64_t safe_at_end;

    int folder; /* descriptor of the working directory, which it locks, or -1 */

    uint64_t segments_bytes; /* size of the segments before the current one */
    struct progress load;    /* bytes, while report.loading */
    struct persist_report report;
};

/* ---- what the saver tells -------------------------------------------------------------------- */

/* Makes the next record state its database, its position and its instant in full, because it begins
 * another file or follows records that were dropped. */
static void restart_text(struct persist *persist)
{
    effect_writer_restart(&persist->writer);
    persist->writer.is_brief = true;
    persist->marks.known = persist->instants.known = false;
}

static void end_open_record(void *ctx)
{
    persist_end_record(ctx);
}

static void next_file(void *ctx, uint64_t length)
{
    struct persist *persist = ctx;
    persist->segments_bytes += length;
    restart_text(persist);
}

static void base_failed(void *ctx, int error)
{
    struct persist *persist = ctx;
    if (persist->listens) persist->base_error = error;
}

static void base_done(void *ctx, uint64_t bytes)
{
    struct persist *persist = ctx;
    persist->opened = true;
    persist->base_error = 0;
    persist->segments_bytes = 0;
    persist->report.base_bytes = bytes;
}

/* ---- creating and freeing -------------------------------------------------------------------- */

/* The timer's purpose is to start a turn. */
static void on_timer(void *ctx)
{
    struct persist *persist = ctx;
    persist->turn_at = 0;
}

struct persist *persist_new(const struct persist_wiring *wiring)
{
    struct persist *persist = mem_zalloc(sizeof(*persist));
    persist->w = *wiring;
    persist->saver = saver_new(&(struct saver_wiring){ .persist = &persist->w,
                                                       .end_record = end_open_record,
                                                       .next_file = next_file,
                                                       .base_failed = base_failed,
                                                       .base_done = base_done,
                                                       .ctx = persist });
    if (persist->saver == NULL) {
        mem_free(persist);
        return NULL;
    }
    persist->rewrite = saver_rewrite(persist->saver);
    persist->saves = saver_saves(persist->saver);
    persist->folder = -1;
    persist->safe_at_end = UINT64_MAX;
    persist->writer.brief.db = -1; /* there is no buffer yet */
    persist->flush_again = loop_timer_new(wiring->loop, on_timer, persist);
    return persist;
}

/* Writes, syncs and closes the journal, and begins to note in the manifest that the journal is
 * synced. Returns 0 or an errno. */
static int close_journal(struct persist *persist)
{
    loop_io_free(persist->synced);
    saver_drop_rewrite(persist->saver);
    persist_end_record(persist);
    uint64_t safe = persist_safe_position(persist);
    persist->before += journal_position(persist->journal);
    bool is_lasting = journal_state(persist->journal) != JOURNAL_NEEDS_BASE;
    int error = journal_close(persist->journal);
    persist->safe_at_end = error != 0 || !persist->opened ? safe : UINT64_MAX;
    persist->journal = NULL;
    persist->synced = NULL;
    persist->listens = persist->opened = persist->settle_asked = false;
    persist->base_error = 0;
    persist->committed = persist->plain_until = 0;
    persist->writer.brief.db = -1; /* its buffer is gone */
    if (is_lasting && error == 0) rewrite_begin_note(persist->rewrite);
    return error;
}

void persist_free(struct persist *persist)
{
    if (persist == NULL) return;
    if (persist->journal != NULL) close_journal(persist);
    saver_free(persist->saver);
    loop_timer_free(persist->flush_again);
    if (persist->folder >= 0) disk_close(persist->folder);
    mem_free(persist);
}

/* ---- the journal ----------------------------------------------------------------------------- */

static enum journal_sync_mode sync_mode_of(const struct conf *conf)
{
    switch ((enum conf_fsync)conf->appendfsync) {
    case CONF_FSYNC_NO: return JOURNAL_SYNC_NEVER;
    case CONF_FSYNC_ALWAYS: return JOURNAL_SYNC_ALWAYS;
    default: return JOURNAL_SYNC_EVERY_SECOND;
    }
}

static void on_synced(void *ctx, unsigned what)
{
    (void)what;
    struct persist *persist = ctx;
    journal_sync_done(persist->journal, clock_mono_usec());
    if (!persist->settle_asked) return;
    persist->settle_asked = false;
    if (persist->w.files_done != NULL) persist->w.files_done(persist->w.ctx);
}

static int new_journal(struct persist *persist)
{
    persist->journal = journal_new(sync_mode_of(persist->w.conf));
    if (persist->journal == NULL) return errno;
    effect_writer_init(&persist->writer, journal_buffer(persist->journal));
    persist->writer.is_brief = true;
    persist->marks.known = persist->instants.known = false;
    persist->synced =
        loop_io_new(persist->w.loop, journal_sync_fd(persist->journal), on_synced, persist);
    loop_io_want(persist->synced, LOOP_READ);
    return 0;
}

bool persist_listens(const struct persist *persist)
{
    return persist->listens;
}

void persist_effect(struct persist *persist, const struct effect *effect)
{
    if (effect->kind == EFFECT_TOKEN) {
        persist->has_token = true;
        persist->plain_until = 0;
    }
    effect_writer_put(&persist->writer, effect); /* last, so that the call becomes a jump */
}

/* Returns the position after the last transaction, which lies inside the open record if there is
 * one. */
static uint64_t position_of(const struct persist *persist)
{
    return persist->before + journal_position(persist->journal) + persist->committed;
}

static bool has_open_transaction(const struct persist *persist)
{
    return persist->writer.run.form != NULL || journal_text(persist->journal) > persist->committed;
}

static void end_record(struct persist *persist)
{
    char text[INSTANT_MARK_MAX + STREAM_MARK_MAX];
    msec at = persist->committed > 0 ? persist->record_at : clock_now(persist->w.clock);
    size_t len = instant_marks_print(&persist->instants, at, text);
    len += position_marks_print(&persist->marks, persist->w.stream_position(persist->w.ctx),
                                text + len);
    effect_writer_end_record(&persist->writer);
    outbuf_append(journal_buffer(persist->journal), text, len);
    journal_end_record(persist->journal);
    persist->committed = persist->plain_until = 0;
}

void persist_end_record(struct persist *persist)
{
    if (persist->committed > 0 && !has_open_transaction(persist)) end_record(persist);
}

/* The commits for which persist_commit has more to do: the first and the last of a record, and
 * those behind a run of effects. Not inlined, so that other commits save no registers. */
__attribute__((noinline)) static void commit_slowly(struct persist *persist, uint64_t *position)
{
    effect_writer_end(&persist->writer);
    if (persist->committed == 0) persist->record_at = clock_now(persist->w.clock);
    persist->committed = journal_text(persist->journal);
    if (persist->committed >= RECORD_BYTES || persist->has_token) {
        uint64_t before = journal_position(persist->journal);
        persist_end_record(persist);
        /* Tokens granted after this record must never be granted again. */
        if (persist->has_token) journal_require_sync(persist->journal, before);
        persist->has_token = false;
    }
    persist->plain_until = persist->committed > 0 ? RECORD_BYTES : 0;
    if (position != NULL) *position = position_of(persist);
}

void persist_commit(struct persist *persist, uint64_t *position)
{
    size_t text = journal_text(persist->journal);
    if (text >= persist->plain_until || persist->writer.run.form != NULL) {
        commit_slowly(persist, position);
        return;
    }
    persist->committed = text;
    if (position != NULL) *position = position_of(persist);
}

void persist_alone(struct persist *persist, const struct effect *effect)
{
    persist_effect(persist, effect);
    commit_slowly(persist, NULL);
}

struct brief_tail *persist_brief_tail(struct persist *persist)
{
    return &persist->writer.brief;
}

void persist_mark_position(struct persist *persist, uint64_t bytes)
{
    if (!persist->listens) return;
    const struct stream_position *position = persist->w.stream_position(persist->w.ctx);
    if (position == NULL || has_open_transaction(persist)) return;
    persist_end_record(persist);
    const struct position_marks *marks = &persist->marks;
    bool same = marks->known && strcmp(marks->last.history.id, position->history.id) == 0;
    uint64_t since = same ? position->offset - marks->last.offset : UINT64_MAX;
    if (since >= bytes) end_record(persist);
}

const struct stream_position *persist_loaded_position(const struct persist *persist)
{
    return persist->loaded.known ? &persist->loaded.last : NULL;
}

uint64_t persist_position(const struct persist *persist)
{
    return persist->listens ? position_of(persist) : 0;
}

/* With appendfsync always, positions are not safe while the journal's first base is being written,
 * because a journal can't be loaded without its base. */
uint64_t persist_safe_position(const struct persist *persist)
{
    if (persist == NULL) return UINT64_MAX;
    bool always = persist->w.conf->appendfsync == CONF_FSYNC_ALWAYS;
    if (!persist->listens || (!persist->opened && !always)) return persist->safe_at_end;
    return persist->before + journal_safe_position(persist->journal);
}

const char *persist_refusal(const struct persist *persist)
{
    if (persist->report.write_error != NULL) return persist->report.write_error;
    const struct conf *conf = persist->w.conf;
    if (persist->saves->has_failed && conf->stop_writes_on_bgsave_error && conf->save[0] != '\0')
        return "Writing the last snapshot failed, so commands that change data are refused until "
               "one succeeds (stop-writes-on-bgsave-error). See the log for the reason.";
    return NULL;
}

void persist_replaced(struct persist *persist)
{
    if (!persist->listens) return;
    saver_drop_rewrite(persist->saver);
    persist_end_record(persist);
    journal_need_base(persist->journal);
    restart_text(persist);
    persist->opened = false; /* accept writes, as while the first base is being written */
    persist->base_error = 0;
}

bool persist_has_synced(const struct persist *persist, uint64_t position)
{
    if (persist == NULL || !persist->listens || !persist->opened) return false;
    return persist->before + journal_synced(persist->journal) >= position;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Sets the error text for clients, and logs the beginning and end of a failure. */
static void update_write_error(struct persist *persist)
{
    static char text[160];
    /* Find the error that prevents changes from being stored. While the first base is being written
     * there is none. */
    int error = persist->base_error;
    if (persist->opened) {
        error = journal_error(persist->journal);
        if (journal_state(persist->journal) == JOURNAL_OK)
            error = 0;
        else if (error == 0)
            error = EIO;
    }
    bool had_error = persist->report.write_error != NULL;
    if ((error != 0) == had_error) return;
    persist->report.write_error = error != 0 ? text : NULL;
    if (error == 0) {
        log_line(LOG_NOTICE, "The journal can be written again: writes are accepted");
        return;
    }
    const char *what = file_error_text(error);
    snprintf(text, sizeof(text), "Errors writing to the AOF file: %s", what);
    log_line(LOG_WARNING, "Can't write the journal: %s. Writes are refused until it succeeds%s",
             what, file_error_advice(error));
}

static void update_journal_report(struct persist *persist)
{
    struct journal_report report = journal_report(persist->journal);
    persist->report.journal_bytes =
        persist->segments_bytes + report.segment_length + persist->report.base_bytes;
    if (!rewrite_has_thread(persist->rewrite)) {
        const struct manifest_kept *kept = &rewrite_manifest(persist->rewrite)->kept;
        persist->report.kept_files = kept->files;
        persist->report.kept_bytes = kept->bytes;
        persist->report.reachable_since = kept->since;
    }
    persist->report.journal_waiting = report.waiting;
    persist->report.late_syncs = report.late_syncs;
    persist->report.syncs = report.syncs;
    persist->report.journal_failures = report.failed_writes + report.failed_syncs;
    persist->report.last_sync_usec = report.last_sync_usec;
    persist->report.sync_running = report.sync_running;
}

/* Makes the timer start a turn. With `everysec`, the turns of a second pass the same instant, so
 * the timer is set only once. */
static void start_turn_at(struct persist *persist, int64_t now, int64_t at)
{
    if (persist->turn_at == at && at > 0) return;
    persist->turn_at = at;
    loop_timer_set(persist->flush_again, at > now ? at - now : 0);
}

static void flush_journal(struct persist *persist)
{
    persist_end_record(persist);
    int64_t now = clock_mono_usec(), again = journal_flush(persist->journal, now);
    if (again >= 0) start_turn_at(persist, now, now + again);
}

void persist_turn_inside(struct persist *persist)
{
    if (persist->listens && !persist->report.loading) flush_journal(persist);
}

void persist_turn(struct persist *persist)
{
    if (persist->report.loading) return;
    bool flushed = saver_sees_flush(persist->saver);
    if (persist->listens) {
        /* Resume writing a journal that has settled but that nobody turns off: the client that
         * asked for that has gone, or its request has failed. */
        if (journal_settles(persist->journal) && !persist->settle_asked) {
            if (++persist->settled_turns > SETTLED_TURNS)
                journal_resume(persist->journal);
            else
                start_turn_at(persist, 0, 0);
        }
        flush_journal(persist);
        /* After FLUSHALL a base needs little space, and frees that of the old files. */
        bool wants_base = flushed || journal_report(persist->journal).waiting > WAITING_MAX;
        if (wants_base && journal_state(persist->journal) == JOURNAL_CANNOT_WRITE) {
            journal_give_up_segment(persist->journal);
            saver_hurry_rewrite(persist->saver);
        }
    }
    if (flushed) saver_save_flushed(persist->saver);
    saver_turn(persist->saver, persist->listens ? persist->journal : NULL);
    if (persist->listens)
        update_write_error(persist); /* after starting tasks, whose errors count */
    if (persist->w.conf->enable_debug_command != CONF_ALLOW_NO) persist_check(persist);
}

static void drop_try(struct persist *persist)
{
    if (rewrite_state(persist->rewrite) == REWRITE_TRIED) saver_drop_rewrite(persist->saver);
}

void persist_second(struct persist *persist)
{
    if (persist->report.loading) return;
    if (!persist->listens) drop_try(persist); /* the client that wanted it has gone */
    bool has_grown = false;
    if (persist->listens) {
        update_journal_report(persist);
        const struct conf *conf = persist->w.conf;
        uint64_t base = persist->report.base_bytes > 0 ? persist->report.base_bytes : 1;
        uint64_t now = persist->report.journal_bytes;
        has_grown = conf->rewrite_percentage > 0 && now >= (uint64_t)conf->rewrite_min_size &&
                    now > base && (now - base) * 100 / base >= (uint64_t)conf->rewrite_percentage;
    }
    saver_second(persist->saver, has_grown);
}

static enum manifest_found find_journal(struct persist *persist, char why[MANIFEST_WHY_MAX])
{
    return data_folder_find_journal(persist->w.conf, rewrite_manifest(persist->rewrite), why);
}

static bool own_folder(struct persist *persist)
{
    if (persist->folder >= 0) return true;
    return disk_lock_dir(".", &persist->folder) != EWOULDBLOCK;
}

bool persist_has_to_wait(const struct persist *persist)
{
    return rewrite_has_thread(persist->rewrite);
}

bool persist_prepare(struct persist *persist, bool appendonly)
{
    char why[MANIFEST_WHY_MAX];
    if (persist->report.loading || appendonly == persist->listens) return false;
    if (persist_has_to_wait(persist)) return true;
    if (!appendonly) {
        persist_end_record(persist);
        persist->settled_turns = 0;
        persist->settle_asked = journal_settle(persist->journal, clock_mono_usec());
        return persist->settle_asked;
    }
    if (rewrite_state(persist->rewrite) != REWRITE_IDLE) return false;
    /* persist_configure reports these failures. */
    if (!own_folder(persist)) return false;
    if (rewrite_manifest(persist->rewrite)->count == 0 &&
        find_journal(persist, why) == MANIFEST_BAD)
        return false;
    rewrite_begin_try(persist->rewrite);
    return true;
}

bool persist_configure(struct persist *persist)
{
    const struct conf *conf = persist->w.conf;
    if (persist->report.loading) return true;
    if (persist->journal != NULL) journal_set_sync_mode(persist->journal, sync_mode_of(conf));
    if (conf->appendonly == persist->listens) return true;
    if (!conf->appendonly) {
        int error = close_journal(persist);
        if (error != 0)
            log_line(LOG_WARNING,
                     "Can't write the end of the journal before turning it off: %s. Its last "
                     "changes may be missing on disk: keep them with SAVE%s",
                     strerror(error), file_error_advice(error));
        persist->report.write_error = NULL;
        persist->safe_at_end = UINT64_MAX; /* once it is off, replies do not wait for it */
        return true;
    }
    if (!own_folder(persist)) {
        log_line(LOG_WARNING, "Can't start the journal: another expired uses %s. Set another dir",
                 conf->dir);
        return false;
    }
    /* Find the files of an earlier journal, so that new files get other names. */
    char why[MANIFEST_WHY_MAX];
    rewrite_await(persist->rewrite);
    if (rewrite_manifest(persist->rewrite)->count == 0 &&
        rewrite_state(persist->rewrite) != REWRITE_TRIED &&
        find_journal(persist, why) == MANIFEST_BAD) {
        log_line(LOG_WARNING, "Can't start the journal: %s", why);
        return false;
    }
    int error = rewrite_end_try(persist->rewrite);
    if (error == 0) error = new_journal(persist);
    if (error != 0) {
        log_line(LOG_WARNING, "Can't start the journal in %s/%s: %s%s", conf->dir,
                 rewrite_manifest(persist->rewrite)->dir, file_error_text(error),
                 file_error_advice(error));
        saver_drop_rewrite(persist->saver);
        return false;
    }
    persist->listens = true;
    saver_schedule_rewrite(persist->saver);
    log_line(LOG_NOTICE, "Journal turned on: writing a base file of the current data");
    return true;
}

/* Also drops the manifest of the old folder: if the journal was turned off there, it must not be
 * continued in the new folder. */
int persist_move(struct persist *persist, const char *folder)
{
    if (persist->listens || persist->report.loading || saver_is_busy(persist->saver)) return EBUSY;
    rewrite_await(persist->rewrite); /* its paths are relative to the old folder */
    drop_try(persist);
    if (chdir(folder) != 0) return errno;
    if (persist->folder >= 0) disk_close(persist->folder);
    persist->folder = -1;
    if (!own_folder(persist))
        log_line(LOG_WARNING,
                 "Another expired uses %s too: each overwrites the other's snapshot. Set another "
                 "dir",
                 folder);
    struct manifest *manifest = rewrite_manifest(persist->rewrite);
    manifest_drop(manifest);
    manifest_init(manifest, persist->w.conf->appenddirname, persist->w.conf->appendfilename);
    persist->segments_bytes = persist->report.base_bytes = 0;
    return 0;
}

/* ---- starting -------------------------------------------------------------------------------- */

/* Continues the last segment that was loaded. Returns 0 or an errno. */
static int continue_journal(struct persist *persist, const struct load *load)
{
    const struct manifest *manifest = load->manifest;
    const struct manifest_file *segment = &manifest->files[manifest->count - 1];
    char path[DISK_PATH_MAX];
    int error = 0, fd = -1;
    /* First sync the loaded files. If the process was killed before, the end of a segment or the
     * name of the manifest may exist only in the kernel's memory. A loss of power could then lose
     * these but keep later, synced records, and so leave a gap. */
    for (size_t i = 0; i < manifest->count && error == 0; i++) {
        int loaded = -1;
        if (manifest->files[i].type != MANIFEST_SEGMENT) continue;
        error = manifest_file_path(manifest, &manifest->files[i], path);
        if (error == 0) error = disk_open_to_read(path, &loaded);
        if (error == 0) error = disk_sync(loaded);
        if (loaded >= 0) disk_close(loaded);
    }
    if (error == 0) error = disk_sync_dir(manifest->dir);
    if (error == 0) error = manifest_file_path(manifest, segment, path);
    if (error == 0) error = disk_open(path, &fd);
    uint32_t id = load->end.id != 0 ? load->end.id : segment->id;
    if (id == 0) id = segment_id_new();
    if (error == 0) error = journal_open(persist->journal, fd, id, &load->end);
    if (error != 0) return error;
    journal_follow(persist->journal, &load->before);
    persist->marks = load->marks;
    persist->writer.is_brief = load->version > 1;
    return 0;
}

static bool open_journal(struct persist *persist, const struct load *load)
{
    int error = new_journal(persist);
    if (error == 0)
        error = load->journal == LOAD_LISTED_JOURNAL
                    ? continue_journal(persist, load)
                    : saver_begin_journal(persist->saver, persist->journal);
    if (error == 0) {
        persist->listens = persist->opened = true;
        rewrite_sweep_now(persist->rewrite);
        return true;
    }
    snprintf(load->why, load->size, "can't open the journal in %s/%s: %s%s", persist->w.conf->dir,
             load->manifest->dir, file_error_text(error), file_error_advice(error));
    return false;
}

/* If the server before was killed just after a fork, its child holds the lock too, until the kernel
 * has killed the child as well or the child has closed its copy of the descriptor. */
static bool own_folder_in_time(struct persist *persist, int most)
{
    for (int tries = 1; !own_folder(persist); tries++) {
        if (tries == most) return false;
        nanosleep(&(struct timespec){ .tv_nsec = LOCK_PAUSE_NSEC }, NULL);
    }
    return true;
}

bool persist_start(struct persist *persist, char *why, size_t size)
{
    const struct conf *conf = persist->w.conf;
    int64_t began_usec = clock_mono_usec();
    struct load load = { .w = &persist->w,
                         .store = persist->w.store,
                         .manifest = rewrite_manifest(persist->rewrite),
                         .progress = &persist->load,
                         .why = why,
                         .size = size };
    if (!own_folder_in_time(persist, conf->appendonly ? LOCK_TRIES : 1)) {
        if (conf->appendonly) {
            snprintf(why, size, "another expired uses %s. Set another dir", conf->dir);
            return false;
        }
        log_line(LOG_WARNING,
                 "Another expired uses %s too: each overwrites the other's snapshot. "
                 "Set another dir",
                 conf->dir);
    }
    persist->report.loading = true;
    persist->report.start_sec = clock_now(persist->w.clock) / 1000;
    progress_begin(&persist->load, "Loading", 0, began_usec);
    persist->w.progress(persist->w.ctx); /* the first record may take long */
    bool good = load_at_start(&load);
    persist->report.base_bytes = load.base_bytes;
    persist->segments_bytes = load.segments_bytes;
    if (good && load.journal != LOAD_NO_JOURNAL) good = open_journal(persist, &load);
    persist->report.loading = false;
    if (!good) return false;
    uint64_t keys = store_count(persist->w.store);
    if (!load.imports && !load.is_changed) persist->loaded = load.marks;
    persist->report.keys_loaded = keys;
    saver_loaded(persist->saver);
    if (persist->load.total > 0)
        log_line(LOG_NOTICE, "Loaded %" PRIu64 " key%s from %" PRIu64 " bytes in %.3f s", keys,
                 log_plural(keys), load.loaded, (double)(clock_mono_usec() - began_usec) / 1e6);

    /* Remove the unfinished snapshot that a crash left. */
    char path[DISK_PATH_MAX];
    int error = snapshot_temporary(conf->dbfilename, path);
    if (error == 0) error = file_check(path, FILE_SET_OURS);
    if (error == 0) error = disk_remove(path);
    if (error != 0)
        log_line(LOG_WARNING,
                 "Can't remove the unfinished snapshot %s: %s. The next snapshot replaces it", path,
                 file_error_text(error));
    return true;
}

/* Loads into a separate store first: nothing changes unless all files can be read. */
bool persist_reload(struct persist *persist, bool as_is, char *why, size_t size)
{
    struct store *store = persist->w.store;
    const char *fault = NULL;
    rewrite_await(persist->rewrite);
    if (as_is && persist->listens) persist_turn_inside(persist);
    if (as_is && !persist->listens)
        fault = "the journal is off (appendonly no)";
    else if (as_is && (journal_state(persist->journal) != JOURNAL_OK ||
                       journal_report(persist->journal).waiting > 0))
        fault = "can't write the end of the journal";
    else if (!as_is && persist_save(persist) != PERSIST_DONE)
        fault = "can't write the snapshot";
    if (fault != NULL) {
        snprintf(why, size, "%s", fault);
        return false;
    }
    struct load load = { .w = &persist->w,
                         .store = store_new(store->database_count),
                         .manifest = rewrite_manifest(persist->rewrite),
                         .why = why,
                         .size = size };
    load.store->counts_access = store->counts_access;
    bool good =
        as_is ? load_journal_again(&load) : load_snapshot_again(&load, persist->w.conf->dbfilename);
    if (good)
        store_replace(store, load.store);
    else
        store_free(load.store);
    return good;
}

/* ---- on demand ------------------------------------------------------------------------------- */

enum persist_outcome persist_save(struct persist *persist)
{
    return persist->report.loading ? PERSIST_FAILED : saver_save(persist->saver);
}

enum persist_outcome persist_save_at_end(struct persist *persist)
{
    return persist->report.loading ? PERSIST_DONE : saver_save_at_end(persist->saver);
}

enum persist_outcome persist_begin_save(struct persist *persist, bool or_schedule)
{
    return saver_begin_save(persist->saver, or_schedule);
}

enum persist_outcome persist_begin_rewrite(struct persist *persist)
{
    return saver_begin_rewrite(persist->saver, persist->listens);
}

/* ---- stopping, and INFO ---------------------------------------------------------------------- */

bool persist_stop(struct persist *persist, char *why, size_t size)
{
    int error = 0;
    if (persist->report.loading) return true;
    persist_mark_position(persist, 1);
    /* Records since the data was replaced, or since the journal was turned on, wait in memory for a
     * base, which a child may be writing. They can only be saved by writing a base now. */
    bool lacks_base = persist->listens && journal_state(persist->journal) == JOURNAL_NEEDS_BASE;
    if (persist->journal != NULL) {
        journal_resume(persist->journal);
        error = close_journal(persist);
    }
    if (lacks_base) error = saver_write_last_base(persist->saver);
    if (lacks_base && error == 0) {
        persist->safe_at_end = UINT64_MAX;
        rewrite_begin_note(persist->rewrite);
    }
    rewrite_await(persist->rewrite);
    if (error != 0)
        snprintf(
            why, size,
            "Can't write the end of the journal: %s. Its last changes may be missing after the "
            "next start%s",
            strerror(error), file_error_advice(error));
    return error == 0;
}

struct persist_report persist_report(struct persist *persist)
{
    if (persist->listens && !persist->report.loading) update_journal_report(persist);
    struct persist_report report = persist->report;
    const struct journal *journal = persist->listens ? persist->journal : NULL;
    report.load = progress_report(&persist->load, clock_mono_usec());
    report.journal = persist->listens;
    if (persist->journal != NULL) report.buffer_bytes = journal_buffer(persist->journal)->bytes;
    saver_report(persist->saver, journal, &report);
    return report;
}

void persist_check(const struct persist *persist)
{
    ensure(persist->listens == (persist->journal != NULL) || persist->report.loading,
           "the journal is on: %d", persist->listens);
    saver_check(persist->saver, persist->journal);
    if (persist->journal != NULL) journal_check(persist->journal);
}
