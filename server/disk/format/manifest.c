/* manifest: see manifest.h. Loads, changes and saves the list of files; manifest_text.c holds the
 * functions for the list and its text. */
#include "server/disk/format/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf/words.h"
#include "server/disk/format/manifest_state.h"
#include "server/disk/format/record.h"
#include "server/disk/format/snapshot_file.h"
#include "store/base/ensure.h"

void manifest_init(struct manifest *manifest, const char *dir, const char *prefix)
{
    *manifest = (struct manifest){ .dir = manifest_copy_text(dir),
                                   .prefix = manifest_copy_text(prefix),
                                   .keep_from = NEVER };
}

void manifest_drop(struct manifest *manifest)
{
    manifest_drop_files(manifest);
    free(manifest->dir);
    free(manifest->prefix);
    *manifest = (struct manifest){ 0 };
}

/* ---- names ---- */

#define BASE_END     ".base.exp"
#define SEGMENT_END  ".incr.aof"
#define MANIFEST_END ".manifest"
#define FIRST_END    ".first" /* exists until the first start has written its manifest */
#define TEMPORARY    "temp-"
#define SEQ_MAX      UINT64_C(999999999999999999) /* the most digits that are read */

int manifest_file_path(const struct manifest *manifest, const struct manifest_file *file,
                       char path[DISK_PATH_MAX])
{
    return disk_path(path, manifest->dir, file->name);
}

static int make_name(const struct manifest *manifest, uint64_t seq, const char *end,
                     char name[DISK_PATH_MAX])
{
    int len = snprintf(name, DISK_PATH_MAX, "%s.%" PRIu64 "%s", manifest->prefix, seq, end);
    return len < DISK_PATH_MAX ? 0 : ENAMETOOLONG;
}

static int make_path(const struct manifest *manifest, uint64_t seq, const char *end,
                     char path[DISK_PATH_MAX])
{
    char name[DISK_PATH_MAX];
    int error = make_name(manifest, seq, end, name);
    return error != 0 ? error : disk_path(path, manifest->dir, name);
}

bool manifest_is_listed_base(const struct manifest_file *file, const char *path)
{
    uint32_t header = file->header != 0 ? snapshot_header_sum(path) : 0;
    return header == 0 || header == file->header;
}

/* Is the file longer than a segment without records? */
static bool is_long(const char *path)
{
    struct stat what;
    return stat(path, &what) == 0 && what.st_size > (off_t)(sizeof(RECORD_FIRST_LINE) - 1);
}

/* Does a file that the manifest does not list contain records? Then it must stay: if the manifest
 * was restored or edited, the file may be the only copy of data. A segment that an unfinished
 * change of this server left behind contains no records. */
static bool has_records(const char *path)
{
    enum file_kind kind = is_long(path) ? file_kind(path) : FILE_EMPTY;
    return kind == FILE_JOURNAL || kind == FILE_OTHER_JOURNAL;
}

/* Returns a number that no file of this type has. A file of history may have been of either type,
 * so its number counts for both. */
static uint64_t next_seq(const struct manifest *manifest, enum manifest_type type)
{
    uint64_t last = 0;
    for (size_t i = 0; i < manifest->count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        bool counts = file->type == type || file->type == MANIFEST_HISTORY;
        if (counts && file->seq > last) last = file->seq;
    }
    return last + 1;
}

int manifest_base_path(const struct manifest *manifest, char path[DISK_PATH_MAX], uint64_t *seq)
{
    char temporary[DISK_PATH_MAX];
    int error;
    *seq = next_seq(manifest, MANIFEST_BASE);
    do {
        error = make_path(manifest, *seq, BASE_END, path);
        if (error == 0) error = snapshot_temporary(path, temporary);
        if (error == 0) error = file_check(path, FILE_SET(FILE_SNAPSHOT));
        if (error == 0) error = file_check(temporary, FILE_SET_OURS);
    } while (error == EEXIST && ++*seq < SEQ_MAX);
    return error;
}

int manifest_make_segment(const struct manifest *manifest, manifest_create *create, uint64_t *seq,
                          int *fd)
{
    char path[DISK_PATH_MAX];
    int error;
    *seq = next_seq(manifest, MANIFEST_SEGMENT);
    do {
        error = make_path(manifest, *seq, SEGMENT_END, path);
        if (error == 0 && has_records(path)) error = EEXIST;
        if (error == 0) error = create(path, fd);
    } while (error == EEXIST && ++*seq < SEQ_MAX);
    return error;
}

