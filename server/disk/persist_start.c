/* persist_start: decides which files hold the data, and loads them: the journal, a snapshot, or
 * files of Redis to import. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/disk/data_folder.h"
#include "server/disk/format/file_kind.h"
#include "server/disk/format/record.h"
#include "server/disk/import/import.h"
#include "server/disk/persist_state.h"
#include "store/mem/mem.h"

struct loading {
    struct persist *persist;
    struct store *store;
    const char *dir; /* of the manifest */
    char *why;
    size_t size;
    uint64_t loaded;           /* size of the files loaded so far */
    uint64_t synced;           /* bytes of the next file that were synced; 0: unknown */
    uint32_t listed;           /* the ID of the next file that the manifest lists; 0: unknown */
    bool imports;              /* an import: files may be Redis', and are not changed */
    bool is_changed;           /* the data is no longer that of the files */
    bool cuts_torn_end;        /* cut off a torn end in the file itself */
    struct journal_end end;    /* of the last segment */
    struct journal_end before; /* of the segment before it; length 0: there is none */
    struct position_marks marks;
    int64_t began_usec;
};

__attribute__((format(printf, 2, 3))) static bool fail_load(struct loading *loading,
                                                            const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(loading->why, loading->size, format, args);
    va_end(args);
    return false;
}

static void report_load_progress(void *ctx, uint64_t done)
{
    struct loading *loading = ctx;
    struct persist *persist = loading->persist;
    /* A reload runs within a command, which must not run another turn. */
    if (!persist->report.loading) {
        if (persist->w.works != NULL) persist->w.works(persist->w.ctx);
        return;
    }
    persist->load.done = loading->loaded + done;
    progress_log(&persist->load, clock_mono_usec());
    persist->w.progress(persist->w.ctx);
}

/* A transaction is open, so no turn may run. */
static void report_inside(void *ctx, uint64_t done)
{
    struct loading *loading = ctx;
    struct persist *persist = loading->persist;
    if (persist->report.loading) {
        persist->load.done = loading->loaded + done;
        progress_log(&persist->load, clock_mono_usec());
    }
    if (persist->w.works != NULL) persist->w.works(persist->w.ctx);
}

static struct replay_progress progress_of(struct loading *loading)
{
    return (struct replay_progress){ report_load_progress, report_inside, loading };
}

/* ---- one file -------------------------------------------------------------------------------- */

static bool load_base(struct loading *loading, const char *path)
{
    const struct persist *persist = loading->persist;
    struct base_load load = { .progress = progress_of(loading) };
    bool good = base_load(loading->store, path, clock_now(persist->w.clock), &load);
    loading->marks = load.marks;
    return good || fail_load(loading, "%s is damaged %s. Run expired-check on it", path, load.why);
}

/* Cuts off a torn end in the file itself: later records may go to another file, and this one must
 * then end with a complete record. Keeps the bytes in another file first, unless there are none. */
static bool cut_torn_end(struct loading *loading, const char *path, uint64_t length, uint64_t size)
{
    char kept[DISK_PATH_MAX];
    int fd = -1, error = disk_open(path, &fd);
    if (error == 0 && size > length) error = disk_keep_end(fd, path, length, kept);
    if (error != 0) {
        if (fd >= 0) disk_close(fd);
        return fail_load(loading, "%s is torn, and the end to cut off can't be copied: %s%s", path,
                         strerror(error), file_error_advice(error));
    }
    if (length == 0) {
        disk_close(fd);
        error = journal_create(path, &fd);
        loading->end = journal_begun();
    } else {
        error = disk_cut(fd, length);
        if (error == 0) error = disk_sync(fd);
    }
    if (error == 0 || length > 0) disk_close(fd);
    if (error != 0) return fail_load(loading, "%s can't be truncated: %s", path, strerror(error));
    if (size > length) log_line(LOG_WARNING, "The bytes that were cut off are in %s", kept);
    return true;
}

