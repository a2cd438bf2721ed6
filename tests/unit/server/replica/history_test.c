/* Tests of server/replica/history: which offsets of which streams the data belong to. */
#include "server/replica/history.h"

#include <string.h>

#include "tests/support/suite.h"

static const char other[] = "aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb";
static const char nobody[] = "0000000000000000000000000000000000000000";

START_TEST(new_history_has_an_id_of_its_own_and_no_past)
{
    struct history one, two;
    ck_assert(history_begin(&one) && history_begin(&two));
    ck_assert_uint_eq(strlen(one.id), HISTORY_ID);
    ck_assert_str_ne(one.id, two.id);
    ck_assert(history_has(&one, one.id, 0) && history_has(&one, one.id, UINT64_MAX));
    ck_assert(!history_has(&one, two.id, 1));
    ck_assert(!history_has(&one, "?", 1));
    ck_assert(!history_has(&one, nobody, 1));
}
END_TEST

START_TEST(ids_are_compared_without_regard_to_case)
{
    struct history history;
    char upper[HISTORY_ID + 1];
    ck_assert(history_begin(&history));
    for (int i = 0; i <= HISTORY_ID; i++)
        upper[i] = (char)(history.id[i] >= 'a' ? history.id[i] - 'a' + 'A' : history.id[i]);
    ck_assert(history_has(&history, upper, 5));
}
END_TEST

START_TEST(old_id_holds_up_to_the_offset_of_the_branch)
{
    struct history history;
    ck_assert(history_begin(&history));
    struct history before = history;
    ck_assert(history_branch(&history, 100));
    ck_assert_str_ne(history.id, before.id);
    ck_assert_str_eq(history.old_id, before.id);
    ck_assert(history_has(&history, before.id, 99) && history_has(&history, before.id, 100));
    ck_assert(!history_has(&history, before.id, 101));
    ck_assert(history_has(&history, history.id, 101));
}
END_TEST

START_TEST(only_the_last_branch_is_remembered)
{
    struct history history;
    ck_assert(history_begin(&history));
    struct history first = history;
    ck_assert(history_branch(&history, 100) && history_branch(&history, 200));
    ck_assert(!history_has(&history, first.id, 50));
}
END_TEST

START_TEST(adopting_an_id_forgets_the_past_unless_it_is_the_same)
{
    struct history history;
    ck_assert(history_begin(&history) && history_branch(&history, 100));
    struct history before = history;
    history_adopt(&history, before.id);
    ck_assert(history_has(&history, before.old_id, 100));
    ck_assert(history_had(&history, before.old_id, 100) && !history_had(&history, before.id, 1));
    history_adopt(&history, other);
    ck_assert_str_eq(history.id, other);
    ck_assert(!history_has(&history, before.id, 1) && !history_has(&history, before.old_id, 1));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        new_history_has_an_id_of_its_own_and_no_past,
        ids_are_compared_without_regard_to_case,
        old_id_holds_up_to_the_offset_of_the_branch,
        only_the_last_branch_is_remembered,
        adopting_an_id_forgets_the_past_unless_it_is_the_same,
        NULL,
    };
    return suite_of("history", tests);
}
