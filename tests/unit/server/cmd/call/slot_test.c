/* Tests of server/cmd/call/slot. */
#include "server/cmd/call/slot.h"

#include "tests/support/suite.h"

static int slot(const char *key)
{
    return slot_of(bytes_of(key, strlen(key)));
}

START_TEST(slots_are_those_of_the_specification)
{
    ck_assert_int_eq(slot("123456789"), 0x31C3); /* the check value of CRC-16/XMODEM */
    ck_assert_int_eq(slot(""), 0);
    ck_assert_int_eq(slot("foo"), 12182);
}
END_TEST

START_TEST(the_first_braces_with_something_between_them_decide)
{
    ck_assert_int_eq(slot("{user1000}.following"), slot("user1000"));
    ck_assert_int_eq(slot("x{user1000}{other}"), slot("user1000"));
    ck_assert_int_eq(slot("foo{{bar}}zap"), slot("{bar"));
    ck_assert_int_ne(slot("foo{}{bar}"), slot("bar"));
    ck_assert_int_ne(slot("foo{bar"), slot("bar"));
    ck_assert_int_ne(slot("foo}bar{"), slot("bar"));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        slots_are_those_of_the_specification,
        the_first_braces_with_something_between_them_decide,
        NULL,
    };
    return suite_of("slot", tests);
}
