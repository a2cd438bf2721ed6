/* Tests of buffer: content stays while it grows, and a failed allocation changes nothing. */
#include "store/mem/buffer.h"

#include "store/mem/mem.h"
#include "tests/support/suite.h"

START_TEST(bytes_stay_while_the_buffer_grows)
{
    struct buffer buffer = { 0 };
    ck_assert_uint_eq(buffer_bytes(&buffer).len, 0);
    for (int i = 0; i < 100000; i++) {
        char byte = (char)i;
        if (i % 2 == 0)
            buffer_append(&buffer, &byte, 1);
        else
            ck_assert(buffer_try_append(&buffer, &byte, 1));
    }
    ck_assert_uint_eq(buffer.len, 100000);
    for (int i = 0; i < 100000; i++)
        ck_assert_int_eq(buffer.data[i], (char)i);
    buffer_drop(&buffer);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(appending_nothing_to_an_empty_buffer_is_allowed)
{
    struct buffer buffer = { 0 };
    buffer_append(&buffer, NULL, 0);
    ck_assert(buffer_try_append(&buffer, NULL, 0));
    ck_assert_uint_eq(buffer.len, 0);
    buffer_drop(&buffer);
}
END_TEST

START_TEST(failed_allocation_leaves_the_content)
{
    struct buffer buffer = { 0 };
    buffer_append(&buffer, "content", 7);
    mem_fail_try(1);
    ck_assert(!buffer_try_reserve(&buffer, 100000));
    ck_assert(!buffer_try_reserve(&buffer, SIZE_MAX));
    ck_assert(bytes_equal(buffer_bytes(&buffer), LIT("content")));
    ck_assert(buffer_try_append(&buffer, "!", 1));
    ck_assert(bytes_equal(buffer_bytes(&buffer), LIT("content!")));
    buffer_drop(&buffer);
}
END_TEST

START_TEST(clear_keeps_a_small_block_and_frees_a_large_one)
{
    struct buffer buffer = { 0 };
    buffer_append(&buffer, "content", 7);
    size_t used = mem_used();
    buffer_clear(&buffer);
    ck_assert_uint_eq(buffer.len, 0);
    ck_assert_uint_eq(mem_used(), used);
    ck_assert(buffer_try_reserve(&buffer, 2 << 20));
    buffer_clear(&buffer);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        bytes_stay_while_the_buffer_grows,
        appending_nothing_to_an_empty_buffer_is_allowed,
        failed_allocation_leaves_the_content,
        clear_keeps_a_small_block_and_frees_a_large_one,
        NULL,
    };
    return suite_of("buffer", tests);
}
