/* Tests of library_header: good first lines, and the words of redis-server 7.0.15 for others. */
#include "server/disk/effect/library_header.h"

#include <stdio.h>

#include "tests/support/suite.h"
#include "tests/support/world.h"

static struct library_header header;

START_TEST(a_good_line_has_engine_and_name)
{
    static const struct {
        const char *code, *engine, *name;
    } cases[] = {
        { "#!lua name=lib\ncode", "lua", "lib" },
        { "#!lua name=lib\r\ncode", "lua", "lib" },
        { "#!LUA \t NAME=Lib_9 \n", "LUA", "Lib_9" },
        { "#!lua 'name=lib'\n", "lua", "lib" },
        { "#!lua name=\"\\x41\\x42\"\n", "lua", "AB" },
        { "#!\"js\" name=l\nname=m\n", "js", "l" },
        { "#! name=l\n", "", "l" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_msg(library_header_read(&header, text(cases[i].code)), "%s: %s", cases[i].code,
                      header.error);
        ck_assert(bytes_equal(header.engine, text(cases[i].engine)));
        ck_assert(bytes_equal(header.name, text(cases[i].name)));
        library_header_drop(&header);
    }
}
END_TEST

START_TEST(a_bad_line_has_an_error_in_redis_words)
{
    static const char bad_name[] = "Library names can only contain letters, numbers, or "
                                   "underscores(_) and must be at least one character long";
    static const struct {
        const char *code, *error;
    } cases[] = {
        { "", "Missing library metadata" },
        { "return 1", "Missing library metadata" },
        { " #!lua name=x\n", "Missing library metadata" },
        { "#!lua name=x", "Invalid library metadata" },
        { "#!lua name=\"x\n", "Invalid library metadata" },
        { "#!lua name=\"x\"y\n", "Invalid library metadata" },
        { "#!lua\nname=x", "Library name was not given" },
        { "#!\n", "Library name was not given" },
        { "#!lua name=x name=y\n",
          "Invalid metadata value, name argument was given multiple times" },
        { "#!lua nme=x\n", "Invalid metadata value given: nme=x" },
        { "#!lua name=x 'a b'\n", "Invalid metadata value given: a b" },
        { "#!lua name=\n", bad_name },
        { "#!lua name=x-y\n", bad_name },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char error[256];
        ck_assert_msg(!library_header_read(&header, text(cases[i].code)), "%s", cases[i].code);
        snprintf(error, sizeof(error), "%s%.*s", header.error, (int)header.part.len,
                 header.part.data);
        ck_assert_str_eq(error, cases[i].error);
        library_header_drop(&header);
    }
}
END_TEST

START_TEST(a_zero_byte_hides_the_end_of_the_line)
{
    ck_assert(!library_header_read(&header, LIT("#!lua name=x\0\n")));
    ck_assert_str_eq(header.error, "Invalid library metadata");
    library_header_drop(&header);
    ck_assert(library_header_read(&header, LIT("#!lua name=x\n\0")));
    library_header_drop(&header);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_good_line_has_engine_and_name,
        a_bad_line_has_an_error_in_redis_words,
        a_zero_byte_hides_the_end_of_the_line,
        NULL,
    };
    return suite_of("library_header", tests);
}
