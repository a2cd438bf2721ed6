/* load: see load.h. */
#include "server/disk/load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/times.h"
#include "server/base/log.h"
#include "server/base/process.h"
#include "server/base/thread.h"
#include "server/disk/data_folder.h"
#include "server/disk/format/base.h"
#include "server/disk/format/record.h"
#include "server/disk/import/import.h"
#include "server/disk/journal.h"
#include "store/mem/mem.h"

__attribute__((format(printf, 2, 3))) static bool fail_load(struct load *load, const char *format,
                                                            ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(load->why, load->size, format, args);
    va_end(args);
    return false;
}

static void report_load_progress(void *ctx, uint64_t done)
{
    struct load *load = ctx;
    /* A reload runs within a command, which must not run another turn. */
    if (load->progress == NULL) {
        if (load->w->works != NULL) load->w->works(load->w->ctx);
        return;
    }
    load->progress->done = load->loaded + done;
    progress_log(load->progress, clock_mono_usec());
    load->w->progress(load->w->ctx);
}

/* Reports progress inside a record. Runs no turn of the loop, because a transaction is open. */
static void report_inside(void *ctx, uint64_t done)
{
    struct load *load = ctx;
    if (load->progress != NULL) {
        load->progress->done = load->loaded + done;
        progress_log(load->progress, clock_mono_usec());
    }
    if (load->w->works != NULL) load->w->works(load->w->ctx);
}

static struct replay_progress progress_of(struct load *load)
{
    return (struct replay_progress){ report_load_progress, report_inside, load };
}

/* ---- one file -------------------------------------------------------------------------------- */

/* Returns the function that starts the thread that reads ahead, or NULL with only one core. */
static thread_starter *thread_for_reading(void)
{
    return process_cores() > 1 ? thread_start : NULL;
}

/* Cuts the torn end off the file: later records may go to another file, and this one must then end
 * with a complete record. If there are bytes to cut, first saves them in another file. */
static bool cut_torn_end(struct load *load, const char *path, uint64_t length, uint64_t size)
{
    char kept[DISK_PATH_MAX];
    int fd = -1, error = disk_open(path, &fd);
    if (error == 0 && size > length) error = disk_keep_end(fd, path, length, kept);
    if (error != 0) {
        if (fd >= 0) disk_close(fd);
        return fail_load(load, "%s is torn, and the end to cut off can't be copied: %s%s", path,
                         strerror(error), file_error_advice(error));
    }
    if (length == 0) {
        disk_close(fd);
        error = journal_create(path, &fd);
        load->end = journal_begun();
        load->version = RECORD_VERSION;
    } else {
        error = disk_cut(fd, length);
        if (error == 0) error = disk_sync(fd);
    }
    if (error == 0 || length > 0) disk_close(fd);
    if (error != 0) return fail_load(load, "%s can't be truncated: %s", path, strerror(error));
    if (size > length) log_line(LOG_WARNING, "The bytes that were cut off are in %s", kept);
    return true;
}

static bool fail_other_file(struct load *load, const char *path)
{
    return fail_load(load,
                     "%s is not the file that the manifest lists. Restore all files of %s from one "
                     "copy",
                     path, load->dir);
}

static bool load_segment(struct load *load, const char *path, bool is_last)
{
    int fd, error = disk_open_to_read(path, &fd);
    if (error != 0) return fail_load(load, "%s can't be opened: %s", path, strerror(error));
    struct replay_progress progress = progress_of(load);
    struct replay *replay = mem_alloc(sizeof(*replay));
    replay_init(replay, load->store, clock_now(load->w->clock));
    replay->marks = load->marks;
    replay->synced = load->synced;
    replay->before = load->before;
    replay->listed = load->listed;
    replay->until = load->until;
    replay->start_thread = thread_for_reading();
    replay_records(replay, fd, &progress, &load->segment);
    const struct replay_file *file = &load->segment;
    load->marks = replay->marks;
    replay_drop(replay);
    mem_free(replay);
    disk_close(fd);
    load->end = (struct journal_end){ file->good, file->sum, file->id };
    load->version = file->version;
    if (load->listed != 0 && file->id != 0 && file->id != load->listed)
        return fail_other_file(load, path);

    switch (file->end) {
    case REPLAY_WHOLE:
    case REPLAY_STOPPED: return true;
    case REPLAY_UNREADABLE: return fail_load(load, "%s can't be read: %s", path, file->reason);
    case REPLAY_DAMAGED:
        return fail_load(load, "%s is damaged at byte %" PRIu64 ": %s. Run expired-check on %s",
                         path, file->bad, file->reason, load->before.length > 0 ? load->dir : "it");
    case REPLAY_TORN: break;
    }
    if (!is_last)
        return fail_load(load,
                         "%s is damaged: it ends at byte %" PRIu64
                         " within a record, and the journal "
                         "continues in another file. Run expired-check on it",
                         path, file->good);
    if (!load->w->conf->aof_load_truncated)
        return fail_load(load,
                         "%s is torn at byte %" PRIu64 " (%s), and aof-load-truncated is no. Run "
                         "expired-check --fix on it",
                         path, file->good, file->reason);
    log_line(LOG_WARNING,
             "%s is torn at byte %" PRIu64 " (%s), as after a crash: the last %" PRIu64
             " bytes are %s",
             path, file->good, file->reason, file->size - file->good,
             load->cuts_torn_end ? "cut off" : "ignored");
    return !load->cuts_torn_end || cut_torn_end(load, path, file->good, file->size);
}

