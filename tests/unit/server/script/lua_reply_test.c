/* Tests of lua_reply: replies of commands as Lua values and back, as RESP2 and RESP3. */
#include "server/script/lua_reply.h"

#include <luajit-2.1/lauxlib.h>
#include <luajit-2.1/lualib.h>
#include <string.h>

#include "tests/support/suite.h"

static struct interpreter *interpreter;
static struct lua_reply reply;
static struct resp_writer w;

static void begin(int version)
{
    interpreter = interpreter_new();
    lua_pushcfunction(interpreter->lua, luaopen_base);
    lua_call(interpreter->lua, 0, 0);
    lua_settop(interpreter->lua, 0);
    w = lua_reply_begin(&reply, interpreter, interpreter->lua, version);
}

/* The reply that was made has this property: an expression of Lua in which v is the value. */
static void ends_as(const char *expression)
{
    lua_State *lua = interpreter->lua;
    lua_reply_end(&reply);
    ck_assert_int_eq(lua_gettop(lua), 1);
    lua_setglobal(lua, "v");
    char text[256] = "return ";
    ck_assert_int_eq(luaL_loadstring(lua, strcat(text, expression)), 0);
    ck_assert_int_eq(lua_pcall(lua, 0, 1, 0), 0);
    ck_assert_msg(lua_toboolean(lua, -1), "%s", expression);
    interpreter_free(interpreter);
}

#define BECOMES(version, call, expression)                                                         \
    do {                                                                                           \
        begin(version);                                                                            \
        call;                                                                                      \
        ends_as(expression);                                                                       \
    } while (0)

START_TEST(scalars_become_values)
{
    BECOMES(2, resp_integer(&w, -7), "v == -7");
    BECOMES(2, resp_bulk(&w, "a\0b", 3), "v == 'a\\0b'");
    BECOMES(2, resp_status(&w, "OK"), "v.ok == 'OK'");
    BECOMES(2, resp_error(&w, "ERR x", 5), "v.err == 'ERR x' and v.ignore_error_stats_update");
    BECOMES(2, resp_null(&w), "v == false");
    BECOMES(2, resp_null_array(&w), "v == false");
    BECOMES(2, resp_double(&w, 1.5), "v == '1.5'");
    BECOMES(2, resp_bool(&w, true), "v == 1");
}
END_TEST

START_TEST(resp3_types_become_tables_of_their_own)
{
    BECOMES(3, resp_null(&w), "v == nil");
    BECOMES(3, resp_bool(&w, false), "v == false");
    BECOMES(3, resp_double(&w, 1.5), "v.double == 1.5");
    BECOMES(3, resp_big_number(&w, "123", 3), "v.big_number == '123'");
    BECOMES(3, resp_verbatim(&w, "txt", "abc", 3),
            "v.verbatim_string.string == 'abc' and v.verbatim_string.format == 'txt'");
    BECOMES(3, (resp_set(&w, 1), resp_bulk_text(&w, "a")), "v.set.a == true");
    BECOMES(3, (resp_map(&w, 1), resp_bulk_text(&w, "a"), resp_integer(&w, 1)), "v.map.a == 1");
    BECOMES(3, resp_map(&w, 0), "next(v.map) == nil");
}
END_TEST

START_TEST(nested_arrays_become_nested_tables)
{
    BECOMES(2, resp_array(&w, 0), "#v == 0");
    BECOMES(2,
            (resp_array(&w, 3), resp_array(&w, 2), resp_integer(&w, 1), resp_integer(&w, 2),
             resp_array(&w, 0), resp_integer(&w, 3)),
            "v[1][1] == 1 and v[1][2] == 2 and #v[2] == 0 and v[3] == 3");
    BECOMES(3,
            (resp_map(&w, 2), resp_bulk_text(&w, "a"), resp_array(&w, 1), resp_integer(&w, 1),
             resp_bulk_text(&w, "b"), resp_integer(&w, 2)),
            "v.map.a[1] == 1 and v.map.b == 2");
}
END_TEST

