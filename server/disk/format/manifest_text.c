/* manifest_text: the functions of manifest_state.h: the list of files in a manifest, and its text
 * in the layout of manifest.h. */
#include "server/disk/format/manifest_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/words.h"
#include "server/disk/format/crc32c.h"
#include "store/mem/mem.h"

#define SUM_MARK   "# crc32c "
#define BLANK_LINE "# begun without data"

enum { SUM_DIGITS = 8 };

/* ---- the list: in malloc's memory, because mem is single-threaded ---- */

char *manifest_copy_text(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL) mem_exhausted(strlen(text) + 1);
    return copy;
}

void manifest_drop_files(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->count; i++)
        free(manifest->files[i].name);
    free(manifest->files);
    manifest->files = NULL;
    manifest->count = 0;
    manifest->blank = false;
}

struct manifest_file *manifest_add_file(struct manifest *manifest, const char *name, uint64_t seq,
                                        enum manifest_type type)
{
    size_t size = (manifest->count + 1) * sizeof(*manifest->files);
    struct manifest_file *files = realloc(manifest->files, size);
    if (files == NULL) mem_exhausted(size);
    manifest->files = files;
    struct manifest_file *file = &manifest->files[manifest->count++];
    *file = (struct manifest_file){
        .name = manifest_copy_text(name), .seq = seq, .type = type, .kept = MANIFEST_HISTORY
    };
    return file;
}

void manifest_copy_file(struct manifest *manifest, const struct manifest_file *file)
{
    struct manifest_file *copy = manifest_add_file(manifest, file->name, file->seq, file->type);
    char *name = copy->name;
    *copy = *file;
    copy->name = name;
}

bool manifest_lists_file(const struct manifest *manifest, const char *name)
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

const struct manifest_file *manifest_in_order(const struct manifest *manifest, size_t n)
{
    static const enum manifest_type order[] = { MANIFEST_HISTORY, MANIFEST_BASE, MANIFEST_SEGMENT };
    for (size_t pass = 0; pass < sizeof(order) / sizeof(order[0]); pass++)
        for (size_t i = 0; i < manifest->count; i++) {
            const struct manifest_file *file = &manifest->files[i];
            bool has_data = file->type != MANIFEST_HISTORY || file->kept != MANIFEST_HISTORY;
            if (file->type == order[pass] && has_data && n-- == 0) return file;
        }
    return NULL;
}

size_t manifest_segments(const struct manifest *manifest)
{
    size_t count = 0;
    for (size_t i = 0; i < manifest->count; i++)
        count += manifest->files[i].type == MANIFEST_SEGMENT;
    return count;
}

uint64_t manifest_last_segment(const struct manifest *manifest)
{
    uint64_t last = 0;
    for (size_t i = 0; i < manifest->count; i++)
        if (manifest->files[i].type == MANIFEST_SEGMENT) last = manifest->files[i].seq;
    return last;
}

/* ---- parsing ---- */

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

static bool parse_number(struct reading *reading, const char *text, uint64_t *number)
{
    size_t len = strspn(text, "0123456789");
    bool fits = len <= strlen("999999999999999999") && text[len] == '\0';
    *number = fits ? strtoull(text, NULL, 10) : 0;
    return *number > 0 || fail_manifest(reading, "'%s' is not a number", text);
}

static bool parse_words(struct reading *reading, const struct conf_words *words)
{
    struct manifest *manifest = reading->manifest;
    struct manifest_file line = { .kept = MANIFEST_HISTORY };
    bool is_paired = words->count % 2 == 0;
    for (size_t i = 0; i < words->count && is_paired; i += 2) {
        const char *key = words->at[i];
        char *value = words->at[i + 1];
        if (strcasecmp(key, "file") == 0) {
            bool is_path =
                strchr(value, '/') != NULL || strcmp(value, ".") == 0 || strcmp(value, "..") == 0;
            if (value[0] == '\0' || is_path)
                return fail_manifest(reading, "'%s' is not a file name", value);
            line.name = value;
        } else if (strcasecmp(key, "seq") == 0) {
            if (!parse_number(reading, value, &line.seq)) return false;
        } else if (strcasecmp(key, "synced") == 0) {
            if (!parse_number(reading, value, &line.synced)) return false;
        } else if (strcasecmp(key, "header") == 0) {
            line.header = (uint32_t)strtoul(value, NULL, 16);
        } else if (strcasecmp(key, "id") == 0) {
            line.id = (uint32_t)strtoul(value, NULL, 16);
        } else if (strcasecmp(key, "after") == 0) {
            line.after = (uint32_t)strtoul(value, NULL, 16);
        } else if (strcasecmp(key, "anew") == 0) {
            line.anew = true;
        } else if (strcasecmp(key, "type") == 0 || strcasecmp(key, "kept") == 0) {
            bool known = strlen(value) == 1 && strchr("bih", value[0]) != NULL;
            if (!known) return fail_manifest(reading, "'%s' is not a file type", value);
            enum manifest_type *type = strcasecmp(key, "type") == 0 ? &line.type : &line.kept;
            *type = (enum manifest_type)value[0];
        }
    }
    if (!is_paired || line.name == NULL || line.seq == 0 || line.type == 0)
        return fail_manifest(reading, "expected 'file NAME seq N type T'");
    if (line.type == MANIFEST_BASE && manifest_base(manifest) != NULL)
        return fail_manifest(reading, "second base file '%s'", line.name);
    if (line.type == MANIFEST_SEGMENT && line.seq <= manifest_last_segment(manifest))
        return fail_manifest(reading, "'%s' is out of order", line.name);
    if (manifest_lists_file(manifest, line.name))
        return fail_manifest(reading, "duplicate file '%s'", line.name);
    if (line.type != MANIFEST_HISTORY) line.kept = MANIFEST_HISTORY;
    manifest_copy_file(manifest, &line);
    return true;
}

