/* driver: see driver.h. */
#include "tests/sim/kernel/driver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/kernel/disk.h"
#include "tests/sim/kernel/kernel.h"
#include "tests/sim/kernel/objects.h"
#include "tests/sim/kernel/starter.h"

static int memory = NONE;

int sim_begin(uint64_t seed, int64_t wall_msec)
{
    memory = (int)REAL(syscall)(SYS_memfd_create, "sim", 0);
    if (memory < 0 || REAL(ftruncate)(memory, (off_t)sizeof(struct kernel)) != 0) return errno;
    void *at = mmap(KERNEL_AT, sizeof(struct kernel), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED_NOREPLACE, memory, 0);
    if (at != KERNEL_AT) return ENOMEM;
    kernel = at;
    for (int i = 0; i < DICE_KINDS; i++)
        kernel->dice[i] = seed * 0x9e3779b97f4a7c15 + (uint64_t)i * 0xd1342543de82ef95;
    kernel->now = 1000000000000; /* the hosts have been up for a while */
    kernel->wall = wall_msec * 1000000 - kernel->now;
    kernel->next_pid = 100;
    kernel->next_write = 1;
    kernel->latency_min = 20000;
    kernel->latency_max = 500000;
    kernel->nodes[0].exists = true;
    for (int i = 0; i < NODES_MAX; i++) {
        kernel->nodes[i].process = NONE;
        kernel->nodes[i].space = -1;
        kernel->nodes[i].sync_min = 50000;
        kernel->nodes[i].sync_max = 3000000;
        kernel->nodes[i].random = seed + (uint64_t)i;
    }
    self = NONE;
    kernel->processes[0].state = PROCESS_FREE;
    int process = kernel_process_new(0, NONE);
    kernel->processes[process].real_pid = (pid_t)REAL(syscall)(SYS_getpid);
    kernel->nodes[0].process = process;
    self = kernel->processes[process].main_actor;
    return 0;
}

void sim_end(void)
{
    for (int i = 1; i < NODES_MAX; i++)
        sim_kill(i);
    munmap(kernel, sizeof(struct kernel));
    REAL(close)(memory);
    kernel = NULL;
    self = NONE;
}

void sim_node(int number, const char *dir)
{
    struct node *node = &kernel->nodes[number];
    node->exists = true;
    snprintf(node->dir, sizeof(node->dir), "%s", dir);
    char hidden[PATH_SIZE + 16];
    snprintf(hidden, sizeof(hidden), "%s.hidden", dir);
    REAL(mkdir)(dir, 0700);
    REAL(mkdir)(hidden, 0700);
}

int sim_start(int number, const char *library, const char *log, char *const command[],
              char *const arguments[])
{
    struct node *node = &kernel->nodes[number];
    if (node->process != NONE) return EBUSY;
    for (int i = 1; i < PROCESSES_MAX; i++) {
        struct process *dead = &kernel->processes[i];
        if (dead->state != PROCESS_DEAD || dead->node != number) continue;
        kernel_await_end(dead->real_pid);
        if (dead->parent != NONE) dead->state = PROCESS_FREE; /* nobody is left to reap it */
    }
    int process = kernel_process_new(number, NONE);
    node->process = process;
    node->off = false;
    pid_t pid = starter_start(library, command, arguments, log, process, memory);
    if (pid < 0) {
        int error = errno;
        kernel_process_end(process, 0);
        kernel->processes[process].state = PROCESS_FREE;
        return error;
    }
    kernel->processes[process].real_pid = pid;
    kernel_note("start", number, kernel->processes[process].pid, 0);
    return 0;
}

void sim_end_starter(void)
{
    starter_end();
}

int sim_status(int number, int *status)
{
    for (int i = 1; i < PROCESSES_MAX; i++) {
        struct process *process = &kernel->processes[i];
        if (process->state != PROCESS_DEAD || process->node != number || process->parent != NONE)
            continue;
        kernel_await_end(process->real_pid);
        *status = process->crashed ? -1 : process->status;
        process->state = PROCESS_FREE;
        return 1;
    }
    return 0;
}

int sim_up(int number)
{
    return kernel->nodes[number].process != NONE;
}

static int threads_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (folder == NULL) return 0;
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

int sim_strangers(int number)
{
    int process = kernel->nodes[number].process, actors = 0, strangers = 0;
    if (process == NONE) return 0;
    for (int i = 0; i < kernel->actors_end; i++) {
        const struct actor *actor = &kernel->actors[i];
        actors += actor->process == process &&
                  (actor->state == ACTOR_READY || actor->state == ACTOR_WAITING);
    }
    /* A thread that has left the world exists for some microseconds more. */
    for (int patience = 0; patience < 10000; patience++) {
        strangers = threads_of(kernel->processes[process].real_pid) - actors;
        if (strangers <= 0) return 0;
        struct timespec msec = { .tv_nsec = 1000000 };
        REAL(syscall)(SYS_nanosleep, &msec, NULL);
    }
    return strangers;
}

static void end_processes(int number)
{
    for (int i = 1; i < PROCESSES_MAX; i++) {
        struct process *process = &kernel->processes[i];
        if (process->state != PROCESS_ALIVE || process->node != number) continue;
        kernel_kill(process->real_pid);
        kernel_process_end(i, SIGKILL);
    }
    int status;
    while (sim_status(number, &status))
        ;
    /* A grandchild is reaped by the system, once its parent is gone. */
    for (int i = 1; i < PROCESSES_MAX; i++)
        if (kernel->processes[i].state == PROCESS_DEAD && kernel->processes[i].node == number)
            kernel->processes[i].state = PROCESS_FREE;
}