static bool import_redis_file(struct load *load, const char *path, bool is_last)
{
    struct import *import = mem_zalloc(sizeof(*import));
    *import = (struct import){ .store = load->store,
                               .now = clock_now(load->w->clock),
                               .skip = load->w->conf->import_skip,
                               .counts_all = true,
                               .skip_unsupported = load->w->conf->import_skip_unsupported,
                               .progress = progress_of(load),
                               .command = load->w->command,
                               .ctx = load->w->ctx };
    bool good = import_file(import, path);
    for (unsigned i = 0; i < import->kind_count; i++)
        log_line(LOG_WARNING,
                 "Import: %s %" PRIu64 " of the unsupported type %s, the first is '%s'",
                 import->kinds[i].skipped ? "skipped" : "found", import->kinds[i].keys,
                 import->kinds[i].name, import->kinds[i].first_key);
    if (!good)
        fail_load(load, "%s can't be imported: %s", path, import->why);
    else if (import->torn && !is_last) /* as in Redis, only the last file may be torn */
        good = fail_load(load,
                         "%s is damaged: it ends at byte %" PRIu64 " within a command, and the "
                         "append-only file continues in another file",
                         path, import->good);
    else if (import->torn && !load->w->conf->aof_load_truncated)
        good =
            fail_load(load,
                      "%s is torn at byte %" PRIu64 ", and aof-load-truncated is no. Set it to yes "
                      "to import the data before that byte",
                      path, import->good);
    else if (import->torn)
        log_line(LOG_WARNING,
                 "%s is torn at byte %" PRIu64 ": its last %" PRIu64 " bytes are ignored", path,
                 import->good, import->torn_size);
    if (good)
        log_line(LOG_NOTICE, "Imported %s: %" PRIu64 " key%s, %" PRIu64 " command%s", path,
                 import->keys, log_plural(import->keys), import->commands,
                 log_plural(import->commands));
    mem_free(import);
    return good;
}

static bool load_file(struct load *load, const char *path, bool is_last)
{
    struct stat stat_of;
    char versions[128];
    bool good;
    load->before = journal_end_to_follow(&load->end, &load->before);
    load->end = (struct journal_end){ 0 };
    enum file_kind kind = file_kind(path);
    switch (kind) {
    case FILE_SNAPSHOT: {
        struct base_load base = { .progress = progress_of(load),
                                  .start_thread = thread_for_reading() };
        good = base_load(load->store, path, clock_now(load->w->clock), &base);
        load->marks = base.marks;
        if (!good) fail_load(load, "%s is damaged %s. Run expired-check on it", path, base.why);
        break;
    }
    /* An empty file is either an AOF of Redis without commands, or a segment of ours whose first
     * line never reached the disk. */
    case FILE_EMPTY: good = load->imports || load_segment(load, path, is_last); break;
    case FILE_JOURNAL: good = load_segment(load, path, is_last); break;
    case FILE_OTHER_JOURNAL:
        good = fail_load(load,
                         "%s begins as a journal of another version: this server reads versions 1 "
                         "and %d. Install the version of expired that wrote it. If this one did, "
                         "its first line is damaged",
                         path, RECORD_VERSION);
        break;
    case FILE_REDIS_RDB:
    case FILE_REDIS_AOF:
        good = load->imports ? import_redis_file(load, path, is_last)
                             : fail_load(load, "%s is %s. Use --import to load it", path,
                                         file_kind_text(kind));
        break;
    case FILE_MISSING: good = fail_load(load, "%s is missing", path); break;
    case FILE_LIST:
        good = fail_load(load, "%s is a manifest, but its name does not end with .manifest", path);
        break;
    case FILE_UNREADABLE:
        good = fail_load(load, "%s can't be read: %s", path, strerror(errno));
        break;
    case FILE_COMPRESSED: good = fail_load(load, "%s is compressed. Unpack it first", path); break;
    default:
        import_show_versions(versions, sizeof(versions));
        good = fail_load(load,
                         "%s is not a data file of expired, Redis or Valkey. Use an append-only "
                         "file, its manifest, or an RDB file: versions %s",
                         path, versions);
        break;
    }
    if (stat(path, &stat_of) == 0) load->loaded += (uint64_t)stat_of.st_size;
    return good;
}

