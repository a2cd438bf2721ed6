/* calls_time: clocks, sleeping and random bytes. Every look at a clock takes a little time, so that
 * loops which run until an instant end. The CPU's counter may not be read: the daemon asks whether
 * it may, and uses the clock instead. Where the kernel can forbid the instruction, a program that
 * reads the counter all the same ends, and a library sees a counter that stands still. Some virtual
 * machines accept the prohibition without effect; there `program_check.py` searches the program. */
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
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
#include "tests/sim/kernel/driver.h"
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

/* For the daemon, the counter is forbidden. */
int prctl(int what, ...)
{
    va_list rest;
    va_start(rest, what);
    unsigned long one = va_arg(rest, unsigned long), two = va_arg(rest, unsigned long),
                  three = va_arg(rest, unsigned long), four = va_arg(rest, unsigned long);
    va_end(rest);
    if (!in_world() || what != PR_GET_TSC)
        return (int)REAL(syscall)(SYS_prctl, what, one, two, three, four);
    *(int *)one = PR_TSC_SIGSEGV;
    return 0;
}

#if defined(__x86_64__)
#include <ucontext.h>

static uintptr_t program_begin, program_end;

static int find_program(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        program_begin = info->dlpi_addr + part->p_vaddr;
        program_end = program_begin + part->p_memsz;
    }
    return 1; /* the first one is the program */
}

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
    uintptr_t from = (uintptr_t)code;
    if (from >= program_begin && from < program_end) {
        static const char text[] = "sim: the program reads the CPU's counter\n";
        ssize_t ignored = REAL(syscall)(SYS_write, 2, text, sizeof(text) - 1);
        (void)ignored;
        REAL(syscall)(SYS_exit_group, 70);
    }
    registers[REG_RAX] = 1;
    registers[REG_RDX] = 0;
    if (length == 3) registers[REG_RCX] = 0;
    registers[REG_RIP] += length;
}

void trap_counter(void)
{
    struct sigaction action = { .sa_sigaction = on_counter, .sa_flags = SA_SIGINFO | SA_NODEFER };
    dl_iterate_phdr(find_program, NULL);
    REAL(sigaction)(SIGSEGV, &action, NULL);
    REAL(syscall)(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}

static sigjmp_buf trapped;

static void on_trap(int number)
{
    (void)number;
    siglongjmp(trapped, 1);
}

int sim_traps_counter(void)
{
    struct sigaction action = { .sa_handler = on_trap }, before;
    REAL(sigaction)(SIGSEGV, &action, &before);
    volatile int works = 0;
    if (sigsetjmp(trapped, 1) != 0)
        works = 1;
    else if (REAL(syscall)(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0)
        (void)__builtin_ia32_rdtsc();
    REAL(syscall)(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
    REAL(sigaction)(SIGSEGV, &before, NULL);
    return works;
}
#else
void trap_counter(void)
{
}

int sim_traps_counter(void)
{
    return 0;
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
