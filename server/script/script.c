/* script: see script.h. */
#include "server/script/script.h"

#include <luajit-2.1/lauxlib.h>

#include "server/cmd/call/error.h"
#include "server/script/guards.h"
#include "server/script/lua_reply.h"
#include "store/mem/mem.h"

enum { ERROR_LINE_MAX = 2048 };

/* ---- errors ---- */

/* Turns an error into a table {err=, source=, line=}. Source and line are those of the innermost
 * function written in Lua; if the error was raised by a function in C, that is its caller. Calls no
 * metamethod: an error in it would call this function again, deeper in C's stack. */
static int describe_error(lua_State *lua)
{
    lua_Debug where;
    bool known = lua_getstack(lua, 1, &where) && lua_getinfo(lua, "Sl", &where);
    if (known && where.what[0] == 'C')
        known = lua_getstack(lua, 2, &where) && lua_getinfo(lua, "Sl", &where);
    lua_settop(lua, 1);
    if (guards_push_real(lua, 1)) {
        lua_pop(lua, 1);
        lua_pushliteral(lua, "Attempt to modify a readonly table");
        lua_replace(lua, 1);
    }
    if (!lua_istable(lua, 1)) {
        lua_getglobal(lua, "tostring");
        lua_insert(lua, 1);
        lua_call(lua, 1, 1);
        lua_pushliteral(lua, "ERR ");
        lua_insert(lua, 1);
        lua_concat(lua, 2);
        lua_createtable(lua, 0, 3);
        lua_insert(lua, 1);
        lua_setfield(lua, 1, "err");
    }
    if (known) {
        lua_pushliteral(lua, "source");
        lua_pushstring(lua, where.source);
        lua_rawset(lua, 1);
        lua_pushliteral(lua, "line");
        lua_pushinteger(lua, where.currentline);
        lua_rawset(lua, 1);
    }
    return 1;
}

static const char *text_field(lua_State *lua, int table, const char *field)
{
    lua_pushstring(lua, field);
    lua_rawget(lua, table);
    return lua_tostring(lua, -1);
}

/* Replies with the error at the top of the stack. */
static void reply_error(struct call *call, lua_State *lua, const char *name)
{
    char line[ERROR_LINE_MAX];
    int error = lua_gettop(lua), len;
    bool is_table = lua_istable(lua, error);
    const char *text = is_table ? text_field(lua, error, "err") : lua_tostring(lua, error);
    const char *source = is_table ? text_field(lua, error, "source") : NULL;
    const char *at = is_table ? text_field(lua, error, "line") : NULL;
    bool counted = false; /* the error is the reply of a command, and so counted already */
    if (is_table) {
        lua_pushliteral(lua, "ignore_error_stats_update");
        lua_rawget(lua, error);
        counted = lua_toboolean(lua, -1);
    }
    const char *code = is_table ? "" : "ERR ";
    if (text == NULL) text = "ERR the script raised an error without a message";
    if (source != NULL && at != NULL)
        len = snprintf(line, sizeof(line), "%s%s script: %s, on %s:%s.", code, text, name, source,
                       at);
    else
        len = snprintf(line, sizeof(line), "%s%s script: %s.", code, text, name);
    if (len >= (int)sizeof(line)) len = (int)sizeof(line) - 1;
    fail_line(call, line, (size_t)len, counted);
}

/* ---- one run ---- */

struct passing {
    struct scripting *scripting;
    const struct call *call;
    const struct script_run *run;
};

/* Sets the globals of a script, or returns the two arguments of a function. */
static int pass_arguments(lua_State *lua)
{
    const struct passing *passing = lua_touserdata(lua, 1);
    struct scripting *scripting = passing->scripting;
    const struct call *call = passing->call;
    const struct script_run *run = passing->run;
    const struct bytes *keys = call->argv + run->keys_at, *argv = keys + run->keys;
    int argv_count = call->argc - run->keys_at - run->keys;
    if (run->with_globals) {
        arguments_show(&scripting->arguments, keys, run->keys, argv, argv_count);
        return 0;
    }
    arguments_hide(&scripting->arguments);
    arguments_push(lua, keys, run->keys);
    arguments_push(lua, argv, argv_count);
    return 2;
}

