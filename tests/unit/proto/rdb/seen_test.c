/* Tests of proto/rdb/seen: duplicate members are found, and no call does much work. */
#include "proto/rdb/seen.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/rdb/alloc.h"
#include "tests/support/suite.h"

enum { MANY = 100000 };

/* An allocator that notes its largest block and may fail. */
static struct {
    size_t largest, blocks;
    long until_failure; /* < 0: never */
} memory;

static void *resize(void *old, size_t size)
{
    if (memory.until_failure == 0) return NULL;
    if (memory.until_failure > 0) memory.until_failure--;
    if (size > memory.largest) memory.largest = size;
    memory.blocks += old == NULL;
    return realloc(old, size);
}

static void release(void *block)
{
    memory.blocks -= block != NULL;
    free(block);
}

static void use_memory(long until_failure)
{
    static const struct rdb_allocator allocator = { resize, release };
    memory.largest = memory.blocks = 0;
    memory.until_failure = until_failure;
    rdb_use_allocator(&allocator);
}

static enum rdb_seen_result add(struct rdb_seen *seen, unsigned number)
{
    char text[32];
    size_t len = (size_t)snprintf(text, sizeof(text), "member-%u", number);
    return rdb_seen_add(seen, (struct rdb_bytes){ text, len });
}

START_TEST(each_member_is_new_once_however_many_there_are)
{
    struct rdb_seen seen = { 0 };
    unsigned new = 0, before = 0;
    use_memory(-1);
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
    ck_assert_uint_eq(memory.blocks, 0);
}
END_TEST

START_TEST(no_call_needs_a_large_block)
{
    struct rdb_seen seen = { 0 };
    use_memory(-1);
    for (unsigned i = 0; i < MANY; i++)
        add(&seen, i);
    ck_assert_uint_lt(memory.largest, 32 * 1024);
    rdb_seen_drop(&seen);
}
END_TEST

START_TEST(clear_forgets_small_and_large_values)
{
    struct rdb_seen seen = { 0 };
    use_memory(-1);
    for (unsigned count = 1; count < 20000; count *= 3) {
        for (unsigned i = 0; i < count; i++)
            ck_assert_int_eq(add(&seen, i), RDB_SEEN_NEW);
        rdb_seen_clear(&seen);
    }
    rdb_seen_drop(&seen);
    ck_assert_uint_eq(memory.blocks, 0);
}
END_TEST

/* The table goes on with what it has. */
START_TEST(a_failed_allocation_forgets_nothing)
{
    for (long until = 0; until < 40; until++) {
        struct rdb_seen seen = { 0 };
        unsigned count = 0;
        use_memory(until);
        while (add(&seen, count) == RDB_SEEN_NEW)
            count++;
        ck_assert_int_eq(add(&seen, count), RDB_SEEN_NO_MEMORY);
        memory.until_failure = -1;
        for (unsigned i = 0; i < count; i++)
            ck_assert_int_eq(add(&seen, i), RDB_SEEN_BEFORE);
        ck_assert_int_eq(add(&seen, count), RDB_SEEN_NEW);
        rdb_seen_drop(&seen);
        ck_assert_uint_eq(memory.blocks, 0);
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
