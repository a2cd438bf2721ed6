/* expired-check: checks data files, and repairs journals on request.
 *
 * Reads manifests, snapshots and journals as the daemon does when it starts, and prints the kind
 * and the errors of each file. With --fix, cuts a torn end off a journal; with --cut-at-damage,
 * also a damaged end. Names and bytes from files are made printable before they are printed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "conf/times.h"
#include "server/base/version.h"
#include "server/disk/effect/effect_brief.h"
#include "server/disk/effect/effect_text.h"
#include "server/disk/format/disk.h"
#include "server/disk/format/record.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "tools/files/judge.h"
#include "tools/files/show.h"
#include "tools/files/usages.h"

enum { SHOWN = 72, DATABASES_MAX = 16384 };

struct check {
    bool deep, fix, cut_at_damage, show;
    msec now;
    struct store *store; /* holds the data of the current set with --deep; else NULL */
    unsigned set;
    struct journal_end before; /* of the file before; zero unless it is a whole or torn journal */
    bool cut_set;  /* a journal of this set was cut, so the next ones no longer continue it */
    bool unjudged; /* a file of this set could not be loaded: print no totals of its keys */
    struct points {
        bool known;    /* a start can reach the instants from `from` to `to` */
        bool is_ended; /* later files do not extend this range */
        msec from, to;
    } points;
    enum verdict worst;
    uint64_t files, bytes, changes, records, counts[UNREADABLE + 1], fixed;
    uint64_t foreign; /* files of Redis, which have no verdict */
};

/* ---- cutting a journal ----------------------------------------------------------------------- */

struct cut {
    uint64_t bytes;           /* after the cut */
    uint64_t records;         /* lines among them that look like the end of a record */
    char kept[DISK_PATH_MAX]; /* where the bytes were copied, by disk_keep_end */
};

enum { PIECE = 256 * 1024 };

/* Counts the sum lines in a piece of data; each ends a record. Returns how many bytes are done. The
 * caller passes the rest again, followed by the next piece, because a sum line may be cut in
 * two. */
static size_t count_records(const char *data, size_t len, struct cut *cut)
{
    size_t at = 0;
    uint32_t sum;
    while (at + RECORD_SUM_LINE <= len) {
        const char *hash = memchr(data + at, '#', len - at - RECORD_SUM_LINE + 1);
        if (hash == NULL) return len - RECORD_SUM_LINE + 1;
        at = (size_t)(hash - data) + 1;
        if (!record_parse_sum(hash, &sum)) continue;
        cut->records++;
        at += RECORD_SUM_LINE - 1;
    }
    return at;
}

/* Cuts a journal at the offset `at`, after copying the bytes behind it to cut->kept. After a cut at
 * 0, writes a first line again: for the version that the file had or, if that can't be read, the
 * current one. Returns EEXIST if the file for the copy already exists. */
static int cut_and_keep(const char *path, uint64_t at, struct cut *cut)
{
    *cut = (struct cut){ 0 };
    int fd, error = disk_open(path, &fd);
    if (error != 0) return error;

    static char piece[PIECE];
    size_t held = 0, got = PIECE;
    while (error == 0 && got > 0) {
        error = disk_read(fd, piece + held, sizeof(piece) - held, at + cut->bytes, &got);
        if (error != 0 || got == 0) break;
        size_t done = count_records(piece, held + got, cut);
        held = held + got - done;
        memmove(piece, piece + done, held);
        cut->bytes += got;
    }

    /* A journal of version 1 remains one: the server that wrote it refuses version 2. */
    char first[] = RECORD_FIRST_LINE, head[sizeof(RECORD_MAGIC)];
    if (error == 0 && at == 0) error = disk_read(fd, head, sizeof(head), 0, &got);
    if (error == 0 && at == 0 && got == sizeof(head) &&
        memcmp(head, RECORD_FIRST_LINE_1, sizeof(head)) == 0)
        memcpy(first, RECORD_FIRST_LINE_1, sizeof(first));

    if (error == 0 && cut->bytes > 0) error = disk_keep_end(fd, path, at, cut->kept);
    if (error == 0) error = disk_cut(fd, at);
    if (error == 0 && at == 0) error = disk_write_bytes(fd, first, sizeof(first) - 1, 0);
    if (error == 0) error = disk_sync(fd);
    disk_close(fd);
    return error;
}

/* ---- the records of a journal ---------------------------------------------------------------- */

static void show_words(FILE *to, const struct request *request)
{
    for (int i = 0; i < request->argc; i++) {
        if (i > 0) fputc(' ', to);
        show_word(to, request->argv[i].data, request->argv[i].len);
    }
}

