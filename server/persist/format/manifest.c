/* manifest: see manifest.h. Reads, changes and saves the list of files. */
#include "server/persist/format/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "conf/words.h"
#include "server/persist/format/crc32c.h"
#include "server/persist/format/file_kind.h"
#include "server/persist/format/snapshot_file.h"
#include "server/persist/format/record.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(mem_alloc(size), text, size);
}

void manifest_init(struct manifest *manifest, const char *dir, const char *prefix)
{
    *manifest = (struct manifest){ .dir = copy_text(dir), .prefix = copy_text(prefix) };
}

static void drop_files(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->count; i++)
        mem_free(manifest->files[i].name);
    mem_free(manifest->files);
    manifest->files = NULL;
    manifest->count = 0;
    manifest->blank = false;
}

void manifest_drop(struct manifest *manifest)
{
    drop_files(manifest);
    mem_free(manifest->dir);
    mem_free(manifest->prefix);
    *manifest = (struct manifest){ 0 };
}

static void add_file(struct manifest *manifest, const char *name, uint64_t seq,
                     enum manifest_type type)
{
    size_t size = (manifest->count + 1) * sizeof(*manifest->files);
    manifest->files = mem_realloc(manifest->files, size);
    manifest->files[manifest->count++] =
        (struct manifest_file){ .name = copy_text(name), .seq = seq, .type = type };
}

static bool lists_file(const struct manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->count; i++)
        if (strcmp(manifest->files[i].name, name) == 0) return true;
    return false;
}

const struct manifest_file *manifest_base(const struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->count; i++)
        if (manifest->files[i].type == MANIFEST_BASE) return &manifest->files[i];
    return NULL;
}

uint64_t manifest_last_segment(const struct manifest *manifest)
{
    uint64_t last = 0;
    for (size_t i = 0; i < manifest->count; i++)
        if (manifest->files[i].type == MANIFEST_SEGMENT) last = manifest->files[i].seq;
    return last;
}

/* ---- names ---- */

#define BASE_END     ".base.exp"
#define SEGMENT_END  ".incr.aof"
#define MANIFEST_END ".manifest"
#define FIRST_END    ".first" /* exists until the first start has written its manifest */
#define TEMPORARY    "temp-"
#define SUM_MARK     "# crc32c "
#define BLANK_LINE   "# begun without data"

enum { SUM_DIGITS = 8 };
#define SEQ_MAX UINT64_C(999999999999999999) /* the most digits that are read */

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

/* History may be a base or a segment, so its numbers count for both. */
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
        if (error == 0) error = create(path, fd);
    } while (error == EEXIST && ++*seq < SEQ_MAX);
    return error;
}

/* Returns the text after the number in "PREFIX.N"; NULL if the name has another form. */
static const char *end_of_name(const struct manifest *manifest, const char *name)
{
    size_t len = strlen(manifest->prefix);
    if (strncmp(name, manifest->prefix, len) != 0 || name[len] != '.') return NULL;
    const char *digits = name + len + 1;
    size_t count = strspn(digits, "0123456789");
    return count > 0 ? digits + count : NULL;
}

static bool is_own_end(const char *end)
{
    return strcmp(end, MANIFEST_END) == 0 || strcmp(end, FIRST_END) == 0;
}

static bool is_temporary(const struct manifest *manifest, const char *name)
{
    if (strncmp(name, TEMPORARY, sizeof(TEMPORARY) - 1) != 0) return false;
    name += sizeof(TEMPORARY) - 1;
    const char *end = end_of_name(manifest, name);
    if (end != NULL) return strcmp(end, BASE_END) == 0;
    size_t len = strlen(manifest->prefix);
    return strncmp(name, manifest->prefix, len) == 0 && is_own_end(name + len);
}

/* ---- reading ---- */

struct reading {
    struct manifest *manifest;
    size_t line;
    char *why;
};

