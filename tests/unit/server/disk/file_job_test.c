/* Tests of file_job: a function that runs in a thread, its result, and the descriptor that reports
 * its end. */
#include "server/disk/file_job.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "tests/support/suite.h"

static struct {
    pthread_mutex_t gate; /* held by the test until the function may end */
    pthread_t ran_in;
    int result, runs;
    bool takes_signals;
} world = { .gate = PTHREAD_MUTEX_INITIALIZER };

static int run(void *ctx)
{
    sigset_t blocked;
    ck_assert_ptr_eq(ctx, &world);
    pthread_mutex_lock(&world.gate);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    world.takes_signals = !sigismember(&blocked, SIGCHLD);
    world.ran_in = pthread_self();
    world.runs++;
    pthread_mutex_unlock(&world.gate);
    return world.result;
}

static bool is_readable(const struct file_job *job, int msec)
{
    struct pollfd event = { .fd = file_job_fd(job), .events = POLLIN };
    return poll(&event, 1, msec) == 1;
}

START_TEST(result_is_taken_once_when_the_function_has_ended)
{
    struct file_job *job = file_job_new();
    int error = -1;
    for (world.result = 0; world.result <= ENOSPC; world.result += ENOSPC) {
        pthread_mutex_lock(&world.gate);
        file_job_begin(job, run, &world);
        ck_assert(!is_readable(job, 0));
        ck_assert(!file_job_ended(job, &error));
        pthread_mutex_unlock(&world.gate);
        ck_assert(is_readable(job, 20000));
        ck_assert(file_job_ended(job, &error));
        ck_assert_int_eq(error, world.result);
        ck_assert(!is_readable(job, 0));
        ck_assert(!file_job_ended(job, &error));
    }
    ck_assert_int_eq(world.runs, 2);
    ck_assert(!pthread_equal(world.ran_in, pthread_self()));
    ck_assert(!world.takes_signals);
    file_job_free(job);
}
END_TEST

START_TEST(waiting_leaves_the_result_to_be_taken)
{
    struct file_job *job = file_job_new();
    int error = -1;
    file_job_await(job); /* none runs */
    file_job_begin(job, run, &world);
    file_job_await(job);
    file_job_await(job);
    ck_assert_int_eq(world.runs, 1);
    ck_assert(is_readable(job, 0));
    ck_assert(file_job_ended(job, &error));
    ck_assert_int_eq(error, 0);
    file_job_free(job);
}
END_TEST

START_TEST(free_waits_for_the_function)
{
    struct file_job *job = file_job_new();
    file_job_begin(job, run, &world);
    file_job_free(job);
    ck_assert_int_eq(world.runs, 1);
    file_job_free(NULL);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        result_is_taken_once_when_the_function_has_ended,
        waiting_leaves_the_result_to_be_taken,
        free_waits_for_the_function,
        NULL,
    };
    return suite_of("file_job", tests);
}
