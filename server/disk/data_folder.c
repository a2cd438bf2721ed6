/* data_folder: see data_folder.h. */
#include "server/disk/data_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "server/base/log.h"

#define BESIDE       ".exp"
#define MANIFEST_END ".manifest"
#define TEMPORARY    "temp-"

enum { NAMES_SHOWN = 4 };

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), size = strlen(end);
    return len > size && strcmp(text + len - size, end) == 0;
}

bool data_folder_load_manifest(struct manifest *manifest, const char *path,
                               enum manifest_found *found, char why[MANIFEST_WHY_MAX])
{
    char dir[DISK_PATH_MAX], prefix[DISK_PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    const char *name = slash == NULL ? path : slash + 1;
    if (!ends_with(name, MANIFEST_END) || strlen(path) >= sizeof(dir)) return false;
    snprintf(dir, sizeof(dir), "%.*s", (int)len, path);
    snprintf(prefix, sizeof(prefix), "%.*s", (int)(strlen(name) - strlen(MANIFEST_END)), name);
    manifest_init(manifest, slash == NULL ? "." : dir, prefix);
    *found = manifest_load(manifest, why);
    return true;
}

static bool is_redis_manifest(const char *path)
{
    struct manifest manifest;
    enum manifest_found found;
    char why[MANIFEST_WHY_MAX];
    if (file_kind(path) != FILE_LIST || !data_folder_load_manifest(&manifest, path, &found, why))
        return false;
    manifest_drop(&manifest);
    return found == MANIFEST_FOREIGN;
}

/* Counts the manifests in the folder that `fits` accepts, and stores the path of one. */
static unsigned find_manifests(const char *folder, bool (*fits)(const char *path),
                               char path[DISK_PATH_MAX])
{
    DIR *dir = opendir(folder);
    char candidate[DISK_PATH_MAX];
    unsigned count = 0;
    if (dir == NULL) return 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name;
        if (!ends_with(name, MANIFEST_END) || strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0 ||
            disk_path(candidate, folder, name) != 0 || !fits(candidate))
            continue;
        memcpy(path, candidate, sizeof(candidate));
        count++;
    }
    closedir(dir);
    return count;
}

__attribute__((format(printf, 2, 3))) static enum manifest_found fail_find(char *why,
                                                                           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, MANIFEST_WHY_MAX, format, args);
    va_end(args);
    return MANIFEST_BAD;
}

static enum manifest_found load_folder(const struct conf *conf, struct manifest *manifest,
                                       const char *dir, char why[MANIFEST_WHY_MAX])
{
    char reason[MANIFEST_WHY_MAX] = "";
    manifest_drop(manifest);
    manifest_init(manifest, dir, conf->appendfilename);
    enum manifest_found found = manifest_load(manifest, reason);
    if (found != MANIFEST_BAD) return found;
    return fail_find(why, "%s/%s/%s" MANIFEST_END ": %s", conf->dir, dir, conf->appendfilename,
                     reason);
}

enum manifest_found data_folder_find_journal(const struct conf *conf, struct manifest *manifest,
                                             char why[MANIFEST_WHY_MAX])
{
    const char *plain = conf->appenddirname, *dir = conf->dir;
    char beside[DISK_PATH_MAX], path[DISK_PATH_MAX], reason[MANIFEST_WHY_MAX];
    if (snprintf(beside, sizeof(beside), "%s" BESIDE, plain) >= (int)sizeof(beside))
        return fail_find(why, "appenddirname: %s", strerror(ENAMETOOLONG));
    enum manifest_found there = load_folder(conf, manifest, plain, why);
    bool is_redis = there == MANIFEST_FOREIGN ||
                    (there == MANIFEST_NONE && find_manifests(plain, is_redis_manifest, path) > 0);
    enum manifest_found found = load_folder(conf, manifest, beside, reason);
    if (there == MANIFEST_BAD) {
        /* Is the damaged manifest ours by its first line? */
        int len = snprintf(path, sizeof(path), "%s/%s" MANIFEST_END, plain, conf->appendfilename);
        bool is_own = len < (int)sizeof(path) && file_kind(path) == FILE_MANIFEST;
        if (found != MANIFEST_LOADED || is_own) return there;
    }
    if (found == MANIFEST_FOREIGN) {
        if (is_redis)
            return fail_find(why, "%s/%s and %s/%s both belong to Redis. Set another appenddirname",
                             dir, plain, dir, beside);
        found = MANIFEST_NONE;
    }
    if (found == MANIFEST_BAD) return fail_find(why, "%s", reason);
    if (found == MANIFEST_LOADED && there == MANIFEST_LOADED)
        return fail_find(
            why, "%s/%s and %s/%s both hold a journal of this server. Move the older one away", dir,
            plain, dir, beside);
    if (found == MANIFEST_LOADED || is_redis) return found;
    return load_folder(conf, manifest, plain, why);
}