__attribute__((format(printf, 2, 3))) static bool fail_manifest(struct reading *reading,
                                                                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = 0;
    if (reading->line > 0)
        len = snprintf(reading->why, MANIFEST_WHY_MAX, "line %zu: ", reading->line);
    vsnprintf(reading->why + len, (size_t)(MANIFEST_WHY_MAX - len), format, args);
    va_end(args);
    return false;
}

/* Is it a file name without a path? */
static bool good_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static bool parse_seq(const char *text, uint64_t *seq)
{
    size_t len = strspn(text, "0123456789");
    if (len == 0 || len > strlen("999999999999999999") || text[len] != '\0') return false;
    *seq = strtoull(text, NULL, 10);
    return *seq > 0;
}

/* The fields of a line, before they are checked. */
struct fields {
    const char *name, *type;
    uint64_t seq;
};

static bool parse_pair(struct reading *reading, struct fields *fields, const char *key,
                       const char *value)
{
    if (strcasecmp(key, "file") == 0) {
        if (!good_name(value)) return fail_manifest(reading, "'%s' is not a file name", value);
        fields->name = value;
    } else if (strcasecmp(key, "seq") == 0) {
        if (!parse_seq(value, &fields->seq))
            return fail_manifest(reading, "'%s' is not a number", value);
    } else if (strcasecmp(key, "type") == 0) {
        bool known = strlen(value) == 1 && strchr("bih", value[0]) != NULL;
        if (!known) return fail_manifest(reading, "'%s' is not a file type", value);
        fields->type = value;
    }
    return true;
}

static bool add_parsed_file(struct reading *reading, const struct fields *fields)
{
    struct manifest *manifest = reading->manifest;
    if (fields->name == NULL || fields->seq == 0 || fields->type == NULL)
        return fail_manifest(reading, "expected 'file NAME seq N type T'");
    enum manifest_type type = (enum manifest_type)fields->type[0];
    if (type == MANIFEST_BASE && manifest_base(manifest) != NULL)
        return fail_manifest(reading, "second base file '%s'", fields->name);
    if (type == MANIFEST_SEGMENT && fields->seq <= manifest_last_segment(manifest))
        return fail_manifest(reading, "'%s' is out of order", fields->name);
    if (lists_file(manifest, fields->name))
        return fail_manifest(reading, "duplicate file '%s'", fields->name);
    add_file(manifest, fields->name, fields->seq, type);
    return true;
}

static bool parse_words(struct reading *reading, const struct conf_words *words)
{
    struct fields fields = { 0 };
    if (words->count % 2 != 0) return fail_manifest(reading, "expected 'file NAME seq N type T'");
    for (size_t i = 0; i < words->count; i += 2)
        if (!parse_pair(reading, &fields, words->at[i], words->at[i + 1])) return false;
    return add_parsed_file(reading, &fields);
}

static bool parse_line(struct reading *reading, const char *line, size_t len)
{
    if (len == strlen(BLANK_LINE) && memcmp(line, BLANK_LINE, len) == 0)
        reading->manifest->blank = true;
    if (len > 0 && line[0] == '#') return true;
    struct conf_words words;
    const char *why;
    if (!conf_words_split(line, len, &words, &why)) return fail_manifest(reading, "%s", why);
    bool good = parse_words(reading, &words);
    conf_words_drop(&words);
    return good;
}

static const char *sum_line(const char *text, size_t len)
{
    size_t line = strlen(SUM_MARK) + SUM_DIGITS + 1;
    if (len < line || memcmp(text + len - line, SUM_MARK, strlen(SUM_MARK)) != 0) return NULL;
    return text + len - line;
}

/* Our manifests end with a line that has the checksum of the lines before it; Redis' do not. */
static bool check_sum(struct reading *reading, const char *text, size_t len)
{
    size_t line = strlen(SUM_MARK) + SUM_DIGITS + 1;
    char wanted[SUM_DIGITS + 1];
    if (sum_line(text, len) == NULL) return true;
    snprintf(wanted, sizeof(wanted), "%08" PRIx32, crc32c(0, text, len - line));
    return memcmp(text + len - SUM_DIGITS - 1, wanted, SUM_DIGITS) == 0 ||
           fail_manifest(reading,
                         "wrong checksum: the file is damaged. If it was edited by hand, remove "
                         "its last line");
}