void sim_kill(int number)
{
    if (kernel->nodes[number].process == NONE) return;
    kernel_note("kill node", number, 0, 0);
    end_processes(number);
}

void sim_lose_power(int number, uint32_t chance)
{
    kernel_note("power", number, chance, 0);
    objects_forget_node(number);
    for (int i = 1; i < PROCESSES_MAX; i++)
        for (int fd = 0; fd < FDS_MAX && kernel->processes[i].node == number; fd++)
            kernel->processes[i].fd[fd] = NONE;
    end_processes(number);
    kernel->nodes[number].off = true;
    disk_lose_power(number, chance);
}

void sim_signal(int number, int signal)
{
    int process = kernel->nodes[number].process;
    if (process != NONE) kernel->processes[process].pending |= (uint64_t)1 << signal;
}

void sim_kill_in(int number, uint64_t calls)
{
    int process = kernel->nodes[number].process;
    if (process != NONE) kernel->processes[process].calls_left = calls;
}

int sim_run(int64_t until)
{
    kernel_waiting(WAIT_DRIVER, until);
    kernel_wait();
    bool stuck = kernel->stuck;
    kernel->stuck = false;
    int news = stuck ? SIM_STUCK : 0;
    if (objects_first_news() != NONE) news |= SIM_ARRIVED;
    for (int i = 1; i < PROCESSES_MAX; i++)
        if (kernel->processes[i].state == PROCESS_DEAD && kernel->processes[i].parent == NONE)
            news |= SIM_ENDED;
    return news;
}

const int64_t *sim_clock(void)
{
    return &kernel->now;
}

int64_t sim_wall(int number)
{
    return node_wall(&kernel->nodes[number]);
}

/* ---- connections ----------------------------------------------------------------------------- */

int sim_connect(int number, uint16_t port)
{
    int socket = object_new(OBJECT_SOCKET, 0);
    object_at(socket)->nonblock = true;
    if (kernel->apart[0][number] || !object_connect(socket, number, port)) {
        object_drop(socket);
        return NONE;
    }
    object_at(socket)->connecting = false;
    return socket;
}

int64_t sim_send(int socket, const char *bytes, uint64_t len)
{
    return object_put(socket, bytes, len);
}

int64_t sim_receive(int socket, char *to, uint64_t size)
{
    ssize_t got = object_take(socket, to, size, false);
    if (got >= 0) return got;
    return errno == EAGAIN ? -1 : -2;
}

int sim_ready_socket(void)
{
    return objects_first_news();
}

void sim_drop(int socket)
{
    object_drop(socket);
}

void sim_reset(int socket)
{
    object_reset(socket);
}

void sim_vanish(int socket)
{
    object_vanish(socket);
}

/* ---- faults and settings --------------------------------------------------------------------- */

void sim_cut(int one, int other, int apart)
{
    kernel_note("cut", one, other, apart);
    objects_cut(one, other, apart != 0);
}

void sim_set_clock(int number, int64_t offset)
{
    struct node *node = &kernel->nodes[number];
    if (node->wall_offset == offset) return;
    node->wall_offset = offset;
    node->clock_sets++;
    for (int i = 0; i < kernel->objects_end; i++) {
        struct object *timer = object_at(i);
        if (timer->kind != OBJECT_TIMER || timer->node != number || timer->timer_wall <= 1 ||
            timer->timer_at == NEVER_NS)
            continue;
        timer->timer_at = timer->timer_wall - node_wall(node) + kernel->now;
    }
}

static const struct setting {
    const char *name;
    size_t offset;
    bool is_wide;
} settings[] = {
    { "sync_min", offsetof(struct node, sync_min), true },
    { "sync_max", offsetof(struct node, sync_max), true },
    { "space", offsetof(struct node, space), true },
    { "fail_write", offsetof(struct node, fail_write), false },
    { "fail_sync", offsetof(struct node, fail_sync), false },
    { "fail_open", offsetof(struct node, fail_open), false },
    { "fail_fork", offsetof(struct node, fail_fork), false },
    { "fail_memory", offsetof(struct node, fail_memory), false },
    { "short_write", offsetof(struct node, short_write), false },
    { "small_reads", offsetof(struct node, small_reads), false },
};

static void *find_setting(int number, const char *name, bool *is_wide)
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        if (strcmp(settings[i].name, name) != 0) continue;
        *is_wide = settings[i].is_wide;
        return (char *)&kernel->nodes[number] + settings[i].offset;
    }
    fprintf(stderr, "sim: no setting %s\n", name);
    abort();
}

void sim_set(int number, const char *name, int64_t value)
{
    bool is_wide;
    void *at = find_setting(number, name, &is_wide);
    if (is_wide)
        *(int64_t *)at = value;
    else
        *(uint32_t *)at = (uint32_t)value;
}

int64_t sim_get(int number, const char *name)
{
    bool is_wide;
    const void *at = find_setting(number, name, &is_wide);
    return is_wide ? *(const int64_t *)at : *(const uint32_t *)at;
}

void sim_set_latency(int64_t least, int64_t most)
{
    kernel->latency_min = least;
    kernel->latency_max = most;
}

void sim_set_spurious(uint32_t chance)
{
    kernel->spurious = chance;
}

uint64_t sim_events(void)
{
    return kernel->events;
}

uint64_t sim_trace(void)
{
    return kernel->trace;
}

void sim_note(const char *what, int64_t number)
{
    kernel_note(what, number, 0, 0);
}
