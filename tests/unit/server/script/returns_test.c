/* Tests of returns: which returns of a Lua text get parentheses. */
#include "server/script/returns.h"

#include <string.h>

#include "store/mem/mem.h"
#include "tests/support/suite.h"

/* The text with its parentheses, until the next call. */
static const char *marked(const char *text, bool first_only)
{
    static char out[1024];
    struct returns returns;
    returns_find(&returns, bytes_of(text, strlen(text)), first_only);
    struct returns_reader reader = { .text = bytes_of(text, strlen(text)), .returns = &returns };
    size_t len = 0;
    for (struct bytes piece; (piece = returns_read(&reader)).len > 0; len += piece.len)
        memcpy(out + len, piece.data, piece.len);
    out[len] = '\0';
    returns_drop(&returns);
    return out;
}

START_TEST(returns_get_parentheses_where_only_one_value_counts)
{
    ck_assert_str_eq(marked("return f()", true), "return( f())");
    ck_assert_str_eq(marked("return f()", false), "return f()");
    ck_assert_str_eq(marked("return", true), "return");
    ck_assert_str_eq(marked("return;", true), "return;");
    ck_assert_str_eq(marked("return 1, f()", true), "return 1, f()");
    ck_assert_str_eq(marked("return f(1, 2);", true), "return( f(1, 2));");
    ck_assert_str_eq(
        marked("if a then return f() elseif b then return g() else return h() end", true),
        "if a then return( f()) elseif b then return( g()) else return( h()) end");
    ck_assert_str_eq(marked("repeat return f() until x", true), "repeat return( f()) until x");
    ck_assert_str_eq(marked("while a do return f() end", true), "while a do return( f()) end");
    ck_assert_str_eq(marked("return f() -- end", true), "return( f()) -- end");
}
END_TEST

START_TEST(calls_of_redis_and_error_in_functions_get_parentheses)
{
    ck_assert_str_eq(marked("local function f() return redis.call('get', g(1)) end", true),
                     "local function f() return( redis.call('get', g(1))) end");
    ck_assert_str_eq(marked("f(function() return redis.pcall() end)", false),
                     "f(function() return( redis.pcall()) end)");
    ck_assert_str_eq(marked("f(function() return error {1} end)", false),
                     "f(function() return error {1} end)");
    ck_assert_str_eq(marked("f(function() return error('x') end)", false),
                     "f(function() return( error('x')) end)");
    ck_assert_str_eq(marked("return redis.call('x')", false), "return( redis.call('x'))");
}
END_TEST

START_TEST(other_returns_of_functions_keep_all_values)
{
    static const char *const texts[] = {
        "function f() return g() end",
        "function f() return redis.call(1), 2 end",
        "function f() return redis.call(1).ok end",
        "function f() return redis.call(1)(2) end",
        "function f() return redis.x.y(1) end",
        "function f() return redis.call end",
        "function f() return my.call(1) end",
        "function f() return errors(1) end",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        ck_assert_str_eq(marked(texts[i], true), texts[i]);
}
END_TEST

START_TEST(names_that_the_script_defines_itself_are_left_alone)
{
    static const char *const texts[] = {
        "local error = f function g() return error(1) end",
        "local function error() return 1, 2 end function g() return error(1) end",
        "local redis = { call = f } function g() return redis.call(1) end",
        "function g(redis) return redis.call(1) end",
        "for error in f do end function g() return redis.call(1) end",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        ck_assert_str_eq(marked(texts[i], true), texts[i]);
    ck_assert_str_eq(marked("local error = 1 return f()", true), "local error = 1 return( f())");
    ck_assert_str_eq(marked("x.error = 1 function g() return redis.call(1) end", true),
                     "x.error = 1 function g() return( redis.call(1)) end");
}
END_TEST

START_TEST(returns_inside_of_a_return_are_found)
{
    ck_assert_str_eq(marked("return f(function() return redis.call('a') end, 1)", true),
                     "return( f(function() return( redis.call('a')) end, 1))");
    ck_assert_str_eq(marked("return {f, function() return 1, 2 end}", true),
                     "return( {f, function() return 1, 2 end})");
}
END_TEST

START_TEST(strings_and_comments_hide_their_contents)
{
    ck_assert_str_eq(marked("return f('return end \\' ) (')", true),
                     "return( f('return end \\' ) ('))");
    ck_assert_str_eq(marked("return f([==[ ]] return ) ]==])", true),
                     "return( f([==[ ]] return ) ]==]))");
    ck_assert_str_eq(marked("--[[ return f() ]] return g()", true),
                     "--[[ return f() ]] return( g())");
    ck_assert_str_eq(marked("-- return f()\nreturn g()", true), "-- return f()\nreturn( g())");
    ck_assert_str_eq(marked("returned = 1 return 1e-5 .. .5", true),
                     "returned = 1 return( 1e-5 .. .5)");
}
END_TEST

START_TEST(a_text_that_is_no_lua_stays_as_it_is)
{
    static const char *const texts[] = { "return f('x",  "return f([[x", "return f() --[[ x",
                                         "end return 1", "return f)",    "return \"a\nb\"" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        ck_assert_str_eq(marked(texts[i], true), texts[i]);
    char deep[600];
    memset(deep, '(', sizeof(deep));
    memcpy(deep, "return f", 8);
    deep[sizeof(deep) - 1] = '\0';
    ck_assert_str_eq(marked(deep, true), deep);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        returns_get_parentheses_where_only_one_value_counts,
        calls_of_redis_and_error_in_functions_get_parentheses,
        other_returns_of_functions_keep_all_values,
        names_that_the_script_defines_itself_are_left_alone,
        returns_inside_of_a_return_are_found,
        strings_and_comments_hide_their_contents,
        a_text_that_is_no_lua_stays_as_it_is,
        NULL,
    };
    return suite_of("returns", tests);
}
