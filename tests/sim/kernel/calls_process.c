/* calls_process: joining the world at the start of a process, children, signals and the end. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/kernel/calls.h"
#include "tests/sim/kernel/kernel.h"

static struct sigaction actions[65];

static void end_of_world(int status)
{
    if (!in_world()) return;
    int process = kernel->actors[self].process;
    kernel_note("exit", process, status, 0);
    kernel_process_end(process, (status & 255) << 8);
    kernel_leave();
}

static void on_end(int status, void *ctx)
{
    (void)ctx;
    end_of_world(status);
}

void enter_world(int memory, int process)
{
    void *at = mmap(KERNEL_AT, sizeof(struct kernel), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED_NOREPLACE, memory, 0);
    if (at != KERNEL_AT) abort();
    close_from(3, ~0U); /* the program begins with three descriptors */
    kernel = at;
    on_exit(on_end, NULL);
    trap_counter();
    kernel_join_world(kernel->processes[process].main_actor);
}

pid_t getpid(void)
{
    return in_world() ? own_process()->pid : (pid_t)REAL(syscall)(SYS_getpid);
}

pid_t getppid(void)
{
    if (!in_world()) return (pid_t)REAL(syscall)(SYS_getppid);
    int parent = own_process()->parent;
    return parent == NONE || kernel->processes[parent].state != PROCESS_ALIVE
               ? 1
               : kernel->processes[parent].pid;
}

pid_t fork(void)
{
    if (!in_world()) return REAL(fork)();
    if (kernel_chance(DICE_PROCESS, own_node()->fail_fork)) {
        kernel_note("no fork", 0, 0, 0);
        errno = EAGAIN;
        return -1;
    }
    int own = kernel->actors[self].process;
    int number = kernel_process_new(own_process()->node, own);
    struct process *child = &kernel->processes[number];
    pid_t pid = REAL(fork)();
    if (pid == 0) {
        threads_forget_locks();
        kernel_join_world(child->main_actor);
        return 0;
    }
    if (pid < 0) {
        kernel_process_end(number, 0);
        child->state = PROCESS_FREE;
        return -1;
    }
    child->real_pid = pid;
    kernel_note("fork", child->pid, 0, 0);
    kernel_maybe_yield();
    return child->pid;
}

static int child_of(pid_t pid)
{
    int own = kernel->actors[self].process, alive = NONE;
    for (int i = 0; i < PROCESSES_MAX; i++) {
        const struct process *process = &kernel->processes[i];
        if (process->state == PROCESS_FREE || process->parent != own ||
            (pid > 0 && process->pid != pid))
            continue;
        if (process->state == PROCESS_DEAD) return i;
        alive = i;
    }
    return alive;
}

static bool await_child(pid_t pid, bool at_once, int *number)
{
    *number = child_of(pid);
    if (*number == NONE) {
        errno = ECHILD;
        return false;
    }
    while (kernel->processes[*number].state != PROCESS_DEAD) {
        if (at_once) return true;
        kernel_waiting(WAIT_CHILD, NEVER_NS)->object = *number;
        kernel_wait();
    }
    return true;
}

pid_t waitpid(pid_t pid, int *status, int how)
{
    if (!in_world()) return REAL(waitpid)(pid, status, how);
    int number;
    if (!await_child(pid, (how & WNOHANG) != 0, &number)) return -1;
    struct process *child = &kernel->processes[number];
    if (child->state != PROCESS_DEAD) return 0;
    REAL(waitpid)(child->real_pid, NULL, 0);
    if (status != NULL) *status = child->status;
    child->state = PROCESS_FREE;
    kernel_note("reaped", child->pid, child->status, 0);
    return child->pid;
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int how)
{
    if (!in_world()) return REAL(waitid)(type, id, info, how);
    int number;
    if (!await_child(type == P_PID ? (pid_t)id : -1, (how & WNOHANG) != 0, &number)) return -1;
    if (!(how & WNOWAIT)) waitpid(kernel->processes[number].pid, NULL, 0);
    if (info != NULL) info->si_pid = kernel->processes[number].pid;
    return 0;
}

int kill(pid_t pid, int signal)
{
    if (!in_world()) return REAL(kill)(pid, signal);
    for (int i = 0; i < PROCESSES_MAX; i++) {
        struct process *process = &kernel->processes[i];
        if (process->state != PROCESS_ALIVE || process->pid != pid) continue;
        if (signal == SIGKILL) {
            kernel_kill(process->real_pid);
            kernel_process_end(i, SIGKILL);
        } else if (signal != 0) {
            process->pending |= (uint64_t)1 << signal;
        }
        kernel_note("kill", pid, signal, 0);
        return 0;
    }
    errno = ESRCH;
    return -1;
}

void _exit(int status)
{
    end_of_world(status);
    REAL(syscall)(SYS_exit_group, status);
    __builtin_unreachable();
}

void _Exit(int status)
{
    _exit(status);
}

/* ---- signals --------------------------------------------------------------------------------- */

int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    if (!in_world() || number < 1 || number > 64) return REAL(sigaction)(number, action, before);
    if (before != NULL) *before = actions[number];
    if (action != NULL) actions[number] = *action;
    return 0;
}

sighandler_t signal(int number, sighandler_t handler)
{
    if (!in_world()) return REAL(signal)(number, handler);
    struct sigaction action = { .sa_handler = handler }, before;
    sigaction(number, &action, &before);
    return before.sa_handler;
}

void run_signals(void)
{
    struct process *process = own_process();
    while (process->pending != 0) {
        int number = __builtin_ctzll(process->pending);
        process->pending &= process->pending - 1;
        kernel_note("signal", number, 0, 0);
        const struct sigaction *action = &actions[number];
        if (action->sa_handler == SIG_IGN) continue;
        if (action->sa_handler != SIG_DFL)
            action->sa_handler(number);
        else if (number != SIGCHLD)
            kernel_die(false);
    }
}
