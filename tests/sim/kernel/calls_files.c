/* calls_files: the calls that change files below the nodes' folders. They fail, write less, take
 * time or end the process as the node's settings say. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/sim/kernel/calls.h"
#include "tests/sim/kernel/disk.h"
#include "tests/sim/kernel/kernel.h"

enum { FILE_LEAST = 1000, FILE_MOST = 20000 };

/* Counts a call on a file. It may be the process's last one. */
static void before_call(const char *what)
{
    struct process *process = own_process();
    own_node()->file_calls++;
    kernel_note(what, (int64_t)own_node()->file_calls, 0, 0);
    kernel_spend(FILE_LEAST, FILE_MOST);
    if (process->calls_left == 0 || --process->calls_left > 0) return;
    kernel_die(true);
}

static bool fails(uint32_t chance, int error)
{
    if (!kernel_chance(DICE_DISK, chance)) return false;
    kernel_note("fails", error, 0, 0);
    errno = error;
    return true;
}

static bool exists(const char *path)
{
    struct stat stat;
    return lstat(path, &stat) == 0;
}

static int open_file(int node, const char *path, const char *absolute, int flags, mode_t mode)
{
    if ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT)) return REAL(open)(path, flags, mode);
    before_call("open");
    if (fails(kernel->nodes[node].fail_open, EIO)) return -1;
    bool creates = (flags & O_CREAT) && !exists(absolute);
    int fd = REAL(open)(path, flags & ~O_TRUNC, mode);
    if (fd < 0) return fd;
    disk_track(node, absolute, fd);
    int file = disk_file_of(fd);
    if (creates) disk_note_created(node, absolute);
    if ((flags & O_TRUNC) && file != NONE && !creates) {
        disk_note_length(file, fd, 0);
        if (REAL(ftruncate)(fd, 0) != 0) abort();
    }
    return fd;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    char absolute[PATH_SIZE];
    int node = in_world() ? disk_node_of(path, absolute) : NONE;
    if (node == NONE) return REAL(open)(path, flags, mode);
    return open_file(node, path, absolute, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open(path, flags, mode);
}

int mkostemp(char *pattern, int flags)
{
    int fd = REAL(mkostemp)(pattern, flags);
    char absolute[PATH_SIZE];
    int node = in_world() && fd >= 0 ? disk_node_of(pattern, absolute) : NONE;
    if (node == NONE) return fd;
    disk_track(node, absolute, fd);
    disk_note_created(node, absolute);
    return fd;
}

/* Bytes of `len` that fit on the disk. */
static size_t room_for(struct node *node, int fd, uint64_t at, size_t len)
{
    struct stat stat;
    if (node->space < 0 || fstat(fd, &stat) != 0) return len;
    uint64_t end = at + len,
             growth = end > (uint64_t)stat.st_size ? end - (uint64_t)stat.st_size : 0;
    if (growth <= (uint64_t)node->space) {
        node->space -= (int64_t)growth;
        return len;
    }
    uint64_t missing = growth - (uint64_t)node->space;
    node->space = 0;
    return missing >= len ? 0 : len - missing;
}

static ssize_t write_file(int file, int fd, const struct iovec *pieces, int count, uint64_t at)
{
    struct node *node = own_node();
    before_call("write");
    if (fails(node->fail_write, EIO)) return -1;
    size_t len = 0;
    for (int i = 0; i < count; i++)
        len += pieces[i].iov_len;
    size_t may = room_for(node, fd, at, len);
    if (may == 0 && len > 0) {
        kernel_note("full", 0, 0, 0);
        errno = ENOSPC;
        return -1;
    }
    if (may > 1 && kernel_chance(DICE_DISK, node->short_write))
        may = 1 + kernel_roll(DICE_DISK, may - 1);
    disk_note_write(file, fd, at, may);
    size_t done = 0;
    for (int i = 0; i < count && done < may; i++) {
        size_t part = pieces[i].iov_len < may - done ? pieces[i].iov_len : may - done;
        kernel_note_bytes("wrote", pieces[i].iov_base, part);
        if (REAL(pwrite)(fd, pieces[i].iov_base, part, (off_t)(at + done)) != (ssize_t)part)
            abort();
        done += part;
    }
    kernel_maybe_yield();
    return (ssize_t)done;
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t at)
{
    int file = in_world() ? disk_file_of(fd) : NONE;
    if (file == NONE) return REAL(pwritev)(fd, pieces, count, at);
    return write_file(file, fd, pieces, count, (uint64_t)at);
}

