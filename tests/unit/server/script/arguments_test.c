/* Tests of arguments: KEYS and ARGV of one script and of the next. */
#include "server/script/arguments.h"

#include <luajit-2.1/lauxlib.h>
#include <luajit-2.1/lualib.h>

#include "tests/support/suite.h"

static lua_State *lua;
static struct arguments arguments;

static void setup(void)
{
    lua = luaL_newstate();
    luaL_openlibs(lua);
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    arguments_init(&arguments, lua, luaL_ref(lua, LUA_REGISTRYINDEX));
}

static void done(void)
{
    lua_close(lua);
}

/* Shows texts "1" to the number as KEYS and as ARGV. */
static void show(int keys, int argv)
{
    static char digits[100][4];
    static struct bytes texts[100];
    for (int i = 0; i < 100; i++)
        texts[i] = bytes_of(digits[i], (size_t)snprintf(digits[i], 4, "%d", i + 1));
    arguments_show(&arguments, texts, keys, texts, argv);
}

/* Runs a script, which must return true. */
static void run(const char *text)
{
    ck_assert_int_eq(luaL_loadstring(lua, text), 0);
    ck_assert_msg(lua_pcall(lua, 0, 1, 0) == 0, "%s", lua_tostring(lua, -1));
    ck_assert_msg(lua_toboolean(lua, -1), "%s", text);
    lua_pop(lua, 1);
    arguments_end(&arguments);
    ck_assert_int_eq(lua_gettop(lua), 0);
}

static bool same_tables_after(const char *text)
{
    show(2, 2);
    run("keys, argv = KEYS, ARGV return true");
    show(2, 2);
    run(text);
    show(2, 2);
    run("same = keys == KEYS and argv == ARGV return #KEYS == 2 and #ARGV == 2 and KEYS[2] == '2'");
    lua_getglobal(lua, "same");
    bool same = lua_toboolean(lua, -1);
    lua_pop(lua, 1);
    return same;
}

START_TEST(the_next_script_gets_the_same_tables)
{
    setup();
    ck_assert(same_tables_after("return KEYS[1] == '1' and ARGV[2] == '2'"));
    ck_assert(same_tables_after("KEYS[1] = 'x' return true"));
    done();
}
END_TEST

START_TEST(a_changed_table_is_replaced)
{
    static const char *const changes[] = {
        "KEYS[3] = 'x' return true",
        "KEYS.x = 1 return true",
        "ARGV[2] = nil return true",
        "ARGV[2] = nil ARGV.x = 1 return true",
        "ARGV[2] = nil ARGV[1.5] = 1 return true",
        "ARGV[1], ARGV[2], ARGV[9], ARGV[8] = nil, nil, 'x', 'y' return true",
        "setmetatable(KEYS, {}) return true",
        "KEYS[1] = ('x'):rep(20000) return true",
    };
    setup();
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
        ck_assert_msg(!same_tables_after(changes[i]), "%s", changes[i]);
    done();
}
END_TEST

START_TEST(fewer_texts_leave_none_of_the_earlier_ones)
{
    setup();
    show(5, 3);
    run("return #KEYS == 5 and #ARGV == 3");
    show(1, 0);
    run("return #KEYS == 1 and #ARGV == 0 and KEYS[2] == nil and next(ARGV) == nil");
    show(90, 70);
    run("return #KEYS == 90 and #ARGV == 70 and KEYS[90] == '90'");
    ck_assert(!arguments.shown);
    show(1, 1);
    run("return #KEYS == 1 and #ARGV == 1 and KEYS[2] == nil");
    done();
}
END_TEST

START_TEST(hidden_arguments_are_not_there)
{
    setup();
    show(1, 1);
    arguments_hide(&arguments);
    ck_assert_int_eq(luaL_dostring(lua, "assert(KEYS == nil and ARGV == nil)"), 0);
    show(1, 1);
    run("return KEYS[1] == '1' and ARGV[1] == '1'");
    done();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        the_next_script_gets_the_same_tables,
        a_changed_table_is_replaced,
        fewer_texts_leave_none_of_the_earlier_ones,
        hidden_arguments_are_not_there,
        NULL,
    };
    return suite_of("arguments", tests);
}
