/* Tests of proto/rdb/seen: duplicate members are found, and no call does much work. */
#include "proto/rdb/seen.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/mem/mem.h"
#include "tests/support/suite.h"

enum { MANY = 100000 };

static size_t largest_block;

static void *note_size(void *old, size_t size)
{
    if (size > largest_block) largest_block = size;
    return realloc(old, size);
}

static size_t usable_size(const void *block)
{
    return malloc_usable_size((void *)(uintptr_t)block);
}

static enum rdb_seen_result add(struct rdb_seen *seen, unsigned number)
{
    char text[32];
    size_t len = (size_t)snprintf(text, sizeof(text), "member-%u", number);
    return rdb_seen_add(seen, (struct bytes){ text, len });
}

START_TEST(each_member_is_new_once_however_many_there_are)
{
    struct rdb_seen seen = { 0 };
    unsigned new = 0, before = 0;
    for (unsigned i = 0; i < MANY; i++) {
        new += add(&seen, i) == RDB_SEEN_NEW;
        before += add(&seen, i / 2) == RDB_SEEN_BEFORE;
    }
    ck_assert_uint_eq(new, MANY);
    ck_assert_uint_eq(before, MANY);
    for (unsigned i = 0; i < MANY; i++)
        before += add(&seen, i) == RDB_SEEN_BEFORE;
    ck_assert_uint_eq(before, 2 * MANY);
    rdb_seen_drop(&seen);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(no_call_needs_a_large_block)
{
    struct rdb_seen seen = { 0 };
    mem_use(&(struct mem_hooks){ note_size, free, usable_size });
    for (unsigned i = 0; i < MANY; i++)
        add(&seen, i);
    ck_assert_uint_lt(largest_block, 32 * 1024);
    rdb_seen_drop(&seen);
}
END_TEST

START_TEST(clear_forgets_small_and_large_values)
{
    struct rdb_seen seen = { 0 };
    for (unsigned count = 1; count < 20000; count *= 3) {
        for (unsigned i = 0; i < count; i++)
            ck_assert_int_eq(add(&seen, i), RDB_SEEN_NEW);
        rdb_seen_clear(&seen);
    }
    rdb_seen_drop(&seen);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

/* The table continues with the entries that it has. */
START_TEST(a_failed_allocation_forgets_nothing)
{
    for (unsigned until = 0; until < 40; until++) {
        struct rdb_seen seen = { 0 };
        unsigned count = 0;
        enum rdb_seen_result result;
        mem_fail_try(until + 1);
        while ((result = add(&seen, count)) == RDB_SEEN_NEW)
            count++;
        ck_assert_int_eq(result, RDB_SEEN_NO_MEMORY);
        for (unsigned i = 0; i < count; i++)
            ck_assert_int_eq(add(&seen, i), RDB_SEEN_BEFORE);
        ck_assert_int_eq(add(&seen, count), RDB_SEEN_NEW);
        rdb_seen_drop(&seen);
        ck_assert_uint_eq(mem_used(), 0);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        each_member_is_new_once_however_many_there_are,
        no_call_needs_a_large_block,
        clear_forgets_small_and_large_values,
        a_failed_allocation_forgets_nothing,
        NULL,
    };
    return suite_of("seen", tests);
}
