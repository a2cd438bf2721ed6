/* page_thread: see page_thread.h. An eventfd wakes the thread. No lock is used: the server forks,
 * and a child, in which this thread does not exist, would wait forever for a lock that the thread
 * held at the fork. */
#include "server/base/page_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/base/thread.h"
#include "store/mem/mem.h"
#include "store/mem/slabs.h"

/* On a shared core the main thread has priority, but only a little: it may need the page soon. */
enum { NICE = 5, PAGE_BYTES = STEP_SLABS * SLAB_BYTES };

struct page_thread {
    pthread_t thread;
    int event;
    _Atomic(unsigned char *) from, until; /* what to touch: `until` is stored last */
    atomic_bool stop;
};

/* One write maps the whole huge page. The write is an atomic OR with 0: it changes nothing, not
 * even a byte that the main thread writes at the same time, because no store gets lost between the
 * read and the write of an atomic access. By C's rules the main thread's plain stores still make
 * this a race, hence the attribute. MADV_POPULATE_WRITE would do the same, but only since Linux
 * 5.14. */
__attribute__((no_sanitize("thread"))) static void touch(unsigned char *at)
{
    __atomic_fetch_or(at, 0, __ATOMIC_RELAXED);
}

static void *run(void *ctx)
{
    struct page_thread *thread = ctx;
    uint64_t count;
    unsigned char *at = NULL;
    setpriority(PRIO_PROCESS, 0, NICE); /* on Linux, of this thread only */
    while (!atomic_load(&thread->stop)) {
        ssize_t got = read(thread->event, &count, sizeof(count));
        if (got < 0 && errno != EINTR) break;
        for (;; at += PAGE_BYTES) {
            unsigned char *until = atomic_load(&thread->until), *from = atomic_load(&thread->from);
            if (at < from) at = from;
            if (at >= until || atomic_load(&thread->stop)) break;
            touch(at);
        }
    }
    return NULL;
}

static void announce(void *ctx, void *memory, size_t size)
{
    struct page_thread *thread = ctx;
    atomic_store(&thread->from, memory);
    atomic_store(&thread->until, (unsigned char *)memory + size);
    thread_wake(thread->event);
}

struct page_thread *page_thread_new(void)
{
    int event = eventfd(0, EFD_CLOEXEC);
    if (event < 0) return NULL;
    struct page_thread *thread = mem_zalloc(sizeof(*thread));
    thread->event = event;
    int error = thread_start(&thread->thread, run, thread);
    if (error == 0) {
        slabs_on_next(announce, thread);
        return thread;
    }
    close(event);
    mem_free(thread);
    errno = error;
    return NULL;
}

void page_thread_free(struct page_thread *thread)
{
    if (thread == NULL) return;
    slabs_on_next(NULL, NULL);
    atomic_store(&thread->stop, true);
    thread_wake(thread->event);
    pthread_join(thread->thread, NULL);
    close(thread->event);
    mem_free(thread);
}
