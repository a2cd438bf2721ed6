/* expired-export: writes the data of a snapshot or a data folder to standard output, as commands
 * for Redis 7.0.
 *
 * Loads the files into a store as the daemon does, and removes expired data. Then it walks the
 * store twice: first without output, to find what Redis can't hold, so that --strict can refuse
 * before anything is written; then to write. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/base/version.h"
#include "server/disk/effect/effect_text.h"
#include "server/disk/effect/request.h"
#include "store/mem/mem.h"
#include "store/mem/outbuf.h"
#include "store/sweep/expiry.h"
#include "store/walk.h"
#include "tools/files/judge.h"
#include "tools/files/show.h"
#include "tools/files/usages.h"

enum {
    DATABASES_MAX = 16384,
    REDIS_DATABASES = 16, /* redis-server's default */
    EXPIRY_WORK = 100000,
    OUTPUT = 1 << 20,
    DRAIN = 128 * 1024,
};

/* ---- losses: data that Redis 7.0 can't hold -------------------------------------------------- */

enum loss {
    LOSS_MEMBER_DEADLINE, /* members of sets and sorted sets, fields of hashes */
    LOSS_DEHYDRATOR,
    LOSS_LEASE,    /* claims of its elements */
    LOSS_HOLDER,   /* holders of leases */
    LOSS_SOFT,     /* soft deadlines of strings */
    LOSS_RELEASED, /* pending entries of streams that belong to no consumer */
    LOSS_DELETED,  /* pending entries whose entry was deleted: XCLAIM does not add them */
    LOSS_POLICY,
    LOSS_KINDS,
};

enum { LOSS_NAMES = 3, LOSS_NAME_SHOWN = 48 };

/* The losses of one kind, and the names of the first few keys for a report. */
struct lost {
    uint64_t count, keys; /* LOSS_DEHYDRATOR counts elements */
    char names[LOSS_NAMES][LOSS_NAME_SHOWN];
    uint32_t lens[LOSS_NAMES]; /* of the names before they were cut */
    unsigned named;
};

static const char *const words[LOSS_KINDS] = {
    [LOSS_MEMBER_DEADLINE] = "members with their own deadline",
    [LOSS_DEHYDRATOR] = "elements of dehydrators",
    [LOSS_LEASE] = "claims of elements",
    [LOSS_HOLDER] = "holders of leases",
    [LOSS_SOFT] = "soft deadlines",
    [LOSS_RELEASED] = "released pending entries",
    [LOSS_DELETED] = "pending entries that were deleted",
    [LOSS_POLICY] = "policies",
};

/* ---- the export ------------------------------------------------------------------------------ */

struct export
{
    bool text, strict, drop_members;
    msec now;
    struct store *store;
    struct lost losses[LOSS_KINDS];
    bool writes; /* false during the first walk */
    struct outbuf out;
    struct effect_writer effects;
    struct request request;
    struct key_seen {
        bool any, has_expiry, claimed, released, deleted,
            passed; /* the key's effects so far; `passed`: it is left out */
    } key;
    uint64_t keys, passed_keys;
    unsigned last_db;
};

__attribute__((format(printf, 2, 3), noreturn)) static void fail(int status, const char *format,
                                                                 ...)
{
    va_list values;
    fputs("expired-export: ", stderr);
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(status);
}

static void print_file(const struct data_file *file)
{
    fputs("expired-export: ", stderr);
    show_path(stderr, file->path);
    fputs(": ", stderr);
}

/* Returns EXIT_GOOD or EXIT_TORN; ends the program if the file is neither. *end is the end of the
 * file before in the set, then of this file. */
static int load_file(struct store *store, const struct data_file *file, msec now,
                     struct journal_end *end)
{
    struct judgement found;
    judge_file(file, store, now, end, &found);
    *end = found.end;
    if (found.verdict == WHOLE && file->kind != DATA_RDB && file->kind != DATA_AOF)
        return EXIT_GOOD;
    print_file(file);
    if (found.verdict == TORN) {
        fprintf(stderr, "torn: the last %" PRIu64 " bytes are an incomplete record and left out\n",
                found.size - found.journal.good);
        return EXIT_TORN;
    }
    if (found.verdict == WHOLE)
        fail(EXIT_UNREADABLE, "is a file of Redis: load it with redis-server");
    bool is_damaged = found.verdict == DAMAGED;
    if (is_damaged) fprintf(stderr, "damaged at byte %" PRIu64 ": ", found.bad);
    show_path(stderr, found.reason);
    fputs(is_damaged ? ". Run expired-check on it\n" : "\n", stderr);
    exit(is_damaged ? EXIT_DAMAGED : EXIT_UNREADABLE);
}

