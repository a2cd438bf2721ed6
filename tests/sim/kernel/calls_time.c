/* calls_time: clocks, sleeping and random bytes. Every look at a clock takes a little time, so that
 * loops which run until an instant end. The CPU's counter stands still, so that the daemon asks the
 * clock instead: its instruction is made to trap. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/kernel/calls.h"
#include "tests/sim/kernel/kernel.h"

enum { LOOK_LEAST = 100, LOOK_MOST = 900 };

static struct timespec of(int64_t nanoseconds)
{
    return (struct timespec){ nanoseconds / 1000000000, nanoseconds % 1000000000 };
}

int clock_gettime(clockid_t clock, struct timespec *to)
{
    if (!in_world()) return (int)REAL(syscall)(SYS_clock_gettime, clock, to);
    kernel_spend(LOOK_LEAST, LOOK_MOST);
    bool wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
    *to = of(wall ? node_wall(own_node()) : kernel->now);
    return 0;
}

int gettimeofday(struct timeval *to, void *zone)
{
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *to = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
    return 0;
}

time_t time(time_t *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to != NULL) *to = now.tv_sec;
    return now.tv_sec;
}

int nanosleep(const struct timespec *span, struct timespec *left)
{
    if (!in_world()) return REAL(nanosleep)(span, left);
    kernel_waiting(WAIT_TIME, kernel->now + span->tv_sec * 1000000000 + span->tv_nsec);
    kernel_wait();
    return 0;
}

int usleep(useconds_t usec)
{
    struct timespec span = of((int64_t)usec * 1000);
    return nanosleep(&span, NULL);
}

ssize_t call_getrandom(void *to, size_t len)
{
    unsigned char *bytes = to;
    uint64_t *state = &own_node()->random;
    for (size_t i = 0; i < len; i++) {
        *state = *state * 6364136223846793005 + 1442695040888963407;
        bytes[i] = (unsigned char)(*state >> 56);
    }
    return (ssize_t)len;
}

ssize_t getrandom(void *to, size_t len, unsigned flags)
{
    return in_world() ? call_getrandom(to, len) : REAL(getrandom)(to, len, flags);
}

int getentropy(void *to, size_t len)
{
    return in_world() ? (call_getrandom(to, len), 0) : REAL(getentropy)(to, len);
}

#if defined(__x86_64__)
#include <ucontext.h>

static void on_counter(int number, siginfo_t *info, void *context)
{
    (void)info;
    ucontext_t *at = context;
    greg_t *registers = at->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)registers[REG_RIP];
    int length = code[0] == 0x0f && code[1] == 0x31                      ? 2 /* rdtsc */
                 : code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9 ? 3 /* rdtscp */
                                                                         : 0;
    if (length == 0) { /* a fault of the program: without this handler it ends */
        REAL(signal)(number, SIG_DFL);
        return;
    }
    registers[REG_RAX] = 1;
    registers[REG_RDX] = 0;
    if (length == 3) registers[REG_RCX] = 0;
    registers[REG_RIP] += length;
}

void trap_counter(void)
{
    struct sigaction action = { .sa_sigaction = on_counter, .sa_flags = SA_SIGINFO | SA_NODEFER };
    REAL(sigaction)(SIGSEGV, &action, NULL);
    REAL(prctl)(PR_SET_TSC, PR_TSC_SIGSEGV);
}
#else
void trap_counter(void)
{
}
#endif

/* The time that a process has computed is not simulated: half of all time will do. */
int getrusage(__rusage_who_t who, struct rusage *to)
{
    if (!in_world()) return REAL(getrusage)(who, to);
    memset(to, 0, sizeof(*to));
    to->ru_utime.tv_sec = kernel->now / 2000000000;
    return 0;
}
