/* import_aof: reads an AOF of Redis from an offset on, and runs its commands through
 * import->command; those of a transaction only after its EXEC was read. Depends on request.h. One
 * buffer holds the current command or transaction. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "server/disk/format/disk.h"
#include "server/disk/import/import_state.h"
#include "store/mem/mem.h"

enum {
    BUFFER = 1024 * 1024,
    PROGRESS_STEP = 1024 * 1024,
    LINE_MAX_BYTES = 64 * 1024,
    SEARCH = 16 * 1024 * 1024, /* bytes searched after a length that is too long */
};

struct reading {
    struct import *import;
    struct request request;
    int fd;
    unsigned db;
    uint64_t size;         /* bytes in the file */
    uint64_t at, reported; /* offset in the file of the bytes at `start` */
    size_t part;           /* offset from there of the current command */
    char *buffer;
    size_t cap, start, end;
};

enum step { STEP_GOOD, STEP_SHORT /* the file ends within it */, STEP_BAD };

static const char *bytes_at(const struct reading *in, size_t offset)
{
    return in->buffer + in->start + offset;
}

static enum step fail_aof(struct reading *in, size_t offset, const char *what)
{
    import_fail(in->import, "at byte %" PRIu64 ": %s", in->at + offset, what);
    return STEP_BAD;
}

