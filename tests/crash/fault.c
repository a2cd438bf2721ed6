/* fault: a library to preload. It makes system calls on files below one folder fail, write less
 * than asked, take longer, or kill the process. Calls on sockets and on files elsewhere are
 * unchanged.
 *
 * FAULT_DIR is the folder. FAULT_PLAN names a file of eight 64-bit numbers, shared with the test,
 * which may change it at any time:
 *
 *     0  number of calls so far that match 4 and 7; counted here
 *     1  the first of these calls to act on, from 1; 0: none
 *     2  the last one
 *     3  the action: an errno; -1 kill before the call, -2 kill after it; -3 write one half, and
 *        fail with ENOSPC for the rest; -4 delay; -5 wait until 1 is 0
 *     4  which calls, as a sum of 1 << enum call
 *     5  the delay in microseconds
 *     6  number of calls acted on; counted here
 *     7  calls of the first process only (0), also of its children (1), of children only (2)
 *
 * FAULT_SHADOW, if set, names a folder with all that was synced, which is what remains after a loss
 * of power: "f" and an inode number is the contents of a file at its last sync; "d" and an inode
 * number is the names in a folder, with the inode number before each. Data of a failed sync never
 * get there, whatever later syncs return, as with Linux's page cache.
 *
 * Killing also kills the first process, as a crash of the machine would. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum call { WRITE, SYNC, RENAME, CUT, OPEN, REMOVE, MAKE_DIR, READ, FREE_SPACE, LOCK };
enum { COUNT, FIRST, LAST, WHAT, CALLS, LATE, ACTED, WHOSE, NUMBERS };
enum { DIE_BEFORE = -1, DIE_BEHIND = -2, SHORT = -3, COME_LATE = -4, HOLD = -5 };

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

static _Atomic int64_t *plan;
static const char *folder, *shadow;
static size_t folder_len;
static pid_t first;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULT_PLAN");
    folder = getenv("FAULT_DIR");
    shadow = getenv("FAULT_SHADOW");
    if (path == NULL || folder == NULL) return;
    int (*real_open)(const char *, int, ...) =
        (int (*)(const char *, int, ...))(uintptr_t)dlsym(RTLD_NEXT, "open");
    int fd = real_open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *page = mmap(NULL, NUMBERS * sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    /* Held until the process and all that it has forked have ended: a test waits for that. */
    flock(fd, LOCK_SH);
    if (page == MAP_FAILED) return;
    folder_len = strlen(folder);
    first = getpid();
    plan = page;
}

/* ---- does the plan apply? -------------------------------------------------------------------- */

static bool is_below(const char *path)
{
    char cwd[PATH_MAX];
    if (path[0] != '/') path = getcwd(cwd, sizeof(cwd)) != NULL ? cwd : "";
    return strncmp(path, folder, folder_len) == 0 &&
           (path[folder_len] == '\0' || path[folder_len] == '/');
}

static bool is_file_below(int fd)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    if (len <= 0) return false;
    path[len] = '\0';
    return is_below(path);
}

static bool is_whose(int64_t whose)
{
    bool child = getpid() != first;
    return whose == 1 || child == (whose == 2);
}

static void die(void)
{
    kill(first, SIGKILL);
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Counts a call, and kills or delays if the plan says so. Returns the error to fail with, or SHORT
 * or DIE_BEHIND, which the caller acts on; else 0. */
static int64_t act(enum call call)
{
    if ((plan[CALLS] >> call & 1) == 0 || !is_whose(plan[WHOSE])) return 0;
    int64_t number = atomic_fetch_add(&plan[COUNT], 1) + 1;
    if (plan[FIRST] == 0 || number < plan[FIRST] || number > plan[LAST]) return 0;
    atomic_fetch_add(&plan[ACTED], 1);
    int64_t what = plan[WHAT];
    if (what == DIE_BEFORE) die();
    if (what == COME_LATE) poll(NULL, 0, (int)(plan[LATE] / 1000));
    while (what == HOLD && plan[FIRST] != 0)
        poll(NULL, 0, 1);
    return what;
}

static int64_t act_on_file(enum call call, int fd)
{
    return plan != NULL && is_file_below(fd) ? act(call) : 0;
}

static int64_t act_on_path(enum call call, const char *path)
{
    return plan != NULL && is_below(path) ? act(call) : 0;
}

static bool fails(int64_t what)
{
    if (what <= 0) return false;
    errno = (int)what;
    return true;
}

static void after(int64_t what)
{
    if (what == DIE_BEHIND) die();
}

/* ---- the shadow: synced data ----------------------------------------------------------------- */

/* The path of a file of the shadow; `end` marks one that is not complete. Kinds: f and d as in the
 * first comment; h, a second link to the file; p, a file of which a sync has failed. */
static void shadow_path(char path[PATH_MAX], char kind, ino_t inode, const char *end)
{
    snprintf(path, PATH_MAX, "%s/%c%llu%s", shadow, kind, (unsigned long long)inode, end);
}

static void copy_file(int from, FILE *to)
{
    char data[65536];
    ssize_t got;
    for (off_t at = 0; (got = syscall(SYS_pread64, from, data, sizeof(data), at)) > 0; at += got)
        fwrite(data, 1, (size_t)got, to);
}

static void copy_names(int from, FILE *to)
{
    int fd = openat(from, ".", O_RDONLY | O_DIRECTORY);
    DIR *dir = fdopendir(fd);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        fprintf(to, "%llu %s\n", (unsigned long long)entry->d_ino, entry->d_name);
    if (dir != NULL) closedir(dir);
}

/* Copies the file or folder as it is before the sync: bytes written during a sync may miss it. The
 * link of kind h keeps the inode's number from being used again. False: nothing to copy. */
static bool shadow_begin(int fd, struct stat *status)
{
    char path[PATH_MAX], link[64];
    if (shadow == NULL || !is_file_below(fd) || fstat(fd, status) != 0) return false;
    bool dir = S_ISDIR(status->st_mode);
    shadow_path(path, 'p', status->st_ino, "");
    if (access(path, F_OK) == 0) return false;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    shadow_path(path, 'h', status->st_ino, "");
    if (!dir && linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) != 0 && errno != EEXIST)
        return false; /* removed while it was open: no name leads to it after the power failure */
    shadow_path(path, dir ? 'd' : 'f', status->st_ino, ".new");
    FILE *to = fopen(path, "we");
    if (to == NULL) return false;
    (dir ? copy_names : copy_file)(fd, to);
    return fclose(to) == 0;
}

