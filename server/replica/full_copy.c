/* full_copy: see full_copy.h. */
#include "server/replica/full_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "server/base/process.h"
#include "server/disk/child.h"
#include "server/disk/format/copy.h"
#include "server/disk/import/rdb_store.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { READ = 64 * 1024 };

struct full_copy {
    struct loop *loop;
    const struct store *store;
    void (*progress)(void *ctx);
    void *ctx;
    struct child *child;
    struct loop_io *io; /* NULL without a pipe */
    int fd;             /* the end of the pipe that the parent reads */
    enum full_copy_state state;
    struct full_copy_form form;
    struct backlog *bytes;
    unsigned stream_db;
    uint64_t least; /* offset of the first byte that a reader needs */
    char mark[FULL_COPY_MARK + 1];
    char refusal[FULL_COPY_REFUSAL];
    int64_t fork_usec;
    uint64_t copied_memory;
    char input[READ];
};

/* ---- in the child ---------------------------------------------------------------------------- */

struct writing {
    const struct full_copy *copy;
    int fd;       /* -1 to count only */
    uint64_t len; /* bytes written or counted so far */
};

static bool write_pipe(void *ctx, const void *data, size_t len)
{
    struct writing *writing = ctx;
    const char *from = data;
    writing->len += len;
    while (writing->fd >= 0 && len > 0) {
        ssize_t sent = write(writing->fd, from, len);
        if (sent < 0 && errno != EINTR) return false;
        if (sent < 0) continue;
        from += sent;
        len -= (size_t)sent;
    }
    return true;
}

static const enum rdb_store_form rdb_forms[] = {
    [COPY_FOR_REDIS_7] = RDB_FOR_REDIS_7,
    [COPY_FOR_REDIS_8] = RDB_FOR_REDIS_8,
    [COPY_FOR_VALKEY_9] = RDB_FOR_VALKEY_9,
};

static bool write_data(const struct full_copy *copy, const struct copy_sink *sink)
{
    const struct full_copy_form *form = &copy->form;
    if (form->reader == COPY_FOR_US) return copy_write(copy->store, copy->stream_db, sink);
    return rdb_store_write(copy->store, rdb_forms[form->reader], form->functions_only,
                           copy->stream_db, sink);
}

/* Writes the length of the copy, then the copy. The length is computed by a first pass that writes
 * nothing; both passes write the same, because the data does not change in the child. */
static bool write_sized(struct writing *writing, const struct copy_sink *sink)
{
    char head[32];
    int fd = writing->fd;
    writing->fd = -1;
    if (!write_data(writing->copy, sink)) return false;
    writing->fd = fd;
    int len = snprintf(head, sizeof(head), "$%llu\r\n", (unsigned long long)writing->len);
    return write_pipe(writing, head, (size_t)len) && write_data(writing->copy, sink);
}

static bool write_marked(struct writing *writing, const struct copy_sink *sink)
{
    const struct full_copy *copy = writing->copy;
    char head[FULL_COPY_MARK + 16];
    int len = snprintf(head, sizeof(head), "$EOF:%s\r\n", copy->mark);
    return write_pipe(writing, head, (size_t)len) && write_data(copy, sink) &&
           write_pipe(writing, copy->mark, FULL_COPY_MARK);
}

/* Writes an error in place of "$", with which the reader fails. */
static bool write_refusal(struct writing *writing, const struct rdb_store_losses *losses)
{
    static const char *const readers[] = {
        [COPY_FOR_REDIS_7] = "Redis 7.0",
        [COPY_FOR_REDIS_8] = "Redis 8",
        [COPY_FOR_VALKEY_9] = "Valkey 9",
    };
    const struct {
        uint64_t count;
        const char *what;
    } kinds[] = {
        { losses->dehydrators, "dehydrators" },
        { losses->leases, "leases" },
        { losses->members, "keys with deadlines of members" },
        { losses->soft, "strings with soft deadlines" },
        { losses->streams, "streams with released pending entries or remembered IDs" },
        { losses->rules, "policies" },
    };
    char line[FULL_COPY_REFUSAL];
    size_t len = (size_t)snprintf(line, sizeof(line), "-ERR An RDB for %s can't hold all data: ",
                                  readers[writing->copy->form.reader]);
    const char *between = "";
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].count == 0) continue;
        len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%llu %s", between,
                                (unsigned long long)kinds[i].count, kinds[i].what);
        between = ", ";
    }
    len += (size_t)snprintf(line + len, sizeof(line) - len,
                            ". Use BGSAVE and copy the snapshot for a whole backup, or set "
                            "rdb-copy-lossy yes to leave these out\r\n");
    ensure(len < sizeof(line), "a refusal of %zu bytes", len);
    return write_pipe(writing, line, len);
}

struct report_to {
    struct writing writing; /* comes first, because write_pipe receives the struct's address */
    void (*report)(void *ctx, uint64_t keys);
    void *report_ctx;
};

static void report_keys(void *ctx, uint64_t keys)
{
    struct report_to *to = ctx;
    to->report(to->report_ctx, keys);
}

