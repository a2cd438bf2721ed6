/* file_kind: see file_kind.h. Compares the first bytes of a file with the magic of each format. */
#include "server/disk/format/file_kind.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/disk/format/record.h"
#include "server/disk/format/stream_position.h"

static bool head_begins_with(const char *head, size_t len, const char *text)
{
    size_t size = strlen(text);
    return len >= size && memcmp(head, text, size) == 0;
}

/* Does the file end within the text? */
static bool head_is_cut_off(const char *head, size_t len, const char *text)
{
    return len < strlen(text) && memcmp(head, text, len) == 0;
}

enum file_kind file_kind_of_head(const char *head, size_t len)
{
    if (len == 0) return FILE_EMPTY;
    if (head_begins_with(head, len, SNAPSHOT_MAGIC)) return FILE_SNAPSHOT;
    if (head_begins_with(head, len, RECORD_FIRST_LINE) ||
        head_begins_with(head, len, RECORD_FIRST_LINE_1))
        return FILE_JOURNAL;
    if (head_begins_with(head, len, MANIFEST_FIRST_LINE)) return FILE_MANIFEST;
    if (head_begins_with(head, len, BACKLOG_FIRST_LINE)) return FILE_BACKLOG;
    if (head_is_cut_off(head, len, RECORD_FIRST_LINE) ||
        head_is_cut_off(head, len, RECORD_FIRST_LINE_1))
        return FILE_JOURNAL;
    size_t magic = strlen(RECORD_MAGIC);
    if (len > magic && head_begins_with(head, len, RECORD_MAGIC) &&
        isdigit((unsigned char)head[magic]))
        return FILE_OTHER_JOURNAL;
    /* The header of a snapshot is written last. */
    bool is_all_zeros = head[0] == '\0' && memcmp(head, head + 1, len - 1) == 0;
    if (is_all_zeros || head_is_cut_off(head, len, SNAPSHOT_MAGIC) ||
        head_is_cut_off(head, len, MANIFEST_FIRST_LINE) ||
        head_is_cut_off(head, len, BACKLOG_FIRST_LINE))
        return FILE_UNFINISHED;
    if (head_begins_with(head, len, "REDIS") || head_begins_with(head, len, "VALKEY"))
        return FILE_REDIS_RDB;
    /* An AOF begins with a command, or with the one annotation that Redis writes. */
    bool is_command = len >= 2 && head[0] == '*' && isdigit((unsigned char)head[1]);
    if (is_command || head_begins_with(head, len, "#TS:")) return FILE_REDIS_AOF;
    if (head_begins_with(head, len, "file ")) return FILE_LIST;
    /* gzip, zstd, xz, bzip2, lz4, zip */
    static const char *const packers[] = { "\x1f\x8b", "\x28\xb5\x2f\xfd", "\xfd\x37zXZ",
                                           "BZh",      "\x04\x22\x4d\x18", "PK\x03\x04" };
    for (size_t i = 0; i < sizeof(packers) / sizeof(packers[0]); i++)
        if (head_begins_with(head, len, packers[i])) return FILE_COMPRESSED;
    return FILE_UNKNOWN;
}

enum file_kind file_kind(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int error = errno;
    if (fd >= 0) {
        char head[FILE_HEAD];
        ssize_t got = -1;
        bool is_known = fstat(fd, &status) == 0, is_regular = is_known && S_ISREG(status.st_mode);
        if (is_regular) got = pread(fd, head, sizeof(head), 0);
        error = errno;
        close(fd);
        errno = error;
        if (is_known && !is_regular) return S_ISDIR(status.st_mode) ? FILE_FOLDER : FILE_UNKNOWN;
        return got < 0 ? FILE_UNREADABLE : file_kind_of_head(head, (size_t)got);
    }
    bool is_missing = error == ENOENT && lstat(path, &status) != 0;
    /* A socket can't be opened. */
    bool is_other = error == ENXIO || error == ENODEV;
    errno = error;
    return is_missing ? FILE_MISSING : is_other ? FILE_UNKNOWN : FILE_UNREADABLE;
}

const char *file_kind_text(enum file_kind kind)
{
    switch (kind) {
    case FILE_MISSING: return "missing";
    case FILE_EMPTY: return "an empty file";
    case FILE_UNFINISHED: return "an unfinished file";
    case FILE_SNAPSHOT: return "a snapshot";
    case FILE_JOURNAL: return "a journal";
    case FILE_OTHER_JOURNAL: return "a journal of another version";
    case FILE_MANIFEST: return "a manifest";
    case FILE_BACKLOG: return "a backlog";
    case FILE_LIST: return "a manifest of Redis";
    case FILE_REDIS_RDB: return "an RDB file of Redis";
    case FILE_REDIS_AOF: return "an AOF of Redis";
    case FILE_COMPRESSED: return "a compressed file";
    case FILE_FOLDER: return "a directory";
    case FILE_UNREADABLE: return "not readable";
    default: return "a file of an unknown kind";
    }
}

int file_check(const char *path, unsigned kinds)
{
    enum file_kind kind = file_kind(path);
    if (kind == FILE_UNREADABLE) return errno;
    return kind == FILE_MISSING || (kinds & FILE_SET(kind)) ? 0 : EEXIST;
}

const char *file_error_text(int error)
{
    if (error == EEXIST)
        return "a file of that name exists that this server did not write, so it is not replaced. "
               "Move it away, or set another name";
    if (error == ESTALE) return "another program has shortened the file";
    return strerror(error);
}

const char *file_error_advice(int error)
{
    switch (error) {
    case EEXIST: return ""; /* file_error_text has the advice */
    case ENOSPC:
    case EDQUOT: return ". Free space on the disk";
    case EACCES:
    case EPERM:
    case EROFS: return ". Let the server's user write to dir (ReadWritePaths in a unit)";
    case ENOENT: return ". Create dir again";
    case ESTALE: return ". Keep other programs from changing it";
    case EMFILE:
    case ENFILE: return ". Raise the limit of open files, or lower maxclients";
    case ENOMEM:
    case EAGAIN: return ". Free memory, or set vm.overcommit_memory to 1: a child shares it";
    case ECHILD: return ". The child process was killed: see the kernel's log";
    default: return ". Check the disk";
    }
}
