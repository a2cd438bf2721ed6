/* import: see import.h. Opens files and reads RDB; import_aof.c reads AOF. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "server/disk/effect/library_header.h"
#include "server/disk/format/disk.h"
#include "server/disk/format/file_kind.h"
#include "server/disk/import/import_state.h"
#include "server/disk/import/rdb_object.h"
#include "store/base/number.h"
#include "store/txn/txn_token.h"

enum { PROGRESS_STEP = 1024 * 1024, KEYS_PER_PAUSE = 16 };

/* An RDB being read. */
struct reading {
    struct rdb_object value; /* comes first, because rdb_object's callbacks receive its address */
    struct import *import;
    const struct rdb_source *source;
    struct rdb_visitor visitor;
    struct txn txn;
    struct rdb_key key;
};

struct rdb_on_disk {
    struct import *import;
    int fd, error;
    uint64_t read, reported;
};

/* ---- errors and unsupported types ------------------------------------------------------------ */

bool import_fail(struct import *import, const char *format, ...)
{
    if (import->why[0] != '\0') return false;
    va_list args;
    va_start(args, format);
    vsnprintf(import->why, sizeof(import->why), format, args);
    va_end(args);
    return false;
}

void import_show(char *to, size_t size, struct bytes text)
{
    static const char cut[] = "...";
    size_t room = size - sizeof(cut), len = text.len < room ? text.len : room;
    for (size_t i = 0; i < len; i++)
        to[i] = isprint((unsigned char)text.data[i]) ? text.data[i] : '?';
    memcpy(to + len, len < text.len ? cut : "", len < text.len ? sizeof(cut) : 1);
}

static bool has_word(const char *words, const char *word)
{
    size_t len = strlen(word);
    for (words += strspn(words, " "); *words != '\0'; words += strspn(words, " ")) {
        size_t size = strcspn(words, " ");
        if (size == len && strncasecmp(words, word, len) == 0) return true;
        words += size;
    }
    return false;
}

/* Fails with the first key of a type that is not skipped. The error names all such types so far. */
static bool refuse(struct import *import)
{
    char words[IMPORT_WHY / 2] = "";
    size_t len = 0;
    const struct import_kind *first = NULL;
    for (unsigned i = 0; i < import->kind_count; i++) {
        const struct import_kind *kind = &import->kinds[i];
        if (kind->skipped) continue;
        if (first == NULL) first = kind;
        if (len + strlen(kind->word) + 2 <= sizeof(words))
            len += (size_t)snprintf(words + len, sizeof(words) - len, " %s", kind->word);
    }
    import->why[0] = '\0';
    return import_fail(import,
                       "at byte %" PRIu64 ": '%s' is of the unsupported type %s. Use "
                       "--import-skip%s to leave such keys out",
                       import->refused_at, first->first_key, first->name, words);
}

bool import_pass_over(struct import *import, const char *kind, const char *which, struct bytes key,
                      uint64_t at)
{
    char name[IMPORT_KIND_NAME], shown[IMPORT_KEY_SHOWN];
    snprintf(name, sizeof(name), "%s%s%s", kind, *which != '\0' ? " " : "", which);
    import_show(shown, sizeof(shown), key);
    struct import_kind *counted = import->kinds, *end = counted + import->kind_count;
    while (counted < end && strcmp(counted->name, name) != 0)
        counted++;
    if (counted == end && import->kind_count == IMPORT_KINDS) {
        counted--; /* "other" */
    } else if (counted == end) {
        bool is_last = ++import->kind_count == IMPORT_KINDS;
        snprintf(counted->name, sizeof(counted->name), "%s", is_last ? "other" : name);
    }
    if (counted->keys++ == 0) memcpy(counted->first_key, shown, sizeof(shown));
    /* The word for import-skip: "graphdata", "key-metadata", or "JSON" for JSON.SET. */
    snprintf(counted->word, sizeof(counted->word), "%s", *which != '\0' ? which : kind);
    counted->word[strcspn(counted->word, ".")] = '\0';
    for (char *space = counted->word; (space = strchr(space, ' ')) != NULL;)
        *space = '-';
    counted->skipped =
        import->skip_unsupported || (import->skip != NULL && has_word(import->skip, counted->word));
    if (counted->skipped) return true;
    if (import->why[0] != '\0') return false;
    import->refused_at = at;
    return refuse(import);
}