/* ---- the set of files ------------------------------------------------------------------------ */

static void count_file(struct load *load, const struct manifest *manifest,
                       const struct manifest_file *file)
{
    char path[DISK_PATH_MAX];
    struct stat stat_of;
    if (manifest_file_path(manifest, file, path) == 0 && stat(path, &stat_of) == 0)
        load->progress->total += (uint64_t)stat_of.st_size;
}

static bool load_listed(struct load *load, const struct manifest *manifest,
                        const struct manifest_file *file, bool is_last)
{
    char path[DISK_PATH_MAX];
    int error = manifest_file_path(manifest, file, path);
    if (error != 0) return fail_load(load, "%s: %s", file->name, strerror(error));
    /* A base of this server always has a header; a base of Redis in AOF format may be empty. */
    if (file->type == MANIFEST_BASE && !load->imports && file_kind(path) == FILE_EMPTY)
        return fail_load(load, "%s is damaged at byte 0: it is empty", path);
    if (!manifest_is_listed_base(file, path)) return fail_other_file(load, path);
    load->synced = file->synced;
    load->listed = file->id;
    return load_file(load, path, is_last);
}

static bool load_manifest(struct load *load, const struct manifest *manifest)
{
    load->dir = manifest->dir;
    for (size_t i = 0; load->progress != NULL && i < manifest->count; i++)
        if (manifest->files[i].type != MANIFEST_HISTORY)
            count_file(load, manifest, &manifest->files[i]);
    size_t first_torn = manifest_first_torn(manifest);
    for (size_t i = 0; i < manifest->count; i++) {
        if (manifest->files[i].type == MANIFEST_HISTORY) continue;
        if (!load_listed(load, manifest, &manifest->files[i], i >= first_torn)) return false;
        if (manifest->files[i].type == MANIFEST_BASE)
            load->base_bytes = load->loaded;
        else if (i + 1 < manifest->count)
            load->segments_bytes = load->loaded - load->base_bytes;
    }
    return true;
}

/* ---- a point in time ------------------------------------------------------------------------- */

static bool is_base(const struct manifest_file *file)
{
    return file->type == MANIFEST_BASE || file->kept == MANIFEST_BASE;
}

/* Finds the last base that was made no later than `until`, and before any later one. */
static bool find_base_before(struct load *load, const struct manifest *manifest, size_t *found)
{
    char path[DISK_PATH_MAX], from[CONF_INSTANT_MAX], to[CONF_INSTANT_MAX];
    const struct manifest_file *file;
    msec first = -1;
    *found = manifest->count;
    for (size_t i = 0; (file = manifest_in_order(manifest, i)) != NULL; i++) {
        if (!is_base(file) || manifest_file_path(manifest, file, path) != 0) continue;
        msec made = snapshot_made_at(path);
        if (made < 0) continue; /* the file is gone, or its header is damaged */
        if (first < 0) first = made;
        if (made > load->until) break;
        *found = i;
    }
    if (*found < manifest->count) return true;
    if (first < 0) return fail_load(load, "%s has no base that can be read", manifest->dir);
    return fail_load(load,
                     "%s is before the first base in %s, which was made at %s. Use an instant from "
                     "there on",
                     conf_print_instant(load->until, to), manifest->dir,
                     conf_print_instant(first, from));
}

/* Adds the base at this index and all segments that continue it to the total of the progress. This
 * is the most that may be loaded: the instant may lie before the end of these segments. */
static void count_point(struct load *load, const struct manifest *manifest, size_t at)
{
    const struct manifest_file *file = manifest_in_order(manifest, at);
    count_file(load, manifest, file);
    while ((file = manifest_in_order(manifest, ++at)) != NULL && !(is_base(file) && file->anew))
        if (!is_base(file)) count_file(load, manifest, file);
}

/* Loads the last base before the instant, then the segments that continue it, up to the first
 * record that was made later. */