static bool parse_manifest(struct reading *reading, const char *text, size_t len)
{
    if (!check_sum(reading, text, len)) return false;
    const char *at = text, *line;
    size_t line_len;
    while (conf_next_line(&at, text + len, &line, &line_len)) {
        reading->line++;
        if (!parse_line(reading, line, line_len)) return false;
    }
    reading->line = 0;
    if (reading->manifest->count == 0) return fail_manifest(reading, "it lists no files");
    return true;
}

static enum file_kind kind_of_file(const struct manifest *manifest, const char *name)
{
    char path[DISK_PATH_MAX];
    return disk_path(path, manifest->dir, name) == 0 ? file_kind(path) : FILE_UNREADABLE;
}

/* A manifest without our lines (of an earlier version, or edited) is ours if its base is, or
 * without a base if one of its segments is. */
static bool is_ours(const struct manifest *manifest, const char *text, size_t len)
{
    if (file_kind_of_head(text, len) == FILE_MANIFEST || sum_line(text, len) != NULL) return true;
    const struct manifest_file *base = manifest_base(manifest);
    if (base != NULL) return kind_of_file(manifest, base->name) == FILE_SNAPSHOT;
    for (size_t i = 0; i < manifest->count; i++)
        if (kind_of_file(manifest, manifest->files[i].name) == FILE_JOURNAL) return true;
    return false;
}

/* Does the file hold data? A segment without records is left by a first start that ended early. */
static bool holds_data(const struct manifest *manifest, const char *name)
{
    const char *end = end_of_name(manifest, name);
    if (end == NULL) return false;
    if (strncmp(end, ".base.", sizeof(".base.") - 1) == 0) return true;
    char path[DISK_PATH_MAX];
    struct stat what;
    if (strcmp(end, SEGMENT_END) != 0 || disk_path(path, manifest->dir, name) != 0) return false;
    return file_check(path, FILE_SET_OURS) != 0 ||
           (stat(path, &what) == 0 && what.st_size > (off_t)(sizeof(RECORD_FIRST_LINE) - 1));
}

/* The path of the manifest, or of its temporary file. */
static int own_path(const struct manifest *manifest, const char *before, char path[DISK_PATH_MAX])
{
    int len = snprintf(path, DISK_PATH_MAX, "%s/%s%s" MANIFEST_END, manifest->dir, before,
                       manifest->prefix);
    return len < DISK_PATH_MAX ? 0 : ENAMETOOLONG;
}

static int first_start_path(const struct manifest *manifest, char path[DISK_PATH_MAX])
{
    int len = snprintf(path, DISK_PATH_MAX, "%s/" TEMPORARY "%s" FIRST_END, manifest->dir,
                       manifest->prefix);
    return len < DISK_PATH_MAX ? 0 : ENAMETOOLONG;
}

static bool is_first_start(const struct manifest *manifest)
{
    char path[DISK_PATH_MAX];
    return first_start_path(manifest, path) == 0 && file_kind(path) == FILE_EMPTY;
}

/* Files with data but without a manifest are an error: the user should know before new data are
 * added. */
