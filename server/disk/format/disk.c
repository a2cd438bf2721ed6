/* disk: see disk.h. System calls that return their errors, repeated after interruptions. */
#include "server/disk/format/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/base/ensure.h"

enum { FREE_SHARE = 16 };

/* Set by tests only, while no operation runs. */
static disk_hook *test_hook;
static void *test_hook_ctx;

void disk_set_hook(disk_hook *hook, void *ctx)
{
    test_hook = hook;
    test_hook_ctx = ctx;
}

static int call_hook(struct disk_step *step)
{
    return test_hook == NULL ? 0 : test_hook(test_hook_ctx, step);
}

static int call_path_hook(enum disk_call call, const char *path)
{
    return call_hook(&(struct disk_step){ .call = call, .fd = -1, .path = path });
}

static int call_file_hook(enum disk_call call, int fd)
{
    return call_hook(&(struct disk_step){ .call = call, .fd = fd });
}

static int open_with(const char *path, int flags, int *fd)
{
    int error = call_path_hook(DISK_OPEN, path);
    if (error != 0) return error;
    do {
        *fd = open(path, flags | O_CLOEXEC, 0644);
    } while (*fd < 0 && errno == EINTR);
    return *fd < 0 ? errno : 0;
}

/* Removes an old file instead of truncating it, because a sync of the old file may have failed. */
int disk_create(const char *path, int *fd)
{
    int error = open_with(path, O_RDWR | O_CREAT | O_EXCL, fd);
    if (error != EEXIST) return error;
    error = disk_remove(path);
    return error != 0 ? error : open_with(path, O_RDWR | O_CREAT | O_EXCL, fd);
}

int disk_lock_dir(const char *path, int *fd)
{
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0) return errno;
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0) return 0;
    int error = errno;
    close(*fd);
    *fd = -1;
    return error;
}

int disk_open(const char *path, int *fd)
{
    return open_with(path, O_RDWR, fd);
}

int disk_open_to_read(const char *path, int *fd)
{
    /* A named pipe is opened too, instead of waiting for a writer. Reading from it then fails. */
    return open_with(path, O_RDONLY | O_NONBLOCK, fd);
}

/* Writes with one system call, which may write only a part: Linux writes at most 2 GiB at once. */
static int write_some(int fd, const struct iovec *iov, int count, uint64_t at, size_t *written)
{
    struct disk_step step = { .call = DISK_WRITE, .fd = fd };
    if (count > IOV_MAX) count = IOV_MAX;
    for (int i = 0; i < count; i++)
        step.len += iov[i].iov_len;
    size_t all = step.len;
    int error = call_hook(&step);
    if (error != 0) return error;
    ssize_t put;
    if (step.len < all) {
        struct iovec fewer[IOV_MAX];
        int used = 0;
        for (size_t left = step.len; used < count && left > 0; used++) {
            fewer[used] = iov[used];
            if (fewer[used].iov_len > left) fewer[used].iov_len = left;
            left -= fewer[used].iov_len;
        }
        put = pwritev(fd, fewer, used, (off_t)at);
    } else {
        put = pwritev(fd, iov, count, (off_t)at);
    }
    if (put < 0) return errno;
    *written = (size_t)put;
    return put > 0 || all == 0 ? 0 : ENOSPC; /* nothing was written, and no error was reported */
}

int disk_write(int fd, struct iovec *iov, int count, uint64_t at, size_t *written)
{
    *written = 0;
    for (;;) {
        for (; count > 0 && iov->iov_len == 0; count--)
            iov++;
        if (count == 0) return 0;
        size_t put = 0;
        int error = write_some(fd, iov, count, at + *written, &put);
        if (error != 0 && error != EINTR) return error;
        *written += put;
        for (; put > 0 && count > 0; iov++, count--) {
            size_t here = put < iov->iov_len ? put : iov->iov_len;
            iov->iov_base = (char *)iov->iov_base + here;
            iov->iov_len -= here;
            put -= here;
            if (iov->iov_len > 0) break;
        }
    }
}

int disk_write_bytes(int fd, const void *data, size_t len, uint64_t at)
{
    struct iovec iov = { .iov_base = (char *)(uintptr_t)data, .iov_len = len };
    size_t written;
    return disk_write(fd, &iov, 1, at, &written);
}

int disk_read(int fd, void *to, size_t len, uint64_t at, size_t *got)
{
    *got = 0;
    while (*got < len) {
        ssize_t here = pread(fd, (char *)to + *got, len - *got, (off_t)(at + *got));
        if (here < 0 && errno == EINTR) continue;
        if (here < 0) return errno;
        if (here == 0) return 0;
        *got += (size_t)here;
    }
    return 0;
}

