/* starter: see starter.h. Driver and starter talk over a socket: a message has the world's memory
 * as a descriptor, and a text: the number of the process, the log's path and the arguments, each
 * with a NUL. The answer is the child's pid, or a negative errno. */
#include "tests/sim/kernel/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/kernel/calls.h"
#include "tests/sim/kernel/kernel.h"

enum { STARTER_FD = 3, TEXT_MAX = 1 << 15, ARGUMENTS_MAX = 256 };

/* Room for one descriptor in a message. */
union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static void close_from_on(int first)
{
    /* Linux before 5.9 has no close_range. */
    if (REAL(syscall)(SYS_close_range, first, ~0U, 0) == 0) return;
    for (int most = (int)REAL(sysconf)(_SC_OPEN_MAX); first < most; first++)
        REAL(close)(first);
}

/* ---- the driver's side ----------------------------------------------------------------------- */

static struct {
    pid_t driver, pid; /* pid 0: none */
    int fd;
    char program[PATH_MAX];
} starter;

static pid_t own_pid(void)
{
    return (pid_t)REAL(syscall)(SYS_getpid);
}

void starter_end(void)
{
    if (starter.pid == 0) return;
    REAL(close)(starter.fd);
    /* A copy of the driver leaves the driver's starter alone. */
    if (starter.driver == own_pid()) REAL(waitpid)(starter.pid, NULL, 0);
    starter.pid = 0;
}

static _Noreturn void execute(const char *library, char *const command[], int fd)
{
    char preload[PATH_MAX], trace[PATH_MAX];
    const char *path = getenv("SIM_TRACE");
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", library);
    snprintf(trace, sizeof(trace), "SIM_TRACE=%s", path == NULL ? "" : path);
    char *environment[] = { preload,
                            "SIM_STARTER=1",
                            "LD_BIND_NOW=1", /* once, and not in each child */
                            "MALLOC_CONF=narenas:1,background_thread:false,"
                            "dirty_decay_ms:-1,muzzy_decay_ms:-1",
                            "TZ=UTC",
                            "GLIBC_TUNABLES=glibc.pthread.rseq=0",
                            path == NULL ? NULL : trace,
                            NULL };
    /* What the driver has open must not change the program's descriptors. */
    REAL(dup2)(fd, STARTER_FD);
    close_from_on(STARTER_FD + 1);
    REAL(prctl)(PR_SET_PDEATHSIG, SIGKILL);
    execve(command[0], command, environment);
    REAL(syscall)(SYS_exit_group, 127);
    __builtin_unreachable();
}

static bool starter_begin(const char *library, char *const command[])
{
    const char *program = NULL; /* the last word; an emulator in front is the same for all */
    for (int i = 0; command[i] != NULL; i++)
        program = command[i];
    if (starter.pid != 0 && starter.driver == own_pid() && strcmp(starter.program, program) == 0)
        return true;
    starter_end();
    int ends[2];
    if (REAL(socketpair)(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
    pid_t pid = REAL(fork)();
    if (pid == 0) execute(library, command, ends[1]);
    REAL(close)(ends[1]);
    if (pid < 0) {
        REAL(close)(ends[0]);
        return false;
    }
    starter.driver = own_pid();
    starter.pid = pid;
    starter.fd = ends[0];
    snprintf(starter.program, sizeof(starter.program), "%s", program);
    return true;
}

static size_t put_word(char text[TEXT_MAX], size_t at, const char *word)
{
    size_t size = strlen(word) + 1;
    if (at + size > TEXT_MAX) abort();
    memcpy(text + at, word, size);
    return at + size;
}

pid_t starter_start(const char *library, char *const command[], char *const arguments[],
                    const char *log, int process, int memory)
{
    if (!starter_begin(library, command)) return -1;
    static char text[TEXT_MAX];
    char number[16];
    snprintf(number, sizeof(number), "%d", process);
    size_t len = put_word(text, put_word(text, 0, number), log);
    for (int i = 0; arguments[i] != NULL; i++)
        len = put_word(text, len, arguments[i]);

    struct iovec piece = { text, len };
    union control control = { 0 };
    struct msghdr message = { .msg_iov = &piece,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(part), &memory, sizeof(int));
    pid_t pid = 0;
    if (REAL(sendmsg)(starter.fd, &message, MSG_NOSIGNAL) < 0 ||
        REAL(recv)(starter.fd, &pid, sizeof(pid), 0) != (ssize_t)sizeof(pid)) {
        starter_end();
        errno = ENOEXEC; /* the program can't be executed, or ends in front of main() */
        return -1;
    }
    if (pid > 0) return pid;
    errno = -pid;
    return -1;
}

/* ---- the program's side ---------------------------------------------------------------------- */

typedef int (*main_function)(int count, char **arguments, char **environment);

static main_function real_main;

/* Gets the next start; returns its text's length, 0 at the end of the driver. */
static size_t next_start(char text[TEXT_MAX], int *memory)
{
    struct iovec piece = { text, TEXT_MAX };
    union control control;
    struct msghdr message = { .msg_iov = &piece,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
    ssize_t len = recvmsg(STARTER_FD, &message, 0);
    const struct cmsghdr *part = len > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (part == NULL) return 0;
    memcpy(memory, CMSG_DATA(part), sizeof(int));
    return (size_t)len;
}

/* In the child: takes the place of a program that was executed with these words. */
static int run(char *text, size_t len, int memory, char *program, char **environment)
{
    char *words[ARGUMENTS_MAX] = { program };
    const char *number = text, *log = number + strlen(number) + 1;
    int count = 1;
    for (char *word = text + (log - text) + strlen(log) + 1; word < text + len;
         word += strlen(word) + 1) {
        if (count == ARGUMENTS_MAX - 1) abort();
        words[count++] = word;
    }
    int output = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(output, 1);
    dup2(output, 2);
    enter_world(memory, atoi(number));
    return real_main(count, words, environment);
}

static int starter_main(int count, char **arguments, char **environment)
{
    (void)count;
    static char text[TEXT_MAX];
    int memory;
    for (size_t len; (len = next_start(text, &memory)) > 0; close(memory)) {
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            return run(text, len, memory, arguments[0], environment);
        }
        if (pid < 0) pid = -errno;
        if (send(STARTER_FD, &pid, sizeof(pid), MSG_NOSIGNAL) < 0) break;
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ; /* the driver learns from /proc that a program has ended */
    }
    REAL(syscall)(SYS_exit_group, 0);
    return 0;
}

/* The C library's way into each program. */
int __libc_start_main(main_function main, int count, char **arguments, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end);
int __libc_start_main(main_function main, int count, char **arguments, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
    if (getenv("SIM_STARTER") != NULL) {
        unsetenv("SIM_STARTER");
        unsetenv("LD_PRELOAD");
        unsetenv("LD_BIND_NOW");
        real_main = main;
        main = starter_main;
    }
    return REAL(__libc_start_main)(main, count, arguments, init, fini, loader_fini, stack_end);
}