ssize_t pwritev64(int fd, const struct iovec *pieces, int count, off_t at)
{
    return pwritev(fd, pieces, count, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    struct iovec piece = { (void *)(uintptr_t)bytes, len };
    return in_world() && disk_file_of(fd) != NONE ? pwritev(fd, &piece, 1, at)
                                                  : REAL(pwrite)(fd, bytes, len, at);
}

ssize_t file_write(int fd, const void *bytes, size_t len)
{
    int file = in_world() ? disk_file_of(fd) : NONE;
    if (file == NONE) return REAL(write)(fd, bytes, len);
    off_t at = lseek(fd, 0, SEEK_CUR);
    struct iovec piece = { (void *)(uintptr_t)bytes, len };
    ssize_t put = write_file(file, fd, &piece, 1, (uint64_t)at);
    if (put > 0) lseek(fd, at + put, SEEK_SET);
    return put;
}

int ftruncate(int fd, off_t len)
{
    int file = in_world() ? disk_file_of(fd) : NONE;
    if (file == NONE) return REAL(ftruncate)(fd, len);
    before_call("cut");
    if (fails(own_node()->fail_write, EIO)) return -1;
    disk_note_length(file, fd, (uint64_t)len);
    return REAL(ftruncate)(fd, len);
}

int ftruncate64(int fd, off_t len)
{
    return ftruncate(fd, len);
}

int fallocate(int fd, int mode, off_t at, off_t len)
{
    if (!in_world() || disk_file_of(fd) == NONE) return REAL(fallocate)(fd, mode, at, len);
    before_call("room");
    if (own_node()->space < 0 || own_node()->space >= len) return 0;
    errno = ENOSPC;
    return -1;
}

int fallocate64(int fd, int mode, off_t at, off_t len)
{
    return fallocate(fd, mode, at, len);
}

/* The call begins to write bytes back and promises nothing: a loss of power may still undo them. */
int sync_file_range(int fd, off_t at, off_t len, unsigned flags)
{
    if (!in_world() || disk_file_of(fd) == NONE) return REAL(sync_file_range)(fd, at, len, flags);
    before_call("write back");
    return 0;
}

static int sync_file(int fd)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0) return -1;
    int file = disk_file_of(fd), node = NONE;
    char link[64], path[PATH_SIZE], absolute[PATH_SIZE];
    if (S_ISDIR(stat.st_mode)) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t len = readlink(link, path, sizeof(path) - 1);
        if (len <= 0) return -1;
        path[len] = '\0';
        node = disk_node_of(path, absolute);
    }
    if (file == NONE && node == NONE) return 0;
    before_call("sync");
    uint64_t number = kernel->next_write;
    const struct node *own = own_node();
    int64_t span = kernel_between(DICE_DISK, own->sync_min, own->sync_max);
    kernel_waiting(WAIT_TIME, kernel->now + span);
    kernel_wait();
    if (fails(own->fail_sync, EIO)) {
        if (file != NONE) disk_sync_failed(file, number);
        return -1;
    }
    if (file != NONE)
        disk_synced(file, number);
    else
        disk_folder_synced(node, absolute, number);
    kernel_note("synced", fd, 0, 0);
    return 0;
}

int fsync(int fd)
{
    return in_world() ? sync_file(fd) : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    return in_world() ? sync_file(fd) : REAL(fdatasync)(fd);
}

int rename(const char *from, const char *to)
{
    char old[PATH_SIZE], new[PATH_SIZE];
    int node = in_world() && disk_node_of(from, old) != NONE ? disk_node_of(to, new) : NONE;
    if (node == NONE || !exists(old)) return REAL(rename)(from, to);
    before_call("rename");
    if (fails(own_node()->fail_open, EIO)) return -1;
    disk_before_rename(node, old, new);
    return REAL(rename)(from, to);
}

int unlink(const char *path)
{
    char absolute[PATH_SIZE];
    int node = in_world() ? disk_node_of(path, absolute) : NONE;
    if (node == NONE || !exists(absolute)) return REAL(unlink)(path);
    before_call("remove");
    struct stat stat;
    if (lstat(absolute, &stat) == 0 && own_node()->space >= 0) own_node()->space += stat.st_size;
    disk_before_remove(node, absolute);
    return REAL(unlink)(path);
}

int mkdir(const char *path, mode_t mode)
{
    char absolute[PATH_SIZE];
    int node = in_world() ? disk_node_of(path, absolute) : NONE;
    int rc = REAL(mkdir)(path, mode);
    if (node != NONE && rc == 0) disk_note_folder(node, absolute);
    return rc;
}

static void limit_space(struct statvfs *of)
{
    if (own_node()->space >= 0) {
        of->f_bavail = (fsblkcnt_t)own_node()->space / of->f_frsize;
        return;
    }
    of->f_bavail = (fsblkcnt_t)1 << 24; /* the same on every machine */
}

int statvfs(const char *path, struct statvfs *to)
{
    int rc = REAL(statvfs)(path, to);
    if (rc == 0 && in_world()) limit_space(to);
    return rc;
}

int fstatvfs(int fd, struct statvfs *to)
{
    int rc = REAL(fstatvfs)(fd, to);
    if (rc == 0 && in_world()) limit_space(to);
    return rc;
}

/* Files about the real process would make a run depend on the machine. */
FILE *fopen(const char *path, const char *mode)
{
    if (in_world() && strncmp(path, "/proc/", 6) == 0) {
        errno = ENOENT;
        return NULL;
    }
    return REAL(fopen)(path, mode);
}