/* Returns the text after the number in "PREFIX.N", or NULL if the name has another form. */
static const char *end_of_name(const struct manifest *manifest, const char *name)
{
    size_t len = strlen(manifest->prefix);
    if (strncmp(name, manifest->prefix, len) != 0 || name[len] != '.') return NULL;
    const char *digits = name + len + 1;
    size_t count = strspn(digits, "0123456789");
    return count > 0 ? digits + count : NULL;
}

/* ---- loading ---- */

static enum file_kind kind_of_file(const struct manifest *manifest, const char *name)
{
    char path[DISK_PATH_MAX];
    return disk_path(path, manifest->dir, name) == 0 ? file_kind(path) : FILE_UNREADABLE;
}

/* Makes the path of a file in the folder: `before` (TEMPORARY or ""), the prefix, `end`. */
static int own_path(const struct manifest *manifest, const char *before, const char *end,
                    char path[DISK_PATH_MAX])
{
    int len =
        snprintf(path, DISK_PATH_MAX, "%s/%s%s%s", manifest->dir, before, manifest->prefix, end);
    return len < DISK_PATH_MAX ? 0 : ENAMETOOLONG;
}

/* Decides what a folder without a manifest means. Files with data make it an error: the user should
 * know of them before new data is added. */
static enum manifest_found check_without_manifest(const struct manifest *manifest,
                                                  char why[MANIFEST_WHY_MAX])
{
    char path[DISK_PATH_MAX];
    int error = own_path(manifest, TEMPORARY, FIRST_END, path);
    if (error == 0 && file_kind(path) == FILE_EMPTY) return MANIFEST_NONE;
    DIR *dir = opendir(manifest->dir);
    if (dir == NULL && errno == ENOENT) return MANIFEST_NONE;
    if (dir == NULL) {
        snprintf(why, MANIFEST_WHY_MAX, "%s", strerror(errno));
        return MANIFEST_BAD;
    }
    enum manifest_found found = MANIFEST_NONE;
    for (struct dirent *entry; found == MANIFEST_NONE && (entry = readdir(dir)) != NULL;) {
        const char *end = end_of_name(manifest, entry->d_name);
        if (end == NULL) continue;
        if (strncmp(end, ".base.", sizeof(".base.") - 1) != 0) {
            if (strcmp(end, SEGMENT_END) != 0) continue;
            if (disk_path(path, manifest->dir, entry->d_name) != 0) continue;
            /* A first start that ended early leaves a segment without records. */
            if (file_check(path, FILE_SET_OURS) == 0 && !is_long(path)) continue;
        }
        snprintf(why, MANIFEST_WHY_MAX,
                 "the manifest is missing, but '%s' exists. Restore the manifest, or move the "
                 "file away",
                 entry->d_name);
        found = MANIFEST_BAD;
    }
    closedir(dir);
    return found;
}

enum manifest_found manifest_load(struct manifest *manifest, char why[MANIFEST_WHY_MAX])
{
    char path[DISK_PATH_MAX];
    int error = own_path(manifest, "", MANIFEST_END, path);
    size_t len;
    struct stat status;
    /* To open a named pipe would wait for a writer. */
    if (error == 0 && stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        snprintf(why, MANIFEST_WHY_MAX, "it is not a regular file");
        return MANIFEST_BAD;
    }
    char *text = error == 0 ? conf_read_file(path, &len) : NULL;
    if (text == NULL && error == 0) error = errno;
    if (error == ENOENT) return check_without_manifest(manifest, why);
    if (error != 0) {
        snprintf(why, MANIFEST_WHY_MAX, "%s", strerror(error));
        return MANIFEST_BAD;
    }
    bool good = manifest_parse(manifest, text, len, why);
    bool is_ours = file_kind_of_head(text, len) == FILE_MANIFEST || manifest_has_sum(text, len);
    free(text);
    if (!good) manifest_drop_files(manifest);
    /* A manifest of an earlier version, or an edited one, may lack our lines: it is ours if its
     * base is or, without a base, if one of its segments is. */
    const struct manifest_file *base = manifest_base(manifest);
    if (base != NULL && !is_ours) is_ours = kind_of_file(manifest, base->name) == FILE_SNAPSHOT;
    for (size_t i = 0; base == NULL && !is_ours && i < manifest->count; i++)
        is_ours = kind_of_file(manifest, manifest->files[i].name) == FILE_JOURNAL;
    /* The process that saved the manifest may have ended before it synced the directory. */
    manifest->unsynced = true;
    return !good ? MANIFEST_BAD : is_ours ? MANIFEST_LOADED : MANIFEST_FOREIGN;
}