int disk_sync(int fd)
{
    int error = call_file_hook(DISK_SYNC, fd);
    if (error != 0) return error;
    int rc;
    do {
        rc = fdatasync(fd);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? errno : 0;
}

int disk_sync_dir(const char *path)
{
    int error = call_path_hook(DISK_SYNC_DIR, path);
    if (error != 0) return error;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno;
    /* EINVAL means that the file system can't sync directories. */
    if (fsync(fd) < 0 && errno != EINVAL) error = errno;
    close(fd);
    return error;
}

int disk_cut(int fd, uint64_t length)
{
    int error = call_file_hook(DISK_CUT, fd);
    if (error != 0) return error;
    return ftruncate(fd, (off_t)length) < 0 ? errno : 0;
}

int disk_free_bytes(const char *path, uint64_t *bytes)
{
    struct statvfs of;
    if (statvfs(path, &of) < 0) return errno;
    *bytes = (uint64_t)of.f_bavail * of.f_frsize;
    return 0;
}

int disk_allocate(int fd, uint64_t from, uint64_t len)
{
    struct statvfs of;
    int error = call_hook(&(struct disk_step){ .call = DISK_ALLOCATE, .fd = fd, .len = len });
    if (error != 0) return error;
    if (fstatvfs(fd, &of) != 0 || (uint64_t)of.f_bavail / FREE_SHARE * of.f_frsize < len)
        return ENOSPC;
    return fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)len) < 0 ? errno : 0;
}

int disk_free_allocated(int fd)
{
    struct stat file;
    int error = call_file_hook(DISK_ALLOCATE, fd);
    if (error != 0) return error;
    return fstat(fd, &file) < 0 || ftruncate(fd, file.st_size) < 0 ? errno : 0;
}

int disk_write_back(int fd, uint64_t from, uint64_t len)
{
    struct disk_step step = { .call = DISK_WRITE_BACK, .fd = fd, .len = len };
    int error = call_hook(&step);
    if (error != 0) return error;
    return sync_file_range(fd, (off_t)from, (off_t)len, SYNC_FILE_RANGE_WRITE) < 0 ? errno : 0;
}

int disk_sync_parent(const char *path)
{
    char dir[DISK_PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return disk_sync_dir(".");
    size_t len = slash == path ? 1 : (size_t)(slash - path);
    if (len >= sizeof(dir)) return ENAMETOOLONG;
    memcpy(dir, path, len);
    dir[len] = '\0';
    return disk_sync_dir(dir);
}

int disk_write_file(const char *path, const void *data, size_t len)
{
    int fd;
    int error = disk_create(path, &fd);
    if (error != 0) return error;
    error = disk_write_bytes(fd, data, len, 0);
    if (error == 0) error = disk_sync(fd);
    disk_close(fd);
    if (error != 0) disk_remove(path);
    return error;
}

int disk_keep_end(int fd, const char *path, uint64_t at, char kept[DISK_PATH_MAX])
{
    char piece[16 * 1024];
    size_t got;
    struct stat what;
    for (unsigned n = 1;; n++) { /* find an unused name */
        int len = n == 1 ? snprintf(kept, DISK_PATH_MAX, "%s.cut-%" PRIu64, path, at)
                         : snprintf(kept, DISK_PATH_MAX, "%s.cut-%" PRIu64 ".%u", path, at, n);
        if (len >= DISK_PATH_MAX) return ENAMETOOLONG;
        if (lstat(kept, &what) != 0) break;
    }
    if (errno != ENOENT) return errno;
    int to, error = disk_create(kept, &to);
    if (error != 0) return error;
    uint64_t done = 0;
    do {
        error = disk_read(fd, piece, sizeof(piece), at + done, &got);
        if (error == 0) error = disk_write_bytes(to, piece, got, done);
        done += got;
    } while (error == 0 && got == sizeof(piece));
    if (error == 0) error = disk_sync(to);
    disk_close(to);
    if (error == 0) return disk_sync_parent(kept);
    disk_remove(kept);
    return error;
}

int disk_rename(const char *from, const char *to)
{
    struct disk_step step = { .call = DISK_RENAME, .fd = -1, .path = to, .from = from };
    int error = call_hook(&step);
    if (error != 0) return error;
    return rename(from, to) < 0 ? errno : 0;
}

int disk_remove(const char *path)
{
    int error = call_path_hook(DISK_REMOVE, path);
    if (error != 0) return error;
    if (unlink(path) == 0) return 0;
    error = errno;
    /* A read-only file system returns EROFS before it looks for the file. */
    struct stat what;
    return lstat(path, &what) < 0 && errno == ENOENT ? 0 : error;
}

int disk_make_dir(const char *path)
{
    int error = call_path_hook(DISK_MAKE_DIR, path);
    if (error != 0) return error;
    if (mkdir(path, 0755) < 0) {
        struct stat what;
        if (errno != EEXIST || stat(path, &what) < 0) return errno;
        if (!S_ISDIR(what.st_mode)) return ENOTDIR;
    }
    /* Sync even if it existed: the sync of an earlier call may have failed. */
    return disk_sync_parent(path);
}

void disk_close(int fd)
{
    close(fd);
}

int disk_path(char path[DISK_PATH_MAX], const char *dir, const char *name)
{
    int len = snprintf(path, DISK_PATH_MAX, "%s/%s", dir, name);
    ensure(len >= 0, "%d", len);
    return len < DISK_PATH_MAX ? 0 : ENAMETOOLONG;
}
