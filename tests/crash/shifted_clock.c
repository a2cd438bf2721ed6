/* shifted_clock: a library to preload that adds an offset to the wall clock. A test changes the
 * offset at any time, as if the clock was set.
 *
 * CLOCK_SHIFT names a file of three 64-bit numbers: nanoseconds that are added to CLOCK_REALTIME,
 * how often this offset has changed, and nanoseconds that are added to CLOCK_MONOTONIC, which
 * change no timer. An absolute time of a timerfd of that clock is converted when it is armed.
 * Timers with TFD_TIMER_CANCEL_ON_SET are notified of changes: a thread looks at the count every
 * millisecond and makes each timer readable, and the next read fails once with ECANCELED, as the
 * kernel's does. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { SHIFT, CHANGES, PASSED, NUMBERS, TIMERS = 4 };
#define SECOND 1000000000

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

static _Atomic int64_t *page;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct timer {
    int fd; /* 0: none */
    bool notified_of_changes, canceled;
} timers[TIMERS];

static void *watch(void *ctx);

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("CLOCK_SHIFT");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *map = mmap(NULL, NUMBERS * sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return;
    page = map;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, watch, NULL) != 0) abort();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool is_wall(clockid_t id)
{
    return page != NULL && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE);
}

static struct timespec moved(struct timespec when, int64_t by)
{
    int64_t all = (int64_t)when.tv_sec * SECOND + when.tv_nsec + by;
    if (all < 1) all = 1; /* 0 would disarm a timer */
    return (struct timespec){ .tv_sec = all / SECOND, .tv_nsec = all % SECOND };
}

/* ---- reading the clock ----------------------------------------------------------------------- */

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (syscall(SYS_clock_gettime, id, now) != 0) return -1;
    if (is_wall(id)) *now = moved(*now, page[SHIFT]);
    if (page != NULL && id == CLOCK_MONOTONIC) *now = moved(*now, page[PASSED]);
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec read;
    if (clock_gettime(CLOCK_REALTIME, &read) != 0) return -1;
    now->tv_sec = read.tv_sec;
    now->tv_usec = read.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec read;
    if (clock_gettime(CLOCK_REALTIME, &read) != 0) return -1;
    if (now != NULL) *now = read.tv_sec;
    return read.tv_sec;
}

/* ---- timers ---------------------------------------------------------------------------------- */

/* With the lock held. */
static struct timer *timer_of(int fd)
{
    for (int i = 0; i < TIMERS; i++)
        if (timers[i].fd == fd) return &timers[i];
    return NULL;
}

int timerfd_create(int id, int flags)
{
    int fd = REAL(timerfd_create)(id, flags);
    if (fd < 0 || !is_wall(id)) return fd;
    pthread_mutex_lock(&lock);
    struct timer *timer = timer_of(0);
    if (timer == NULL) abort();
    *timer = (struct timer){ .fd = fd };
    pthread_mutex_unlock(&lock);
    return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *old)
{
    pthread_mutex_lock(&lock);
    struct timer *timer = fd > 0 ? timer_of(fd) : NULL;
    struct itimerspec there = *when;
    bool armed = when->it_value.tv_sec != 0 || when->it_value.tv_nsec != 0;
    if (timer != NULL) {
        bool was_canceled = timer->canceled;
        timer->canceled = false;
        timer->notified_of_changes = (flags & TFD_TIMER_CANCEL_ON_SET) != 0;
        if (armed && (flags & TFD_TIMER_ABSTIME))
            there.it_value = moved(when->it_value, -page[SHIFT]);
        flags &= ~TFD_TIMER_CANCEL_ON_SET;
        if (was_canceled) {
            pthread_mutex_unlock(&lock);
            REAL(timerfd_settime)(fd, flags, &there, old);
            errno = ECANCELED;
            return -1;
        }
    }
    int result = REAL(timerfd_settime)(fd, flags, &there, old);
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t read(int fd, void *to, size_t len)
{
    if (page != NULL && fd > 0) {
        pthread_mutex_lock(&lock);
        struct timer *timer = timer_of(fd);
        bool canceled = timer != NULL && timer->canceled;
        if (canceled) timer->canceled = false;
        pthread_mutex_unlock(&lock);
        if (canceled) {
            syscall(SYS_read, fd, to, len);
            errno = ECANCELED;
            return -1;
        }
    }
    return syscall(SYS_read, fd, to, len);
}

/* The clock was set: makes timers that are to be notified readable. */
static void cancel_all(void)
{
    struct itimerspec now = { .it_value = { .tv_nsec = 1 } };
    pthread_mutex_lock(&lock);
    for (int i = 0; i < TIMERS; i++) {
        if (timers[i].fd == 0 || !timers[i].notified_of_changes) continue;
        timers[i].canceled = true;
        REAL(timerfd_settime)(timers[i].fd, TFD_TIMER_ABSTIME, &now, NULL);
    }
    pthread_mutex_unlock(&lock);
}

static void *watch(void *ctx)
{
    (void)ctx;
    for (int64_t seen = page[CHANGES];; poll(NULL, 0, 1)) {
        if (page[CHANGES] == seen) continue;
        seen = page[CHANGES];
        cancel_all();
    }
    return NULL;
}