/* Prefers the set with a manifest: the daemon loads a snapshot only without a manifest. */
static unsigned choose_set(const struct data_files *all)
{
    unsigned chosen = 0, manifests = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->files[i].kind == DATA_MANIFEST) {
            manifests++;
            chosen = all->files[i].set;
        }
    if (manifests == 1) return chosen;
    if (manifests == 0 && all->sets == 1) return all->files[0].set;
    for (size_t i = 0; i < all->count; i++)
        if (i == 0 || all->files[i].set != all->files[i - 1].set) {
            print_file(&all->files[i]);
            fputs("found\n", stderr);
        }
    fail(EXIT_UNREADABLE, "several sets of data found: give the path of one");
}

/* Call between two commands, because text output needs complete ones. */
static void drain(struct export *export)
{
    size_t len = export->out.len;
    if (len == 0) return;
    if (export->text) {
        char *data = mem_alloc(len);
        outbuf_copy(&export->out, data);
        for (size_t at = 0, size; at < len; at += size) {
            if (request_read(&export->request, data + at, len - at, &size) != REQUEST_WHOLE)
                fail(EXIT_UNREADABLE, "internal error: can't read a command that was just written");
            for (int i = 0; i < export->request.argc; i++) {
                if (i > 0) putchar(' ');
                show_word(stdout, export->request.argv[i].data, export->request.argv[i].len);
            }
            putchar('\n');
        }
        mem_free(data);
        outbuf_consume(&export->out, len);
        return;
    }
    for (struct iovec piece; outbuf_peek(&export->out, &piece, 1) > 0;) {
        if (fwrite(piece.iov_base, 1, piece.iov_len, stdout) != piece.iov_len)
            fail(EXIT_UNREADABLE, "%s", strerror(errno));
        outbuf_consume(&export->out, piece.iov_len);
    }
}

/* During the first walk, counts one loss in a key or policy. *seen tells whether that key has had
 * such a loss before. */
static void lose(struct export *export, enum loss loss, struct bytes key, bool *seen)
{
    struct lost *lost = &export->losses[loss];
    bool first = !*seen;
    *seen = true;
    if (export->writes) return;
    lost->count++;
    if (!first) return;
    lost->keys++;
    if (lost->named == LOSS_NAMES) return;
    size_t len = key.len < LOSS_NAME_SHOWN ? key.len : LOSS_NAME_SHOWN;
    if (len > 0) memcpy(lost->names[lost->named], key.data, len);
    lost->lens[lost->named++] = (uint32_t)key.len;
}

/* Returns false if Redis can't hold the effect, which is then counted as a loss if it matters. */
static bool fits(struct export *export, struct effect *effect)
{
    bool first = false;
    switch (effect->kind) {
    case EFFECT_POLICY_SET: lose(export, LOSS_POLICY, effect->key, &first); return false;
    case EFFECT_REDE_PUSH:
        lose(export, LOSS_DEHYDRATOR, effect->key, &export->key.passed);
        if (effect->stage.claimed) lose(export, LOSS_LEASE, effect->key, &export->key.claimed);
        return false;
    case EFFECT_LEASE_TAKE:
        lose(export, LOSS_HOLDER, effect->key, &export->key.passed);
        return false;
    case EFFECT_SOFT: lose(export, LOSS_SOFT, effect->key, &first); return false;
    case EFFECT_REDE_OPTIONS:
    case EFFECT_REDE_FOLLOW:
    case EFFECT_REDE_CRON:
    case EFFECT_REDE_REMEMBER:
    case EFFECT_REDE_PAUSE:
    case EFFECT_REDE_RATE:
    case EFFECT_TOKEN: return false;         /* counts grants of this server only */
    case EFFECT_STREAM_RETAIN: return false; /* comes from a policy */
    case EFFECT_REPEAT_LIMITS:
    case EFFECT_REPEAT_PUT:
    case EFFECT_REPEAT_COUNTS: return false; /* Redis 7.0 forgets what producers sent */
    case EFFECT_PENDING_PUT: {
        struct entry *entry = keyspace_find(store_database(export->store, effect->db), effect->key);
        bool is_released = effect->b.data == NULL;
        if (!is_released && entry != NULL && stream_has(entry->object.stream, effect->id))
            return true;
        lose(export, is_released ? LOSS_RELEASED : LOSS_DELETED, effect->key,
             is_released ? &export->key.released : &export->key.deleted);
        return false;
    }
    case EFFECT_EXPIRE: return export->key.any;
    case EFFECT_SET_ADD:
    case EFFECT_HASH_PUT:
    case EFFECT_ZSET_PUT:
        if (effect->at == NEVER) return true;
        lose(export, LOSS_MEMBER_DEADLINE, effect->key, &export->key.has_expiry);
        effect->at = NEVER;
        return !export->drop_members;
    default: return true;
    }
}