/* ---- changing ---- */

int manifest_make_folder(const struct manifest *manifest)
{
    char path[DISK_PATH_MAX];
    int error = disk_make_dir(manifest->dir);
    if (error != 0 || manifest->count > 0) return error;
    error = own_path(manifest, TEMPORARY, FIRST_END, path);
    if (error == 0) error = file_check(path, FILE_SET(FILE_EMPTY));
    if (error == 0) error = disk_write_file(path, "", 0);
    if (error == 0) error = disk_sync_dir(manifest->dir);
    return error;
}

int manifest_sync_again(struct manifest *manifest)
{
    if (!manifest->unsynced) return 0;
    int error = disk_sync_dir(manifest->dir);
    if (error == 0) manifest->unsynced = false;
    return error;
}

/* Saves `next` on disk and then makes it the current list. After an error before the rename, the
 * current list stays, and `next` is freed. */
static int save_manifest(struct manifest *manifest, struct manifest *next)
{
    char path[DISK_PATH_MAX], temporary[DISK_PATH_MAX];
    int error = own_path(next, "", MANIFEST_END, path);
    if (error == 0) error = own_path(next, TEMPORARY, MANIFEST_END, temporary);
    if (error == 0 && file_check(path, FILE_SET(FILE_MANIFEST)) != 0) {
        /* Our manifest may lack our first line (manifest_load). */
        struct manifest there;
        char why[MANIFEST_WHY_MAX];
        manifest_init(&there, next->dir, next->prefix);
        if (manifest_load(&there, why) != MANIFEST_LOADED) error = EEXIST;
        manifest_drop(&there);
    }
    if (error == 0) error = file_check(temporary, FILE_SET_OURS);
    if (error == 0) {
        size_t len;
        char *text = manifest_format(next, &len);
        error = disk_write_file(temporary, text, len);
        free(text);
    }
    if (error == 0) error = disk_rename(temporary, path);
    if (error != 0) {
        manifest_drop_files(next);
        return error;
    }
    manifest_drop_files(manifest);
    *manifest = *next;
    manifest->unsynced = true;
    return manifest_sync_again(manifest);
}

static struct manifest without_files(const struct manifest *manifest)
{
    struct manifest next = *manifest;
    next.files = NULL;
    next.count = 0;
    next.blank = false;
    return next;
}

static struct manifest copy_files(const struct manifest *manifest)
{
    struct manifest next = without_files(manifest);
    for (size_t i = 0; i < manifest->count; i++)
        manifest_copy_file(&next, &manifest->files[i]);
    return next;
}

static int add_new_segment(struct manifest *next, uint64_t seq, uint32_t id)
{
    char name[DISK_PATH_MAX];
    int error = make_name(next, seq, SEGMENT_END, name);
    if (error != 0) return error;
    struct manifest_file *file = manifest_add_file(next, name, seq, MANIFEST_SEGMENT);
    file->synced = sizeof(RECORD_FIRST_LINE) - 1; /* manifest_make_segment has synced the header */
    file->id = id;
    return 0;
}

int manifest_add_segment(struct manifest *manifest, uint64_t segment, uint32_t id)
{
    ensure(segment > manifest_last_segment(manifest), "%" PRIu64, segment);
    struct manifest next = copy_files(manifest);
    int error = add_new_segment(&next, segment, id);
    if (error == 0) return save_manifest(manifest, &next);
    manifest_drop_files(&next);
    return error;
}

/* How a new base follows the files listed so far. */
enum follows { CONTINUES, ANEW, BLANK };

