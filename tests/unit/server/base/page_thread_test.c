/* Tests of server/base/page_thread: the next step's memory is mapped before it is used. */
#include "server/base/page_thread.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/mem/slabs.h"
#include "tests/support/suite.h"

enum { TAKEN = 8 * STEP_SLABS, LOOKS = 10 * 1000 * 1000 };

/* Is the page behind the steps in use in memory? */
static bool next_is_resident(void)
{
    unsigned char resident = 0;
    void *next = (void *)(slab_range.base + slab_range.size);
    return mincore(next, 1, &resident) == 0 && (resident & 1) != 0;
}

static bool next_becomes_resident(void)
{
    for (int looks = 0; looks < LOOKS && !next_is_resident(); looks++)
        sched_yield();
    return next_is_resident();
}

/* Begins steps until one more has begun than before. */
static uint32_t take_until_a_step_begins(uint32_t slabs[], uint32_t count)
{
    size_t size = slab_range.size;
    while (slab_range.size == size) {
        ck_assert_uint_lt(count, TAKEN);
        slabs[count] = slabs_take();
        ck_assert_uint_ne(slabs[count++], SLAB_NONE);
    }
    return count;
}

START_TEST(the_next_step_is_touched_before_it_is_used)
{
    uint32_t slabs[TAKEN], count = 0;
    struct page_thread *thread = page_thread_new();
    ck_assert_ptr_nonnull(thread);
    for (int steps = 0; steps < 5; steps++) /* the first ones have small pages */
        count = take_until_a_step_begins(slabs, count);
    ck_assert(next_becomes_resident());
    count = take_until_a_step_begins(slabs, count);
    ck_assert(next_becomes_resident());
    page_thread_free(thread);
    count = take_until_a_step_begins(slabs, count);
    ck_assert(!next_is_resident());
    while (count > 0)
        slabs_give(slabs[--count]);
}
END_TEST

/* It has no thread, and must not wait for one. */
START_TEST(a_forked_child_takes_memory)
{
    struct page_thread *thread = page_thread_new();
    ck_assert_ptr_nonnull(thread);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < TAKEN; i++)
            if (slabs_take() == SLAB_NONE) _exit(1);
        _exit(0);
    }
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    page_thread_free(thread);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        the_next_step_is_touched_before_it_is_used,
        a_forked_child_takes_memory,
        NULL,
    };
    return suite_of("page_thread", tests);
}
