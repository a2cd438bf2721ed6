/* Tests of json_text: escapes, and valid UTF-8 whatever the bytes are. */
#include "store/base/json_text.h"

#include <string.h>

#include "tests/support/suite.h"

static void check(const char *text, size_t len, const char *wanted)
{
    char to[JSON_TEXT_GROWTH * 64];
    size_t put = json_text_put(to, bytes_of(text, len));
    ck_assert_msg(put == strlen(wanted) && memcmp(to, wanted, put) == 0, "'%s' became '%.*s'", text,
                  (int)put, to);
}

START_TEST(quotes_and_control_bytes_are_escaped)
{
    check("", 0, "");
    check("plain /text\xc3\xa9", 13, "plain /text\xc3\xa9");
    check("a\"b\\c", 5, "a\\\"b\\\\c");
    check("\n\t\x1f\x7f", 4, "\\u000a\\u0009\\u001f\\u007f");
    check("a\0b", 3, "a\\u0000b");
}
END_TEST

START_TEST(characters_of_any_length_stay)
{
    check("\xc2\x80\xdf\xbf", 4, "\xc2\x80\xdf\xbf");
    check("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80", 9, "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80");
    check("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8, "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
}
END_TEST

START_TEST(bytes_that_are_no_character_are_escaped)
{
    check("\x80"
          "a\xff",
          3, "\\\\x80a\\\\xff");
    check("\xc0\x80", 2, "\\\\xc0\\\\x80");                       /* longer than needed */
    check("\xe0\x9f\xbf", 3, "\\\\xe0\\\\x9f\\\\xbf");            /* the same */
    check("\xed\xa0\x80", 3, "\\\\xed\\\\xa0\\\\x80");            /* a surrogate */
    check("\xf4\x90\x80\x80", 4, "\\\\xf4\\\\x90\\\\x80\\\\x80"); /* above U+10FFFF */
    check("\xe2\x82", 2, "\\\\xe2\\\\x82");                       /* cut off */
    check("\xe2\x82\"", 3, "\\\\xe2\\\\x82\\\"");
}
END_TEST

START_TEST(no_byte_grows_beyond_the_bound)
{
    char all[256], to[JSON_TEXT_GROWTH * sizeof(all)];
    for (size_t i = 0; i < sizeof(all); i++)
        all[i] = (char)i;
    ck_assert_uint_le(json_text_put(to, bytes_of(all, sizeof(all))), sizeof(to));
    memset(all, 1, sizeof(all));
    ck_assert_uint_eq(json_text_put(to, bytes_of(all, sizeof(all))), sizeof(to));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        quotes_and_control_bytes_are_escaped,
        characters_of_any_length_stay,
        bytes_that_are_no_character_are_escaped,
        no_byte_grows_beyond_the_bound,
        NULL,
    };
    return suite_of("json_text", tests);
}
