/* disk: the few file operations that durability needs. Depends on system calls only. May be called
 * from any thread.
 *
 * All writing, syncing, cutting, renaming and removing of files under server/disk/ is done here, so
 * that tests can make each of these operations fail. The functions return 0 or an errno, which the
 * caller must check unless a comment says that it may be ignored. The system calls that change
 * files are open, pwritev, fdatasync (for files), fsync (for directories), ftruncate, fallocate,
 * sync_file_range, rename, unlink and mkdir. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { DISK_PATH_MAX = 4096 };

/* Creates a file to read and write; replaces one of that name. */
int disk_create(const char *path, int *fd);
int disk_open(const char *path, int *fd); /* to read and write */
int disk_open_to_read(const char *path, int *fd);

/* Writes all bytes at offset `at`, repeating the call after interruptions and short writes.
 * *written is the number of bytes written, even after an error. Modifies `iov`. */
int disk_write(int fd, struct iovec *iov, int count, uint64_t at, size_t *written);
int disk_write_bytes(int fd, const void *data, size_t len, uint64_t at);

/* Copies the bytes of `fd` from offset `at` to its end into a new file beside `path`, named
 * PATH.cut-AT or, if that exists, PATH.cut-AT.N, and syncs the new file and its name. `kept`
 * receives the new path. After an error there is no new file, unless only the sync of its name has
 * failed. */
int disk_keep_end(int fd, const char *path, uint64_t at, char kept[DISK_PATH_MAX]);

/* Reads `len` bytes at an offset, or fewer if the file ends before; *got is their number. */
int disk_read(int fd, void *to, size_t len, uint64_t at, size_t *got);

/* Waits until the file's bytes and length are on the medium. After an error never trust a second
 * call: Linux may have marked the failed pages clean, and the second call then succeeds although
 * bytes are lost. */
int disk_sync(int fd);
int disk_sync_dir(const char *path);
int disk_sync_parent(const char *path); /* syncs the folder that contains the path */
int disk_cut(int fd, uint64_t length);
/* Allocates blocks for later writes without changing the file's length. Fails with ENOSPC unless 16
 * times as much is free, and with EOPNOTSUPP where the file system can't do this. The error may be
 * ignored. */
int disk_allocate(int fd, uint64_t from, uint64_t len);
int disk_free_allocated(int fd); /* frees blocks after the file's end; the error may be ignored */
/* Makes the kernel begin to write these bytes to the medium, so that a later sync has less to do.
 * Guarantees nothing: only disk_sync does, and disk_sync also returns the errors of these writes.
 * The error may be ignored. */
int disk_write_back(int fd, uint64_t from, uint64_t len);

/* Measures the space that this process can use on the file system that contains the path. */
int disk_free_bytes(const char *path, uint64_t *bytes);

/* Creates a file with these bytes and syncs it, but not its name; removes the file again after an
 * error. */
int disk_write_file(const char *path, const void *data, size_t len);
/* Renames a file. Processes see the new name at once. After a crash before disk_sync_parent(to),
 * the name `to` may denote the old or the new file. */
int disk_rename(const char *from, const char *to);

/* Locks the folder until `fd` is closed, or fails with EWOULDBLOCK if another process holds the
 * lock. Uses flock(2), which needs no file of its own and is released when the process ends. */
int disk_lock_dir(const char *path, int *fd);

int disk_remove(const char *path); /* 0 even if it does not exist */
/* Creates a folder and syncs the one that contains it. Returns 0 if the folder exists already. */
int disk_make_dir(const char *path);
void disk_close(int fd); /* ignores errors: important bytes were synced before */

/* Stores "dir/name" in `path`. Returns ENAMETOOLONG if it does not fit. */
int disk_path(char path[DISK_PATH_MAX], const char *dir, const char *name);

/* For tests: a hook that is called before each system call of enum disk_call. If the hook returns
 * an errno, the system call is not made and fails with that errno. The hook may lower `len` of a
 * write to make the write short. NULL for no hook. */
enum disk_call {
    DISK_OPEN,
    DISK_WRITE,
    DISK_SYNC,
    DISK_SYNC_DIR,
    DISK_CUT,
    DISK_ALLOCATE, /* blocks ahead, or frees them */
    DISK_WRITE_BACK,
    DISK_RENAME,
    DISK_REMOVE,
    DISK_MAKE_DIR,
};
struct disk_step {
    enum disk_call call;
    int fd;           /* the file, or -1 */
    const char *path; /* the path, or NULL */
    const char *from; /* old name of a rename; `path` is the new one */
    size_t len;       /* bytes to write, to allocate or to write back */
};
typedef int disk_hook(void *ctx, struct disk_step *step);
void disk_set_hook(disk_hook *hook, void *ctx);