/* ---- an RDB's keys --------------------------------------------------------------------------- */

static uint64_t offset_read(const struct reading *in)
{
    return rdb_source_offset(in->source);
}

static bool take_database(void *ctx, uint64_t number)
{
    struct reading *in = ctx;
    return number < in->import->store->database_count ||
           import_fail(in->import,
                       "at byte %" PRIu64 ": database %" PRIu64
                       " is out of range. Set a higher number of databases",
                       offset_read(in), number);
}

/* Reads two figures from the fields of an RDB: repl-stream-db, which Redis writes only for
 * replicas, and expired-token, which only this server writes. */
static bool take_aux(void *ctx, struct bytes name, struct bytes value)
{
    struct reading *in = ctx;
    int64_t db, token;
    if (bytes_equal(name, LIT("repl-stream-db")) &&
        number_parse_int64(value.data, value.len, &db) && db >= 0 &&
        (uint64_t)db < in->import->store->database_count)
        in->import->stream_db = (unsigned)db;
    if (bytes_equal(name, LIT("expired-token")) &&
        number_parse_int64(value.data, value.len, &token) && token > 0 && token <= TOKEN_MAX)
        txn_token_raise(&in->txn, token);
    return true;
}

static bool take_function(void *ctx, struct bytes code)
{
    struct reading *in = ctx;
    struct import *import = in->import;
    struct library_header header;
    bool good = library_header_read(&header, code);
    if (!good) {
        import_fail(import, "at byte %" PRIu64 ": a library of functions can't be loaded: %s",
                    offset_read(in), header.error);
    } else if (libraries_find(&import->store->libraries, header.name) != NULL) {
        good = import_fail(import, "at byte %" PRIu64 ": duplicate library '%.*s'", offset_read(in),
                           (int)header.name.len, header.name.data);
    } else {
        txn_library_set(&in->txn, header.name, code);
        import->libraries++;
    }
    library_header_drop(&header);
    return good;
}

/* Counts a key that is left out. If it must end the import but all such keys are to be counted,
 * keeps only the callbacks that report them; no key may be open then. */
static bool pass_over(struct reading *in, const char *kind, const char *which, struct bytes key)
{
    bool skipped = import_pass_over(in->import, kind, which, key, offset_read(in));
    if (skipped || !in->import->counts_all) return skipped;
    in->visitor = (struct rdb_visitor){ .ctx = in,
                                        .max_string = in->visitor.max_string,
                                        .module_aux = in->visitor.module_aux,
                                        .unsupported = in->visitor.unsupported };
    return true;
}

static bool take_module_aux(void *ctx, const char *module, int encoding_version)
{
    struct reading *in = ctx;
    (void)encoding_version;
    return pass_over(in, "data of module", module, bytes_of("", 0));
}

static bool take_unsupported(void *ctx, const struct rdb_unsupported *what)
{
    struct reading *in = ctx;
    return pass_over(in, what->type, what->module, what->key);
}

static bool begin_key(void *ctx, const struct rdb_key *key)
{
    struct reading *in = ctx;
    in->key = *key;
    rdb_object_begin(&in->value, key->type);
    return true;
}