static bool load_point(struct load *load, const struct manifest *manifest)
{
    char to[CONF_INSTANT_MAX], from[CONF_INSTANT_MAX], made[CONF_INSTANT_MAX], path[DISK_PATH_MAX];
    size_t at;
    load->dir = manifest->dir;
    if (!find_base_before(load, manifest, &at)) return false;
    count_point(load, manifest, at);
    const struct manifest_file *file = manifest_in_order(manifest, at);
    if (manifest_file_path(manifest, file, path) != 0) return false;
    msec base = snapshot_made_at(path), last = base;
    uint64_t records = 0;
    size_t first_torn = manifest_first_torn(manifest);
    const char *undated = NULL;
    log_line(LOG_NOTICE, "Loading the data as of %s, from %s of %s",
             conf_print_instant(load->until, to), path, conf_print_instant(base, made));
    if (!load_listed(load, manifest, file, false)) return false;

    load->segment.end = REPLAY_WHOLE;
    const struct manifest_file *hole = NULL;
    while (hole == NULL && load->segment.end != REPLAY_STOPPED &&
           (file = manifest_in_order(manifest, ++at)) != NULL) {
        const struct manifest_file *next = manifest_in_order(manifest, at + 1);
        if (is_base(file)) {
            if (file->anew) hole = file;
            continue;
        }
        bool ends_here = next == NULL || (is_base(next) && next->anew);
        bool is_last =
            file->type == MANIFEST_SEGMENT ? file >= &manifest->files[first_torn] : ends_here;
        if (!load_listed(load, manifest, file, is_last)) return false;
        const struct replay_file *segment = &load->segment;
        bool is_dated = segment->records > segment->undated;
        records += segment->records;
        if (is_dated) last = segment->last;
        undated = is_dated ? NULL : segment->records > 0 ? file->name : undated;
    }

    if (undated != NULL)
        return fail_load(load,
                         "can't tell which changes in %s/%s were made until %s: an earlier version "
                         "wrote them without instants. Use an instant up to %s",
                         manifest->dir, undated, to, made);
    if (hole != NULL && last < load->until && manifest_file_path(manifest, hole, path) == 0)
        return fail_load(load,
                         "%s is in a hole of the journal, from %s to %s: the journal was off, its "
                         "disk had failed, or the data was replaced. Use an instant outside of it",
                         to, conf_print_instant(last, made),
                         conf_print_instant(snapshot_made_at(path), from));
    if (load->segment.end == REPLAY_STOPPED)
        log_line(LOG_NOTICE, "Replayed %" PRIu64 " record%s; the next one was made at %s", records,
                 log_plural(records), conf_print_instant(load->segment.beyond, from));
    else
        log_line(LOG_NOTICE, "Replayed %" PRIu64 " record%s, all that there are", records,
                 log_plural(records));
    return true;
}

/* Loads the files of Redis that the option import names. Changes none of these files, so that a
 * return to Redis stays possible. */
static bool load_import(struct load *load)
{
    char path[DISK_PATH_MAX], reason[MANIFEST_WHY_MAX];
    const char *why;
    struct manifest manifest;
    enum manifest_found found;
    struct stat stat_of;
    if (!data_folder_find_import(load->w->conf, path, &why))
        return fail_load(load, "%s can't be imported: %s", load->w->conf->import, why);
    enum file_kind kind = file_kind(path);
    if (kind == FILE_EMPTY) return fail_load(load, "%s is empty: nothing to import", path);
    load->imports = true;
    load->progress->what = "Importing";
    load->cuts_torn_end = false;
    bool may_be_list = kind == FILE_LIST || kind == FILE_MANIFEST || kind == FILE_UNKNOWN;
    if (!may_be_list || !data_folder_load_manifest(&manifest, path, &found, reason)) {
        if (load->until != NEVER)
            return fail_load(load, "until needs the data folder of an expired, and %s is none",
                             path);
        if (stat(path, &stat_of) == 0) load->progress->total = (uint64_t)stat_of.st_size;
        return load_file(load, path, true);
    }
    bool good;
    if (found == MANIFEST_BAD)
        good = fail_load(load, "%s can't be imported: %s", path, reason);
    else if (load->until == NEVER)
        good = load_manifest(load, &manifest);
    else if (found == MANIFEST_FOREIGN)
        good = fail_load(load, "until needs the data folder of an expired, and %s is Redis'", path);
    else
        good = load_point(load, &manifest);
    manifest_drop(&manifest);
    return good;
}

static bool skip_import(struct load *load)
{
    const struct conf *conf = load->w->conf;
    if (load->until != NEVER)
        return fail_load(load,
                         "%s already has data, and until needs a dir without data. Set another "
                         "dir, or start with this data, without until",
                         conf->dir);
    if (conf->import[0] != '\0')
        log_line(LOG_NOTICE,
                 "Not importing %s: dir already has data. Imports go into a dir without data",
                 conf->import);
    return true;
}

