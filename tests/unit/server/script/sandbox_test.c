/* Tests of sandbox: what scripts find, what they cannot change, and how texts are compiled. */
#include "server/script/sandbox.h"

#include <string.h>

#include "server/script/lua/interpreter.h"
#include "tests/support/suite.h"

static struct interpreter *interpreter;

static void begin(void)
{
    interpreter = interpreter_new();
    sandbox_open(interpreter->lua);
    lua_settop(interpreter->lua, 0);
}

/* What the text returns, as text, or its error; valid until the next call. */
static const char *result(const char *text)
{
    lua_State *lua = interpreter->lua;
    lua_settop(lua, 0);
    if (sandbox_compile(lua, bytes_of(text, strlen(text)), "@t", true)) lua_pcall(lua, 0, 1, 0);
    if (lua_isboolean(lua, -1)) return lua_toboolean(lua, -1) ? "true" : "false";
    return lua_isnil(lua, -1) ? "nil" : lua_tostring(lua, -1);
}

#define READONLY "Attempt to modify a readonly table"

START_TEST(globals_and_libraries_cannot_be_changed)
{
    static const char *const attempts[] = {
        "x = 1",
        "_G.x = 1",
        "rawset(_G, 'x', 1)",
        "setmetatable(_G, nil)",
        "string.len = 1",
        "rawset(string, 'len', 1)",
        "table.insert(math, 1)",
        "cjson.x = 1",
        "getmetatable('').__index = 1",
        "getmetatable(_G).__index = 1",
        "getmetatable('').__index.len = 1",
    };
    begin();
    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        const char *error = result(attempts[i]);
        ck_assert_msg(error != NULL && strstr(error, READONLY) != NULL, "%s: %s", attempts[i],
                      error);
    }
    interpreter_free(interpreter);
}
END_TEST

START_TEST(loop_over_a_guard_does_not_reveal_the_real_table)
{
    begin();
    ck_assert_str_eq(result("local f, t = pairs(string) return rawequal(t, string)"), "true");
    ck_assert_str_eq(result("for k in pairs(string) do if k == 'len' then return k end end"),
                     "len");
    ck_assert_str_eq(result("return type(next(math))"), "string");
    ck_assert_str_eq(result("return rawget(string, 'len') == string.len"), "true");
    interpreter_free(interpreter);
}
END_TEST

START_TEST(unsafe_functions_are_missing)
{
    static const char *const names[] = { "dofile",  "loadfile", "print",    "setfenv", "getfenv",
                                         "require", "package",  "io",       "debug",   "jit",
                                         "ffi",     "module",   "newproxy", "x" };
    begin();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[64] = "return ";
        const char *error = result(strcat(text, names[i]));
        ck_assert_msg(error != NULL && strstr(error, "nonexistent global variable") != NULL,
                      "%s: %s", names[i], error);
    }
    ck_assert_str_eq(result("return string.dump"), "nil");
    ck_assert_str_eq(result("return os.execute"), "nil");
    interpreter_free(interpreter);
}
END_TEST

START_TEST(byte_code_is_not_loaded)
{
    begin();
    ck_assert_str_eq(result("return type(loadstring('\\27LJ\\2'))"), "nil");
    ck_assert_str_eq(result("local n = 0 return type(load(function() n = n + 1 "
                            "return n == 1 and '\\27LJ\\2' or nil end))"),
                     "nil");
    ck_assert(!sandbox_compile(interpreter->lua, LIT("\033LJ\2"), "@t", true));
    interpreter_free(interpreter);
}
END_TEST

START_TEST(loaded_chunks_see_the_same_globals)
{
    begin();
    ck_assert_str_eq(result("return loadstring('return _G')() == _G"), "true");
    ck_assert_ptr_nonnull(strstr(result("loadstring('x = 1')()"), READONLY));
    interpreter_free(interpreter);
}
END_TEST

START_TEST(added_global_is_seen_by_scripts)
{
    interpreter = interpreter_new();
    sandbox_open(interpreter->lua);
    lua_pushliteral(interpreter->lua, "value");
    lua_setfield(interpreter->lua, -2, "ours");
    ck_assert_str_eq(result("return ours"), "value");
    interpreter_free(interpreter);
}
END_TEST

START_TEST(functions_that_luajit_changed_are_those_of_lua_51)
{
    begin();
    ck_assert_str_eq(result("return math.mod(7, 4)"), "3");
    ck_assert_str_eq(result("return string.gfind('ab', '.')()"), "a");
    ck_assert_str_eq(result("return collectgarbage('stop')"), "0");
    ck_assert_str_eq(result("local ok, e = pcall(error, {err = 'E'}) return e"), "E");
    ck_assert_str_eq(result("math.randomseed(7) local a = math.random(1000) math.randomseed(7) "
                            "return a == math.random(1000)"),
                     "true");
    ck_assert_str_eq(result("return select(2, pcall(math.random, 2, 1))"),
                     "bad argument #2 to '?' (interval is empty)");
    interpreter_free(interpreter);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        globals_and_libraries_cannot_be_changed,
        loop_over_a_guard_does_not_reveal_the_real_table,
        unsafe_functions_are_missing,
        byte_code_is_not_loaded,
        loaded_chunks_see_the_same_globals,
        added_global_is_seen_by_scripts,
        functions_that_luajit_changed_are_those_of_lua_51,
        NULL,
    };
    return suite_of("sandbox", tests);
}
