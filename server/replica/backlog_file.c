/* backlog_file: see backlog_file.h. */
#include "server/replica/backlog_file.h"

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

/* Reads the bytes of the stream up to `position`, which is the end of the data, and ignores later
 * bytes: after a crash the data may end earlier than the stream in the file. Returns false if the
 * file lacks these bytes or is damaged. */
static bool read_open(int fd, const struct stream_position *position, struct backlog *backlog)
{
    char piece[PIECE];
    struct stat status;
    struct position_marks marks = { .known = false };
    size_t got;
    if (fstat(fd, &status) != 0 || disk_read(fd, piece, HEAD_MAX, 0, &got) != 0 ||
        got <= FIRST_LINE || memcmp(piece, BACKLOG_FIRST_LINE, FIRST_LINE) != 0)
        return false;
    const char *mark = piece + FIRST_LINE, *mark_end = memchr(mark, '\n', got - FIRST_LINE);
    if (mark_end == NULL || !position_marks_read(&marks, mark, (size_t)(mark_end + 1 - mark)))
        return false;
    uint64_t size = (uint64_t)status.st_size, at = (uint64_t)(mark_end + 1 - piece);
    if (size < at + RECORD_SUM_LINE) return false;

    const struct stream_position *last = &marks.last;
    uint64_t end = size - RECORD_SUM_LINE, len = end - at;
    if (strcasecmp(last->history.id, position->history.id) != 0 ||
        last->offset < position->offset || len > last->offset ||
        last->offset - len > position->offset)
        return false;
    uint32_t wanted, sum = crc32c(0, piece, at);
    bool good = true;
    backlog_restart(backlog, last->offset - len);
    for (; good && at < end; at += got) {
        size_t next = end - at < PIECE ? (size_t)(end - at) : PIECE;
        good = disk_read(fd, piece, next, at, &got) == 0 && got == next;
        sum = crc32c(sum, piece, got);
        uint64_t room = position->offset - backlog_end(backlog);
        backlog_append(backlog, piece, got < room ? got : (size_t)room);
    }
    good = good && disk_read(fd, piece, RECORD_SUM_LINE, end, &got) == 0 &&
           got == RECORD_SUM_LINE && record_parse_sum(piece, &wanted) && wanted == sum;
    if (!good) backlog_restart(backlog, position->offset);
    return good;
}

bool backlog_file_read(const char *path, const struct stream_position *position,
                       struct backlog *backlog)
{
    int fd = -1;
    if (file_kind(path) != FILE_BACKLOG || disk_open_to_read(path, &fd) != 0) return false;
    bool good = read_open(fd, position, backlog);
    disk_close(fd);
    return good;
}

void backlog_file_remove(const char *path)
{
    if (file_check(path, LEFT_BEHIND) == 0) disk_remove(path);
}