static bool check_segment_end(struct loading *loading, const char *path, bool is_last,
                              const struct replay_file *file)
{
    switch (file->end) {
    case REPLAY_WHOLE: return true;
    case REPLAY_UNREADABLE: return fail_load(loading, "%s can't be read: %s", path, file->reason);
    case REPLAY_DAMAGED:
        return fail_load(loading, "%s is damaged at byte %" PRIu64 ": %s. Run expired-check on %s",
                         path, file->bad, file->reason,
                         loading->before.length > 0 ? loading->dir : "it");
    case REPLAY_TORN: break;
    }
    if (!is_last)
        return fail_load(loading,
                         "%s is damaged: it ends at byte %" PRIu64
                         " within a record, and the journal "
                         "continues in another file. Run expired-check on it",
                         path, file->good);
    if (!loading->persist->w.conf->aof_load_truncated)
        return fail_load(loading,
                         "%s is torn at byte %" PRIu64 " (%s), and aof-load-truncated is no. Run "
                         "expired-check --fix on it",
                         path, file->good, file->reason);
    log_line(LOG_WARNING,
             "%s is torn at byte %" PRIu64 " (%s), as after a crash: the last %" PRIu64
             " bytes are %s",
             path, file->good, file->reason, file->size - file->good,
             loading->cuts_torn_end ? "cut off" : "ignored");
    return !loading->cuts_torn_end || cut_torn_end(loading, path, file->good, file->size);
}

static bool fail_other_file(struct loading *loading, const char *path)
{
    return fail_load(loading,
                     "%s is not the file that the manifest lists. Restore all files of %s from one "
                     "copy",
                     path, loading->dir);
}

static bool load_segment(struct loading *loading, const char *path, bool is_last)
{
    const struct persist *persist = loading->persist;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail_load(loading, "%s can't be opened: %s", path, strerror(errno));
    struct replay_progress progress = progress_of(loading);
    struct replay_file file;
    struct replay *replay = mem_alloc(sizeof(*replay));
    replay_init(replay, loading->store, clock_now(persist->w.clock));
    replay->marks = loading->marks;
    replay->synced = loading->synced;
    replay->before = loading->before;
    replay->listed = loading->listed;
    replay_records(replay, fd, &progress, &file);
    loading->marks = replay->marks;
    replay_drop(replay);
    mem_free(replay);
    close(fd);
    loading->end = (struct journal_end){ file.good, file.sum, file.id };
    if (loading->listed != 0 && file.id != 0 && file.id != loading->listed)
        return fail_other_file(loading, path);
    return check_segment_end(loading, path, is_last, &file);
}

/* As in Redis, only the last file may be torn. */
static bool check_import_end(struct loading *loading, const char *path, bool is_last,
                             const struct import *import)
{
    if (!import->torn) return true;
    if (!is_last)
        return fail_load(loading,
                         "%s is damaged: it ends at byte %" PRIu64 " within a command, and the "
                         "append-only file continues in another file",
                         path, import->good);
    if (!loading->persist->w.conf->aof_load_truncated)
        return fail_load(loading,
                         "%s is torn at byte %" PRIu64
                         ", and aof-load-truncated is no. Set it to yes "
                         "to import the data before that byte",
                         path, import->good);
    log_line(LOG_WARNING, "%s is torn at byte %" PRIu64 ": its last %" PRIu64 " bytes are ignored",
             path, import->good, import->torn_size);
    return true;
}

