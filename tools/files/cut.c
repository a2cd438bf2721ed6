/* cut: see cut.h. */
#include "tools/files/cut.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/disk/format/record.h"

enum { PIECE = 256 * 1024 };

int cut_check_unused(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    /* The kernel grants a write lease only if nobody else has the file open. */
    bool is_used = fcntl(fd, F_SETLEASE, F_WRLCK) != 0 && errno == EAGAIN;
    fcntl(fd, F_SETLEASE, F_UNLCK);
    close(fd);
    return is_used ? EBUSY : 0;
}

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

int cut_and_keep(const char *path, uint64_t at, struct cut *cut)
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
