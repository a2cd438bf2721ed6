/* thread: see thread.h. */
#include "server/base/thread.h"

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

int thread_start(pthread_t *thread, void *(*run)(void *ctx), void *ctx)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a thread inherits the mask */
    int error = pthread_create(thread, NULL, run, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

void thread_wake(int event)
{
    uint64_t one = 1;
    ssize_t ignored = write(event, &one, sizeof(one)); /* EAGAIN: it is awake */
    (void)ignored;
}

void thread_woken(int event)
{
    uint64_t count;
    ssize_t ignored = read(event, &count, sizeof(count));
    (void)ignored;
}
