/* thread: starts threads that leave signals to the main thread. Depends on pthreads. */
#pragma once

#include <pthread.h>

/* Starts a thread with all signals blocked, so that signals are delivered to the main thread only.
 * Returns 0 or an errno. */
int thread_start(pthread_t *thread, void *(*run)(void *ctx), void *ctx);

/* Wakes the thread that waits for this eventfd. */
void thread_wake(int event);
/* Resets the eventfd, which must be non-blocking, so that the woken thread can wait for the next
 * thread_wake. */
void thread_woken(int event);
