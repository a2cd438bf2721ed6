/* mem: what is counted, what may fail, and what happens at the end of memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/mem/mem.h"
#include "tests/support/suite.h"

START_TEST(used_counts_usable_sizes)
{
    size_t before = mem_used();
    void *a = mem_alloc(100);
    ck_assert_uint_ge(mem_size(a), 100);
    ck_assert_uint_eq(mem_used(), before + mem_size(a));
    void *b = mem_zalloc(5000);
    ck_assert_uint_eq(mem_used(), before + mem_size(a) + mem_size(b));
    mem_free(a);
    mem_free(b);
    ck_assert_uint_eq(mem_used(), before);
}
END_TEST

START_TEST(realloc_counts_only_the_difference_and_keeps_the_bytes)
{
    size_t before = mem_used();
    char *p = mem_realloc(NULL, 10);
    memcpy(p, "123456789", 10);
    p = mem_realloc(p, 100000);
    ck_assert_str_eq(p, "123456789");
    ck_assert_uint_eq(mem_used(), before + mem_size(p));
    p = mem_realloc(p, 10);
    ck_assert_str_eq(p, "123456789");
    ck_assert_uint_eq(mem_used(), before + mem_size(p));
    mem_free(p);
    ck_assert_uint_eq(mem_used(), before);
}
END_TEST

START_TEST(zalloc_gives_zeros)
{
    char *p = mem_zalloc(777);
    for (size_t i = 0; i < 777; i++)
        ck_assert_int_eq(p[i], 0);
    mem_free(p);
}
END_TEST

START_TEST(zero_byte_blocks_are_valid)
{
    size_t before = mem_used();
    void *p = mem_alloc(0);
    ck_assert_ptr_nonnull(p);
    p = mem_realloc(p, 0);
    ck_assert_ptr_nonnull(p);
    mem_free(p);
    mem_free(NULL);
    ck_assert_uint_eq(mem_size(NULL), 0);
    ck_assert_uint_eq(mem_used(), before);
}
END_TEST

START_TEST(alloc_lines_aligns_to_cache_line)
{
    void *blocks[50];
    size_t before = mem_used();
    for (size_t i = 0; i < 50; i++) {
        blocks[i] = mem_alloc_lines(64 * (i + 1));
        memset(blocks[i], 1, 64 * (i + 1));
        ck_assert_uint_eq((uintptr_t)blocks[i] % 64, 0);
    }
    for (size_t i = 0; i < 50; i++)
        mem_free(blocks[i]);
    ck_assert_uint_eq(mem_used(), before);
}
END_TEST

START_TEST(realloc_keeps_contents_across_all_sizes)
{
    char *p = NULL;
    size_t before = mem_used();
    for (size_t size = 1; size < 5000; size += 1 + size / 7) {
        p = mem_realloc(p, size);
        memset(p, (int)(size % 100), size);
        char *q = mem_realloc(p, 5001 - size);
        for (size_t i = 0; i < size && i < 5001 - size; i++)
            ck_assert_int_eq(q[i], (int)(size % 100));
        ck_assert_uint_eq(mem_used(), before + mem_size(q));
        p = q;
    }
    mem_free(p);
    ck_assert_uint_eq(mem_used(), before);
}
END_TEST

/* Every other of many blocks is freed; the rest moves together. */
START_TEST(moving_sparse_blocks_frees_memory)
{
    enum { BLOCKS = 40000 };
    static void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = mem_alloc(100);
    for (size_t i = 0; i < BLOCKS; i += 2)
        mem_free(blocks[i]);
    size_t waste = mem_pool_waste(), moved = 0;
    for (size_t walk = 0; walk < 3; walk++) {
        for (size_t i = 1; i < BLOCKS; i += 2) {
            if (!mem_sparse(blocks[i])) continue;
            void *p = mem_alloc(100);
            mem_free(blocks[i]);
            blocks[i] = p;
            moved++;
        }
    }
    mem_purge();
    /* Without a pool no block is sparse. */
    ck_assert_uint_le(mem_pool_waste(), waste / 10);
    ck_assert(moved == 0 || moved > BLOCKS / 8);
    for (size_t i = 1; i < BLOCKS; i += 2)
        mem_free(blocks[i]);
}
END_TEST

START_TEST(only_small_blocks_are_sparse)
{
    void *large = mem_alloc(100000);
    ck_assert(!mem_sparse(large));
    ck_assert(!mem_sparse(NULL));
    mem_free(large);
}
END_TEST

