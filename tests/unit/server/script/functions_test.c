/* functions and function_batch: libraries are compiled when the store has changed, and added
 * together or not at all. */
#include "server/script/function_batch.h"

#include <luajit-2.1/lauxlib.h>

#include "server/base/log.h"
#include "server/script/sandbox.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

#define CODE(name, body) "#!lua name=" name "\n" body
#define COUNTER(name, function)                                                                    \
    CODE(name,                                                                                     \
         "local n = 0 redis.register_function('" function "', function() n = n + 1 return n end)")
#define EMPTY(name, function) CODE(name, "redis.register_function('" function "', function() end)")

static struct world world;
static struct conf conf;
static struct interpreter *interpreter;
static struct functions functions;

/* The sandbox with an empty table `redis`. */
static void begin(void)
{
    world_init(&world);
    log_set_level(LOG_WARNING + 1);
    conf = (struct conf){ .script_memory_limit = 16 << 20 };
    interpreter = interpreter_new();
    sandbox_open(interpreter->lua);
    lua_newtable(interpreter->lua);
    lua_setfield(interpreter->lua, -2, "redis");
    lua_settop(interpreter->lua, 0);
    functions_init(&functions, interpreter, &conf);
}

static void end(void)
{
    ck_assert_int_eq(lua_gettop(interpreter->lua), 0);
    functions_drop(&functions);
    interpreter_free(interpreter);
    world_drop(&world);
}

static void put(const char *name, const char *code)
{
    txn_library_set(world_begin(&world), text(name), text(code));
    world_commit(&world);
}

static void drop(const char *name)
{
    txn_library_drop(world_begin(&world), text(name));
    world_commit(&world);
}

static void sync_functions(void)
{
    functions_sync(&functions, &world.store->libraries);
}

static bool has(const char *function)
{
    return function_table_find(&functions.table, text(function)) != NULL;
}

/* What the function returns, which is a number. */
static int call(const char *name)
{
    lua_State *lua = interpreter->lua;
    const struct function *function = function_table_find(&functions.table, text(name));
    ck_assert_msg(function != NULL, "no function %s", name);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, function->callback);
    ck_assert_msg(lua_pcall(lua, 0, 1, 0) == 0, "%s", lua_tostring(lua, -1));
    int value = (int)lua_tointeger(lua, -1);
    lua_settop(lua, 0);
    return value;
}

START_TEST(functions_follow_the_libraries_of_the_store)
{
    begin();
    put("one", COUNTER("one", "f"));
    ck_assert(!has("f"));
    sync_functions();
    ck_assert(has("f"));
    put("one", EMPTY("one", "g"));
    sync_functions();
    ck_assert(!has("f") && has("g"));
    drop("one");
    sync_functions();
    ck_assert(!has("g"));
    ck_assert_uint_eq(dict_count(&functions.table.libraries), 0);
    end();
}
END_TEST

START_TEST(a_library_keeps_its_variables_until_it_is_set_again)
{
    begin();
    put("one", COUNTER("one", "f"));
    sync_functions();
    ck_assert_int_eq(call("f"), 1);
    ck_assert_int_eq(call("f"), 2);
    put("two", COUNTER("two", "g"));
    sync_functions();
    ck_assert_int_eq(call("f"), 3);
    ck_assert_int_eq(call("g"), 1);
    put("one", COUNTER("one", "f"));
    sync_functions();
    ck_assert_int_eq(call("f"), 1);
    ck_assert_int_eq(call("g"), 2);
    end();
}
END_TEST

START_TEST(another_data_set_brings_its_own_libraries)
{
    begin();
    put("one", COUNTER("one", "f"));
    sync_functions();
    ck_assert_int_eq(call("f"), 1);
    struct store *other = store_new(16);
    libraries_set(&other->libraries, text("one"), text(COUNTER("one", "f")));
    store_replace(world.store, other);
    sync_functions();
    ck_assert_int_eq(call("f"), 1);
    end();
}
END_TEST

START_TEST(a_function_may_move_between_libraries)
{
    begin();
    put("one", COUNTER("one", "f"));
    put("two", COUNTER("two", "g"));
    sync_functions();
    put("one", COUNTER("one", "g"));
    put("two", COUNTER("two", "f"));
    sync_functions();
    ck_assert(bytes_equal(
        function_library_name(function_table_find(&functions.table, text("f"))->library),
        text("two")));
    ck_assert_int_eq(call("g"), 1);
    end();
}
END_TEST

START_TEST(a_broken_library_has_no_functions_and_is_tried_once)
{
    begin();
    put("bad", CODE("bad", "this is no Lua"));
    put("good", COUNTER("good", "f"));
    sync_functions();
    ck_assert_int_eq(call("f"), 1);
    ck_assert_uint_eq(dict_count(&functions.table.libraries), 2);
    const struct function_library *bad = function_table_library(&functions.table, text("bad"));
    put("other", EMPTY("other", "h"));
    sync_functions();
    ck_assert_ptr_eq(function_table_library(&functions.table, text("bad")), bad);
    ck_assert_ptr_null(bad->first);
    put("bad", EMPTY("bad", "g"));
    sync_functions();
    ck_assert(has("g"));
    end();
}
END_TEST

