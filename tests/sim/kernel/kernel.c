/* kernel: see kernel.h. */
#include "tests/sim/kernel/kernel.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/kernel/objects.h"

struct kernel *kernel;
__thread int self = NONE;

void *kernel_real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        static const char text[] = "sim: libc has no such function\n";
        ssize_t ignored = syscall(SYS_write, 2, text, sizeof(text) - 1);
        (void)ignored;
        syscall(SYS_exit_group, 70);
    }
    return found;
}

static long (*real_syscall)(long, ...);

__attribute__((constructor(101))) static void find_syscall(void)
{
    real_syscall = (long (*)(long, ...))kernel_real("syscall");
}

static long futex(uint32_t *word, int what, uint32_t value, const struct timespec *limit)
{
    return real_syscall(SYS_futex, word, what, value, limit, NULL, 0);
}

/* ---- random numbers and the trace ------------------------------------------------------------ */

/* splitmix64, by Sebastiano Vigna. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

uint64_t kernel_roll(enum dice dice, uint64_t limit)
{
    return limit <= 1 ? 0 : next_random(&kernel->dice[dice]) % limit;
}

bool kernel_chance(enum dice dice, uint32_t chance)
{
    return chance != 0 && kernel_roll(dice, 65536) < chance;
}

int64_t kernel_between(enum dice dice, int64_t least, int64_t most)
{
    return most <= least ? least : least + (int64_t)kernel_roll(dice, (uint64_t)(most - least) + 1);
}

static void mix(uint64_t number)
{
    uint64_t hash = kernel->trace ^ number;
    hash *= 0x9fb21c651e98df25;
    kernel->trace = hash ^ (hash >> 32);
}

static int trace_fd = NONE;

void kernel_note_bytes(const char *what, const void *bytes, size_t len)
{
    const char *from = bytes;
    uint64_t hash = 0xcbf29ce484222325, word = 0;
    for (size_t at = 0; at < len; at += sizeof(word)) {
        size_t size = len - at < sizeof(word) ? len - at : sizeof(word);
        memcpy(&word, from + at, size);
        hash = (hash ^ word) * 0x9fb21c651e98df25;
        hash ^= hash >> 32;
    }
    kernel_note(what, (int64_t)len, (int64_t)hash, 0);
}

void kernel_note(const char *what, int64_t a, int64_t b, int64_t c)
{
    kernel->events++;
    uint64_t name = 0;
    memcpy(&name, what, strnlen(what, sizeof(name)));
    mix(name);
    mix((uint64_t)kernel->now);
    mix((uint64_t)self);
    mix((uint64_t)a);
    mix((uint64_t)b);
    mix((uint64_t)c);
    if (trace_fd == NONE) {
        const char *path = getenv("SIM_TRACE");
        trace_fd = path == NULL ? -2
                                : ((int (*)(const char *, int, ...))kernel_real("open"))(
                                      path, 02001 /* O_APPEND | O_WRONLY */);
        if (trace_fd < 0) trace_fd = -2;
        if (trace_fd >= 0 && trace_fd < FDS_MAX) { /* the numbers below are the program's */
            int low = trace_fd;
            trace_fd = (int)real_syscall(SYS_fcntl, low, F_DUPFD, FDS_MAX);
            real_syscall(SYS_close, low);
        }
    }
    if (trace_fd < 0) return;
    char line[200];
    int len = snprintf(line, sizeof(line), "%lld.%09lld actor %d node %d: %s %lld %lld %lld\n",
                       (long long)(kernel->now / 1000000000), (long long)(kernel->now % 1000000000),
                       self, self == NONE ? 0 : own_process()->node, what, (long long)a,
                       (long long)b, (long long)c);
    ssize_t ignored = real_syscall(SYS_write, trace_fd, line, (size_t)len);
    (void)ignored;
}

void kernel_spend(int64_t least, int64_t most)
{
    kernel->now += kernel_between(DICE_SCHEDULE, least, most);
}

int64_t node_wall(const struct node *node)
{
    return kernel->wall + kernel->now + node->wall_offset;
}

/* ---- actors ---------------------------------------------------------------------------------- */

int kernel_actor_new(int process)
{
    for (int i = 0; i < ACTORS_MAX; i++) {
        struct actor *actor = &kernel->actors[i];
        if (actor->state != ACTOR_FREE) continue;
        if (i >= kernel->actors_end) kernel->actors_end = i + 1;
        *actor = (struct actor){ .state = ACTOR_READY,
                                 .process = process,
                                 .object = NONE,
                                 .awake_at = kernel->now,
                                 .chosen_at = kernel->now };
        return i;
    }
    abort();
}

int kernel_process_new(int node, int parent)
{
    for (int i = 0; i < PROCESSES_MAX; i++) {
        struct process *process = &kernel->processes[i];
        if (process->state != PROCESS_FREE) continue;
        memset(process, 0, sizeof(*process));
        process->state = PROCESS_ALIVE;
        process->node = node;
        process->parent = parent;
        process->pid = kernel->next_pid++;
        for (int fd = 0; fd < FDS_MAX; fd++)
            process->fd[fd] = parent == NONE ? NONE : kernel->processes[parent].fd[fd];
        for (int fd = 0; fd < FDS_MAX; fd++)
            if (process->fd[fd] != NONE) object_keep(process->fd[fd]);
        process->main_actor = kernel_actor_new(i);
        return i;
    }
    abort();
}