static void take_effect(void *ctx, const struct effect *effect)
{
    struct export *export = ctx;
    struct effect plain = *effect;
    if (!fits(export, &plain)) return;
    /* A library belongs to no key. */
    if (effect->kind != EFFECT_LIBRARY_SET) export->key.any = true;
    if (effect->db > export->last_db) export->last_db = effect->db;
    if (!export->writes) return;
    effect_writer_put(&export->effects, &plain);
    if (export->out.len < DRAIN) return;
    effect_writer_end(&export->effects);
    drain(export);
}

static bool take_key(void *ctx)
{
    struct export *export = ctx;
    if (export->key.any)
        export->keys++;
    else
        export->passed_keys++;
    export->key = (struct key_seen){ 0 };
    return true;
}

static void walk(struct export *export, bool writes)
{
    export->writes = writes;
    export->keys = export->passed_keys = 0;
    export->key = (struct key_seen){ 0 };
    walk_store(export->store,
               &(struct store_visitor){ take_effect, take_key, export, NULL, false });
}

static void report_losses(const struct export *export)
{
    bool any = false;
    for (int i = 0; i < LOSS_KINDS; i++) {
        const struct lost *lost = &export->losses[i];
        if (lost->count == 0) continue;
        any = true;
        fprintf(stderr, "%s: %" PRIu64, words[i], lost->count);
        for (unsigned name = 0; name < lost->named; name++) {
            fputs(name > 0 ? ", " : " in ", stderr);
            show_start(stderr, lost->names[name], lost->lens[name], LOSS_NAME_SHOWN);
        }
        if (lost->keys > lost->named)
            fprintf(stderr, " and %" PRIu64 " more", lost->keys - lost->named);
        bool is_written = i == LOSS_MEMBER_DEADLINE && !export->drop_members;
        fprintf(stderr, "; %s\n",
                export->strict ? "not in Redis"
                : is_written   ? "written without the deadline"
                               : "left out");
    }
    if (export->strict && any) fail(EXIT_LOSSES, "nothing is written because of --strict");
    if (export->last_db >= REDIS_DATABASES)
        fprintf(stderr, "start redis-server with --databases %u or more\n", export->last_db + 1);
}

/* Freed at exit, even when fail() ends the program. */
static struct export *ended;

static void end(void)
{
    outbuf_drop(&ended->out);
    request_drop(&ended->request);
    store_free(ended->store);
    mem_free(ended);
}

int main(int argc, char **argv)
{
    struct export *export = ended = mem_zalloc(sizeof(*export));
    export->now = (msec)time(NULL) * 1000;
    export->store = store_new(DATABASES_MAX);
    atexit(end);
    for (int id; (id = usage_next(&usages_export, argc, argv, EXPIRED_VERSION)) != -1;) {
        switch (id) {
        case EXPORT_TEXT: export->text = true; break;
        case EXPORT_STRICT: export->strict = true; break;
        case EXPORT_DROP_MEMBERS: export->drop_members = true; break;
        case EXPORT_KEEP_MEMBERS: export->drop_members = false; break;
        }
    }
    if (optind + 1 != argc) usage_refuse(&usages_export);
    struct data_files all = { 0 };
    struct journal_end before = { 0 };
    int status = EXIT_GOOD;
    bool found = data_files_find(&all, argv[optind]);
    if (!found || all.count == 0)
        fail(EXIT_UNREADABLE, "%s", found ? "no data files found" : strerror(errno));
    unsigned set = choose_set(&all);
    for (size_t i = 0; i < all.count; i++) {
        if (all.files[i].set != set || all.files[i].is_kept) continue;
        int one = load_file(export->store, &all.files[i], export->now, &before);
        if (one > status) status = one;
    }
    data_files_drop(&all);
    while (expiry_run(export->store, export->now, EXPIRY_WORK) >= EXPIRY_WORK)
        continue;

    walk(export, false);
    report_losses(export);

    static char buffer[OUTPUT];
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    outbuf_init(&export->out);
    request_init(&export->request);
    effect_writer_init(&export->effects, &export->out);
    walk(export, true);
    effect_writer_end(&export->effects);
    drain(export);
    if (fflush(stdout) != 0) fail(EXIT_UNREADABLE, "%s", strerror(errno));

    fprintf(stderr, "%" PRIu64 " key%s written, %" PRIu64 " left out\n", export->keys,
            export->keys == 1 ? "" : "s", export->passed_keys);
    return status;
}
