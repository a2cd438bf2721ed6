/* Tests of quoted: escapes, quotes within words, and quotes that are not closed. */
#include "store/base/quoted.h"

#include <string.h>

#include "tests/support/suite.h"

/* The word that the text begins with, and how many bytes of the text it took. */
static void check(const char *text, const char *word, size_t taken)
{
    char room[64], *to = room;
    const char *at = text;
    ck_assert_msg(quoted_take(&at, text + strlen(text), &to), "%s", text);
    ck_assert_msg((size_t)(to - room) == strlen(word) && memcmp(room, word, strlen(word)) == 0,
                  "%s became %.*s", text, (int)(to - room), room);
    ck_assert_uint_eq((size_t)(at - text), taken);
}

static void check_unbalanced(const char *text)
{
    char room[64], *to = room;
    const char *at = text;
    ck_assert_msg(!quoted_take(&at, text + strlen(text), &to), "%s", text);
}

START_TEST(plain_word_ends_at_white_space)
{
    check("word next", "word", 4);
    check("a\tb", "a", 1);
    check("a\vb\fc\r", "a\vb\fc", 5);
    check("a\\nb", "a\\nb", 4);
}
END_TEST

START_TEST(double_quotes_have_escapes)
{
    check("\"a b\"", "a b", 5);
    check("\"\\n\\r\\t\\b\\a\\\\\\\"\\q\" x", "\n\r\t\b\a\\\"q", 18);
    check("\"\\x41\\xfF\"", "A\xff", 10);
    check("\"\\x4\\xg1\"", "x4xg1", 9);
    check("\"\"", "", 2);
}
END_TEST

START_TEST(single_quotes_escape_only_themselves)
{
    check("'a\\'b\\n\"'\n", "a'b\\n\"", 9);
    check_unbalanced("'\\'");
}
END_TEST

START_TEST(quote_opens_within_a_word_and_closing_ends_it)
{
    check("a\"b c\" d", "ab c", 6);
    check("a'b'\v", "ab", 4);
}
END_TEST

START_TEST(unclosed_quotes_and_text_behind_quotes_are_refused)
{
    check_unbalanced("\"a");
    check_unbalanced("'a");
    check_unbalanced("\"a\\\"");
    check_unbalanced("\"a\\");
    check_unbalanced("\"a\"b");
    check_unbalanced("'a'\"b\"");
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        plain_word_ends_at_white_space,
        double_quotes_have_escapes,
        single_quotes_escape_only_themselves,
        quote_opens_within_a_word_and_closing_ends_it,
        unclosed_quotes_and_text_behind_quotes_are_refused,
        NULL,
    };
    return suite_of("quoted", tests);
}