void kernel_process_end(int number, int status)
{
    struct process *process = &kernel->processes[number];
    if (process->state != PROCESS_ALIVE) return;
    process->state = PROCESS_DEAD;
    process->status = status;
    for (int i = 0; i < kernel->actors_end; i++)
        if (kernel->actors[i].state != ACTOR_FREE && kernel->actors[i].process == number)
            kernel->actors[i].state = ACTOR_FREE;
    for (int fd = 0; fd < FDS_MAX; fd++) {
        if (process->fd[fd] != NONE) object_drop(process->fd[fd]);
        process->fd[fd] = NONE;
    }
    /* A child of the daemon has asked to end with its parent. */
    for (int i = 0; i < PROCESSES_MAX; i++) {
        struct process *child = &kernel->processes[i];
        if (child->state == PROCESS_ALIVE && child->parent == number) {
            kernel_kill(child->real_pid);
            kernel_process_end(i, SIGKILL);
        }
    }
    if (process->parent != NONE && kernel->processes[process->parent].state == PROCESS_ALIVE) {
        kernel->processes[process->parent].pending |= (uint64_t)1 << SIGCHLD;
        return;
    }
    if (kernel->nodes[process->node].process == number) kernel->nodes[process->node].process = NONE;
}

void kernel_die(bool whole_node)
{
    int number = kernel->actors[self].process, node = kernel->processes[number].node;
    for (int i = 0; i < PROCESSES_MAX; i++) {
        struct process *process = &kernel->processes[i];
        if (i == number || process->state != PROCESS_ALIVE || process->node != node || !whole_node)
            continue;
        kernel_kill(process->real_pid);
        kernel_process_end(i, SIGKILL);
    }
    kernel_note("die", number, node, 0);
    kernel_process_end(number, SIGKILL);
    kernel_leave();
    real_syscall(SYS_kill, real_syscall(SYS_getpid), SIGKILL);
    for (;;)
        real_syscall(SYS_pause);
}

/* ---- choosing who is next -------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t wait_ends_at(const struct actor *actor)
{
    switch (actor->wait) {
    case WAIT_TIME: return NEVER_NS;
    case WAIT_EPOLL: return object_epoll_at(actor->object);
    case WAIT_READ: return object_readable_at(actor->object);
    case WAIT_WRITE: return object_writable_at(actor->object);
    case WAIT_DRIVER: return objects_news_at();
    case WAIT_THREAD: return kernel->actors[actor->object].state == ACTOR_DEAD ? 0 : NEVER_NS;
    case WAIT_CHILD: {
        if (actor->object == NONE) return NEVER_NS;
        return kernel->processes[actor->object].state == PROCESS_DEAD ? 0 : NEVER_NS;
    }
    case WAIT_POLL: {
        int64_t at = NEVER_NS;
        for (int i = 0; i < actor->polled_count; i++) {
            const struct polled *polled = &actor->polled[i];
            if (polled->events & 1) at = earlier(at, object_readable_at(polled->object));
            if (polled->events & 4) at = earlier(at, object_writable_at(polled->object));
        }
        return at;
    }
    case WAIT_MUTEX:
    case WAIT_COND: return actor->woken ? 0 : NEVER_NS;
    }
    return NEVER_NS;
}

int64_t kernel_ready_at(int number)
{
    const struct actor *actor = &kernel->actors[number];
    if (actor->state == ACTOR_READY) return 0;
    if (actor->state != ACTOR_WAITING) return NEVER_NS;
    const struct process *process = &kernel->processes[actor->process];
    /* A signal interrupts the main thread while it waits for descriptors. */
    if (process->pending != 0 && number == process->main_actor &&
        (actor->wait == WAIT_EPOLL || actor->wait == WAIT_POLL))
        return 0;
    return earlier(actor->until, wait_ends_at(actor));
}

/* Chooses the next actor, and advances the time to its event. NONE: nothing will ever happen. */
static int choose(void)
{
    int ready[ACTORS_MAX], count = 0, first = NONE;
    int64_t soonest = NEVER_NS;
    for (int i = 0; i < kernel->actors_end; i++) {
        if (kernel->actors[i].state != ACTOR_READY && kernel->actors[i].state != ACTOR_WAITING)
            continue;
        int64_t at = kernel_ready_at(i);
        if (at <= kernel->now) ready[count++] = i;
        if (at >= soonest) continue;
        soonest = at;
        first = i;
    }
    if (count > 0) return ready[kernel_roll(DICE_SCHEDULE, (uint64_t)count)];
    if (first != NONE) kernel->now = soonest;
    return first;
}

