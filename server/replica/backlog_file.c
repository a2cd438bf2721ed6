/* backlog_file: see backlog_file.h. */
#include "server/replica/backlog_file.h"

#include <errno.h>
#include <sys/stat.h>

#include "server/disk/format/crc32c.h"
#include "server/disk/format/disk.h"
#include "server/disk/format/file_kind.h"
#include "server/disk/format/record.h"

enum {
    FIRST_LINE = sizeof(BACKLOG_FIRST_LINE) - 1,
    HEAD_MAX = FIRST_LINE + STREAM_MARK_MAX,
    PIECE = 64 * 1024,
};

/* What this server can have left at the file's path, even after a power failure. */
#define LEFT_BEHIND (FILE_SET(FILE_BACKLOG) | FILE_SET(FILE_EMPTY) | FILE_SET(FILE_UNFINISHED))

struct output {
    int fd, error;
    uint64_t at;
    uint32_t sum;
};

static void put(struct output *out, const void *data, size_t len)
{
    if (out->error != 0) return;
    out->error = disk_write_bytes(out->fd, data, len, out->at);
    out->sum = crc32c(out->sum, data, len);
    out->at += len;
}

int backlog_file_write(const char *path, const struct stream_position *position,
                       const struct backlog *backlog)
{
    struct output out = { .fd = -1 };
    int error = file_check(path, LEFT_BEHIND);
    if (error == 0) error = disk_create(path, &out.fd);
    if (error != 0) return error;

    struct position_marks none = { .known = false };
    char mark[STREAM_MARK_MAX], line[RECORD_SUM_LINE];
    put(&out, BACKLOG_FIRST_LINE, FIRST_LINE);
    put(&out, mark, position_marks_print(&none, position, mark));
    for (uint64_t at = backlog_begin(backlog); at < backlog_end(backlog);) {
        struct bytes view = backlog_view(backlog, at);
        put(&out, view.data, view.len);
        at += view.len;
    }
    record_print_sum(line, out.sum);
    put(&out, line, sizeof(line));

    disk_close(out.fd);
    if (out.error != 0) disk_remove(path);
    return out.error;
}

struct input {
    int fd;
    uint64_t size, bytes_at; /* size of the file; offset of the stream's bytes in it */
    uint32_t sum;            /* checksum of everything before bytes_at */
    struct position_marks end;
};

static bool read_exactly(const struct input *in, void *to, size_t len, uint64_t at)
{
    size_t got;
    return disk_read(in->fd, to, len, at, &got) == 0 && got == len;
}

/* Appends the bytes before `position` to the backlog. Returns false if they are damaged. */
static bool read_bytes(struct input *in, const struct stream_position *position,
                       struct backlog *backlog)
{
    char piece[PIECE];
    uint32_t wanted;
    uint64_t at = in->bytes_at, end = in->size - RECORD_SUM_LINE;
    while (at < end) {
        size_t len = end - at < PIECE ? (size_t)(end - at) : PIECE;
        if (!read_exactly(in, piece, len, at)) return false;
        in->sum = crc32c(in->sum, piece, len);
        uint64_t room = position->offset - backlog_end(backlog);
        backlog_append(backlog, piece, len < room ? len : (size_t)room);
        at += len;
    }
    return read_exactly(in, piece, RECORD_SUM_LINE, end) && record_parse_sum(piece, &wanted) &&
           wanted == in->sum;
}

/* Reads the bytes of the stream up to `position`, which is the end of the data, and ignores later
 * bytes: after a crash the data may end earlier than the stream in the file. */
static bool read_open(struct input *in, const struct stream_position *position,
                      struct backlog *backlog)
{
    char head[HEAD_MAX];
    struct stat status;
    size_t got;
    if (fstat(in->fd, &status) != 0) return false;
    in->size = (uint64_t)status.st_size;
    if (disk_read(in->fd, head, sizeof(head), 0, &got) != 0 || got <= FIRST_LINE ||
        memcmp(head, BACKLOG_FIRST_LINE, FIRST_LINE) != 0)
        return false;
    const char *mark = head + FIRST_LINE, *end = memchr(mark, '\n', got - FIRST_LINE);
    if (end == NULL || !position_marks_read(&in->end, mark, (size_t)(end + 1 - mark))) return false;
    in->bytes_at = (uint64_t)(end + 1 - head);
    in->sum = crc32c(0, head, in->bytes_at);
    if (in->size < in->bytes_at + RECORD_SUM_LINE) return false;

    const struct stream_position *last = &in->end.last;
    uint64_t len = in->size - RECORD_SUM_LINE - in->bytes_at;
    if (strcasecmp(last->history.id, position->history.id) != 0 ||
        last->offset < position->offset || len > last->offset ||
        last->offset - len > position->offset)
        return false;
    backlog_restart(backlog, last->offset - len);
    if (read_bytes(in, position, backlog)) return true;
    backlog_restart(backlog, position->offset);
    return false;
}

bool backlog_file_read(const char *path, const struct stream_position *position,
                       struct backlog *backlog)
{
    struct input in = { .fd = -1 };
    if (file_kind(path) != FILE_BACKLOG || disk_open_to_read(path, &in.fd) != 0) return false;
    bool good = read_open(&in, position, backlog);
    disk_close(in.fd);
    return good;
}

void backlog_file_remove(const char *path)
{
    if (file_check(path, LEFT_BEHIND) == 0) disk_remove(path);
}