static void make_aof_room(struct reading *in)
{
    if (in->start > 0) {
        memmove(in->buffer, in->buffer + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    if (in->end < in->cap) return;
    in->cap = in->cap > 0 ? 2 * in->cap : BUFFER;
    in->buffer = mem_realloc(in->buffer, in->cap);
}

/* Reads until `wanted` bytes are in the buffer. An absurd length costs no memory: nothing is read
 * if it exceeds the rest of the file. */
static enum step fill_aof(struct reading *in, uint64_t wanted)
{
    if (in->at + wanted > in->size) return STEP_SHORT;
    while (in->end - in->start < wanted) {
        size_t got;
        make_aof_room(in);
        int error = disk_read(in->fd, in->buffer + in->end, in->cap - in->end,
                              in->at + (in->end - in->start), &got);
        if (error != 0) return fail_aof(in, in->end - in->start, strerror(error));
        if (got == 0) return STEP_SHORT;
        in->end += got;
    }
    return STEP_GOOD;
}

/* Reads the next command, or a line that begins with #, in which Redis writes times. Such a line
 * has no arguments. */
static enum step read_part(struct reading *in, size_t offset, size_t *size)
{
    in->part = offset;
    in->request.argc = 0;
    enum step more = fill_aof(in, offset + 1);
    if (more != STEP_GOOD) return more;
    for (size_t searched = 0; *bytes_at(in, offset) == '#';) {
        size_t here = in->end - in->start - offset;
        const char *line = bytes_at(in, offset);
        const char *end = memchr(line + searched, '\n', here - searched);
        *size = end != NULL ? (size_t)(end + 1 - line) : here;
        if (end != NULL) return STEP_GOOD;
        if (here > LINE_MAX_BYTES) return fail_aof(in, offset, "line is too long");
        searched = here;
        more = fill_aof(in, offset + here + 1);
        if (more != STEP_GOOD) return more;
    }
    for (;;) {
        size_t here = in->end - in->start - offset;
        enum request_status status = request_read(&in->request, bytes_at(in, offset), here, size);
        if (status == REQUEST_WHOLE) return STEP_GOOD;
        if (status == REQUEST_MALFORMED) return fail_aof(in, offset + *size, "malformed command");
        more = fill_aof(in, offset + *size);
        if (more != STEP_GOOD) return more;
    }
}

static bool is_named_command(const struct reading *in, const char *word)
{
    return in->request.argc > 0 && bytes_is_word(in->request.argv[0], word);
}

static bool run_aof_command(struct reading *in, size_t offset)
{
    const struct bytes *argv = in->request.argv;
    struct import *import = in->import;
    char name[IMPORT_KIND_NAME / 2];
    uint64_t at = in->at + offset;
    import_show(name, sizeof(name), argv[0]);
    /* Commands of modules are named "module.command". */
    bool is_ours = argv[0].len >= 5 && strncasecmp(argv[0].data, "REDE.", 5) == 0;
    if (!is_ours && memchr(argv[0].data, '.', argv[0].len) != NULL) {
        struct bytes what = in->request.argc > 1 ? argv[1] : argv[0];
        return import_pass_over(import, "module command", name, what, at);
    }
    import->commands++;
    return import->command(import->ctx, &in->db, in->request.argc, argv) ||
           import_fail(import, "at byte %" PRIu64 ": the command %s is unknown here, or it failed",
                       at, name);
}

/* Runs the next command or, from MULTI to EXEC, the next transaction. */
static enum step run_next(struct reading *in)
{
    const struct replay_progress *progress = &in->import->progress;
    size_t len, size;
    enum step step = read_part(in, 0, &len);
    if (step != STEP_GOOD) return step;
    if (is_named_command(in, "EXEC")) return fail_aof(in, 0, "EXEC without MULTI");
    if (is_named_command(in, "MULTI")) {
        size_t first = len;
        do { /* find the end before running anything */
            step = read_part(in, len, &size);
            if (step != STEP_GOOD) return step;
            if (is_named_command(in, "MULTI"))
                return fail_aof(in, len, "MULTI within a transaction");
            len += size;
        } while (!is_named_command(in, "EXEC"));
        for (size_t offset = first; offset < len; offset += size) {
            step = read_part(in, offset, &size);
            if (step != STEP_GOOD) return step;
            bool is_command = in->request.argc > 0 && !is_named_command(in, "EXEC");
            if (is_command && !run_aof_command(in, offset)) return STEP_BAD;
        }
    } else if (in->request.argc > 0 && !run_aof_command(in, 0)) {
        return STEP_BAD;
    }
    in->start += len;
    in->at += len;
    if (in->at - in->reported < PROGRESS_STEP || progress->report == NULL) return STEP_GOOD;
    in->reported = in->at;
    progress->report(progress->ctx, in->reported);
    return STEP_GOOD;
}

/* Decides why the file ends within its last command: it is torn, or a length in that command is
 * wrong. If complete commands follow the beginning of that command, the length spans them, and the
 * file is damaged. */
static enum step judge_short(struct reading *in)
{
    uint64_t rest = in->size - in->at;
    if (rest > in->part + SEARCH) rest = in->part + SEARCH;
    enum step more = fill_aof(in, rest);
    if (more != STEP_GOOD) return more;
    const char *at = bytes_at(in, in->part), *end = bytes_at(in, rest);
    while ((at = memmem(at, (size_t)(end - at), "\r\n*", 3)) != NULL) {
        size_t first, second, len = (size_t)(end - (at += 2));
        if (request_measure(at, len, &first) == REQUEST_WHOLE && first < len &&
            request_measure(at + first, len - first, &second) == REQUEST_WHOLE)
            return fail_aof(in, in->part, "wrong length: it spans other commands");
    }
    return STEP_SHORT;
}

bool import_aof(struct import *import, int fd, uint64_t from, uint64_t size)
{
    struct reading in = { .import = import, .fd = fd, .at = from, .reported = from, .size = size };
    enum step step = STEP_GOOD;
    request_init(&in.request);
    make_aof_room(&in);
    while (step == STEP_GOOD && in.at < size)
        step = run_next(&in);
    if (step == STEP_SHORT) step = judge_short(&in);
    request_drop(&in.request);
    mem_free(in.buffer);
    import->good = in.at;
    import->torn = step == STEP_SHORT;
    import->torn_size = import->torn ? size - in.at : 0;
    return step != STEP_BAD;
}