bool manifest_has_sum(const char *text, size_t len)
{
    size_t line = strlen(SUM_MARK) + SUM_DIGITS + 1;
    return len >= line && memcmp(text + len - line, SUM_MARK, strlen(SUM_MARK)) == 0;
}

/* Returns the mark by which the line of the next segment names this file: the checksum of a base's
 * header, or the ID of a segment. 0 if unknown. */
static uint32_t mark_of(const struct manifest_file *file)
{
    return file->type == MANIFEST_BASE ? file->header : file->id;
}

bool manifest_parse(struct manifest *manifest, const char *text, size_t len,
                    char why[MANIFEST_WHY_MAX])
{
    struct reading state = { .manifest = manifest, .why = why }, *reading = &state;
    /* Manifests of Redis, and manifests written by hand, have neither our first line nor a
     * checksum. */
    size_t first = strlen(MANIFEST_FIRST_LINE);
    if (manifest_has_sum(text, len)) {
        char sum[SUM_DIGITS + 2];
        size_t summed = len - strlen(SUM_MARK) - SUM_DIGITS - 1;
        snprintf(sum, sizeof(sum), "%08" PRIx32 "\n", crc32c(0, text, summed));
        if (memcmp(text + len - SUM_DIGITS - 1, sum, SUM_DIGITS + 1) != 0)
            return fail_manifest(reading,
                                 "wrong checksum: the file is damaged. If it was edited by hand, "
                                 "remove its first line and its checksum");
    } else if (len >= first && memcmp(text, MANIFEST_FIRST_LINE, first) == 0) {
        return fail_manifest(reading,
                             "it does not end with a checksum: the file is damaged. If it was "
                             "edited by hand, remove its first line and its checksum");
    }
    const char *at = text, *line;
    size_t line_len;
    while (conf_next_line(&at, text + len, &line, &line_len)) {
        reading->line++;
        if (line_len == strlen(BLANK_LINE) && memcmp(line, BLANK_LINE, line_len) == 0)
            manifest->blank = true;
        if (line_len > 0 && line[0] == '#') continue;
        struct conf_words words;
        const char *error;
        if (!conf_words_split(line, line_len, &words, &error))
            return fail_manifest(reading, "%s", error);
        bool good = parse_words(reading, &words);
        conf_words_drop(&words);
        if (!good) return false;
    }
    reading->line = 0;
    if (manifest->count == 0) return fail_manifest(reading, "the manifest lists no files");

    /* Check that each segment continues the file listed before it. Without this check, a segment
     * whose line was left out would be missing without a trace. */
    const struct manifest_file *before = manifest_base(manifest);
    for (size_t i = 0; i < manifest->count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        if (file->type != MANIFEST_SEGMENT) continue;
        bool fits = before != NULL && (mark_of(before) == 0 || mark_of(before) == file->after);
        if (file->after != 0 && !fits)
            return fail_manifest(reading,
                                 "'%s' continues a file that is not listed before it. Restore all "
                                 "files of the folder from one copy. To load the data without that "
                                 "file, remove 'after %08" PRIx32 "'",
                                 file->name, file->after);
        before = file;
    }
    return true;
}

/* ---- writing ---- */

static void write_files(FILE *to, const struct manifest *manifest, enum manifest_type type)
{
    const struct manifest_file *before = manifest_base(manifest);
    for (size_t i = 0; i < manifest->count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        if (file->type != type) continue;
        fputs("file ", to);
        conf_word_write(to, file->name);
        fprintf(to, " seq %" PRIu64 " type %c", file->seq, (char)type);
        if (file->synced > 0) fprintf(to, " synced %" PRIu64, file->synced);
        if (file->kept != MANIFEST_HISTORY) fprintf(to, " kept %c", (char)file->kept);
        if (file->anew) fputs(" anew 1", to);
        if (file->header != 0) fprintf(to, " header %08" PRIx32, file->header);
        if (file->id != 0) fprintf(to, " id %08" PRIx32, file->id);
        if (type == MANIFEST_SEGMENT) {
            if (before != NULL && mark_of(before) != 0)
                fprintf(to, " after %08" PRIx32, mark_of(before));
            before = file;
        }
        putc('\n', to);
    }
}

char *manifest_format(const struct manifest *manifest, size_t *len)
{
    char *text;
    FILE *to = conf_memory_stream(&text, len);
    fputs(MANIFEST_FIRST_LINE, to);
    if (manifest->blank) fputs(BLANK_LINE "\n", to);
    write_files(to, manifest, MANIFEST_BASE);
    write_files(to, manifest, MANIFEST_HISTORY);
    write_files(to, manifest, MANIFEST_SEGMENT);
    fflush(to);
    fprintf(to, SUM_MARK "%08" PRIx32 "\n", crc32c(0, text, *len));
    fclose(to);
    return text;
}