static void show_effect(FILE *to, struct request *request, const struct effect *effect)
{
    static struct effect_writer writer;
    struct outbuf out;
    size_t size;
    outbuf_init(&out);
    effect_writer_init(&writer, &out);
    writer.db = effect->db;
    effect_writer_put(&writer, effect);
    effect_writer_end(&writer);
    char *text = mem_alloc(out.len);
    outbuf_copy(&out, text);
    enum request_status status = request_read(request, text, out.len, &size);
    ensure(status == REQUEST_WHOLE && size == out.len, "%zu of %zu bytes", size, out.len);
    show_words(to, request);
    mem_free(text);
    outbuf_drop(&out);
}

/* Maps the file, because it may be larger than memory. Prints the records of a journal up to `end`,
 * which must be the end of a good record: each line and each command, with its offset in the file.
 * Effects in brief form are printed as commands. Returns false, with errno set, if the file can't
 * be read. */
static bool records_show(FILE *to, const char *path, uint64_t end)
{
    int fd, error = disk_open_to_read(path, &fd);
    if (error != 0) errno = error;
    if (error != 0) return false;
    char *data = end > 0 ? mmap(NULL, end, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    disk_close(fd);
    if (data == MAP_FAILED) return false;
    struct request request;
    struct bytes last = { 0 };
    request_init(&request);
    size_t size = 0;
    for (uint64_t at = 0; at < end; at += size) {
        const char *part = data + at;
        struct effect effect = { 0 };
        uint32_t sum;
        fprintf(to, "  %" PRIu64 " ", at);
        if (*part == '#') {
            const char *line_end = memchr(part, '\n', end - at);
            size = line_end != NULL ? (size_t)(line_end + 1 - part) : end - at;
            if (size == RECORD_SUM_LINE && record_parse_sum(part, &sum)) last.data = NULL;
            show_line(to, part, size > 2 ? size - 2 : size);
        } else if (effect_brief_begins(*part)) {
            enum request_status status = effect_brief_read(part, end - at, &last, &effect, &size);
            ensure(status == REQUEST_WHOLE, "a bad effect in a good record");
            show_effect(to, &request, &effect);
        } else {
            enum request_status status = request_read(&request, part, end - at, &size);
            ensure(status == REQUEST_WHOLE, "a bad command in a good record");
            show_words(to, &request);
        }
        fputc('\n', to);
    }
    request_drop(&request);
    if (data != NULL) munmap(data, end);
    return true;
}

/* ---- the verdicts ---------------------------------------------------------------------------- */

static void print_snapshot(const struct judgement *found)
{
    const struct snapshot_info *info = &found->info;
    printf("snapshot");
    if (info->length > 0) {
        printf(", version %d", SNAPSHOT_VERSION);
        time_t seconds = (time_t)(info->created / 1000);
        struct tm parts;
        char made[32];
        if (gmtime_r(&seconds, &parts) != NULL &&
            strftime(made, sizeof(made), "%Y-%m-%d %H:%M:%S", &parts) > 0)
            printf(", made %s.%03d UTC", made, (int)(info->created % 1000));
    }
    printf(", %" PRIu64 " bytes", found->size);
    if (info->length > 0)
        printf(" (%" PRIu64 " unpacked, %" PRIu32 " blocks): %" PRIu64 " keys in %" PRIu64
               " changes",
               info->raw, info->blocks, info->keys, found->effects);
    putchar('\n');
}

static bool is_of_redis(const struct data_file *file)
{
    return file->kind == DATA_RDB || file->kind == DATA_AOF;
}

static void print_verdict(const struct data_file *file, const struct judgement *found)
{
    switch (found->verdict) {
    case WHOLE:
        if (!is_of_redis(file)) puts("  whole");
        return;
    case TORN:
        printf("  torn: the last complete record ends at byte %" PRIu64 ", %" PRIu64
               " bytes follow\n  at byte %" PRIu64 ": ",
               found->journal.good, found->size - found->journal.good, found->bad);
        break;
    case DAMAGED: printf("  damaged at byte %" PRIu64 ": ", found->bad); break;
    case UNREADABLE: printf("  can't be read: "); break;
    }
    show_path(stdout, found->reason);
    putchar('\n');
    if (found->verdict == DAMAGED && file->kind == DATA_JOURNAL)
        printf("  good up to byte %" PRIu64 ", %" PRIu64 " bytes follow\n", found->journal.good,
               found->size - found->journal.good);
    if (found->verdict == UNREADABLE) return;

    /* Show how the bad record begins, unless the file is compressed. */
    char start[SHOWN + 1];
    size_t got = 0;
    int fd;
    bool is_text = file->kind == DATA_JOURNAL || file->kind == DATA_UNKNOWN;
    if (!is_text || disk_open_to_read(file->path, &fd) != 0) return;
    if (disk_read(fd, start, sizeof(start), found->bad, &got) == 0 && got > 0) {
        bool is_brief = found->journal.version > 1 && effect_brief_begins(start[0]);
        struct effect effect = { 0 };
        struct bytes last = { 0 };
        size_t size;
        fputs("  it begins ", stdout);
        /* An effect in brief form is shown as its command, unless it is malformed or incomplete,
         * or leaves out its key because the effect before it has the same. */
        if (is_brief && effect_brief_read(start, got, &last, &effect, &size) == REQUEST_WHOLE) {
            struct request request;
            request_init(&request);
            show_effect(stdout, &request, &effect);
            request_drop(&request);
        } else {
            show_start(stdout, start, got, SHOWN);
        }
        putchar('\n');
    }
    disk_close(fd);
}

static void print_instants(const char *what, msec from, msec to)
{
    char first[CONF_INSTANT_MAX], last[CONF_INSTANT_MAX];
    printf("%s from %s to %s", what, conf_print_instant(from, first), conf_print_instant(to, last));
}

static void end_points(struct check *check)
{
    if (check->points.known) {
        print_instants("points in time:", check->points.from, check->points.to);
        putchar('\n');
    }
    check->points = (struct points){ 0 };
}

static void begin_points(struct check *check, msec from, msec to)
{
    end_points(check);
    check->points = (struct points){ .known = true, .from = from, .to = to };
}

/* Which instants does a start with `until` reach with this file and those before it? */
static void note_points(struct check *check, const struct data_file *file,
                        const struct judgement *found)
{
    struct points *points = &check->points;
    const struct replay_file *journal = &found->journal;
    if (file->kind == DATA_SNAPSHOT && file->is_named && found->verdict == WHOLE) {
        msec made = found->info.created;
        if (!points->known || points->is_ended || file->is_anew) begin_points(check, made, made);
        if (made > points->to) points->to = made;
    } else if (file->kind == DATA_JOURNAL && points->known && journal->records > 0) {
        bool is_dated = journal->records > journal->undated;
        if (is_dated && (journal->undated > 0 || points->is_ended))
            begin_points(check, journal->first, journal->first);
        if (is_dated && journal->latest > points->to) points->to = journal->latest;
        if (!is_dated) points->is_ended = true;
    }
    if (found->verdict > TORN) points->is_ended = true;
}

static bool cut_at(const struct data_file *file, uint64_t at)
{
    struct cut cut;
    uint64_t length = at > 0 ? at : strlen(RECORD_FIRST_LINE); /* which cut_and_keep writes again */
    int fd = open(file->path, O_RDONLY | O_CLOEXEC), error = fd < 0 ? errno : 0;
    /* The kernel grants a write lease only if no other process, such as a running daemon, has the
     * file open. Only the file's owner and root may ask for one; others cut without this check. */
    if (error == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) != 0 && errno == EAGAIN) error = EBUSY;
    if (fd >= 0) close(fd);
    if (error == 0) error = cut_and_keep(file->path, at, &cut);
    if (error == 0) error = data_file_lower_synced(file, length);

    if (error != 0) {
        printf("  not cut: %s\n", error == EBUSY
                                      ? "another process has it open. Stop the daemon first"
                                      : strerror(error));
        return false;
    }
    printf("  cut at byte %" PRIu64 ": %" PRIu64 " bytes with about %" PRIu64 " records are lost",
           at, cut.bytes, cut.records);
    if (cut.kept[0] != '\0') {
        fputs("; the bytes are kept in ", stdout);
        show_path(stdout, cut.kept);
    }
    putchar('\n');
    return true;
}