START_TEST(of_two_libraries_with_one_function_one_is_used)
{
    begin();
    put("one", COUNTER("one", "f"));
    put("two", COUNTER("two", "F"));
    sync_functions();
    ck_assert_int_eq(call("f"), 1);
    ck_assert_uint_eq(dict_count(&functions.table.functions), 1);
    end();
}
END_TEST

/* ---- limits ---------------------------------------------------------------------------------- */

static void assert_refused(const char *code, const char *error)
{
    struct function_batch batch;
    function_batch_init(&batch, &functions);
    ck_assert(!function_batch_add(&batch, text(code), NULL));
    ck_assert_msg(strstr(batch.error, error) != NULL, "%s", batch.error);
    function_batch_drop(&batch);
}

START_TEST(a_library_that_takes_too_much_memory_is_refused)
{
    begin();
    conf.script_memory_limit = 1 << 20;
    size_t before = interpreter->used;
    assert_refused(CODE("a", "local t = {} for i = 1, 1e7 do t[i] = i end"), "not enough memory");
    lua_gc(interpreter->lua, LUA_GCCOLLECT, 0);
    ck_assert_uint_lt(interpreter->used, before + (64 << 10));
    end();
}
END_TEST

START_TEST(a_library_that_does_not_end_is_refused)
{
    begin();
    assert_refused(CODE("a", "while true do end"),
                   "ERR Error registering functions: ERR FUNCTION LOAD timeout");
    ck_assert_ptr_null(interpreter->on_steps);
    end();
}
END_TEST

START_TEST(a_function_registers_nothing_later)
{
    begin();
    put("one", CODE("one", "local r = redis.register_function r('f', function() "
                           "r('g', function() end) end)"));
    sync_functions();
    lua_State *lua = interpreter->lua;
    lua_rawgeti(lua, LUA_REGISTRYINDEX, function_table_find(&functions.table, text("f"))->callback);
    ck_assert(lua_pcall(lua, 0, 0, 0) != 0);
    lua_getfield(lua, -1, "err");
    ck_assert_str_eq(lua_tostring(lua, -1), "ERR redis.register_function can only be called on "
                                            "FUNCTION LOAD command");
    lua_settop(lua, 0);
    end();
}
END_TEST

/* ---- batches --------------------------------------------------------------------------------- */

static void add_to(struct function_batch *batch, const char *code)
{
    ck_assert_msg(function_batch_add(batch, text(code), NULL), "%s", batch->error);
}

START_TEST(a_batch_replaces_libraries_whose_functions_moved)
{
    struct function_batch batch;
    begin();
    put("one", COUNTER("one", "f"));
    put("two", COUNTER("two", "g"));
    function_batch_init(&batch, &functions);
    add_to(&batch, COUNTER("one", "g"));
    add_to(&batch, COUNTER("two", "f"));
    ck_assert(!function_batch_fits(&batch, &world.store->libraries, false));
    ck_assert(function_batch_fits(&batch, &world.store->libraries, true));
    function_batch_apply(&batch, world_begin(&world));
    world_commit(&world);
    function_batch_drop(&batch);
    ck_assert_int_eq(call("f"), 1);
    ck_assert_int_eq(call("g"), 1);
    sync_functions();
    ck_assert_int_eq(call("f"), 2);
    ck_assert_uint_eq(world.effect_count, 4);
    end();
}
END_TEST

START_TEST(a_batch_that_does_not_fit_changes_nothing)
{
    struct function_batch batch;
    begin();
    put("one", COUNTER("one", "f"));
    sync_functions();
    call("f");
    world_forget(&world);
    function_batch_init(&batch, &functions);
    add_to(&batch, EMPTY("two", "g"));
    add_to(&batch, EMPTY("three", "F"));
    ck_assert(!function_batch_fits(&batch, &world.store->libraries, true));
    ck_assert_str_eq(batch.error, "ERR Function F already exists");
    function_batch_drop(&batch);
    ck_assert_uint_eq(world.effect_count, 0);
    ck_assert(!has("g"));
    ck_assert_int_eq(call("f"), 2);
    end();
}
END_TEST

START_TEST(names_in_a_batch_are_unique)
{
    struct function_batch batch;
    begin();
    function_batch_init(&batch, &functions);
    add_to(&batch, EMPTY("one", "f"));
    ck_assert(!function_batch_add(&batch, text(EMPTY("one", "g")), NULL));
    ck_assert_str_eq(batch.error, "ERR Library 'one' already exists");
    ck_assert(!function_batch_add(&batch, text(EMPTY("two", "f")), NULL));
    ck_assert_str_eq(batch.error, "ERR Function f already exists");
    function_batch_drop(&batch);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        functions_follow_the_libraries_of_the_store,
        a_library_keeps_its_variables_until_it_is_set_again,
        another_data_set_brings_its_own_libraries,
        a_function_may_move_between_libraries,
        a_broken_library_has_no_functions_and_is_tried_once,
        of_two_libraries_with_one_function_one_is_used,
        a_library_that_takes_too_much_memory_is_refused,
        a_library_that_does_not_end_is_refused,
        a_function_registers_nothing_later,
        a_batch_replaces_libraries_whose_functions_moved,
        a_batch_that_does_not_fit_changes_nothing,
        names_in_a_batch_are_unique,
        NULL,
    };
    return suite_of("functions", tests);
}