static bool import_redis_file(struct loading *loading, const char *path, bool is_last)
{
    const struct persist *persist = loading->persist;
    struct import *import = mem_zalloc(sizeof(*import));
    *import = (struct import){ .store = loading->store,
                               .now = clock_now(persist->w.clock),
                               .skip = persist->w.conf->import_skip,
                               .counts_all = true,
                               .skip_unsupported = persist->w.conf->import_skip_unsupported,
                               .progress = progress_of(loading),
                               .command = persist->w.command,
                               .ctx = persist->w.ctx };
    bool good = import_file(import, path);
    for (unsigned i = 0; i < import->kind_count; i++)
        log_line(LOG_WARNING,
                 "Import: %s %" PRIu64 " of the unsupported type %s, the first is '%s'",
                 import->kinds[i].skipped ? "skipped" : "found", import->kinds[i].keys,
                 import->kinds[i].name, import->kinds[i].first_key);
    if (!good)
        fail_load(loading, "%s can't be imported: %s", path, import->why);
    else
        good = check_import_end(loading, path, is_last, import);
    if (good)
        log_line(LOG_NOTICE, "Imported %s: %" PRIu64 " key%s, %" PRIu64 " command%s", path,
                 import->keys, log_plural(import->keys), import->commands,
                 log_plural(import->commands));
    mem_free(import);
    return good;
}

static bool fail_unknown_file(struct loading *loading, const char *path)
{
    char versions[128];
    import_show_versions(versions, sizeof(versions));
    return fail_load(loading,
                     "%s is not a data file of expired, Redis or Valkey. Use an append-only file, "
                     "its manifest, or an RDB file: versions %s",
                     path, versions);
}

static bool load_file(struct loading *loading, const char *path, bool is_last)
{
    struct stat stat_of;
    bool good;
    loading->before = journal_end_to_follow(&loading->end, &loading->before);
    loading->end = (struct journal_end){ 0 };
    enum file_kind kind = file_kind(path);
    switch (kind) {
    case FILE_SNAPSHOT: good = load_base(loading, path); break;
    /* An empty file is an AOF of Redis without commands, or a segment of ours whose first line
     * never reached the disk. */
    case FILE_EMPTY: good = loading->imports || load_segment(loading, path, is_last); break;
    case FILE_JOURNAL: good = load_segment(loading, path, is_last); break;
    case FILE_REDIS_RDB:
    case FILE_REDIS_AOF:
        good = loading->imports ? import_redis_file(loading, path, is_last)
                                : fail_load(loading, "%s is %s. Use --import to load it", path,
                                            file_kind_text(kind));
        break;
    case FILE_MISSING: good = fail_load(loading, "%s is missing", path); break;
    case FILE_LIST:
        good =
            fail_load(loading, "%s is a manifest, but its name does not end with .manifest", path);
        break;
    case FILE_UNREADABLE:
        good = fail_load(loading, "%s can't be read: %s", path, strerror(errno));
        break;
    case FILE_COMPRESSED:
        good = fail_load(loading, "%s is compressed. Unpack it first", path);
        break;
    default: good = fail_unknown_file(loading, path); break;
    }
    if (stat(path, &stat_of) == 0) loading->loaded += (uint64_t)stat_of.st_size;
    return good;
}

/* ---- the set of files ------------------------------------------------------------------------ */

static void count_total(const struct manifest *manifest, struct progress *load)
{
    char path[DISK_PATH_MAX];
    struct stat stat_of;
    for (size_t i = 0; i < manifest->count; i++)
        if (manifest->files[i].type != MANIFEST_HISTORY &&
            manifest_file_path(manifest, &manifest->files[i], path) == 0 &&
            stat(path, &stat_of) == 0)
            load->total += (uint64_t)stat_of.st_size;
}

