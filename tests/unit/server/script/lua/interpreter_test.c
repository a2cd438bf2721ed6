/* Tests of interpreter: the memory limit, the hook, the collection of garbage. */
#include "server/script/lua/interpreter.h"

#include <luajit-2.1/lauxlib.h>
#include <luajit-2.1/lualib.h>
#include <stdint.h>

#include "store/mem/mem.h"
#include "tests/support/suite.h"

static struct interpreter *interpreter;
static int hook_calls;

static int run(const char *text)
{
    lua_settop(interpreter->lua, 0);
    ck_assert_int_eq(luaL_loadstring(interpreter->lua, text), 0);
    interpreter_let_fail(interpreter->lua, true);
    int status = lua_pcall(interpreter->lua, 0, 0, 0);
    interpreter_let_fail(interpreter->lua, false);
    return status;
}

static void begin(void)
{
    interpreter = interpreter_new();
    lua_pushcfunction(interpreter->lua, luaopen_base);
    lua_call(interpreter->lua, 0, 0);
    lua_settop(interpreter->lua, 0);
    hook_calls = 0;
}

START_TEST(all_memory_of_lua_is_counted_and_given_back)
{
    size_t before = mem_used();
    begin();
    size_t empty = interpreter->used;
    ck_assert_int_eq(run("t = {} for i = 1, 10000 do t[i] = {i} end"), 0);
    ck_assert_uint_gt(interpreter->used, empty + 100000);
    interpreter_free(interpreter);
    ck_assert_uint_eq(mem_used(), before);
}
END_TEST

START_TEST(script_beyond_the_limit_ends_with_an_error)
{
    begin();
    interpreter_limit(interpreter, 1 << 20);
    ck_assert_int_eq(run("local t = {} for i = 1, 1e6 do t[i] = {i} end"), LUA_ERRMEM);
    ck_assert_str_eq(lua_tostring(interpreter->lua, -1), "not enough memory");
    ck_assert(!interpreter_is_full(interpreter));
    interpreter_unlimit(interpreter);
    ck_assert_int_eq(run("local t = {} for i = 1, 1e5 do t[i] = {i} end"), 0);
    interpreter_free(interpreter);
}
END_TEST

START_TEST(limit_of_zero_is_no_limit)
{
    begin();
    interpreter_limit(interpreter, 0);
    ck_assert_uint_eq(interpreter->limit, SIZE_MAX);
    interpreter_limit(interpreter, SIZE_MAX);
    ck_assert_uint_eq(interpreter->limit, SIZE_MAX);
    interpreter_free(interpreter);
}
END_TEST

START_TEST(held_engine_allocates_beyond_the_limit_and_reports_it)
{
    begin();
    interpreter_limit(interpreter, 1000);
    interpreter->may_fail = false;
    ck_assert_ptr_nonnull(lua_newuserdata(interpreter->lua, 100000));
    ck_assert(interpreter->exceeded);
    ck_assert(interpreter_is_full(interpreter));
    interpreter->may_fail = true;
    interpreter_limit(interpreter, 1000);
    ck_assert(!interpreter->exceeded);
    interpreter_free(interpreter);
}
END_TEST

static void count_steps(void *ctx, lua_State *lua)
{
    (void)ctx;
    (void)lua;
    hook_calls++;
}

START_TEST(hook_is_called_after_each_span_of_instructions)
{
    begin();
    interpreter->on_steps = count_steps;
    ck_assert_int_eq(run("local x = 1"), 0);
    ck_assert_int_eq(hook_calls, 0);
    ck_assert_int_eq(run("for i = 1, 100000 do local x = i + 1 end"), 0);
    ck_assert_int_ge(hook_calls, 100000 / ENGINE_HOOK_STEPS);
    interpreter_free(interpreter);
}
END_TEST

START_TEST(hook_is_called_more_often_while_large_blocks_exist)
{
    begin();
    lua_pushcfunction(interpreter->lua, luaopen_string);
    lua_call(interpreter->lua, 0, 0);
    interpreter->on_steps = count_steps;
    interpreter_limit(interpreter, 0);
    ck_assert_int_eq(run("s = ('x'):rep(64 * 1024 * 1024)"), 0);
    interpreter_limit(interpreter, 0); /* another script, which finds the block */
    hook_calls = 0;
    ck_assert_int_eq(run("for i = 1, 1000 do local x = #s end"), 0);
    ck_assert_int_ge(hook_calls, 1000);
    ck_assert_int_eq(run("s = nil"), 0);
    for (int i = 0; i < 20; i++) /* each halves Lua's buffer */
        lua_gc(interpreter->lua, LUA_GCCOLLECT, 0);
    ck_assert_uint_eq(interpreter->large, 0);
    interpreter_limit(interpreter, 0);
    hook_calls = 0;
    ck_assert_int_eq(run("for i = 1, 1000 do local x = i + 1 end"), 0);
    ck_assert_int_eq(hook_calls, 0);
    interpreter_free(interpreter);
}
END_TEST

static void stop(void *ctx, lua_State *lua)
{
    (void)ctx;
    hook_calls++;
    interpreter_hurry(interpreter);
    luaL_error(lua, "stopped");
}

START_TEST(hurried_script_cannot_continue_by_catching_errors)
{
    begin();
    interpreter->on_steps = stop;
    ck_assert_int_ne(run("while true do\npcall(function()\nwhile true do end\nend)\nend"), 0);
    ck_assert_int_ge(hook_calls, 2);
    ck_assert(interpreter_hurries(interpreter->lua));
    interpreter_resume(interpreter);
    ck_assert(!interpreter_hurries(interpreter->lua));
    ck_assert_int_eq(run("local x = 1\nlocal y = 2"), 0);
    interpreter_free(interpreter);
}
END_TEST

START_TEST(much_garbage_is_collected_in_pieces)
{
    begin();
    ck_assert(!interpreter_collect(interpreter, 1));
    ck_assert_ptr_nonnull(lua_newuserdata(interpreter->lua, 8 << 20));
    lua_settop(interpreter->lua, 0);
    int pieces = 0;
    for (; interpreter_collect(interpreter, 1) && pieces < 10000; pieces++) {
    }
    ck_assert_int_gt(pieces, 0);
    ck_assert_uint_lt(interpreter->used, 1 << 20);
    interpreter_free(interpreter);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        all_memory_of_lua_is_counted_and_given_back,
        script_beyond_the_limit_ends_with_an_error,
        limit_of_zero_is_no_limit,
        held_engine_allocates_beyond_the_limit_and_reports_it,
        hook_is_called_after_each_span_of_instructions,
        hook_is_called_more_often_while_large_blocks_exist,
        hurried_script_cannot_continue_by_catching_errors,
        much_garbage_is_collected_in_pieces,
        NULL,
    };
    return suite_of("interpreter", tests);
}
