/* calls_threads: threads, mutexes and conditions. A thread is an actor. A mutex is the real one,
 * which is free whenever no waiting actor of the process has it. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "tests/sim/kernel/calls.h"
#include "tests/sim/kernel/kernel.h"

enum { LOCKS_MAX = 128, THREADS_MAX = 32 };

/* Mutexes that actors of this process have. */
static struct {
    const void *mutex;
    int actor;
} locks[LOCKS_MAX];
static int lock_count;

static struct {
    pthread_t thread;
    int actor;
} threads[THREADS_MAX];

void threads_forget_locks(void)
{
    lock_count = 0;
}

static bool actor_has(const void *mutex)
{
    for (int i = 0; i < lock_count; i++)
        if (locks[i].mutex == mutex) return true;
    return false;
}

static void note_locked(const void *mutex)
{
    if (lock_count == LOCKS_MAX) abort();
    locks[lock_count].mutex = mutex;
    locks[lock_count++].actor = self;
}

static void note_unlocked(const void *mutex)
{
    for (int i = lock_count; i-- > 0;) {
        if (locks[i].mutex != mutex) continue;
        locks[i] = locks[--lock_count];
        return;
    }
}

/* Wakes those of this process that wait for the address: one of them or all. */
static void wake_waiting(enum wait wait, const void *address, bool all)
{
    int found[ACTORS_MAX], count = 0, process = kernel->actors[self].process;
    for (int i = 0; i < kernel->actors_end; i++) {
        const struct actor *actor = &kernel->actors[i];
        if (actor->state == ACTOR_WAITING && actor->process == process && actor->wait == wait &&
            actor->address == address && !actor->woken)
            found[count++] = i;
    }
    if (count == 0) return;
    if (!all) {
        kernel->actors[found[kernel_roll(DICE_SCHEDULE, (uint64_t)count)]].woken = true;
        return;
    }
    for (int i = 0; i < count; i++)
        kernel->actors[found[i]].woken = true;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    int rc = REAL(pthread_mutex_trylock)(mutex);
    if (rc == 0 && in_world()) note_locked(mutex);
    return rc;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (!in_world()) return REAL(pthread_mutex_lock)(mutex);
    for (;;) {
        int rc = pthread_mutex_trylock(mutex);
        if (rc != EBUSY) return rc;
        if (!actor_has(mutex)) abort(); /* a thread outside the world has it */
        kernel_waiting(WAIT_MUTEX, NEVER_NS)->address = mutex;
        kernel_wait();
    }
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int rc = REAL(pthread_mutex_unlock)(mutex);
    if (!in_world()) return rc;
    note_unlocked(mutex);
    wake_waiting(WAIT_MUTEX, mutex, true);
    return rc;
}

static int wait_for_condition(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t until)
{
    struct actor *actor = kernel_waiting(WAIT_COND, until);
    REAL(pthread_mutex_unlock)(mutex);
    note_unlocked(mutex);
    wake_waiting(WAIT_MUTEX, mutex, true);
    actor->address = condition;
    bool woken = kernel_wait();
    pthread_mutex_lock(mutex);
    return woken ? 0 : ETIMEDOUT;
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    if (!in_world()) return REAL(pthread_cond_wait)(condition, mutex);
    return wait_for_condition(condition, mutex, NEVER_NS);
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *end)
{
    if (!in_world()) return REAL(pthread_cond_timedwait)(condition, mutex, end);
    int64_t wall = end->tv_sec * 1000000000 + end->tv_nsec;
    return wait_for_condition(condition, mutex, wall - node_wall(own_node()) + kernel->now);
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *end)
{
    if (!in_world()) return REAL(pthread_cond_clockwait)(condition, mutex, clock, end);
    int64_t until = end->tv_sec * 1000000000 + end->tv_nsec;
    if (clock == CLOCK_REALTIME) until += kernel->now - node_wall(own_node());
    return wait_for_condition(condition, mutex, until);
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    if (!in_world()) return REAL(pthread_cond_signal)(condition);
    wake_waiting(WAIT_COND, condition, false);
    kernel_maybe_yield();
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
    if (!in_world()) return REAL(pthread_cond_broadcast)(condition);
    wake_waiting(WAIT_COND, condition, true);
    kernel_maybe_yield();
    return 0;
}

struct start {
    void *(*run)(void *ctx);
    void *ctx;
    int actor;
};

static pthread_key_t end_key;
static pthread_once_t end_key_once = PTHREAD_ONCE_INIT;

/* The allocator gives a thread's cache back in a destructor of thread-specific data. The thread
 * stays in the world until then, otherwise this would happen beside the next actor, at a moment
 * that depends on the machine. libc calls destructors in passes, at most this many; the world's is
 * last. */
static void on_thread_end(void *value)
{
    uintptr_t pass = (uintptr_t)value;
    if (pass < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(end_key, (void *)(pass + 1));
        return;
    }
    kernel->actors[self].state = ACTOR_DEAD;
    kernel_leave();
}

static void make_end_key(void)
{
    if (pthread_key_create(&end_key, on_thread_end) != 0) abort();
}

static void *run_thread(void *ctx)
{
    struct start start = *(struct start *)ctx;
    kernel_join_world(start.actor);
    free(ctx);
    pthread_once(&end_key_once, make_end_key);
    if (pthread_setspecific(end_key, (void *)1) != 0) abort();
    return start.run(start.ctx);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *ctx)
{
    if (!in_world()) return REAL(pthread_create)(thread, attributes, run, ctx);
    struct start *start = malloc(sizeof(*start));
    if (start == NULL) return EAGAIN;
    int actor = kernel_actor_new(kernel->actors[self].process);
    *start = (struct start){ run, ctx, actor };
    int rc = REAL(pthread_create)(thread, attributes, run_thread, start);
    if (rc != 0) {
        kernel->actors[actor].state = ACTOR_FREE;
        free(start);
        return rc;
    }
    for (int i = 0; i < THREADS_MAX; i++) {
        if (threads[i].thread != 0) continue;
        threads[i].thread = *thread;
        threads[i].actor = actor;
        return 0;
    }
    abort();
}

int pthread_join(pthread_t thread, void **result)
{
    for (int i = 0; in_world() && i < THREADS_MAX; i++) {
        if (threads[i].thread != thread) continue;
        kernel_waiting(WAIT_THREAD, NEVER_NS)->object = threads[i].actor;
        kernel_wait();
        kernel->actors[threads[i].actor].state = ACTOR_FREE;
        threads[i].thread = 0;
        break;
    }
    return REAL(pthread_join)(thread, result);
}
