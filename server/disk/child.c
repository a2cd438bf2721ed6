/* child: see child.h. The child writes its outcome to a page that it shares with the parent; the
 * exit status only shows whether it ended normally. */
#include "server/disk/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "store/mem/mem.h"

enum {
    CHILD_NICE = 10,
    /* The time between two measurements of the copied memory: at least MEASURE_USEC, and at least
     * MEASURE_SHARE times as long as the measurement before. */
    MEASURE_USEC = 1000 * 1000,
    MEASURE_SHARE = 100,
};

struct page {
    struct child_outcome outcome;
    uint64_t keys, copied, copied_peak;
    int64_t copied_usec;
};

struct child {
    pid_t pid; /* 0 if there is no child */
    struct page *shared;
};

struct child *child_new(void)
{
    void *page =
        mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return NULL;
    struct child *child = mem_zalloc(sizeof(*child));
    child->shared = page;
    return child;
}

void child_free(struct child *child)
{
    if (child == NULL) return;
    struct child_outcome ignored;
    child_cancel(child);
    child_await(child);
    child_ended(child, &ignored);
    munmap(child->shared, sizeof(*child->shared));
    mem_free(child);
}

static unsigned running; /* children of this process */

bool children_run(void)
{
    return running > 0;
}

bool child_runs(const struct child *child)
{
    return child->pid != 0;
}

void child_cancel(struct child *child)
{
    if (child->pid != 0) kill(child->pid, SIGKILL);
}

/* Waits for the child's end, but leaves its exit status for child_ended to collect. */
void child_await(struct child *child)
{
    siginfo_t info;
    if (child->pid == 0) return;
    while (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        continue;
}

/* Returns the bytes of memory that the child no longer shares with the parent. */
static uint64_t own_bytes(void)
{
    unsigned long kilobytes = 0, sum = 0;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (file == NULL) return 0;
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "Private_Dirty: %lu kB", &kilobytes) == 1) sum += kilobytes;
    fclose(file);
    return sum * 1024;
}

/* Data that only the child uses. */
struct own {
    struct page *page;
    int64_t next_usec; /* the next measurement */
};

static void put(uint64_t *to, uint64_t value)
{
    __atomic_store_n(to, value, __ATOMIC_RELAXED);
}

static void report_keys(void *ctx, uint64_t keys)
{
    struct own *own = ctx;
    struct page *page = own->page;
    put(&page->keys, keys);
    int64_t now = clock_mono_usec();
    if (now < own->next_usec) return;
    uint64_t copied = own_bytes();
    int64_t took = clock_mono_usec() - now;
    own->next_usec =
        now + (took * MEASURE_SHARE > MEASURE_USEC ? took * MEASURE_SHARE : MEASURE_USEC);
    put(&page->copied, copied);
    if (copied > page->copied_peak) put(&page->copied_peak, copied);
    __atomic_store_n(&page->copied_usec, now, __ATOMIC_RELAXED);
}

struct child_progress child_progress(const struct child *child)
{
    const struct page *page = child->shared;
    return (struct child_progress){
        .keys = __atomic_load_n(&page->keys, __ATOMIC_RELAXED),
        .copied = __atomic_load_n(&page->copied, __ATOMIC_RELAXED),
        .copied_peak = __atomic_load_n(&page->copied_peak, __ATOMIC_RELAXED),
        .copied_usec = __atomic_load_n(&page->copied_usec, __ATOMIC_RELAXED),
    };
}

int child_begin(struct child *child, const struct child_work *work)
{
    *child->shared = (struct page){ .outcome.error = ECHILD };
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) return errno;
    if (pid > 0) {
        running++;
        child->pid = pid;
        return 0;
    }

    /* From here on in the child. Keep the descriptors 0 to 2 and, as number 3, work->fd; close all
     * others first: the parent's connections and ports, and its lock of the folder, must not
     * outlive it because of the child. Die with the parent. Lower the priority, because serving
     * clients comes first. */
    unsigned first = 3;
    if (work->fd >= 0) dup2(work->fd, (int)first++);
    if (syscall(SYS_close_range, first, ~0U, 0U) != 0)
        for (int fd = (int)first, most = (int)sysconf(_SC_OPEN_MAX); fd < most; fd++)
            close(fd);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "expired-save");
    setpriority(PRIO_PROCESS, 0, CHILD_NICE);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    if (getppid() != parent) _exit(EXIT_FAILURE);
    struct page *page = child->shared;
    struct own own = { .page = page };
    page->outcome.error =
        work->run(work->ctx, work->fd >= 0 ? 3 : -1, report_keys, &own, &page->outcome.size);
    page->outcome.copied = own_bytes();
    _exit(EXIT_SUCCESS);
}

bool child_ended(struct child *child, struct child_outcome *outcome)
{
    int status;
    if (child->pid == 0) return false;
    pid_t pid = waitpid(child->pid, &status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR)) return false;
    child->pid = 0;
    running--;
    *outcome = child->shared->outcome;
    if (pid > 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS) &&
        outcome->error == 0)
        outcome->error = ECHILD;
    return true;
}