static void wake(int number)
{
    struct actor *actor = &kernel->actors[number];
    __atomic_store_n(&kernel->running, number, __ATOMIC_RELEASE);
    __atomic_store_n(&actor->go, 1, __ATOMIC_RELEASE);
    futex(&actor->go, FUTEX_WAKE, 1, NULL);
}

/* Has that process ended, with all of its threads? Until then it may hold its folder's lock. */
static bool is_gone(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = ((int (*)(const char *, int, ...))kernel_real("open"))(path, 0);
    if (fd < 0) return true;
    ssize_t got = real_syscall(SYS_read, fd, text, sizeof(text) - 1);
    real_syscall(SYS_close, fd);
    if (got <= 0) return true;
    text[got] = '\0';
    char state = '\0';
    long threads = 0;
    const char *name_end = strrchr(text, ')');
    if (name_end == NULL ||
        sscanf(name_end, ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
               &state, &threads) != 2)
        return true;
    return (state == 'Z' || state == 'X') && threads <= 1;
}

static void nap(long nsec)
{
    struct timespec length = { .tv_nsec = nsec };
    real_syscall(SYS_nanosleep, &length, NULL);
}

void kernel_await_end(pid_t pid)
{
    while (!is_gone(pid))
        nap(50000);
}

void kernel_kill(pid_t pid)
{
    real_syscall(SYS_kill, pid, SIGKILL);
    kernel_await_end(pid);
}

/* For the driver: has the process whose turn it is crashed, that is, ended without telling the
 * world? It runs meanwhile, and may end in the ordinary way: it passes its turn on, and is then
 * found gone. So the answer counts only if it is still this process's turn afterwards. */
static void look_after_others(void)
{
    int running = __atomic_load_n(&kernel->running, __ATOMIC_ACQUIRE);
    int number = kernel->actors[running].process;
    struct process *process = &kernel->processes[number];
    pid_t pid = process->real_pid;
    if (running == self || process->state != PROCESS_ALIVE || pid == 0) return;
#ifdef SLOW_LOOK
    nap(2000000);
#endif
    if (!is_gone(pid) || __atomic_load_n(&kernel->running, __ATOMIC_ACQUIRE) != running ||
        process->state != PROCESS_ALIVE || process->real_pid != pid)
        return;
    process->crashed = true;
    kernel_process_end(number, SIGABRT);
    wake(self);
}

static void sleep_until_chosen(void)
{
    struct actor *actor = &kernel->actors[self];
    bool driver = actor->process == 0;
#ifdef SLOW_LOOK /* at every opportunity, and slowly, as on a machine that has no time */
    struct timespec limit = { .tv_nsec = 300000 };
#else
    struct timespec limit = { .tv_nsec = 200000000 };
#endif
    while (__atomic_load_n(&actor->go, __ATOMIC_ACQUIRE) == 0) {
        /* Once in some ten thousand worlds on Linux 6.18, a thread slept on although it had been
         * woken and `go` was set. So every sleeper looks again. */
        long rc = futex(&actor->go, FUTEX_WAIT, 0, &limit);
        if (driver && rc != 0 && __atomic_load_n(&actor->go, __ATOMIC_ACQUIRE) == 0)
            look_after_others();
    }
    actor->go = 0;
}

static void pass_on(void)
{
    int next = choose();
    if (next == NONE) {
        kernel->stuck = true;
        next = 0; /* the driver */
    }
    if (next != self) {
        wake(next);
        sleep_until_chosen();
    }
    kernel->actors[self].chosen_at = kernel->now;
}

struct actor *kernel_waiting(enum wait wait, int64_t until)
{
    struct actor *actor = &kernel->actors[self];
    actor->wait = wait;
    actor->until = until;
    actor->object = NONE;
    actor->address = NULL;
    actor->polled_count = 0;
    actor->woken = false;
    return actor;
}

bool kernel_wait(void)
{
    struct actor *actor = &kernel->actors[self];
    actor->state = ACTOR_WAITING;
    pass_on();
    bool served = wait_ends_at(actor) <= kernel->now;
    actor->state = ACTOR_READY;
    actor->awake_at = kernel->now;
    return served;
}

void kernel_yield(void)
{
    kernel->actors[self].state = ACTOR_READY;
    pass_on();
}

void kernel_maybe_yield(void)
{
    const int64_t slice = 10000000, longest = 4000000000;
    const struct actor *actor = &kernel->actors[self];
    bool by_chance = kernel_chance(DICE_SCHEDULE, kernel->spurious);
    if (actor->process != 0 && kernel->now - actor->awake_at > longest) {
        fprintf(stderr, "sim: a thread of process %d runs and never waits\n",
                kernel->processes[actor->process].pid);
        abort();
    }
    if (by_chance || kernel->now - actor->chosen_at > slice) kernel_yield();
}

void kernel_leave(void)
{
    int next = choose();
    if (next == NONE) {
        kernel->stuck = true;
        next = 0;
    }
    self = NONE;
    wake(next);
}

void kernel_join_world(int actor)
{
    self = actor;
    sleep_until_chosen();
}