static bool load_manifest(struct loading *loading, const struct manifest *manifest)
{
    struct persist *persist = loading->persist;
    char path[DISK_PATH_MAX];
    bool starts = loading->store == persist->w.store;
    loading->dir = manifest->dir;
    if (starts) count_total(manifest, &persist->load);
    size_t first_torn = manifest_first_torn(manifest);
    for (size_t i = 0; i < manifest->count; i++) {
        if (manifest->files[i].type == MANIFEST_HISTORY) continue;
        int error = manifest_file_path(manifest, &manifest->files[i], path);
        if (error != 0)
            return fail_load(loading, "%s: %s", manifest->files[i].name, strerror(error));
        /* A base of this server always has a header; a base of Redis in AOF format may be empty. */
        if (manifest->files[i].type == MANIFEST_BASE && !loading->imports &&
            file_kind(path) == FILE_EMPTY)
            return fail_load(loading, "%s is damaged at byte 0: it is empty", path);
        if (!manifest_is_listed_base(&manifest->files[i], path))
            return fail_other_file(loading, path);
        loading->synced = manifest->files[i].synced;
        loading->listed = manifest->files[i].id;
        if (!load_file(loading, path, i >= first_torn)) return false;
        if (!starts) continue;
        if (manifest->files[i].type == MANIFEST_BASE)
            persist->report.base_bytes = loading->loaded;
        else if (i + 1 < manifest->count)
            persist->segments_bytes = loading->loaded - persist->report.base_bytes;
    }
    return true;
}

/* Changes none of the imported files, so that going back to Redis stays possible. */
static bool load_import(struct loading *loading)
{
    struct persist *persist = loading->persist;
    char path[DISK_PATH_MAX], reason[MANIFEST_WHY_MAX];
    const char *why;
    struct manifest manifest;
    enum manifest_found found;
    struct stat stat_of;
    if (!data_folder_find_import(persist->w.conf, path, &why))
        return fail_load(loading, "%s can't be imported: %s", persist->w.conf->import, why);
    enum file_kind kind = file_kind(path);
    if (kind == FILE_EMPTY) return fail_load(loading, "%s is empty: nothing to import", path);
    loading->imports = true;
    persist->load.what = "Importing";
    loading->cuts_torn_end = false;
    bool may_be_list = kind == FILE_LIST || kind == FILE_MANIFEST || kind == FILE_UNKNOWN;
    if (!may_be_list || !data_folder_load_manifest(&manifest, path, &found, reason)) {
        if (stat(path, &stat_of) == 0) persist->load.total = (uint64_t)stat_of.st_size;
        return load_file(loading, path, true);
    }
    bool good = found == MANIFEST_BAD ? fail_load(loading, "%s can't be imported: %s", path, reason)
                                      : load_manifest(loading, &manifest);
    manifest_drop(&manifest);
    return good;
}

static void note_no_import(const struct persist *persist)
{
    if (persist->w.conf->import[0] != '\0')
        log_line(LOG_NOTICE,
                 "Not importing %s: dir already has data. Imports go into a dir without data",
                 persist->w.conf->import);
}

/* Before a journal begins with the data: a crash must not leave the data as it was in the files. */
static bool end_restore(struct loading *loading)
{
    const struct persist_wiring *w = &loading->persist->w;
    if (w->restored != NULL) loading->is_changed = w->restored(w->ctx);
    return true;
}

/* A journal that was started without data and never written to counts as no data, so that an import
 * is still possible. */
static bool is_blank_journal(const struct persist *persist)
{
    const struct manifest *manifest = rewrite_manifest(persist->rewrite);
    char path[DISK_PATH_MAX];
    struct stat stat_of;
    if (!manifest->blank || manifest_last_segment(manifest) == 0 ||
        file_kind(persist->w.conf->dbfilename) == FILE_SNAPSHOT)
        return false;
    const struct manifest_file *segment = &manifest->files[manifest->count - 1];
    return manifest_file_path(manifest, segment, path) == 0 && stat(path, &stat_of) == 0 &&
           stat_of.st_size <= (off_t)(sizeof(RECORD_FIRST_LINE) - 1);
}

/* The journal is off, and there is no snapshot: names the journal that is there, in which the user
 * may expect the data. */
static void warn_of_journal(struct persist *persist)
{
    char why[MANIFEST_WHY_MAX];
    enum manifest_found found = persist_find_journal(persist, why);
    bool is_there =
        found == MANIFEST_BAD || (found == MANIFEST_LOADED && !is_blank_journal(persist));
    if (is_there)
        log_line(LOG_WARNING,
                 "Starting without the data of the journal in %s/%s, because appendonly is no. To "
                 "load it, stop the server and start it with --appendonly yes",
                 persist->w.conf->dir, rewrite_manifest(persist->rewrite)->dir);
}

