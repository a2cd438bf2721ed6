/* Tests of background: all slices of a turn share one budget, and each gets its part. */
#include "server/engine/background.h"

#include "tests/support/suite.h"

enum { WORKS = 3 };

/* A slice that takes a fixed time for each piece of its work, until none is left. */
struct job {
    int64_t unit_usec;
    size_t left, done, largest;
    const size_t *waits_for; /* NULL, or nothing can be done before this is 0 */
    int64_t reported_usec;
};

static struct clock wall;
static struct background *background;
static struct job jobs[WORKS];

static void spin(int64_t usec)
{
    int64_t end = clock_mono_usec() + usec;
    while (clock_mono_usec() < end)
        continue;
}

static bool run(void *ctx, size_t amount)
{
    struct job *job = ctx;
    if (job->left == 0 || (job->waits_for != NULL && *job->waits_for > 0)) return false;
    size_t count = amount < job->left ? amount : job->left;
    spin((int64_t)count * job->unit_usec);
    job->left -= count;
    job->done += count;
    if (count > job->largest) job->largest = count;
    return true;
}

static void took(void *ctx, int64_t usec)
{
    ((struct job *)ctx)->reported_usec += usec;
}

static void begin(void)
{
    clock_init(&wall);
    background = background_new(&wall);
    for (int i = 0; i < WORKS; i++) {
        jobs[i] = (struct job){ 0 };
        background_add(background, &(struct background_work){
                                       .run = run, .took = took, .ctx = &jobs[i], .most = 64 });
    }
}

static void end(void)
{
    background_free(background);
}

START_TEST(without_work_a_turn_does_nothing)
{
    begin();
    ck_assert(!background_turn(background));
    for (int i = 0; i < WORKS; i++)
        ck_assert_int_eq(jobs[i].reported_usec, 0);
    end();
}
END_TEST

START_TEST(a_turn_after_a_step_of_the_clock_leaves_nothing)
{
    begin();
    jobs[0] = (struct job){ .left = 200, .unit_usec = 20 };
    jobs[1] = (struct job){ .left = 200, .waits_for = &jobs[0].left };
    clock_step(&wall, 1);
    ck_assert(background_turn(background));
    ck_assert(!background_is_left(background));
    ck_assert_uint_eq(jobs[0].left + jobs[1].left, 0);
    jobs[0].left = 1000;
    ck_assert(background_turn(background));
    ck_assert_msg(background_is_left(background), "only the first turn may take that long");
    end();
}
END_TEST

START_TEST(a_little_work_is_done_in_one_turn)
{
    begin();
    jobs[1] = (struct job){ .left = 5 };
    ck_assert(background_turn(background));
    ck_assert_uint_eq(jobs[1].left, 0);
    ck_assert(!background_turn(background));
    end();
}
END_TEST

/* Each has work for a second. A turn may take 0.1 ms, and the time of the last batch. */
START_TEST(all_slices_share_one_short_budget)
{
    begin();
    for (int i = 0; i < WORKS; i++)
        jobs[i] = (struct job){ .left = 1000000, .unit_usec = 1 };
    for (int turn = 0; turn < 11; turn++)
        ck_assert(background_turn(background));
    size_t all = 0;
    for (int i = 0; i < WORKS; i++) {
        ck_assert_uint_gt(jobs[i].done, 0);
        ck_assert_int_gt(jobs[i].reported_usec, 0);
        all += jobs[i].done;
    }
    ck_assert_uint_lt(all, 11 * 1000);
    end();
}
END_TEST

START_TEST(slow_work_is_done_in_small_batches)
{
    begin();
    jobs[0] = (struct job){ .left = 1000, .unit_usec = 200 };
    for (int turn = 0; turn < 4; turn++)
        background_turn(background);
    jobs[0].largest = 0;
    for (int turn = 0; turn < 4; turn++)
        background_turn(background);
    ck_assert_uint_eq(jobs[0].largest, 1);
    end();
}
END_TEST

START_TEST(work_made_possible_by_other_work_runs_in_the_same_turn)
{
    begin();
    for (int i = 0; i < WORKS; i++) {
        int first = i, then = (i + 1) % WORKS;
        jobs[first] = (struct job){ .left = 3 };
        jobs[then] = (struct job){ .left = 1, .waits_for = &jobs[first].left };
        background_turn(background);
        ck_assert_uint_eq(jobs[first].left + jobs[then].left, 0);
    }
    end();
}
END_TEST

struct waiter {
    struct job *waits_for; /* its last piece makes the waiter ready */
    size_t served;
    size_t next_done; /* pieces of the next job when the waiter was served */
};

/* Serves once, although the job may not report that it has worked. */
static bool serve(void *ctx)
{
    struct waiter *waiter = ctx;
    if (waiter->served > 0 || waiter->waits_for->left > 0) return false;
    waiter->served++;
    waiter->next_done = jobs[1].done;
    return true;
}

START_TEST(a_client_is_served_after_the_batch_that_made_it_ready)
{
    begin();
    jobs[0] = (struct job){ .left = 1 };
    jobs[1] = (struct job){ .left = 1 };
    struct waiter waiter = { .waits_for = &jobs[0] };
    background_serve_with(background, serve, &waiter);
    ck_assert(background_turn(background));
    ck_assert_uint_eq(waiter.served, 1);
    ck_assert_uint_eq(waiter.next_done, 0);
    end();
}
END_TEST

START_TEST(a_client_is_served_although_no_slice_found_work)
{
    begin();
    struct waiter waiter = { .waits_for = &jobs[0] };
    background_serve_with(background, serve, &waiter);
    ck_assert(background_turn(background));
    ck_assert_uint_eq(waiter.served, 1);
    ck_assert(!background_turn(background));
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        without_work_a_turn_does_nothing,
        a_turn_after_a_step_of_the_clock_leaves_nothing,
        a_little_work_is_done_in_one_turn,
        all_slices_share_one_short_budget,
        slow_work_is_done_in_small_batches,
        work_made_possible_by_other_work_runs_in_the_same_turn,
        a_client_is_served_after_the_batch_that_made_it_ready,
        a_client_is_served_although_no_slice_found_work,
        NULL,
    };
    return suite_of("background", tests);
}