START_TEST(peak_stays_until_it_is_reset)
{
    mem_reset_peak();
    size_t before = mem_used();
    void *p = mem_alloc(100000);
    size_t high = mem_used();
    mem_free(p);
    ck_assert_uint_eq(mem_peak(), high);
    mem_reset_peak();
    ck_assert_uint_eq(mem_peak(), before);
}
END_TEST

START_TEST(fault_injection_fails_only_the_nth_try)
{
    mem_fail_try(3);
    void *a = mem_try_alloc(10);
    ck_assert_ptr_nonnull(a);
    void *not_a_try = mem_alloc(10);
    void *b = mem_try_realloc(NULL, 10);
    ck_assert_ptr_nonnull(b);
    size_t before = mem_used();
    ck_assert_ptr_null(mem_try_realloc(a, 1000));
    ck_assert_uint_eq(mem_used(), before);
    a = mem_try_realloc(a, 1000);
    ck_assert_ptr_nonnull(a);
    mem_free(a);
    mem_free(b);
    mem_free(not_a_try);
}
END_TEST

START_TEST(fault_injection_can_be_turned_off)
{
    mem_fail_try(1);
    mem_fail_try(0);
    void *p = mem_try_alloc(10);
    ck_assert_ptr_nonnull(p);
    mem_free(p);
}
END_TEST

/* A foreign allocator that counts its blocks, keeps their sizes in front, and has an end. */
static size_t foreign_blocks;

static void *foreign_resize(void *old, size_t size)
{
    if (size > 1000) return NULL;
    size_t usable = size > 128 && size < 160 ? 160 : size;
    size_t *block = realloc(old == NULL ? NULL : (size_t *)old - 2, usable + 16);
    if (block == NULL) return NULL;
    foreign_blocks += old == NULL;
    *block = usable;
    return block + 2;
}

static void foreign_release(void *p)
{
    foreign_blocks--;
    free((size_t *)p - 2);
}

static size_t foreign_size(const void *p)
{
    return ((const size_t *)p)[-2];
}

static const struct mem_hooks foreign = { foreign_resize, foreign_release, foreign_size };

START_TEST(foreign_allocator_can_be_used)
{
    mem_use(&foreign);
    ck_assert_str_eq(mem_allocator_name(), "foreign");
    void *a = mem_alloc(100);
    void *b = mem_alloc_lines(64);
    ck_assert_uint_eq(foreign_blocks, 2);
    ck_assert_uint_eq(mem_used(), 164);
    a = mem_realloc(a, 200);
    ck_assert_uint_eq(mem_used(), 264);
    ck_assert_ptr_null(mem_try_alloc(1001));
    ck_assert_ptr_null(mem_try_realloc(a, 1001));
    mem_free(a);
    mem_free(b);
    ck_assert_uint_eq(mem_used(), 0);
    mem_use(NULL);
    ck_assert_uint_eq(foreign_blocks, 0);
}
END_TEST

/* With a sanitizer, no block is used again. */
START_TEST(few_freed_blocks_of_a_foreign_allocator_are_kept)
{
    enum { MANY = 20, FEW = 7 };
    void *blocks[MANY];
    mem_use(&foreign);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < MANY; i++) {
            blocks[i] = mem_alloc(145 + i % 16); /* jemalloc gives 160 bytes */
            memset(blocks[i], (int)i, 145);
        }
        for (size_t i = 0; i < MANY; i++)
            ck_assert_int_eq(*(char *)blocks[i], (int)i);
        ck_assert_uint_eq(foreign_blocks, MANY);
        for (size_t i = 0; i < MANY; i++)
            mem_free(blocks[i]);
        ck_assert_uint_eq(mem_used(), 0);
        ck_assert_uint_le(foreign_blocks, FEW);
    }
    mem_use(NULL);
    ck_assert_uint_eq(foreign_blocks, 0);
}
END_TEST

START_TEST(block_used_again_is_large_enough)
{
    mem_use(&foreign);
    for (size_t freed = 1; freed <= 900; freed++) {
        mem_free(mem_alloc(freed));
        for (size_t size = 1; size <= 900; size += 1 + size / 16) {
            void *p = mem_alloc(size);
            ck_assert_uint_ge(mem_size(p), size);
            mem_free(p);
        }
    }
    ck_assert_uint_eq(mem_used(), 0);
    mem_use(NULL);
    ck_assert_uint_eq(foreign_blocks, 0);
}
END_TEST

static void exit_with_wanted(size_t wanted, bool ends)
{
    _exit(wanted == 1001 && ends ? 42 : 1);
}