/* Without a journal: loads the snapshot, or imports. */
static bool load_without_journal(struct loading *loading)
{
    struct persist *persist = loading->persist;
    const struct conf *conf = persist->w.conf;
    struct stat stat_of;
    enum file_kind kind = file_kind(conf->dbfilename);
    switch (kind) {
    case FILE_SNAPSHOT:
        note_no_import(persist);
        if (stat(conf->dbfilename, &stat_of) == 0) persist->load.total = (uint64_t)stat_of.st_size;
        return load_file(loading, conf->dbfilename, true) && end_restore(loading);
    case FILE_MISSING:
    case FILE_REDIS_RDB:
    case FILE_REDIS_AOF: break;
    default:
        return fail_load(loading,
                         "%s/%s is not a snapshot of this server but %s. Set another dbfilename",
                         conf->dir, conf->dbfilename, file_kind_text(kind));
    }
    if (conf->import[0] != '\0') return load_import(loading) && end_restore(loading);
    if (data_folder_refuse_redis(conf, loading->why, loading->size)) return false;
    data_folder_note_redis(conf);
    if (!conf->appendonly) warn_of_journal(persist);
    return true;
}

/* A process that was killed may have left the end of a segment, or the manifest's name, with the
 * kernel alone. Without a sync a loss of power could take them and leave later records, which were
 * synced. */
static int sync_loaded_files(const struct manifest *manifest)
{
    char path[DISK_PATH_MAX];
    int error = 0;
    for (size_t i = 0; i < manifest->count && error == 0; i++) {
        int fd = -1;
        if (manifest->files[i].type != MANIFEST_SEGMENT) continue;
        error = manifest_file_path(manifest, &manifest->files[i], path);
        if (error == 0) error = disk_open_to_read(path, &fd);
        if (error == 0) error = disk_sync(fd);
        if (fd >= 0) disk_close(fd);
    }
    return error != 0 ? error : disk_sync_dir(manifest->dir);
}

/* Continues the last segment; without one, starts a journal with a base. */
static bool open_journal(struct loading *loading, bool continues)
{
    struct persist *persist = loading->persist;
    const struct manifest *manifest = rewrite_manifest(persist->rewrite);
    char path[DISK_PATH_MAX];
    int fd = -1, error = persist_new_journal(persist);
    if (error == 0 && continues) {
        const struct manifest_file *segment = &manifest->files[manifest->count - 1];
        error = sync_loaded_files(manifest);
        if (error == 0) error = manifest_file_path(manifest, segment, path);
        if (error == 0) error = disk_open(path, &fd);
        uint32_t id = loading->end.id != 0 ? loading->end.id : segment->id;
        if (id == 0) id = segment_id_new();
        if (error == 0) error = journal_open(persist->journal, fd, id, &loading->end);
        if (error == 0) journal_follow(persist->journal, &loading->before);
        persist->marks = loading->marks;
    } else if (error == 0) {
        error = persist_begin_journal(persist);
    }
    if (error != 0)
        return fail_load(loading, "can't open the journal in %s/%s: %s%s", persist->w.conf->dir,
                         manifest->dir, file_error_text(error), file_error_advice(error));
    persist->listens = persist->opened = true;
    rewrite_sweep_now(persist->rewrite);
    return true;
}

/* Removes the unfinished snapshot that a crash left. */
static void sweep_snapshot(const struct conf *conf)
{
    char path[DISK_PATH_MAX];
    int error = snapshot_temporary(conf->dbfilename, path);
    if (error == 0) error = file_check(path, FILE_SET_OURS);
    if (error == 0) error = disk_remove(path);
    if (error != 0)
        log_line(LOG_WARNING,
                 "Can't remove the unfinished snapshot %s: %s. The next snapshot replaces it", path,
                 file_error_text(error));
}

