/* calls_machine: what a process can learn about the machine. The answers are the same everywhere,
 * so that a run does not depend on cores, limits, names and paths. */
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tests/sim/kernel/kernel.h"

enum { CORES = 2, MEMORY_PAGES = 1 << 20, STACK = 8 << 20, DESCRIPTORS = 1 << 16 };

long sysconf(int name)
{
    if (in_world() && (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF)) return CORES;
    if (in_world() && name == _SC_PHYS_PAGES) return MEMORY_PAGES;
    return REAL(sysconf)(name);
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    if (!in_world()) return REAL(sched_getaffinity)(pid, size, set);
    CPU_ZERO_S(size, set);
    for (int i = 0; i < CORES; i++)
        CPU_SET_S((size_t)i, size, set);
    return 0;
}

int sched_getcpu(void)
{
    return in_world() ? 0 : REAL(sched_getcpu)();
}

int getrlimit(__rlimit_resource_t of, struct rlimit *to)
{
    if (!in_world() || (of != RLIMIT_STACK && of != RLIMIT_NOFILE)) return REAL(getrlimit)(of, to);
    to->rlim_cur = to->rlim_max = of == RLIMIT_STACK ? STACK : DESCRIPTORS;
    return 0;
}

int setrlimit(__rlimit_resource_t of, const struct rlimit *limit)
{
    return in_world() ? 0 : REAL(setrlimit)(of, limit);
}

int uname(struct utsname *to)
{
    if (!in_world()) return REAL(uname)(to);
    *to = (struct utsname){ "Linux", "node", "6.1.0", "#1", "x86_64", "" };
    return 0;
}

int gethostname(char *to, size_t size)
{
    if (!in_world()) return REAL(gethostname)(to, size);
    strncpy(to, "node", size);
    return 0;
}

/* The program's own path depends on where it was built. */
ssize_t readlink(const char *path, char *to, size_t size)
{
    static const char program[] = "/usr/bin/expired";
    if (!in_world() || strcmp(path, "/proc/self/exe") != 0) return REAL(readlink)(path, to, size);
    size_t len = size < sizeof(program) - 1 ? size : sizeof(program) - 1;
    memcpy(to, program, len);
    return (ssize_t)len;
}
