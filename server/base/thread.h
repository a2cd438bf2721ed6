/* thread: starts threads that leave signals to the main thread. Depends on pthreads. */
#ifndef SERVER_BASE_THREAD_H
#define SERVER_BASE_THREAD_H

#include <pthread.h>

/* The new thread has all signals blocked, so none interrupts it, and the main thread gets them all.
 * 0, or an errno. */
int thread_start(pthread_t *thread, void *(*run)(void *ctx), void *ctx);

#endif
