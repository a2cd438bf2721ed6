/* data_files: see data_files.h. */
#include "tools/files/data_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "server/disk/format/file_kind.h"
#include "server/disk/format/manifest.h"
#include "store/mem/mem.h"

#define MANIFEST_SUFFIX ".manifest"
#define SEGMENT_SUFFIX  ".incr.aof"
#define TEMPORARY       "temp-"
#define LOST_AND_FOUND  "lost+found" /* at the root of a file system; only root may read it */

static bool ends_with(const char *text, const char *suffix)
{
    size_t len = strlen(text), size = strlen(suffix);
    return len > size && strcmp(text + len - size, suffix) == 0;
}

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(mem_alloc(size), text, size);
}

static struct data_file *append_file(struct data_files *all, const char *path, enum data_kind kind)
{
    all->files = mem_realloc(all->files, (all->count + 1) * sizeof(*all->files));
    struct data_file *file = &all->files[all->count++];
    *file = (struct data_file){ .path = copy_text(path), .kind = kind, .set = all->sets };
    return file;
}

void data_files_drop(struct data_files *all)
{
    for (size_t i = 0; i < all->count; i++) {
        mem_free(all->files[i].path);
        mem_free(all->files[i].why);
    }
    mem_free(all->files);
    *all = (struct data_files){ 0 };
}

/* ---- one file -------------------------------------------------------------------------------- */

/* Sets errno with DATA_UNREADABLE. */
static enum data_kind kind_of(const char *path)
{
    switch (file_kind(path)) {
    case FILE_SNAPSHOT: return DATA_SNAPSHOT;
    case FILE_EMPTY: return ends_with(path, SEGMENT_SUFFIX) ? DATA_JOURNAL : DATA_UNKNOWN;
    case FILE_JOURNAL: return DATA_JOURNAL;
    case FILE_REDIS_RDB: return DATA_RDB;
    case FILE_REDIS_AOF: return DATA_AOF;
    case FILE_MISSING: errno = ENOENT; return DATA_UNREADABLE;
    case FILE_UNREADABLE: return DATA_UNREADABLE;
    default: return DATA_UNKNOWN;
    }
}

static struct data_file *add_file(struct data_files *all, const char *path)
{
    enum data_kind kind = kind_of(path);
    struct data_file *file = append_file(all, path, kind);
    if (kind == DATA_UNREADABLE) file->why = copy_text(strerror(errno));
    return file;
}

/* ---- a manifest ------------------------------------------------------------------------------ */

static void add_parts(struct data_files *all, const struct manifest *manifest)
{
    char path[DISK_PATH_MAX];
    size_t first_torn = manifest_first_torn(manifest), place;
    const struct manifest_file *part;
    for (place = 0; (part = manifest_in_order(manifest, place)) != NULL; place++) {
        const struct manifest_file *next = manifest_in_order(manifest, place + 1);
        if (manifest_file_path(manifest, part, path) != 0) continue;
        struct data_file *file = add_file(all, path);
        file->is_named = true;
        file->is_kept = part->type == MANIFEST_HISTORY;
        file->is_anew = part->anew;
        file->is_last =
            file->is_kept ? next != NULL && next->anew : part >= &manifest->files[first_torn];
        file->synced = part->synced;
        file->id = part->id;
        file->is_other = !manifest_is_listed_base(part, path);
    }
}

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Initializes the manifest of the folder in `path`, for files whose names begin with the first
 * `len` bytes of the name in `path`. */
static void init_manifest(struct manifest *manifest, const char *path, size_t len)
{
    size_t before = (size_t)(name_in(path) - path);
    char *dir = copy_text(before == 0 ? "." : path), *prefix = copy_text(path + before);
    if (before > 0) dir[before > 1 ? before - 1 : 1] = '\0';
    prefix[len] = '\0';
    manifest_init(manifest, dir, prefix);
    mem_free(dir);
    mem_free(prefix);
}