static void shadow_end(const struct stat *status, bool good)
{
    char from[PATH_MAX], to[PATH_MAX];
    bool dir = S_ISDIR(status->st_mode);
    shadow_path(from, dir ? 'd' : 'f', status->st_ino, ".new");
    shadow_path(to, dir ? 'd' : 'f', status->st_ino, "");
    if (good) {
        REAL(rename)(from, to);
        return;
    }
    shadow_path(to, 'p', status->st_ino, "");
    FILE *poison = dir ? NULL : fopen(to, "we");
    if (poison != NULL) fclose(poison);
}

static int sync_with(int (*sync)(int fd), int fd)
{
    struct stat status;
    bool shadows = shadow_begin(fd, &status);
    int64_t what = act_on_file(SYNC, fd);
    bool failed = fails(what);
    int error = errno, result = failed ? -1 : sync(fd);
    if (shadows) shadow_end(&status, result == 0);
    if (failed) errno = error;
    after(what);
    return result;
}

/* ---- the calls ------------------------------------------------------------------------------- */

#define REPLACE(type, name, params, call, what_of, args)                                           \
    type name params;                                                                              \
    type name params                                                                               \
    {                                                                                              \
        int64_t what = what_of;                                                                    \
        if (fails(what)) return -1;                                                                \
        type result = REAL(name) args;                                                             \
        after(what);                                                                               \
        return result;                                                                             \
    }

int fsync(int fd)
{
    return sync_with(REAL(fsync), fd);
}

int fdatasync(int fd)
{
    return sync_with(REAL(fdatasync), fd);
}

REPLACE(int, ftruncate, (int fd, off_t len), CUT, act_on_file(CUT, fd), (fd, len))
REPLACE(int, rename, (const char *from, const char *to), RENAME, act_on_path(RENAME, to),
        (from, to))
REPLACE(int, unlink, (const char *path), REMOVE, act_on_path(REMOVE, path), (path))
REPLACE(int, mkdir, (const char *path, mode_t mode), MAKE_DIR, act_on_path(MAKE_DIR, path),
        (path, mode))
REPLACE(int, statvfs, (const char *path, struct statvfs *of), FREE_SPACE,
        act_on_path(FREE_SPACE, path), (path, of))
REPLACE(int, flock, (int fd, int how), LOCK, act_on_file(LOCK, fd), (fd, how))
REPLACE(ssize_t, pread, (int fd, void *to, size_t len, off_t at), READ, act_on_file(READ, fd),
        (fd, to, len, at))

/* Writes one half; a write of 1 byte or none fails with ENOSPC. So the caller's attempt to write
 * the rest fails in the end, as on a full disk. */
static ssize_t write_half(int fd, const struct iovec *iov, int count, off_t at)
{
    size_t all = 0, done = 0;
    for (int i = 0; i < count; i++)
        all += iov[i].iov_len;
    for (int i = 0; i < count && done < all / 2; i++) {
        size_t here = iov[i].iov_len < all / 2 - done ? iov[i].iov_len : all / 2 - done;
        ssize_t put = REAL(pwrite)(fd, iov[i].iov_base, here, at + (off_t)done);
        if (put < 0) return -1;
        done += (size_t)put;
    }
    if (done > 0) return (ssize_t)done;
    errno = ENOSPC;
    return -1;
}

ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t at)
{
    int64_t what = act_on_file(WRITE, fd);
    if (fails(what)) return -1;
    ssize_t put =
        what == SHORT ? write_half(fd, iov, count, at) : REAL(pwritev)(fd, iov, count, at);
    after(what);
    return put;
}

static int open_any(const char *name, const char *path, int flags, mode_t mode)
{
    int64_t what = act_on_path(OPEN, path);
    if (fails(what)) return -1;
    int (*real)(const char *, int, ...) =
        (int (*)(const char *, int, ...))(uintptr_t)dlsym(RTLD_NEXT, name);
    int fd = real(path, flags, mode);
    after(what);
    return fd;
}

#define OPEN_AS(name)                                                                              \
    int name(const char *path, int flags, ...);                                                    \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;                    \
        va_end(args);                                                                              \
        return open_any(#name, path, flags, mode);                                                 \
    }

OPEN_AS(open)
OPEN_AS(open64)
