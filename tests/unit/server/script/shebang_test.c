/* Tests of shebang: flags of a script's first line, and Redis' errors. */
#include "server/script/shebang.h"

#include <string.h>

#include "server/script/host.h"
#include "tests/support/suite.h"

static struct shebang shebang;
static char why[256];

static bool reads(const char *text)
{
    why[0] = '\0';
    return shebang_read(bytes_of(text, strlen(text)), &shebang, why, sizeof(why));
}

START_TEST(script_without_a_shebang_is_plain)
{
    ck_assert(reads("return 1\n#!lua"));
    ck_assert_uint_eq(shebang.len, 0);
    ck_assert_uint_eq(shebang.flags, SCRIPT_PLAIN);
    ck_assert(reads(""));
    ck_assert_uint_eq(shebang.flags, SCRIPT_PLAIN);
}
END_TEST

START_TEST(shebang_has_flags_and_a_length_without_line_end)
{
    ck_assert(reads("#!lua\nreturn 1"));
    ck_assert_uint_eq(shebang.len, 5);
    ck_assert_uint_eq(shebang.flags, 0);
    ck_assert(reads("#!lua flags=no-writes,allow-oom flags=allow-stale\n"));
    ck_assert_uint_eq(shebang.flags, SCRIPT_NO_WRITES | SCRIPT_ALLOW_OOM | SCRIPT_ALLOW_STALE);
    ck_assert(reads("#!lua flags=\n"));
    ck_assert_uint_eq(shebang.flags, 0);
}
END_TEST

START_TEST(every_flag_of_the_list_is_read)
{
    for (const struct script_flag_name *flag = script_flag_names; flag->name != NULL; flag++) {
        char text[64] = "#!lua flags=";
        strcat(strcat(text, flag->name), "\n");
        ck_assert(reads(text));
        ck_assert_uint_eq(shebang.flags, flag->flag);
    }
}
END_TEST

START_TEST(bad_shebang_gets_the_words_of_redis)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { "#!lua", "ERR Invalid script shebang" },
        { "#!lua \"\n", "ERR Invalid engine in script shebang" },
        { "#!python\n", "ERR Unexpected engine in script shebang: #!python" },
        { "#!lua name=x\n", "ERR Unknown lua shebang option: name=x" },
        { "#!lua flags=no-writes,fast\n", "ERR Unexpected flag in script shebang: fast" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert(!reads(cases[i].text));
        ck_assert_str_eq(why, cases[i].why);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        script_without_a_shebang_is_plain,
        shebang_has_flags_and_a_length_without_line_end,
        every_flag_of_the_list_is_read,
        bad_shebang_gets_the_words_of_redis,
        NULL,
    };
    return suite_of("shebang", tests);
}
