/* process: see process.h. */
#include "server/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { OWN_FILES = 32 }; /* descriptors other than clients': listeners, log, timers */

static bool set_files(struct rlimit *limit, rlim_t files)
{
    struct rlimit wanted = { .rlim_cur = files,
                             .rlim_max = files > limit->rlim_max ? files : limit->rlim_max };
    if (setrlimit(RLIMIT_NOFILE, &wanted) != 0) return false;
    *limit = wanted;
    return true;
}

int64_t process_raise_files(int64_t clients, int64_t more)
{
    struct rlimit limit;
    rlim_t own = OWN_FILES + (rlim_t)more, wanted = (rlim_t)clients + own;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return clients;
    if (limit.rlim_cur >= wanted || set_files(&limit, wanted)) return clients;
    /* Only root may go beyond the hard limit. */
    if (limit.rlim_cur < limit.rlim_max) set_files(&limit, limit.rlim_max);
    return limit.rlim_cur > own ? (int64_t)(limit.rlim_cur - own) : 1;
}

unsigned process_cores(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 1 ? (unsigned)count : 1;
}

int process_detach(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    pid_t child = fork();
    if (child < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        errno = error;
        return -1;
    }
    if (child > 0) {
        /* Wait for the child's one byte, which means that it is ready. If the child dies first, the
         * pipe ends without a byte. */
        char byte;
        ssize_t got;
        close(ends[1]);
        do {
            got = read(ends[0], &byte, 1);
        } while (got < 0 && errno == EINTR);
        _exit(got == 1 ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    close(ends[0]);
    setsid();
    return ends[1];
}

void process_detached(int parent)
{
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        if (null > STDERR_FILENO) close(null);
    }
    /* If the parent was killed meanwhile, this may fail. */
    ssize_t ignored = write(parent, "", 1);
    (void)ignored;
    close(parent);
}

bool process_write_pid(const char *path)
{
    FILE *file = fopen(path, "we");
    if (file == NULL) return false;
    bool good = fprintf(file, "%d\n", (int)getpid()) > 0;
    return fclose(file) == 0 && good;
}

bool process_random_hex(char *to, size_t digits)
{
    unsigned char bytes[32];
    size_t count = digits / 2;
    if (getrandom(bytes, count, 0) != (ssize_t)count) return false;
    for (size_t i = 0; i < count; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

enum { NOTIFY_WAIT_USEC = 1000 * 1000 };

static bool send_state(const char *state, int64_t wait_usec)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (path == NULL || (path[0] != '/' && path[0] != '@')) return false;
    if (strlen(path) >= sizeof(address.sun_path)) return false;
    memcpy(address.sun_path, path, strlen(path));
    if (path[0] == '@') address.sun_path[0] = '\0'; /* the abstract name space */
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    struct timeval wait = { .tv_sec = wait_usec / 1000000, .tv_usec = wait_usec % 1000000 };
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
    int flags = MSG_NOSIGNAL | (wait_usec == 0 ? MSG_DONTWAIT : 0);
    ssize_t sent = sendto(fd, state, strlen(state), flags, (const struct sockaddr *)&address, size);
    close(fd);
    return sent == (ssize_t)strlen(state);
}

bool process_notify(const char *state)
{
    return send_state(state, NOTIFY_WAIT_USEC);
}

bool process_notify_now(const char *state)
{
    return send_state(state, 0);
}
