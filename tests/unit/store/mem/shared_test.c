/* Tests of shared: blocks that one thread allocates and another frees, and their counts. */
#include "store/mem/shared.h"

#include <pthread.h>

#include "store/mem/mem.h"
#include "tests/support/suite.h"

enum { BLOCKS = 10000, THREADS = 4 };

START_TEST(blocks_count_in_the_memory_in_use)
{
    size_t used = mem_used();
    char *p = mem_shared_alloc(1000);
    p[999] = 'x';
    ck_assert_uint_ge(mem_used(), used + 1000);
    ck_assert_uint_eq(mem_shared_used(), mem_used() - used);
    mem_shared_free(p);
    mem_shared_free(NULL);
    ck_assert_uint_eq(mem_used(), used);
}
END_TEST

START_TEST(peak_is_never_below_the_memory_in_use)
{
    mem_reset_peak();
    char *p = mem_shared_alloc(1 << 20);
    size_t most = mem_used();
    ck_assert_uint_eq(mem_peak(), most);
    mem_shared_free(p);
    ck_assert_uint_eq(mem_peak(), most);
    mem_reset_peak();
    ck_assert_uint_eq(mem_peak(), mem_used());
}
END_TEST

START_TEST(bytes_can_be_set_apart_and_counted_again)
{
    size_t apart = mem_shared_apart();
    mem_shared_set_apart(500);
    ck_assert_uint_eq(mem_shared_apart(), apart + 500);
    mem_shared_set_apart(-(size_t)500);
    ck_assert_uint_eq(mem_shared_apart(), apart);
}
END_TEST

static void *free_all(void *ctx)
{
    void **blocks = ctx;
    for (int i = 0; i < BLOCKS; i++)
        mem_shared_free(blocks[i]);
    return NULL;
}

static void *take_all(void *ctx)
{
    void **blocks = ctx;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = mem_shared_alloc((size_t)(i % 300) + 1);
    return NULL;
}

START_TEST(other_threads_may_free_them)
{
    static void *blocks[THREADS][BLOCKS];
    size_t used = mem_shared_used();
    void *(*const steps[])(void *ctx) = { take_all, free_all };
    for (int step = 0; step < 2; step++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, steps[step], blocks[i]), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        if (step == 0) ck_assert_uint_ge(mem_shared_used() - used, (size_t)THREADS * BLOCKS * 100);
    }
    ck_assert_uint_eq(mem_shared_used(), used);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        blocks_count_in_the_memory_in_use,
        peak_is_never_below_the_memory_in_use,
        other_threads_may_free_them,
        bytes_can_be_set_apart_and_counted_again,
        NULL,
    };
    return suite_of("shared", tests);
}
