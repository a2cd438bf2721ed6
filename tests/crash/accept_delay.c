/* accept_delay: a library to preload that makes the daemon slow to accept and slow to begin a turn.
 * Three of four calls of accept4 find no connection, and one of 25 turns begins up to 4 ms late.
 * `make steady` loads it into every process, and it acts in those named "expired" alone. It finds
 * tests that take a connection for accepted because connect has returned, or that expect two
 * requests in one turn.
 *
 * The listening socket stays readable, so the daemon tries again in its next turn. TEST_SEED
 * chooses the calls; each process begins anew. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { ACCEPTS = 4, TURNS = 25, LATE_MSEC = 4 };

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

static __typeof__(&accept4) real_accept4;
static __typeof__(&epoll_wait) real_epoll_wait;
static bool in_daemon;
static _Atomic uint64_t state;

__attribute__((constructor)) static void begin(void)
{
    const char *seed = getenv("TEST_SEED");
    state = seed == NULL ? 0 : strtoull(seed, NULL, 10);
    in_daemon = strcmp(program_invocation_short_name, "expired") == 0;
    real_accept4 = REAL(accept4);
    real_epoll_wait = REAL(epoll_wait);
}

/* A random number below a limit: splitmix64, whose state is a counter, so threads may share it. */
static unsigned below(unsigned limit)
{
    const uint64_t step = 0x9e3779b97f4a7c15;
    uint64_t x = atomic_fetch_add(&state, step) + step;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return (unsigned)((x ^ x >> 31) % limit);
}

int accept4(int fd, struct sockaddr *from, socklen_t *size, int flags)
{
    if (in_daemon && below(ACCEPTS) != 0) {
        errno = EAGAIN;
        return -1;
    }
    return real_accept4(fd, from, size, flags);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int msec)
{
    int count = real_epoll_wait(fd, events, most, msec);
    int error = errno;
    if (in_daemon && below(TURNS) == 0) poll(NULL, 0, (int)below(LATE_MSEC + 1));
    errno = error;
    return count;
}