static bool load_all(struct loading *loading)
{
    struct persist *persist = loading->persist;
    const struct manifest *manifest = rewrite_manifest(persist->rewrite);
    char why[MANIFEST_WHY_MAX];
    if (!persist->w.conf->appendonly) return load_without_journal(loading);
    enum manifest_found found = persist_find_journal(persist, why);
    if (found == MANIFEST_BAD) return fail_load(loading, "%s", why);
    bool blank = found == MANIFEST_LOADED && is_blank_journal(persist);
    if (found == MANIFEST_NONE || (blank && persist->w.conf->import[0] != '\0'))
        return load_without_journal(loading) && open_journal(loading, false);
    if (blank) data_folder_note_redis(persist->w.conf);
    note_no_import(persist);
    bool continues = manifest_last_segment(manifest) != 0;
    return load_manifest(loading, manifest) && open_journal(loading, continues);
}

static void log_loaded(const struct loading *loading)
{
    struct persist *persist = loading->persist;
    uint64_t keys = store_count(persist->w.store);
    persist->report.keys_loaded = keys;
    persist->changes_saved = persist->w.store->changes;
    persist->flush_seen = persist->w.store->flushed_at;
    if (persist->load.total == 0) return;
    log_line(LOG_NOTICE, "Loaded %" PRIu64 " key%s from %" PRIu64 " bytes in %.3f s", keys,
             log_plural(keys), loading->loaded,
             (double)(clock_mono_usec() - loading->began_usec) / 1e6);
}

bool persist_start(struct persist *persist, char *why, size_t size)
{
    struct loading loading = {
        .persist = persist,
        .store = persist->w.store,
        .why = why,
        .size = size,
        .began_usec = clock_mono_usec(),
        .cuts_torn_end = true,
    };
    if (!persist_own_folder(persist)) {
        if (persist->w.conf->appendonly)
            return fail_load(&loading, "another expired uses %s. Set another dir",
                             persist->w.conf->dir);
        log_line(LOG_WARNING,
                 "Another expired uses %s too: each overwrites the other's snapshot. "
                 "Set another dir",
                 persist->w.conf->dir);
    }
    persist->report.loading = true;
    persist->report.start_sec = clock_now(persist->w.clock) / 1000;
    progress_begin(&persist->load, "Loading", 0, loading.began_usec);
    persist->w.progress(persist->w.ctx); /* the first record may take long */
    bool good = load_all(&loading);
    persist->report.loading = false;
    if (!good) return false;
    if (!loading.imports && !loading.is_changed) persist->loaded = loading.marks;
    log_loaded(&loading);
    sweep_snapshot(persist->w.conf);
    return true;
}

/* Loads into a separate store first: nothing changes unless all files can be read. */
bool persist_reload(struct persist *persist, bool as_is, char *why, size_t size)
{
    struct loading loading = {
        .persist = persist, .why = why, .size = size, .began_usec = clock_mono_usec()
    };
    struct store *store = persist->w.store;
    if (as_is && !persist->listens)
        return fail_load(&loading, "the journal is off (appendonly no)");
    rewrite_await(persist->rewrite);
    if (as_is) persist_turn_inside(persist);
    if (as_is && (journal_state(persist->journal) != JOURNAL_OK ||
                  journal_report(persist->journal).waiting > 0))
        return fail_load(&loading, "can't write the end of the journal");
    if (!as_is && persist_save(persist) != PERSIST_DONE)
        return fail_load(&loading, "can't write the snapshot");
    loading.store = store_new(store->database_count);
    loading.store->counts_access = store->counts_access;
    bool good = as_is ? load_manifest(&loading, rewrite_manifest(persist->rewrite))
                      : load_file(&loading, persist->w.conf->dbfilename, true);
    if (good)
        store_replace(store, loading.store);
    else
        store_free(loading.store);
    return good;
}
