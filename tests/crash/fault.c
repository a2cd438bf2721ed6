/* fault: a library to preload, which makes calls on files below one folder fail, fall short, come
 * late, or be the process's last.
 * Knows calls, paths and a plan; refuses to know what the program is about. Sockets, and files
 * elsewhere, are left alone.
 *
 * FAULT_PLAN names a file of eight 64-bit numbers, shared with whoever runs the program, who may
 * change it at any time:
 *
 *     0  calls so far that the plan is about: counted here
 *     1  the first of them to be acted on, from 1; 0: none
 *     2  the last one
 *     3  what: an errno; -1 it dies before the call, -2 behind it; -3 half of a write is made, and
 *        the rest fails with ENOSPC; -4 it comes late
 *     4  which calls, as a sum of 1 << enum call
 *     5  microseconds it comes late by
 *     6  how many were acted on: counted here
 *     7  of children too (1), of children alone (2), or of the first process alone (0)
 *
 * FAULT_SHADOW, if it is there, names a folder for what a loss of power would leave, if nothing
 * lasted but what was synced: "f" and the inode's number, a file as it last was; "d" and its
 * number, a folder's names, with an inode's number before each. What a failed sync was to bring to
 * the medium never gets there, whatever a later one says, as it is with Linux's page cache.
 *
 * FAULT_DIR is the folder. Who dies takes the first process along, as a crash of the machine would;
 * in a child that is the parent's death too. */
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum call { WRITE, SYNC, RENAME, CUT, OPEN, REMOVE, MAKE_DIR, READ };
enum { COUNT, FIRST, LAST, WHAT, CALLS, LATE, ACTED, WHOSE, NUMBERS };
enum { DIE_BEFORE = -1, DIE_BEHIND = -2, SHORT = -3, COME_LATE = -4 };

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
    close(fd);
    if (page == MAP_FAILED) return;
    folder_len = strlen(folder);
    first = getpid();
    plan = page;
}

/* ---- is it meant? ---------------------------------------------------------------------------- */

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

/* What is to be done about a call of the plan's: 0 nothing. It may not come back. */
static int64_t act(enum call call)
{
    if ((plan[CALLS] >> call & 1) == 0 || !is_whose(plan[WHOSE])) return 0;
    int64_t number = atomic_fetch_add(&plan[COUNT], 1) + 1;
    if (plan[FIRST] == 0 || number < plan[FIRST] || number > plan[LAST]) return 0;
    atomic_fetch_add(&plan[ACTED], 1);
    int64_t what = plan[WHAT];
    if (what == DIE_BEFORE) die();
    if (what == COME_LATE) poll(NULL, 0, (int)(plan[LATE] / 1000));
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

/* ---- what lasts ------------------------------------------------------------------------------ */

/* The path of what is kept of an inode; `end` is for what is not complete. */
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

/* As it is before the sync: what is written during one may come too late for it. Its number is not
 * given to another file, for there is one name more. */
static bool shadow_begin(int fd, struct stat *status)
{
    char path[PATH_MAX], link[64];
    if (shadow == NULL || !is_file_below(fd) || fstat(fd, status) != 0) return false;
    bool dir = S_ISDIR(status->st_mode);
    shadow_path(path, 'p', status->st_ino, "");
    if (access(path, F_OK) == 0) return false;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    shadow_path(path, 'h', status->st_ino, "");
    if (!dir) linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
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
REPLACE(ssize_t, pread, (int fd, void *to, size_t len, off_t at), READ, act_on_file(READ, fd),
        (fd, to, len, at))

/* Half of it the first time; the next one finds the disk full, as it goes with real ones. */
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