void script_run(struct scripting *scripting, struct call *call, const struct script_run *run)
{
    struct interpreter *interpreter = scripting->interpreter;
    lua_State *lua = interpreter->lua;
    size_t limit = (size_t)scripting->conf->script_memory_limit;
    unsigned db = call->session->db;
    if (!host_begin(&scripting->host, call, run->flags)) return;
    scripting->running.name = run->name;
    scripting->redis.version = 2;
    scripting->running.stopping = false;
    scripting->running.function = !run->with_globals;
    scripting->running.began_usec = host_usec(&scripting->host);

    /* Call the function. First pass the arguments in a protected call, too, because they may exceed
     * the memory limit. */
    lua_rawgeti(lua, LUA_REGISTRYINDEX, scripting->on_error);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, run->function);
    int function = lua_gettop(lua);
    interpreter_limit(interpreter, limit);
    struct passing passing = { scripting, call, run };
    lua_rawgeti(lua, LUA_REGISTRYINDEX, scripting->on_arguments);
    lua_pushlightuserdata(lua, &passing);
    bool good = interpreter_call(interpreter, 1, LUA_MULTRET, 0);
    if (good) {
        good = interpreter_call(interpreter, lua_gettop(lua) - function, 1, 1);
    } else {
        arguments_drop(&scripting->arguments);
        lua_pushliteral(lua, "not enough memory: the arguments exceed script-memory-limit");
    }
    interpreter_unlimit(interpreter);
    if (scripting->running.stopping) interpreter_resume(interpreter);
    busy_end(&scripting->running);
    call->session->db = db;

    /* The result, or the error, is at the top of the stack. */
    if (!good) {
        reply_error(call, lua, run->name);
    } else if (lua_write_reply(lua, call->out, scripting->redis.version, limit)) {
        size_t len;
        const char *text = lua_tolstring(lua, -1, &len);
        fail_line(call, text, len, false);
    }
    lua_settop(lua, 0);
    sandbox_reset(lua);
    if (run->with_globals) arguments_end(&scripting->arguments);
    scripting->running.name = NULL;
    host_end(&scripting->host);
}

/* ---- making and freeing ---- */

static void check_time(void *ctx, lua_State *lua)
{
    struct scripting *scripting = ctx;
    busy_check(&scripting->running, lua, clock_mono_usec());
}

/* Calls busy_check after each command of a script, with the time at which the command ended, so
 * that the clock need not be read again. */
static void check_after_command(void *ctx, lua_State *lua)
{
    struct scripting *scripting = ctx;
    busy_check(&scripting->running, lua, host_usec(&scripting->host));
}

struct scripting *scripting_new(struct engine *engine)
{
    struct scripting *scripting = mem_zalloc(sizeof(*scripting));
    scripting->interpreter = interpreter_new();
    lua_State *lua = scripting->interpreter->lua;
    scripting->interpreter->on_steps = check_time;
    scripting->interpreter->ctx = scripting;
    scripting->host.engine = engine;
    scripting->conf = engine->conf;
    scripting->running = (struct running){ .host = &scripting->host,
                                           .interpreter = scripting->interpreter,
                                           .conf = scripting->conf };
    scripting->redis = (struct lib_redis){ .interpreter = scripting->interpreter,
                                           .host = &scripting->host,
                                           .on_command = check_after_command,
                                           .ctx = scripting };
    scripts_init(&scripting->scripts, lua);
    sandbox_open(lua);
    lib_redis_open(&scripting->redis);
    guards_wrap(lua);
    lua_setfield(lua, -2, "redis");
    arguments_init(&scripting->arguments, lua, luaL_ref(lua, LUA_REGISTRYINDEX));
    lua_pushcfunction(lua, describe_error);
    scripting->on_error = luaL_ref(lua, LUA_REGISTRYINDEX);
    lua_pushcfunction(lua, pass_arguments);
    scripting->on_arguments = luaL_ref(lua, LUA_REGISTRYINDEX);
    functions_init(&scripting->functions, scripting->interpreter, scripting->conf);
    interpreter_note_live(scripting->interpreter);
    return scripting;
}

void scripting_free(struct scripting *scripting)
{
    scripts_drop(&scripting->scripts);
    functions_drop(&scripting->functions);
    lib_redis_drop(&scripting->redis);
    interpreter_free(scripting->interpreter);
    mem_free(scripting);
}

void scripting_add_commands(struct scripting *scripting, struct commands *commands)
{
    commands_add(commands, &script_commands, scripting);
    commands_add(commands, &function_commands, scripting);
}

struct functions *scripting_functions(struct scripting *scripting)
{
    if (scripting->host.caller == NULL)
        functions_sync(&scripting->functions, &scripting->host.engine->store->libraries);
    return &scripting->functions;
}

struct script_report script_report(struct scripting *scripting)
{
    const struct function_table *table = &scripting_functions(scripting)->table;
    const struct scripts *scripts = &scripting->scripts;
    return (struct script_report){ .lua_bytes = scripting->interpreter->used,
                                   .libraries = dict_count(&table->libraries),
                                   .functions = dict_count(&table->functions),
                                   .function_bytes = table->bytes + dict_bytes(&table->libraries) +
                                                     dict_bytes(&table->functions),
                                   .scripts_evicted = scripts->evicted,
                                   .scripts = dict_count(&scripts->by_sha),
                                   .script_bytes = scripts->bytes + dict_bytes(&scripts->by_text) +
                                                   dict_bytes(&scripts->by_sha) };
}