static int write_copy(void *ctx, int fd, void (*report)(void *ctx, uint64_t keys), void *report_ctx,
                      struct base_size *size)
{
    struct report_to to = { { .copy = ctx, .fd = fd }, report, report_ctx };
    struct copy_sink sink = { .write = write_pipe, .report = report_keys, .ctx = &to };
    const struct full_copy *copy = to.writing.copy;
    const struct full_copy_form *form = &copy->form;
    struct rdb_store_losses losses;
    if (form->must_be_whole && rdb_store_loses(copy->store, rdb_forms[form->reader], &losses))
        return write_refusal(&to.writing, &losses) ? 0 : EPIPE;
    bool good = (form->sized ? write_sized : write_marked)(&to.writing, &sink);
    size->bytes = to.writing.len;
    return good ? 0 : EPIPE;
}

/* ---- in the parent --------------------------------------------------------------------------- */

struct full_copy *full_copy_new(struct loop *loop, const struct store *store,
                                void (*progress)(void *ctx), void *ctx)
{
    struct child *child = child_new();
    if (child == NULL) return NULL;
    struct full_copy *copy = mem_zalloc(sizeof(*copy));
    copy->loop = loop;
    copy->store = store;
    copy->progress = progress;
    copy->ctx = ctx;
    copy->child = child;
    copy->bytes = backlog_new();
    return copy;
}

static void close_pipe(struct full_copy *copy)
{
    if (copy->io == NULL) return;
    loop_io_free(copy->io);
    copy->io = NULL;
    close(copy->fd);
}

void full_copy_free(struct full_copy *copy)
{
    if (copy == NULL) return;
    close_pipe(copy);
    child_free(copy->child);
    backlog_free(copy->bytes);
    mem_free(copy);
}

static bool has_room(const struct full_copy *copy)
{
    return backlog_end(copy->bytes) - copy->least < FULL_COPY_AHEAD;
}

/* Ends the copy when the pipe has ended or carried a refusal. The pipe also ends if the child
 * crashes, so the exit status of the child decides whether the copy is whole. */
static void end_copy(struct full_copy *copy)
{
    struct child_outcome outcome = { .error = ECHILD };
    close_pipe(copy);
    child_await(copy->child);
    child_ended(copy->child, &outcome);
    copy->copied_memory = outcome.copied;
    if (outcome.error != 0)
        copy->state = COPY_FAILED;
    else
        copy->state = copy->refusal[0] != '\0' ? COPY_REFUSED : COPY_WHOLE;
}

static void on_readable(void *ctx, unsigned what)
{
    struct full_copy *copy = ctx;
    (void)what;
    ssize_t got = read(copy->fd, copy->input, sizeof(copy->input));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    /* A refusal arrives as one piece, because it is shorter than PIPE_BUF. */
    bool refused = got > 0 && backlog_end(copy->bytes) == 0 && copy->input[0] == '-';
    if (got > 0) backlog_append(copy->bytes, copy->input, (size_t)got);
    if (refused) {
        static const size_t sign = sizeof("-ERR ") - 1, end = sizeof("\r\n") - 1;
        size_t len = (size_t)got;
        ensure(len > sign + end && len < sizeof(copy->refusal), "a refusal of %zu bytes", len);
        snprintf(copy->refusal, sizeof(copy->refusal), "%.*s", (int)(len - sign - end),
                 copy->input + sign);
    }
    /* A client leaves when it reads a refusal, so do not wait for the end of the pipe. */
    if (got <= 0 || refused) end_copy(copy);
    if (copy->io != NULL && !has_room(copy)) loop_io_want(copy->io, 0);
    copy->progress(copy->ctx);
}

int full_copy_begin(struct full_copy *copy, struct full_copy_form form, unsigned stream_db)
{
    copy->stream_db = stream_db;
    copy->form = form;
    copy->least = 0;
    copy->refusal[0] = '\0';
    backlog_restart(copy->bytes, 0);
    if (!process_random_hex(copy->mark, FULL_COPY_MARK)) return EIO;

    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return errno;
    int64_t began = clock_mono_usec();
    int error = child_begin(copy->child,
                            &(struct child_work){ .run = write_copy, .ctx = copy, .fd = ends[1] });
    copy->fork_usec = clock_mono_usec() - began;
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        return error;
    }
    copy->fd = ends[0];
    fcntl(copy->fd, F_SETFL, O_NONBLOCK);
    copy->io = loop_io_new(copy->loop, copy->fd, on_readable, copy);
    loop_io_want(copy->io, LOOP_READ);
    copy->state = COPY_RUNS;
    return 0;
}

void full_copy_cancel(struct full_copy *copy)
{
    if (copy->state == COPY_RUNS) {
        child_cancel(copy->child);
        end_copy(copy);
    }
    full_copy_reset(copy);
}

enum full_copy_state full_copy_state(const struct full_copy *copy)
{
    return copy->state;
}

struct full_copy_form full_copy_form(const struct full_copy *copy)
{
    return copy->form;
}

const char *full_copy_refusal(const struct full_copy *copy)
{
    return copy->refusal;
}

const struct backlog *full_copy_bytes(const struct full_copy *copy)
{
    return copy->bytes;
}

void full_copy_taken(struct full_copy *copy, uint64_t least)
{
    copy->least = least;
    backlog_trim(copy->bytes, least);
    if (copy->io != NULL) loop_io_want(copy->io, has_room(copy) ? LOOP_READ : 0);
}

void full_copy_reset(struct full_copy *copy)
{
    copy->state = COPY_IDLE;
    backlog_restart(copy->bytes, 0);
}

struct full_copy_report full_copy_report(const struct full_copy *copy)
{
    return (struct full_copy_report){
        .copied_memory = copy->copied_memory,
        .fork_usec = copy->fork_usec,
    };
}
