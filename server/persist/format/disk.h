/* disk: the few file operations that durability needs.
 * Knows descriptors, paths and bytes; refuses to know what is in a file.
 *
 * Every call answers 0 or an errno, and whoever calls has to look. Nothing else under
 * server/persist/ writes, syncs, cuts, renames or removes files, so what fails here can fail
 * anywhere, and is tested by failing here. The system calls underneath: open, pwritev, fdatasync
 * (of files), fsync (of directories), ftruncate, rename, unlink, mkdir. May be called in any
 * thread. */
#ifndef SERVER_PERSIST_FORMAT_DISK_H
#define SERVER_PERSIST_FORMAT_DISK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { DISK_PATH_MAX = 4096 };

/* A new file, to read and write; one of that name goes. */
int disk_create(const char *path, int *fd);
int disk_open(const char *path, int *fd); /* to read and write */
int disk_open_to_read(const char *path, int *fd);

/* Writes everything from offset `at` on, through interruptions and short writes. *written says how
 * much of it was, also when the rest failed. Uses up `iov`. */
int disk_write(int fd, struct iovec *iov, int count, uint64_t at, size_t *written);
int disk_write_bytes(int fd, const void *data, size_t len, uint64_t at);

/* Reads up to `len` bytes at an offset; fewer only at the file's end. */
int disk_read(int fd, void *to, size_t len, uint64_t at, size_t *got);

/* The file's bytes, and its length, are on the medium. After an error they may never get there,
 * whatever the next call says: Linux may have marked the pages clean. */
int disk_sync(int fd);
int disk_sync_dir(const char *path);
int disk_sync_parent(const char *path); /* the folder that the path's last name is in */
int disk_cut(int fd, uint64_t length);

/* A whole new file: created, written, synced; removed again when one of these fails. Its name is
 * not synced yet. */
int disk_write_file(const char *path, const void *data, size_t len);
/* `to` is from now on what `from` was, for everybody; for a crash only after disk_sync_parent(to),
 * before it either file may be there. */
int disk_rename(const char *from, const char *to);

/* Nobody else who asks gets this folder until `fd` is closed: EWOULDBLOCK. By flock(2), which needs
 * no file and ends with the process. */
int disk_lock_dir(const char *path, int *fd);

int disk_remove(const char *path);   /* 0 also when there is none */
int disk_make_dir(const char *path); /* 0 also when there is one */
void disk_close(int fd);             /* what had to be kept was synced before */

/* dir/name; ENAMETOOLONG. */
int disk_path(char path[DISK_PATH_MAX], const char *dir, const char *name);

/* For tests: asked before each system call. An errno that it answers is what the call fails with,
 * unmade; a write's `len` it may lower. NULL asks nobody. */
enum disk_call {
    DISK_OPEN,
    DISK_WRITE,
    DISK_SYNC,
    DISK_SYNC_DIR,
    DISK_CUT,
    DISK_RENAME,
    DISK_REMOVE,
    DISK_MAKE_DIR,
};
struct disk_step {
    enum disk_call call;
    int fd;           /* or -1 */
    const char *path; /* or NULL */
    const char *from; /* of a rename; `path` is the new name */
    size_t len;       /* of a write */
};
typedef int disk_hook(void *ctx, struct disk_step *step);
void disk_set_hook(disk_hook *hook, void *ctx);

#endif
