/* kernel: the state of a simulated world, shared by all of its processes, and its scheduler.
 *
 * A world is a set of nodes, each with processes of the real daemon. This library is preloaded into
 * them and serves the system calls by which a process notices the world: clocks, sockets, pipes,
 * events, sleeping, threads, children, and files below the node's folder. All state is in one
 * shared mapping at one address, so most calls are served in the calling process.
 *
 * One actor runs at a time: a thread of a node, or the driver, which is the program that tests. It
 * runs until it has to wait. Then `kernel_wait` chooses the next one by the world's random numbers
 * and advances the time to the next event if nobody is ready. So a run depends on its seed only.
 *
 * Folder tests/sim/kernel: kernel (this: state, time, scheduler), objects (what descriptors refer
 * to: sockets, pipes, events, timers), disk (files and what remains of them after power loss),
 * calls_* (the system calls, which override those of libc), driver (what the testing program calls,
 * from Python). Depends on libc only; knows nothing of the daemon. */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    NODES_MAX = 9, /* node 0 is the driver's host */
    PROCESSES_MAX = 48,
    ACTORS_MAX = 96,
    OBJECTS_MAX = 4096,
    STREAMS_MAX = 1024,
    FDS_MAX = 512,
    FILES_MAX = 512,
    WRITES_MAX = 65536,
    NAMES_MAX = 1024,
    POLL_MAX = 8,
    WATCHED_MAX = 192,
    PATH_SIZE = 192,
    STREAM_BYTES = 1 << 17,
    SEGMENTS_MAX = 512,
    SAVED_BYTES = 1 << 26, /* old contents of overwritten sectors */
    SECTOR = 512,
};

#define KERNEL_AT ((void *)0x200000000000) /* the mapping's address in each process */
#define NEVER_NS  INT64_MAX
#define NONE      (-1)

/* Random numbers of one purpose, so that a change of one kind of fault leaves the others alone. */
enum dice { DICE_SCHEDULE, DICE_NET, DICE_DISK, DICE_POWER, DICE_PROCESS, DICE_MEMORY, DICE_KINDS };

enum actor_state { ACTOR_FREE, ACTOR_READY, ACTOR_WAITING, ACTOR_DEAD };

/* What an actor waits for; each may also end at `until`. */
enum wait {
    WAIT_TIME,
    WAIT_EPOLL,  /* object */
    WAIT_POLL,   /* polled */
    WAIT_READ,   /* object readable */
    WAIT_WRITE,  /* object writable */
    WAIT_MUTEX,  /* address */
    WAIT_COND,   /* address */
    WAIT_THREAD, /* the actor numbered `object` ends */
    WAIT_CHILD,  /* the process numbered `object` ends; NONE: any child */
    WAIT_DRIVER, /* news for the driver, or `until` */
};

struct polled {
    int object;
    short events;
};

struct actor {
    enum actor_state state;
    enum wait wait;
    int process;
    int object;
    int64_t until;
    const void *address; /* in the process's memory */
    struct polled polled[POLL_MAX];
    int polled_count;
    uint32_t go;      /* futex: 1 when it may run */
    int64_t awake_at; /* when its last wait ended */
    int64_t chosen_at;
    bool woken; /* by a signal of a condition, or an unlocked mutex */
};

enum process_state { PROCESS_FREE, PROCESS_ALIVE, PROCESS_DEAD };

struct process {
    enum process_state state;
    int node, parent; /* a process; NONE: the driver started it */
    int pid;          /* as getpid answers */
    pid_t real_pid;
    int status;   /* as of waitpid, once dead */
    bool crashed; /* a signal of its own ended it */
    int main_actor;
    uint64_t pending;    /* signals, 1 << number */
    uint64_t calls_left; /* file operations until it is killed; 0: not planned */
    int16_t fd[FDS_MAX]; /* objects; NONE: a real descriptor, or none */
};

struct node {
    bool exists, off; /* off: it lost power, and has not started since */
    int process;      /* the daemon's first process; NONE: down */
    char dir[PATH_SIZE];
    int64_t wall_offset; /* of this node's wall clock */
    uint64_t clock_sets; /* how often that was set */
    /* disk */
    int64_t sync_min, sync_max;                             /* duration of a sync */
    int64_t space;                                          /* bytes left; < 0: unlimited */
    uint32_t fail_write, fail_sync, fail_open, short_write; /* chances in 2^16 */
    uint32_t fail_fork, fail_memory;
    /* network */
    uint32_t small_reads; /* chance that a read gets one byte */
    uint64_t random;      /* of getrandom */
    uint64_t file_calls;
};

enum object_kind {
    OBJECT_FREE,
    OBJECT_LISTENER,
    OBJECT_SOCKET,
    OBJECT_PIPE,
    OBJECT_EVENT,
    OBJECT_TIMER,
    OBJECT_EPOLL,
};

struct watched {
    int fd, object; /* object NONE: free */
    uint32_t events;
    uint64_t data;
};

struct object {
    enum object_kind kind;
    int refs;
    bool nonblock;
    int node;
    int in, out; /* streams; NONE */
    int peer;    /* of a socket; NONE: gone */
    int peer_node;
    uint16_t port, peer_port;
    bool listening, connecting, refused, shut;
    int64_t connected_at; /* of a connecting socket, and of one in a backlog */
    int listener;         /* of a socket in a backlog; NONE: accepted */
    uint64_t order;       /* of arrival in the backlog */
    uint64_t count;       /* of an event; of expirations */
    int64_t timer_at;     /* monotonic; NEVER_NS: not armed */
    int64_t timer_every;
    int64_t timer_wall; /* the absolute wall time that was asked for; 0: none */
    bool timer_cancel;  /* on changes of the clock */
    uint64_t timer_sets;
    int set; /* of an epoll object: its array in `watched` */
};