static bool end_key(void *ctx)
{
    struct reading *in = ctx;
    struct bytes name = in->key.name;
    txn_call(&in->txn, (unsigned)in->key.database);
    if (txn_find_without_lru(&in->txn, name) != NULL) {
        char shown[IMPORT_KEY_SHOWN];
        rdb_object_drop(&in->value);
        import_show(shown, sizeof(shown), name);
        return import_fail(in->import,
                           "at byte %" PRIu64 ": duplicate key '%s' in database %" PRIu64,
                           offset_read(in), shown, in->key.database);
    }
    struct object object = rdb_object_take(&in->value);
    /* The ReDe module keeps empty dehydrators; here only a stream exists without elements. */
    if (object_is_emptied(&object)) {
        object_free(&object);
        return true;
    }
    struct entry *entry =
        txn_key_restore(&in->txn, name, object, rdb_object_instant(in->key.expire_at));
    txn_key_accessed(&in->txn, entry, in->key.idle, in->key.freq);
    struct import *import = in->import;
    if (++import->keys % KEYS_PER_PAUSE == 0 && import->between != NULL)
        import->between(import->ctx);
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

static ssize_t read_rdb_bytes(void *ctx, void *to, size_t size)
{
    struct rdb_on_disk *in = ctx;
    size_t got;
    in->error = disk_read(in->fd, to, size, in->read, &got);
    if (in->error != 0) return -1;
    in->read += got;
    if (in->read - in->reported >= PROGRESS_STEP && in->import->progress.report != NULL) {
        in->reported = in->read;
        in->import->progress.report(in->import->progress.ctx, in->reported);
    }
    return (ssize_t)got;
}

/* Sets *end to the offset after the RDB. */
static enum rdb_status take_rdb(struct import *import, struct rdb_source *source, uint64_t *end)
{
    struct rdb_error error;
    struct reading in = { .import = import, .source = source };
    in.visitor = (struct rdb_visitor){ .ctx = &in,
                                       .aux = take_aux,
                                       .database = take_database,
                                       .function = take_function,
                                       .module_aux = take_module_aux,
                                       .unsupported = take_unsupported,
                                       .key_begin = begin_key,
                                       .key_end = end_key };
    rdb_object_listen(&in.visitor);
    txn_begin(&in.txn, import->store, import->now, FROM_REPLAY);
    rdb_read(source, &in.visitor, &error);
    txn_commit(&in.txn);
    rdb_object_drop(&in.value);
    *end = rdb_source_offset(source);
    rdb_source_drop(source);
    /* The caller reports a failed read, because only the caller knows its cause. */
    if (error.status != RDB_OK && error.status != RDB_UNREADABLE)
        import_fail(import, "at byte %" PRIu64 ": %s", error.offset, error.text);
    if (import->refused_at == 0) return error.status;
    refuse(import);
    return RDB_STOPPED;
}

bool import_rdb(struct import *import, import_read_fn *read, void *ctx)
{
    struct rdb_source source;
    import->why[0] = '\0';
    rdb_source_of_reader(&source, read, ctx);
    enum rdb_status status = take_rdb(import, &source, &import->end);
    if (status == RDB_UNREADABLE)
        import_fail(import, "at byte %" PRIu64 ": reading failed", import->end);
    return status == RDB_OK;
}

void import_show_versions(char *to, size_t size)
{
    rdb_versions(to, size);
}

static bool import_open(struct import *import, int fd)
{
    char head[FILE_HEAD];
    struct stat status;
    size_t got = 0;
    uint64_t end = 0;
    int error = fstat(fd, &status) == 0 ? 0 : errno;
    if (error == 0) error = disk_read(fd, head, sizeof(head), 0, &got);
    if (error != 0) return import_fail(import, "can't read it: %s", strerror(error));
    enum file_kind kind = file_kind_of_head(head, got);
    if (kind != FILE_REDIS_RDB && kind != FILE_REDIS_AOF)
        return import_fail(import, "at byte 0: not an RDB or AOF of Redis");
    if (kind == FILE_REDIS_RDB) { /* which an AOF may follow, at `end` */
        struct rdb_source source;
        struct rdb_on_disk file = { .import = import, .fd = fd };
        rdb_source_of_reader(&source, read_rdb_bytes, &file);
        enum rdb_status read = take_rdb(import, &source, &end);
        if (read == RDB_UNREADABLE)
            import_fail(import, "at byte %" PRIu64 ": %s", end, strerror(file.error));
        if (read != RDB_OK) return false;
    }
    return import_aof(import, fd, end, (uint64_t)status.st_size);
}

bool import_file(struct import *import, const char *path)
{
    int fd, error = disk_open_to_read(path, &fd);
    import->why[0] = '\0';
    if (error != 0) return import_fail(import, "can't open it: %s", strerror(error));
    bool good = import_open(import, fd);
    disk_close(fd);
    return good;
}