static bool is_file_of_redis(const char *path)
{
    enum file_kind kind = file_kind(path);
    return kind == FILE_REDIS_AOF || kind == FILE_REDIS_RDB;
}

/* Finds an append-only file of Redis where Redis would search for it with these options. */
static bool find_aof(const struct conf *conf, char path[DISK_PATH_MAX])
{
    if (find_manifests(conf->appenddirname, is_redis_manifest, path) > 0) return true;
    snprintf(path, DISK_PATH_MAX, "%s", conf->appendfilename);
    return is_file_of_redis(conf->appendfilename);
}

bool data_folder_refuse_redis(const struct conf *conf, char *why, size_t size)
{
    char path[DISK_PATH_MAX], parts[512] = "", reason[MANIFEST_WHY_MAX];
    struct manifest manifest;
    enum manifest_found found;
    if (!conf->appendonly || !find_aof(conf, path)) return false;
    if (data_folder_load_manifest(&manifest, path, &found, reason)) {
        size_t len = 0; /* print the files that it lists: " (with a, b, c)" */
        for (size_t i = 0; i < manifest.count && i <= NAMES_SHOWN && len < sizeof(parts); i++)
            len += (size_t)snprintf(parts + len, sizeof(parts) - len, "%s%s",
                                    i == 0 ? " (with " : ", ",
                                    i < NAMES_SHOWN ? manifest.files[i].name : "...");
        if (manifest.count > 0 && len < sizeof(parts))
            snprintf(parts + len, sizeof(parts) - len, ")");
        manifest_drop(&manifest);
    }
    snprintf(why, size,
             "%s/%s%s is an append-only file of Redis, which is neither loaded nor replaced. Start "
             "with --import %s/%s to import its data (Redis' files stay unchanged), or set another "
             "dir",
             conf->dir, path, parts, conf->dir, path);
    return true;
}

void data_folder_note_redis(const struct conf *conf)
{
    char path[DISK_PATH_MAX];
    const char *const names[] = { conf->dbfilename, "dump.rdb" };
    bool found = find_aof(conf, path);
    for (size_t i = 0; !found && i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, DISK_PATH_MAX, "%s", names[i]);
        found = file_kind(path) == FILE_REDIS_RDB;
    }
    if (!found) return;
    log_line(LOG_WARNING,
             "Starting without data: %s/%s belongs to Redis and is not loaded. To import it, stop "
             "the server and start it with --import %s/%s",
             conf->dir, path, conf->dir, path);
}

static bool is_manifest(const char *path)
{
    enum file_kind kind = file_kind(path);
    return kind == FILE_LIST || kind == FILE_MANIFEST;
}

bool data_folder_find_import(const struct conf *conf, char path[DISK_PATH_MAX], const char **why)
{
    char folder[DISK_PATH_MAX], inner[DISK_PATH_MAX];
    *why = strerror(ENAMETOOLONG);
    if (strlen(conf->import) >= sizeof(folder)) return false;
    snprintf(path, DISK_PATH_MAX, "%s", conf->import);
    /* A manifest may be given by its file name alone. */
    if (file_kind(path) == FILE_MISSING && conf->import[0] != '/' &&
        (disk_path(path, conf->appenddirname, conf->import) != 0 ||
         file_kind(path) == FILE_MISSING))
        snprintf(path, DISK_PATH_MAX, "%s", conf->import);
    if (file_kind(path) != FILE_FOLDER) return true;
    snprintf(folder, sizeof(folder), "%s", path);

    /* Search in Redis' order: an append-only file before a snapshot, which may be older. */
    const char *const folders[] = { ".", conf->appenddirname, "appendonlydir" };
    const char *const files[] = { conf->appendfilename, "appendonly.aof", conf->dbfilename,
                                  "dump.rdb" };
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        unsigned count = disk_path(inner, folder, folders[i]) == 0
                             ? find_manifests(inner, is_manifest, path)
                             : 0;
        *why = "the directory has several manifests. Give the path of one";
        if (count > 0) return count == 1;
    }
    *why = "the directory has no RDB, AOF or manifest of Redis";
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        if (disk_path(path, folder, files[i]) == 0 && is_file_of_redis(path)) return true;
    return false;
}