static enum manifest_found check_without_manifest(struct reading *reading)
{
    if (is_first_start(reading->manifest)) return MANIFEST_NONE;
    DIR *dir = opendir(reading->manifest->dir);
    if (dir == NULL && errno == ENOENT) return MANIFEST_NONE;
    if (dir == NULL) {
        fail_manifest(reading, "%s", strerror(errno));
        return MANIFEST_BAD;
    }
    enum manifest_found found = MANIFEST_NONE;
    for (struct dirent *entry; found == MANIFEST_NONE && (entry = readdir(dir)) != NULL;) {
        if (!holds_data(reading->manifest, entry->d_name)) continue;
        fail_manifest(reading,
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
    struct reading reading = { .manifest = manifest, .why = why };
    int error = own_path(manifest, "", path);
    size_t len;
    char *text = error == 0 ? conf_read_file(path, &len) : NULL;
    if (text == NULL && error == 0) error = errno;
    if (error == ENOENT) return check_without_manifest(&reading);
    if (error != 0) {
        fail_manifest(&reading, "%s", strerror(error));
        return MANIFEST_BAD;
    }
    bool good = parse_manifest(&reading, text, len);
    bool foreign = good && !is_ours(manifest, text, len);
    free(text);
    if (!good) drop_files(manifest);
    /* The process that saved it may have ended before the folder was synced. */
    manifest->unsynced = true;
    return foreign ? MANIFEST_FOREIGN : good ? MANIFEST_LOADED : MANIFEST_BAD;
}

/* ---- changing ---- */

static void write_files(FILE *to, const struct manifest *manifest, enum manifest_type type)
{
    for (size_t i = 0; i < manifest->count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        if (file->type != type) continue;
        fputs("file ", to);
        conf_word_write(to, file->name);
        fprintf(to, " seq %" PRIu64 " type %c\n", file->seq, (char)type);
    }
}

static int write_temporary(const struct manifest *manifest, const char *path)
{
    char *text;
    size_t len;
    FILE *to = conf_memory_stream(&text, &len);
    fputs(MANIFEST_FIRST_LINE, to);
    if (manifest->blank) fputs(BLANK_LINE "\n", to);
    write_files(to, manifest, MANIFEST_BASE);
    write_files(to, manifest, MANIFEST_HISTORY);
    write_files(to, manifest, MANIFEST_SEGMENT);
    fflush(to);
    fprintf(to, SUM_MARK "%08" PRIx32 "\n", crc32c(0, text, len));
    fclose(to);
    int error = disk_write_file(path, text, len);
    free(text);
    return error;
}

/* 0: the file is missing, or ours. */
static int check_own(const struct manifest *manifest, const char *path)
{
    struct manifest there;
    char why[MANIFEST_WHY_MAX];
    if (file_check(path, FILE_SET(FILE_MANIFEST)) == 0) return 0;
    manifest_init(&there, manifest->dir, manifest->prefix);
    enum manifest_found found = manifest_load(&there, why);
    manifest_drop(&there);
    return found == MANIFEST_LOADED ? 0 : EEXIST;
}

static int put_in_place(const struct manifest *next)
{
    char path[DISK_PATH_MAX], temporary[DISK_PATH_MAX];
    int error = own_path(next, "", path);
    if (error == 0) error = own_path(next, TEMPORARY, temporary);
    if (error == 0) error = check_own(next, path);
    if (error == 0) error = file_check(temporary, FILE_SET_OURS);
    if (error == 0) error = write_temporary(next, temporary);
    if (error == 0) error = disk_rename(temporary, path);
    return error;
}

int manifest_make_folder(const struct manifest *manifest)
{
    char path[DISK_PATH_MAX];
    int error = disk_make_dir(manifest->dir);
    if (error != 0 || manifest->count > 0) return error;
    error = first_start_path(manifest, path);
    if (error == 0) error = file_check(path, FILE_SET(FILE_EMPTY));
    if (error == 0) error = disk_write_file(path, "", 0);
    if (error == 0) error = disk_sync_dir(manifest->dir);
    return error;
}

int manifest_settle(struct manifest *manifest)
{
    if (!manifest->unsynced) return 0;
    int error = disk_sync_dir(manifest->dir);
    if (error == 0) manifest->unsynced = false;
    return error;
}

/* Saves `next`. Then it is the current list; if that fails, the old list stays. Frees the other. */
static int save_manifest(struct manifest *manifest, struct manifest *next)
{
    int error = put_in_place(next);
    if (error != 0) {
        drop_files(next);
        return error;
    }
    drop_files(manifest);
    *manifest = *next;
    manifest->unsynced = true;
    return manifest_settle(manifest);
}

static struct manifest without_files(const struct manifest *manifest)
{
    struct manifest next = *manifest;
    next.files = NULL;
    next.count = 0;
    next.blank = false;
    return next;
}

static int add_new(struct manifest *next, uint64_t seq, const char *end, enum manifest_type type)
{
    char name[DISK_PATH_MAX];
    int error = make_name(next, seq, end, name);
    if (error == 0) add_file(next, name, seq, type);
    return error;
}

int manifest_add_segment(struct manifest *manifest, uint64_t segment)
{
    ensure(segment > manifest_last_segment(manifest), "%" PRIu64, segment);
    struct manifest next = without_files(manifest);
    for (size_t i = 0; i < manifest->count; i++)
        add_file(&next, manifest->files[i].name, manifest->files[i].seq, manifest->files[i].type);
    int error = add_new(&next, segment, SEGMENT_END, MANIFEST_SEGMENT);
    if (error == 0) return save_manifest(manifest, &next);
    drop_files(&next);
    return error;
}

static int replace_base(struct manifest *manifest, uint64_t base, uint64_t segment, bool blank)
{
    struct manifest next = without_files(manifest);
    next.blank = blank;
    int error = add_new(&next, base, BASE_END, MANIFEST_BASE);
    for (size_t i = 0; i < manifest->count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        bool stays = file->type == MANIFEST_SEGMENT && file->seq >= segment;
        add_file(&next, file->name, file->seq, stays ? MANIFEST_SEGMENT : MANIFEST_HISTORY);
    }
    if (error == 0 && manifest_last_segment(&next) == 0)
        error = add_new(&next, segment, SEGMENT_END, MANIFEST_SEGMENT);
    if (error == 0) return save_manifest(manifest, &next);
    drop_files(&next);
    return error;
}

int manifest_put_base(struct manifest *manifest, uint64_t base, uint64_t segment)
{
    return replace_base(manifest, base, segment, false);
}

int manifest_begin(struct manifest *manifest, uint64_t base, uint64_t segment)
{
    return replace_base(manifest, base, segment, true);
}

/* ---- deleting ---- */

static int first_error(int error, int later)
{
    return error != 0 ? error : later;
}

static bool is_own_name(const struct manifest *manifest, const char *name)
{
    const char *end = end_of_name(manifest, name);
    return is_temporary(manifest, name) ||
           (end != NULL && (strcmp(end, BASE_END) == 0 || strcmp(end, SEGMENT_END) == 0));
}

/* Removes the file if it is ours; otherwise leaves it and returns 0. An empty file has no data to
 * lose. */
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

static bool is_leftover(const struct manifest *manifest, const char *name)
{
    return is_own_name(manifest, name) && !lists_file(manifest, name);
}

static int remove_leftovers(const struct manifest *manifest)
{
    DIR *dir = opendir(manifest->dir);
    if (dir == NULL) return errno;
    int error = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (is_leftover(manifest, entry->d_name))
            error = first_error(error, remove_file(manifest, entry->d_name));
    closedir(dir);
    return error;
}

/* Deletes the files of history first, and then their lines, so that the manifest always lists the
 * files that are left to delete. */
static int remove_history(struct manifest *manifest)
{
    struct manifest next = without_files(manifest);
    int error = 0;
    for (size_t i = 0; i < manifest->count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        int failed = file->type == MANIFEST_HISTORY ? remove_file(manifest, file->name) : 0;
        error = first_error(error, failed);
        if (file->type != MANIFEST_HISTORY || failed != 0)
            add_file(&next, file->name, file->seq, file->type);
    }
    if (next.count < manifest->count) return first_error(error, save_manifest(manifest, &next));
    drop_files(&next);
    return error;
}

int manifest_sweep(struct manifest *manifest)
{
    int error = manifest_settle(manifest);
    if (error != 0) return error;
    error = remove_history(manifest);
    return first_error(error, manifest->unsynced ? 0 : remove_leftovers(manifest));
}