static int replace_base(struct manifest *manifest, uint64_t base, uint64_t segment, uint32_t id,
                        enum follows how)
{
    static const enum manifest_type order[] = { MANIFEST_HISTORY, MANIFEST_BASE, MANIFEST_SEGMENT };
    struct manifest next = without_files(manifest);
    next.blank = how == BLANK;
    char name[DISK_PATH_MAX], path[DISK_PATH_MAX];
    int error = make_name(&next, base, BASE_END, name);
    if (error == 0) error = disk_path(path, next.dir, name);
    if (error == 0) {
        struct manifest_file *file = manifest_add_file(&next, name, base, MANIFEST_BASE);
        file->header = snapshot_header_sum(path);
        file->anew = how != CONTINUES;
    }
    for (size_t pass = 0; pass < sizeof(order) / sizeof(order[0]); pass++) {
        for (size_t i = 0; i < manifest->count; i++) {
            const struct manifest_file *file = &manifest->files[i];
            if (file->type != order[pass]) continue;
            manifest_copy_file(&next, file);
            bool stays = file->type == MANIFEST_SEGMENT && file->seq >= segment;
            if (stays || file->type == MANIFEST_HISTORY) continue;
            struct manifest_file *old = &next.files[next.count - 1];
            old->type = MANIFEST_HISTORY;
            if (manifest->keep_from != NEVER) old->kept = file->type;
        }
    }
    if (error == 0 && manifest_last_segment(&next) == 0)
        error = add_new_segment(&next, segment, id);
    if (error == 0) return save_manifest(manifest, &next);
    manifest_drop_files(&next);
    return error;
}

int manifest_put_base(struct manifest *manifest, uint64_t base, uint64_t segment, uint32_t id)
{
    return replace_base(manifest, base, segment, id, CONTINUES);
}

int manifest_put_anew(struct manifest *manifest, uint64_t base, uint64_t segment, uint32_t id)
{
    return replace_base(manifest, base, segment, id, ANEW);
}

int manifest_begin(struct manifest *manifest, uint64_t base, uint64_t segment, uint32_t id)
{
    return replace_base(manifest, base, segment, id, BLANK);
}

/* ---- what was synced ---- */

size_t manifest_first_torn(const struct manifest *manifest)
{
    char path[DISK_PATH_MAX];
    size_t first = manifest->count;
    for (size_t i = 0; i < manifest->count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        if (file->type != MANIFEST_SEGMENT) continue;
        bool has_more = manifest_file_path(manifest, file, path) == 0 && is_long(path);
        if (has_more || first == manifest->count) first = i;
    }
    return first;
}

/* Saves `next` if it has changed. A blank manifest stays blank. */
static int save_if(struct manifest *manifest, struct manifest *next, bool changed)
{
    next->blank = manifest->blank;
    if (changed) return save_manifest(manifest, next);
    manifest_drop_files(next);
    return 0;
}

int manifest_note_synced(struct manifest *manifest)
{
    char path[DISK_PATH_MAX];
    struct manifest next = copy_files(manifest);
    bool changed = false;
    int error = 0;
    for (size_t i = 0; i < next.count && error == 0; i++) {
        struct stat what;
        struct manifest_file *file = &next.files[i];
        if (file->type != MANIFEST_SEGMENT) continue;
        error = manifest_file_path(manifest, file, path);
        if (error == 0 && stat(path, &what) != 0) error = errno;
        if (error != 0 || file->synced == (uint64_t)what.st_size) continue;
        file->synced = (uint64_t)what.st_size;
        changed = true;
    }
    int failed = save_if(manifest, &next, changed && error == 0);
    return error != 0 ? error : failed;
}

int manifest_lower_synced(struct manifest *manifest, const char *name, uint64_t length)
{
    struct manifest next = copy_files(manifest);
    bool changed = false;
    for (size_t i = 0; i < next.count; i++) {
        struct manifest_file *file = &next.files[i];
        if (strcmp(file->name, name) != 0 || file->synced <= length) continue;
        file->synced = length;
        changed = true;
    }
    return save_if(manifest, &next, changed);
}

/* ---- deleting ---- */

static int first_error(int error, int later)
{
    return error != 0 ? error : later;
}

/* Does this server give such a name to a base, a segment or a temporary file? */
static bool is_own_name(const struct manifest *manifest, const char *name)
{
    const char *end = end_of_name(manifest, name);
    if (end != NULL && (strcmp(end, BASE_END) == 0 || strcmp(end, SEGMENT_END) == 0)) return true;
    if (strncmp(name, TEMPORARY, sizeof(TEMPORARY) - 1) != 0) return false;
    name += sizeof(TEMPORARY) - 1;
    end = end_of_name(manifest, name);
    if (end != NULL) return strcmp(end, BASE_END) == 0;
    size_t len = strlen(manifest->prefix);
    return strncmp(name, manifest->prefix, len) == 0 &&
           (strcmp(name + len, MANIFEST_END) == 0 || strcmp(name + len, FIRST_END) == 0);
}