START_TEST(reply_beyond_the_memory_limit_is_dropped)
{
    begin(2);
    interpreter_limit(interpreter, 10000);
    resp_array(&w, 100);
    for (int i = 0; i < 100; i++) {
        char text[1000] = { 0 };
        text[0] = (char)i;
        resp_bulk(&w, text, sizeof(text));
    }
    ck_assert(interpreter->exceeded);
    interpreter_unlimit(interpreter);
    lua_reply_end(&reply);
    ck_assert_int_eq(lua_gettop(interpreter->lua), 1);
    interpreter_free(interpreter);
}
END_TEST

/* The reply that a value becomes; NULL if it was an error, which is left on the stack. */
static const char *written(const char *expression, int inside, int outside)
{
    static char text[256];
    char code[128] = "return ";
    struct outbuf out;
    begin(inside);
    lua_reply_end(&reply);
    ck_assert_int_eq(luaL_loadstring(interpreter->lua, strcat(code, expression)), 0);
    lua_call(interpreter->lua, 0, 1);
    outbuf_init(&out);
    struct resp_writer to = { .out = &out, .version = outside };
    bool is_error = lua_write_reply(interpreter->lua, &to, inside, 0);
    ck_assert_int_eq(lua_gettop(interpreter->lua), is_error ? 1 : 0);
    ck_assert_uint_lt(out.len, sizeof(text));
    outbuf_copy(&out, text);
    text[out.len] = '\0';
    outbuf_drop(&out);
    interpreter_free(interpreter);
    return is_error ? NULL : text;
}

START_TEST(values_become_replies)
{
    ck_assert_str_eq(written("3.99", 2, 2), ":3\r\n");
    ck_assert_str_eq(written("-3.99", 2, 2), ":-3\r\n");
    ck_assert_str_eq(written("0/0", 2, 2), ":-9223372036854775808\r\n");
    ck_assert_str_eq(written("'a'", 2, 2), "$1\r\na\r\n");
    ck_assert_str_eq(written("true", 2, 3), ":1\r\n");
    ck_assert_str_eq(written("true", 3, 3), "#t\r\n");
    ck_assert_str_eq(written("false", 2, 2), "$-1\r\n");
    ck_assert_str_eq(written("nil", 2, 3), "_\r\n");
    ck_assert_str_eq(written("{1, {2}, nil, 4}", 2, 2), "*2\r\n:1\r\n*1\r\n:2\r\n");
    ck_assert_str_eq(written("{ok = 'fine'}", 2, 2), "+fine\r\n");
    ck_assert_str_eq(written("{{err = 'E x'}}", 2, 2), "*1\r\n-E x\r\n");
    ck_assert_str_eq(written("{double = 1.5}", 2, 3), ",1.5\r\n");
    ck_assert_str_eq(written("{map = {a = 1}}", 2, 3), "%1\r\n$1\r\na\r\n:1\r\n");
    ck_assert_str_eq(written("{set = {a = true}}", 2, 3), "~1\r\n$1\r\na\r\n");
    ck_assert_str_eq(written("{set = {a = true}}", 2, 2), "*1\r\n$1\r\na\r\n");
    ck_assert_str_eq(written("print", 2, 2), "$-1\r\n");
}
END_TEST

START_TEST(error_at_the_top_is_left_to_the_caller)
{
    ck_assert_ptr_null(written("{err = 'E x'}", 2, 2));
}
END_TEST

START_TEST(error_text_gets_a_code_unless_it_has_one)
{
    static const struct {
        const char *text, *err;
    } cases[] = {
        { "x", "ERR x" }, { "-x", "ERR x" }, { "-MY x", "MY x" }, { "MY x", "ERR MY x" }
    };
    begin(2);
    lua_reply_end(&reply);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        lua_settop(interpreter->lua, 0);
        lua_push_error(interpreter->lua, cases[i].text);
        lua_getfield(interpreter->lua, -1, "err");
        ck_assert_str_eq(lua_tostring(interpreter->lua, -1), cases[i].err);
    }
    interpreter_free(interpreter);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        scalars_become_values,
        resp3_types_become_tables_of_their_own,
        nested_arrays_become_nested_tables,
        reply_beyond_the_memory_limit_is_dropped,
        values_become_replies,
        error_at_the_top_is_left_to_the_caller,
        error_text_gets_a_code_unless_it_has_one,
        NULL,
    };
    return suite_of("lua_reply", tests);
}