/* Returns true if the file was repaired. */
static bool repair(struct check *check, const struct data_file *file, const struct judgement *found)
{
    uint64_t first_line = strlen(RECORD_FIRST_LINE);
    if (!check->fix || file->kind != DATA_JOURNAL || file->is_kept) return false;
    if (check->cut_set) {
        puts("  continues the file before it, which was cut");
        /* The file no longer continues the one that was cut, so it is emptied. */
        if (found->journal.good >= first_line) return cut_at(file, first_line);
        puts("  not cut: no record of it can be read");
        return false;
    }
    if (found->verdict == TORN) return cut_at(file, found->journal.good);
    if (found->verdict != DAMAGED || !check->cut_at_damage) return false;
    /* A file that ends in its first line has no records to lose. */
    if (found->journal.good == 0 && found->size >= first_line) {
        puts("  not cut: no record of it can be read");
        return false;
    }
    check->cut_set = cut_at(file, found->journal.good);
    return check->cut_set;
}

static void end_store(struct check *check)
{
    if (check->store == NULL) return;
    uint64_t keys = 0;
    for (unsigned db = 0; db < check->store->database_count; db++)
        keys += keyspace_count_alive(store_database(check->store, db), check->now);
    struct digest digest = store_digest(check->store, check->now);
    store_check(check->store);
    if (!check->unjudged)
        printf("total: %" PRIu64 " keys, digest %016" PRIx64 "%016" PRIx64 "\n", keys, digest.high,
               digest.low);
    store_free(check->store);
    check->store = NULL;
}