static void add_manifest(struct data_files *all, const char *path)
{
    struct manifest manifest;
    char why[MANIFEST_WHY_MAX];
    init_manifest(&manifest, path, strlen(name_in(path)) - strlen(MANIFEST_SUFFIX));
    all->sets++;
    struct data_file *file = append_file(all, path, DATA_MANIFEST);
    switch (manifest_load(&manifest, why)) {
    case MANIFEST_FOREIGN: file->kind = DATA_AOF; break;
    case MANIFEST_LOADED: add_parts(all, &manifest); break;
    case MANIFEST_BAD:
        if (kind_of(path) == DATA_UNREADABLE) file->kind = DATA_UNREADABLE;
        file->why = copy_text(why);
        break;
    case MANIFEST_NONE: file->why = copy_text("No such file"); break;
    }
    manifest_drop(&manifest);
}

/* Loads the manifest that lists this segment, which is named PREFIX.N.incr.aof. Returns its entry,
 * or NULL. The caller drops the manifest in either case. */
static const struct manifest_file *find_entry(struct manifest *manifest, const char *path)
{
    char why[MANIFEST_WHY_MAX];
    const char *name = name_in(path), *end = strstr(name, SEGMENT_SUFFIX);
    while (end != NULL && end > name && end[-1] >= '0' && end[-1] <= '9')
        end--;
    bool has_number = end != NULL && end > name + 1 && end[-1] == '.';
    init_manifest(manifest, path, has_number ? (size_t)(end - 1 - name) : 0);
    if (!has_number || manifest_load(manifest, why) != MANIFEST_LOADED) return NULL;
    for (size_t i = 0; i < manifest->count; i++)
        if (strcmp(manifest->files[i].name, name) == 0) return &manifest->files[i];
    return NULL;
}

int data_file_lower_synced(const struct data_file *file, uint64_t length)
{
    struct manifest manifest;
    int error = 0;
    if (find_entry(&manifest, file->path) != NULL)
        error = manifest_lower_synced(&manifest, name_in(file->path), length);
    manifest_drop(&manifest);
    return error;
}

/* ---- a folder -------------------------------------------------------------------------------- */

static void add_single_file(struct data_files *all, const char *path)
{
    all->sets++;
    struct data_file *file = add_file(all, path);
    file->is_last = true;
    if (file->kind != DATA_JOURNAL) return;
    struct manifest manifest;
    const struct manifest_file *entry = find_entry(&manifest, path);
    if (entry != NULL) {
        file->synced = entry->synced;
        file->id = entry->id;
    }
    manifest_drop(&manifest);
}

/* errno says why. */
static void add_unreadable(struct data_files *all, const char *path)
{
    char *why = copy_text(strerror(errno));
    all->sets++;
    append_file(all, path, DATA_UNREADABLE)->why = why;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Files and folders that can't be read may hold data, so they are added too. */
static bool add_folder(struct data_files *all, const char *dir, bool is_inner)
{
    struct dirent **entries;
    int count = scandir(dir, &entries, NULL, by_name);
    if (count < 0) return false;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char path[DISK_PATH_MAX];
        bool is_data = name[0] != '.' && strncmp(name, TEMPORARY, strlen(TEMPORARY)) != 0 &&
                       strcmp(name, LOST_AND_FOUND) != 0;
        if (is_data && disk_path(path, dir, name) == 0) {
            struct stat status;
            bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
            if (!is_folder && ends_with(name, MANIFEST_SUFFIX)) {
                add_manifest(all, path);
            } else if (is_folder && !is_inner) {
                if (!add_folder(all, path, true)) add_unreadable(all, path);
            } else if (!is_folder && !is_inner) {
                enum file_kind kind = file_kind(path); /* or missing: a daemon has removed it */
                if (kind == FILE_UNREADABLE) add_unreadable(all, path);
                if (kind == FILE_SNAPSHOT) add_single_file(all, path);
            }
        }
        free(entries[i]);
    }
    free(entries);
    return true;
}

bool data_files_find(struct data_files *all, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) return false;
    if (S_ISDIR(status.st_mode)) return add_folder(all, path, false);
    if (ends_with(path, MANIFEST_SUFFIX))
        add_manifest(all, path);
    else
        add_single_file(all, path);
    return true;
}