struct segment {
    uint64_t end; /* bytes of the stream */
    int64_t at;   /* when they arrive; NEVER_NS: held by a partition */
};

struct stream {
    bool used, ended; /* ended: the writer sends no more */
    int from_node, to_node;
    int readers, writers; /* objects */
    uint64_t sent, taken, room;
    int64_t last_at; /* arrival of the last byte: order is kept */
    int64_t eof_at, reset_at;
    struct segment segments[SEGMENTS_MAX];
    uint32_t first, count;
    char bytes[STREAM_BYTES];
};

/* A file below a node's folder, by inode. */
struct file {
    uint64_t inode; /* 0: free */
    int node;
    char path[PATH_SIZE];
};

enum change_kind { CHANGE_WRITE, CHANGE_LENGTH };

/* A change of a file's contents that no sync has made safe, with what is needed to undo it. */
struct write {
    enum change_kind kind;
    int file;
    bool lost; /* a sync of it has failed: later ones do not write it */
    uint64_t at, len, old_len;
    uint64_t saved, saved_len; /* the old bytes from `at` on, in `saved_bytes` */
    uint64_t number;
};

enum name_kind { NAME_CREATED, NAME_RENAMED, NAME_REMOVED, NAME_FOLDER };

struct name {
    enum name_kind kind;
    int node;
    char path[PATH_SIZE];   /* created, removed, or the new name */
    char from[PATH_SIZE];   /* of a rename */
    char hidden[PATH_SIZE]; /* a link to what was at `path`; "" if nothing was */
    uint64_t number;
};

struct kernel {
    int64_t now;  /* monotonic, of all nodes; nanoseconds */
    int64_t wall; /* the wall clock of the world when `now` is 0 */
    uint64_t dice[DICE_KINDS];
    uint64_t events, trace; /* trace: a hash of all events */
    int running;
    int next_pid;
    uint64_t next_order, next_write;
    int64_t latency_min, latency_max;
    bool apart[NODES_MAX][NODES_MAX]; /* a partition; symmetric */
    bool stuck;                       /* nobody is ready, and nothing will happen */
    uint32_t spurious;                /* chance in 2^16 that an actor gives way after a call */
    struct actor actors[ACTORS_MAX];
    int actors_end; /* no actor from here on was ever used */
    struct process processes[PROCESSES_MAX];
    struct node nodes[NODES_MAX];
    uint64_t driver_sockets[OBJECTS_MAX / 64]; /* bits: the sockets of node 0 */
    struct object objects[OBJECTS_MAX];
    int objects_end; /* no object from here on was ever used */
    struct file files[FILES_MAX];
    struct name names[NAMES_MAX];
    int name_count;
    struct write writes[WRITES_MAX];
    int write_count;
    uint64_t saved_used;
    struct watched watched[64][WATCHED_MAX]; /* of epoll objects */
    int watched_end[64]; /* none from here on was used since the object was made */
    bool watched_used[64];
    struct stream streams[STREAMS_MAX];
    char saved_bytes[SAVED_BYTES];
};

extern struct kernel *kernel; /* NULL: this process is in no world */
extern __thread int self;     /* this thread's actor; NONE: not part of the world */

/* libc's own function of this name. */
#define REAL(name)                                                                                 \
    __extension__({                                                                                \
        static __typeof__(&name) real_##name;                                                      \
        if (real_##name == NULL) real_##name = (__typeof__(&name))kernel_real(#name);              \
        real_##name;                                                                               \
    })
void *kernel_real(const char *name);

static inline bool in_world(void)
{
    return kernel != NULL && self != NONE;
}
static inline struct process *own_process(void)
{
    return &kernel->processes[kernel->actors[self].process];
}
static inline struct node *own_node(void)
{
    return &kernel->nodes[own_process()->node];
}

/* Returns a number below `limit`. */
uint64_t kernel_roll(enum dice dice, uint64_t limit);
/* True with a chance of `chance` in 2^16. Rolls only if it may happen. */
bool kernel_chance(enum dice dice, uint32_t chance);
int64_t kernel_between(enum dice dice, int64_t least, int64_t most);

/* Adds an event to the trace: what happened, and three numbers. */
void kernel_note(const char *what, int64_t a, int64_t b, int64_t c);
void kernel_note_bytes(const char *what, const void *bytes, size_t len);

/* The caller has used this much time. */
void kernel_spend(int64_t least, int64_t most);

/* Waits; `actor` has been filled in by kernel_waiting. False: `until` came first. */
struct actor *kernel_waiting(enum wait wait, int64_t until);
bool kernel_wait(void);
/* Lets others run that are ready. */
void kernel_yield(void);
/* After a call: by chance, and at the end of its slice of time. Ends a program that keeps calling
 * for seconds and never waits: it would run for good, because only waits move the time far. */
void kernel_maybe_yield(void);
/* The calling actor is no more; another one runs. Returns. */
void kernel_leave(void);
/* Waits for the first turn of this new actor. */
void kernel_join_world(int actor);

int kernel_actor_new(int process);
int kernel_process_new(int node, int parent);
/* Ends the process for the world: its actors and descriptors. Does not touch the real one. */
void kernel_process_end(int process, int status);
/* Ends a real process, and waits until it has let go of its files and locks. */
void kernel_kill(pid_t pid);
void kernel_await_end(pid_t pid);
/* Ends the calling process with SIGKILL, and its whole node if `whole_node`. */
_Noreturn void kernel_die(bool whole_node);

/* When the actor can continue: a time in the past, now or later; NEVER_NS. */
int64_t kernel_ready_at(int actor);

int64_t node_wall(const struct node *node);