static void check_file(struct check *check, const struct data_file *file)
{
    if (check->files == 0 || file->set != check->set) {
        end_store(check);
        end_points(check);
        check->set = file->set;
        check->cut_set = check->unjudged = false;
        check->before = (struct journal_end){ 0 };
        if (check->deep) check->store = store_new(DATABASES_MAX);
    }
    static const char *const versions[] = { "", ", version 1", ", version 2" };
    struct judgement found;
    bool is_loaded = !check->unjudged && !file->is_kept;
    judge_file(file, is_loaded ? check->store : NULL, check->now, &check->before, &found);
    check->before = found.end;

    show_path(stdout, file->path);
    fputs(file->is_kept ? "\n  kept " : "\n  ", stdout);
    switch (file->kind) {
    case DATA_MANIFEST: puts("manifest"); break;
    case DATA_SNAPSHOT: print_snapshot(&found); break;
    case DATA_JOURNAL:
        printf("journal%s, %" PRIu64 " bytes: %" PRIu64 " records, %" PRIu64 " changes\n",
               versions[found.journal.version], found.size, found.journal.records, found.effects);
        if (found.journal.records > found.journal.undated) {
            print_instants("  changes", found.journal.first, found.journal.last);
            if (found.journal.set_back) fputs("; the clock was set back in between", stdout);
            putchar('\n');
        }
        if (found.journal.undated > 0)
            printf("  %" PRIu64 " records without an instant, of an earlier version\n",
                   found.journal.undated);
        break;
    case DATA_RDB: puts("Redis' RDB: not checked, use redis-check-rdb"); break;
    case DATA_AOF: puts("Redis' AOF: not checked, use redis-check-aof"); break;
    case DATA_UNKNOWN:
    case DATA_UNREADABLE: printf("%" PRIu64 " bytes\n", found.size); break;
    }

    print_verdict(file, &found);
    if (check->show && file->kind == DATA_JOURNAL &&
        !records_show(stdout, file->path, found.journal.good))
        printf("  not shown: %s\n", strerror(errno));
    bool is_foreign = is_of_redis(file);
    if (is_foreign || (found.verdict > TORN && !file->is_kept)) check->unjudged = true;
    note_points(check, file, &found);
    bool is_fixed = repair(check, file, &found);
    check->files++;
    check->bytes += found.size;
    check->records += found.journal.records;
    check->changes += found.effects;
    check->fixed += is_fixed;
    if (is_fixed) found.verdict = WHOLE;
    check->foreign += is_foreign;
    check->counts[found.verdict] += !is_foreign;
    if (found.verdict > check->worst) check->worst = found.verdict;
}

int main(int argc, char **argv)
{
    struct check check = { .now = (msec)time(NULL) * 1000 };
    struct data_files all = { 0 };
    for (int id; (id = usage_next(&usages_check, argc, argv, EXPIRED_VERSION)) != -1;) {
        switch (id) {
        case CHECK_DEEP: check.deep = true; break;
        case CHECK_SHOW: check.show = true; break;
        case CHECK_FIX: check.fix = true; break;
        case CHECK_CUT_AT_DAMAGE: check.cut_at_damage = true; break;
        }
    }
    if (optind >= argc || (check.cut_at_damage && !check.fix)) usage_refuse(&usages_check);
    for (int i = optind; i < argc; i++) {
        size_t before = all.count;
        bool found = data_files_find(&all, argv[i]);
        const char *why = found ? "no data files found" : strerror(errno);
        if (found && all.count > before) continue;
        fputs("expired-check: ", stderr);
        show_path(stderr, argv[i]);
        fprintf(stderr, ": %s\n", why);
        data_files_drop(&all);
        return EXIT_UNREADABLE;
    }
    for (size_t i = 0; i < all.count; i++)
        check_file(&check, &all.files[i]);
    end_store(&check);
    end_points(&check);

    printf("%" PRIu64 " files, %" PRIu64 " bytes, %" PRIu64 " records, %" PRIu64 " changes: "
           "%" PRIu64 " whole, %" PRIu64 " torn, %" PRIu64 " damaged, %" PRIu64 " unreadable",
           check.files, check.bytes, check.records, check.changes, check.counts[WHOLE],
           check.counts[TORN], check.counts[DAMAGED], check.counts[UNREADABLE]);
    if (check.fixed > 0) printf("; %" PRIu64 " cut", check.fixed);
    if (check.foreign > 0) printf("; %" PRIu64 " of Redis not checked", check.foreign);
    putchar('\n');

    data_files_drop(&all);
    return fflush(stdout) == 0 && !ferror(stdout) ? (int)check.worst : EXIT_UNREADABLE;
}