/* Lets the server change restored data (persist_wiring.restored). Called before a journal begins
 * with this data, so that no crash can bring back the data as it was in the files. */
static bool end_restore(struct load *load)
{
    const struct persist_wiring *w = load->w;
    if (w->restored != NULL) load->is_changed = w->restored(w->ctx);
    return true;
}

/* Was the journal started without data and never written to? Such a journal counts as no data, so
 * that an import is still possible. */
static bool is_blank_journal(const struct load *load)
{
    const struct manifest *manifest = load->manifest;
    char path[DISK_PATH_MAX];
    struct stat stat_of;
    if (!manifest->blank || manifest_last_segment(manifest) == 0 ||
        file_kind(load->w->conf->dbfilename) == FILE_SNAPSHOT)
        return false;
    const struct manifest_file *segment = &manifest->files[manifest->count - 1];
    return manifest_file_path(manifest, segment, path) == 0 && stat(path, &stat_of) == 0 &&
           stat_of.st_size <= (off_t)(sizeof(RECORD_FIRST_LINE) - 1);
}

/* Loads the snapshot, or imports, for a start without a journal. */
static bool load_without_journal(struct load *load)
{
    const struct conf *conf = load->w->conf;
    struct stat stat_of;
    enum file_kind kind = file_kind(conf->dbfilename);
    switch (kind) {
    case FILE_SNAPSHOT:
        if (!skip_import(load)) return false;
        if (stat(conf->dbfilename, &stat_of) == 0)
            load->progress->total = (uint64_t)stat_of.st_size;
        return load_file(load, conf->dbfilename, true) && end_restore(load);
    case FILE_MISSING:
    case FILE_REDIS_RDB:
    case FILE_REDIS_AOF: break;
    default:
        return fail_load(load,
                         "%s/%s is not a snapshot of this server but %s. Set another dbfilename",
                         conf->dir, conf->dbfilename, file_kind_text(kind));
    }
    if (conf->import[0] != '\0') return load_import(load) && end_restore(load);
    if (data_folder_refuse_redis(conf, load->why, load->size)) return false;
    data_folder_note_redis(conf);
    if (conf->appendonly) return true;
    /* The user may expect the data of a journal that an earlier start has left. */
    char why[MANIFEST_WHY_MAX];
    enum manifest_found found = data_folder_find_journal(conf, load->manifest, why);
    if (found == MANIFEST_BAD || (found == MANIFEST_LOADED && !is_blank_journal(load)))
        log_line(LOG_WARNING,
                 "Starting without the data of the journal in %s/%s, because appendonly is no. To "
                 "load it, stop the server and start it with --appendonly yes",
                 conf->dir, load->manifest->dir);
    return true;
}

bool load_at_start(struct load *load)
{
    const struct conf *conf = load->w->conf;
    char why[MANIFEST_WHY_MAX], until[CONF_INSTANT_MAX], now[CONF_INSTANT_MAX];
    load->cuts_torn_end = true;
    load->until = NEVER;
    if (conf->until[0] != '\0') {
        if (!conf_read_instant(conf->until, &load->until))
            return fail_load(load, "until: '%s' is not an instant", conf->until);
        if (conf->import[0] == '\0')
            return fail_load(load, "until needs import: the data folder of an expired, which is "
                                   "read and not changed");
        if (load->until > clock_now(load->w->clock))
            return fail_load(load, "until: %s is in the future. It is %s now",
                             conf_print_instant(load->until, until),
                             conf_print_instant(clock_now(load->w->clock), now));
    }
    if (!conf->appendonly) return load_without_journal(load);
    enum manifest_found found = data_folder_find_journal(conf, load->manifest, why);
    if (found == MANIFEST_BAD) return fail_load(load, "%s", why);
    bool blank = found == MANIFEST_LOADED && is_blank_journal(load);
    load->journal = LOAD_NEW_JOURNAL;
    if (found == MANIFEST_NONE || (blank && conf->import[0] != '\0'))
        return load_without_journal(load);
    if (blank) data_folder_note_redis(conf);
    if (!skip_import(load)) return false;
    if (manifest_last_segment(load->manifest) != 0) load->journal = LOAD_LISTED_JOURNAL;
    return load_manifest(load, load->manifest);
}

bool load_journal_again(struct load *load)
{
    load->until = NEVER;
    return load_manifest(load, load->manifest);
}

bool load_snapshot_again(struct load *load, const char *path)
{
    load->until = NEVER;
    return load_file(load, path, true);
}