/* Removes the file if it is ours, or if it is empty and has one of our names. Leaves any other file
 * and returns 0. */
static int remove_file(const struct manifest *manifest, const char *name)
{
    char path[DISK_PATH_MAX];
    unsigned kinds = is_own_name(manifest, name) ? FILE_SET_OURS
                                                 : FILE_SET(FILE_SNAPSHOT) | FILE_SET(FILE_JOURNAL);
    int error = disk_path(path, manifest->dir, name);
    if (error == 0) error = file_check(path, kinds);
    if (error == EEXIST) return 0;
    return error != 0 ? error : disk_remove(path);
}

static msec made_at(const struct manifest *manifest, const struct manifest_file *file)
{
    char path[DISK_PATH_MAX];
    return manifest_file_path(manifest, file, path) == 0 ? snapshot_made_at(path) : -1;
}

/* Deletes files of history before removing their lines from the manifest. The manifest thus always
 * lists the files that are left to delete, and files can be deleted on a full disk, where the
 * manifest can't be saved. */
static int remove_history(struct manifest *manifest)
{
    struct manifest next = without_files(manifest);
    const struct manifest_file *base = manifest_base(manifest);
    msec from = manifest->keep_from;
    /* Find the first file of history that is still needed: the last base that was made no later
     * than the first instant to reach or, if there is none, the oldest base that still exists. */
    size_t needed = manifest->count;
    bool searches = from != NEVER && (base == NULL || made_at(manifest, base) > from);
    for (size_t i = manifest->count; searches && i-- > 0;) {
        const struct manifest_file *file = &manifest->files[i];
        if (file->kept != MANIFEST_BASE || kind_of_file(manifest, file->name) == FILE_MISSING)
            continue;
        needed = i;
        msec made = made_at(manifest, file);
        searches = made < 0 || made > from;
    }
    int error = 0;
    for (size_t i = 0; i < manifest->count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        bool goes =
            file->type == MANIFEST_HISTORY && (file->kept == MANIFEST_HISTORY || i < needed);
        int failed = goes ? remove_file(manifest, file->name) : 0;
        error = first_error(error, failed);
        if (!goes || failed != 0) manifest_copy_file(&next, file);
    }
    if (next.count < manifest->count) return first_error(error, save_manifest(manifest, &next));
    manifest_drop_files(&next);
    return error;
}

int manifest_sweep(struct manifest *manifest)
{
    char path[DISK_PATH_MAX];
    int error = manifest_sync_again(manifest);
    if (error == 0) error = remove_history(manifest);
    DIR *dir = manifest->unsynced ? NULL : opendir(manifest->dir);
    if (dir == NULL && !manifest->unsynced) error = first_error(error, errno);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name;
        bool is_leftover = is_own_name(manifest, name) && !manifest_lists_file(manifest, name) &&
                           disk_path(path, manifest->dir, name) == 0 && !has_records(path);
        if (is_leftover) error = first_error(error, remove_file(manifest, name));
    }
    if (dir != NULL) closedir(dir);

    /* Measure the files that are kept. */
    struct stat what;
    struct manifest_kept *kept = &manifest->kept;
    const struct manifest_file *base = manifest_base(manifest);
    *kept = (struct manifest_kept){ .since = -1, .next = -1 };
    for (size_t i = 0; i < manifest->count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        if (file->kept == MANIFEST_HISTORY) continue;
        kept->files++;
        if (manifest_file_path(manifest, file, path) == 0 && stat(path, &what) == 0)
            kept->bytes += (uint64_t)what.st_size;
        if (file->kept != MANIFEST_BASE) continue;
        if (kept->since < 0)
            kept->since = made_at(manifest, file);
        else if (kept->next < 0)
            kept->next = made_at(manifest, file);
    }
    if (base != NULL && kept->since < 0)
        kept->since = made_at(manifest, base);
    else if (base != NULL && kept->next < 0)
        kept->next = made_at(manifest, base);
    return error;
}