START_TEST(handler_is_called_when_memory_ends)
{
    pid_t child = fork();
    if (child == 0) {
        mem_use(&foreign);
        mem_on_exhausted(exit_with_wanted);
        mem_free(mem_alloc(1001));
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 42);
}
END_TEST

/* Of the process, in bytes. */
static rlim_t addresses(void)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL || fscanf(statm, "%lu", &pages) != 1) _exit(1);
    fclose(statm);
    return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static unsigned times_short;

static void note_short(size_t wanted, bool ends)
{
    if (ends) _exit(wanted == 65536 ? 42 : 2);
    times_short++;
}

static void assert_short(bool is_short)
{
    if (mem_is_short() != is_short) _exit(3);
    if ((mem_try_alloc(65536) == NULL) != is_short) _exit(4);
    if (mem_has_room(1 << 20) == is_short) _exit(5);
    if (mem_try_alloc(1000) == NULL) _exit(6);
}

/* With a limit to addresses: memory runs out, is available again, and runs out for good. */
static void use_up(void)
{
    enum { KEPT = 100 };
    void *kept[KEPT];
    size_t count = 0;
    struct rlimit limit = { 1 << 30, 1 << 30 };
    mem_free(mem_alloc(8)); /* the range of addresses is there */
    mem_on_exhausted(note_short);
    mem_keep_reserve(true);
    limit.rlim_cur = limit.rlim_max = addresses() + (64 << 20);
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(7);
    assert_short(false);
    for (int i = 0; i < KEPT; i++)
        kept[i] = mem_alloc(65536);
    while (!mem_is_short() && count++ < 1 << 20)
        mem_alloc(65536);
    if (times_short == 0) _exit(8);
    assert_short(true);
    for (int i = 0; i < KEPT; i++)
        mem_free(kept[i]);
    mem_purge();
    if (mem_is_short()) _exit(9);
    for (;;)
        mem_alloc(65536);
}

START_TEST(reserve_is_released_and_restored)
{
    void *small = mem_alloc(8);
    bool watched = mem_pool_waste() == 0; /* by a sanitizer, which needs all addresses */
    mem_free(small);
    if (watched) return;
    pid_t child = fork();
    if (child == 0) use_up();
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 42);
}
END_TEST

START_TEST(the_allocator_has_a_name)
{
    const char *name = mem_allocator_name();
    if (strcmp(name, "libc") == 0) return;
    ck_assert_int_eq(strncmp(name, "jemalloc-", 9), 0);
    ck_assert_uint_gt(strlen(name), 9);
    ck_assert_ptr_null(strchr(name + 9, '-'));
}
END_TEST

START_TEST(figures_of_the_allocators_contain_what_is_in_use)
{
    void *small = mem_alloc(100), *large = mem_alloc(3 << 20);
    struct mem_allocators figures = mem_allocators();
    bool jemalloc = strncmp(mem_allocator_name(), "jemalloc", strlen("jemalloc")) == 0;
    ck_assert_uint_ge(figures.allocated, mem_used());
    if (jemalloc) {
        ck_assert_uint_ge(figures.active, figures.allocated);
        ck_assert_uint_ge(figures.resident, figures.active);
    }
    mem_free(large);
    ck_assert_uint_le(mem_allocators().allocated, figures.allocated - (3 << 20));
    mem_keep_reserve(true); /* it has no memory */
    ck_assert_uint_lt(mem_allocators().allocated, figures.allocated);
    mem_purge(); /* else freed pages stay for a while, depending on the time */
    if (jemalloc) ck_assert_uint_lt(mem_allocators().resident, figures.resident + (4 << 20));
    mem_keep_reserve(false);
    mem_free(small);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        used_counts_usable_sizes,
        realloc_counts_only_the_difference_and_keeps_the_bytes,
        zalloc_gives_zeros,
        zero_byte_blocks_are_valid,
        alloc_lines_aligns_to_cache_line,
        realloc_keeps_contents_across_all_sizes,
        moving_sparse_blocks_frees_memory,
        only_small_blocks_are_sparse,
        peak_stays_until_it_is_reset,
        fault_injection_fails_only_the_nth_try,
        fault_injection_can_be_turned_off,
        foreign_allocator_can_be_used,
        few_freed_blocks_of_a_foreign_allocator_are_kept,
        block_used_again_is_large_enough,
        handler_is_called_when_memory_ends,
        reserve_is_released_and_restored,
        the_allocator_has_a_name,
        figures_of_the_allocators_contain_what_is_in_use,
        NULL,
    };
    return suite_of("mem", tests);
}
