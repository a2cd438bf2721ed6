/* file_job: see file_job.h. Each function runs in a new thread, because functions are rare; joining
 * the thread makes the function's writes visible. */
#include "server/disk/file_job.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/base/thread.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

/* Bytes that must be free before a thread is started: jemalloc 5.3 crashes if it can't allocate the
 * cache of a new thread. */
enum { THREAD_NEEDS = 64 * 1024 };

struct file_job {
    int (*run)(void *ctx); /* the function that runs, or NULL */
    void *ctx;
    int error;
    int event;       /* readable once `run` has ended */
    bool has_thread; /* `thread` was started and not joined yet */
    pthread_t thread;
};

static void *job_main(void *of)
{
    struct file_job *job = of;
    uint64_t one = 1;
    job->error = job->run(job->ctx);
    ssize_t put = write(job->event, &one, sizeof(one));
    ensure(put == sizeof(one), "eventfd: %s", strerror(errno));
    return NULL;
}

struct file_job *file_job_new(void)
{
    int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (event < 0) return NULL;
    struct file_job *job = mem_zalloc(sizeof(*job));
    job->event = event;
    return job;
}

void file_job_free(struct file_job *job)
{
    int ignored;
    if (job == NULL) return;
    file_job_await(job);
    file_job_ended(job, &ignored);
    close(job->event);
    mem_free(job);
}

int file_job_fd(const struct file_job *job)
{
    return job->event;
}

void file_job_begin(struct file_job *job, int (*run)(void *ctx), void *ctx)
{
    ensure(job->run == NULL, "another function runs");
    job->run = run;
    job->ctx = ctx;
    job->has_thread = mem_has_room(THREAD_NEEDS) && thread_start(&job->thread, job_main, job) == 0;
    if (!job->has_thread) job_main(job);
}

bool file_job_runs(const struct file_job *job)
{
    return job->run != NULL;
}

bool file_job_ended(struct file_job *job, int *error)
{
    uint64_t times;
    if (job->run == NULL || read(job->event, &times, sizeof(times)) < 0) return false;
    file_job_await(job);
    job->run = NULL;
    *error = job->error;
    return true;
}

void file_job_await(struct file_job *job)
{
    if (job->has_thread) pthread_join(job->thread, NULL);
    job->has_thread = false;
}
