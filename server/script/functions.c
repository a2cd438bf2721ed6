/* functions: see functions.h.
 *
 * All libraries share one environment: an empty table whose metatable looks up variables in another
 * table. Which one depends on what runs:
 *
 *     a library loads        REGISTRY_LOADING   the few variables that Redis gives to libraries
 *     a function is called   REGISTRY_RUNNING   the variables of scripts; `redis` is smaller */
#include "server/script/functions.h"

#include <luajit-2.1/lauxlib.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/script/guards.h"
#include "server/script/lua/registry.h"
#include "server/script/lua_reply.h"
#include "server/script/sandbox.h"
#include "server/script/shebang.h"

enum { LOAD_USEC = 500 * 1000 };

#define CHUNK_NAME "@user_function"

/* ---- redis.register_function ----------------------------------------------------------------- */

/* A library calls this function while it loads. As in Redis 7.0, it passes a name and a function,
 * or one table of named arguments. Errors are tables whose field `err` is Redis' message. */

/* Slots of Lua's stack: the table of named arguments, then the values from it, or nil. The values
 * stay on the stack during the call, so that C can use their texts. */
enum { NAMED = 1, NAME, DESCRIPTION, CALLBACK };

static int refuse(lua_State *lua, const char *why)
{
    lua_createtable(lua, 0, 1);
    lua_pushfstring(lua, "ERR %s", why);
    lua_setfield(lua, -2, "err");
    return lua_error(lua);
}

static struct bytes text_at(lua_State *lua, int index)
{
    struct bytes text;
    text.data = lua_tolstring(lua, index, &text.len);
    return text;
}

/* Returns the flags in the list at the top of the stack, up to its first nil. */
static unsigned read_flag_table(lua_State *lua)
{
    unsigned flags = 0;
    if (!lua_istable(lua, -1))
        refuse(lua, "flags argument to redis.register_function must be a table representing "
                    "function flags");
    for (int i = 1;; i++) {
        lua_rawgeti(lua, -1, i);
        if (lua_isnil(lua, -1)) break;
        const struct script_flag_name *known = script_flag_names;
        const char *name = lua_tostring(lua, -1);
        while (known->name != NULL && (name == NULL || strcasecmp(known->name, name) != 0))
            known++;
        if (known->flag == 0) refuse(lua, "unknown flag given");
        flags |= known->flag;
        lua_pop(lua, 1);
    }
    lua_pop(lua, 1);
    return flags;
}

/* Moves the values of the named arguments from the table to their slots, and returns the flags.
 * Raises an error if one is missing or has a wrong type. */
static unsigned read_named(lua_State *lua)
{
    unsigned flags = 0;
    if (!lua_istable(lua, NAMED))
        refuse(lua, "calling redis.register_function with a single argument is only applicable to "
                    "Lua table (representing named arguments).");
    lua_settop(lua, CALLBACK);
    lua_pushnil(lua);
    while (lua_next(lua, NAMED) != 0) {
        /* lua_tostring would change a number, and lua_next needs the key as it was. */
        if (lua_type(lua, -2) == LUA_TNUMBER)
            refuse(lua, "unknown argument given to redis.register_function");
        if (lua_type(lua, -2) != LUA_TSTRING)
            refuse(lua, "named argument key given to redis.register_function is not a string");
        const char *key = lua_tostring(lua, -2);
        if (strcasecmp(key, "function_name") == 0) {
            if (!lua_isstring(lua, -1))
                refuse(lua,
                       "function_name argument given to redis.register_function must be a string");
            lua_replace(lua, NAME);
        } else if (strcasecmp(key, "description") == 0) {
            if (!lua_isstring(lua, -1))
                refuse(lua,
                       "description argument given to redis.register_function must be a string");
            lua_replace(lua, DESCRIPTION);
        } else if (strcasecmp(key, "callback") == 0) {
            if (!lua_isfunction(lua, -1))
                refuse(lua,
                       "callback argument given to redis.register_function must be a function");
            lua_replace(lua, CALLBACK);
        } else if (strcasecmp(key, "flags") == 0) {
            flags = read_flag_table(lua);
            lua_pop(lua, 1);
        } else {
            refuse(lua, "unknown argument given to redis.register_function");
        }
    }
    if (lua_isnil(lua, NAME))
        refuse(lua, "redis.register_function must get a function name argument");
    if (lua_isnil(lua, CALLBACK))
        refuse(lua, "redis.register_function must get a callback argument");
    return flags;
}

/* The upvalue is the address of functions->loading: the library that loads, or NULL. The callback
 * is kept as a reference in Lua's registry. */
static int register_function(lua_State *lua)
{
    struct function_library **loading = lua_touserdata(lua, lua_upvalueindex(1));
    struct function_spec spec = { .flags = 0 };
    int count = lua_gettop(lua);
    if (count < 1 || count > 2)
        return refuse(lua, "wrong number of arguments to redis.register_function");
    if (*loading == NULL)
        return refuse(lua, "redis.register_function can only be called on FUNCTION LOAD command");
    if (count == 1) {
        spec.flags = read_named(lua);
    } else {
        if (!lua_isstring(lua, 1))
            return refuse(lua, "first argument to redis.register_function must be a string");
        if (!lua_isfunction(lua, 2))
            return refuse(lua, "second argument to redis.register_function must be a function");
        lua_pushnil(lua);
        lua_insert(lua, NAMED);
        lua_pushnil(lua);
        lua_insert(lua, DESCRIPTION);
    }
    spec.name = text_at(lua, NAME);
    if (!lua_isnil(lua, DESCRIPTION)) spec.description = text_at(lua, DESCRIPTION);
    if (!library_name_ok(spec.name))
        return refuse(lua, "Library names can only contain letters, numbers, or underscores(_) and "
                           "must be at least one character long");
    lua_settop(lua, CALLBACK);
    spec.callback = luaL_ref(lua, LUA_REGISTRYINDEX);
    if (function_library_register(*loading, &spec)) return 0;
    luaL_unref(lua, LUA_REGISTRYINDEX, spec.callback);
    return refuse(lua, "Function already exists in the library");
}

/* ---- the environment ------------------------------------------------------------------------- */

/* Makes the table at the top strict: from now on, reading a field that it lacks raises an error. */
static void make_strict(lua_State *lua)
{
    lua_createtable(lua, 0, 1);
    lua_pushcfunction(lua, sandbox_refuse_missing);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, -2);
    guards_wrap(lua);
}

/* Makes the environment find variables in the registry's table with this key. */
static void set_variables(lua_State *lua, enum registry_key key)
{
    registry_push(lua, REGISTRY_ENVIRONMENT);
    lua_getmetatable(lua, -1);
    registry_push(lua, key);
    lua_setfield(lua, -2, "__index");
    lua_pop(lua, 2);
}

static void release_callback(void *ctx, int callback)
{
    const struct functions *functions = ctx;
    luaL_unref(functions->interpreter->lua, LUA_REGISTRYINDEX, callback);
}

void functions_table_init(struct functions *functions, struct function_table *table)
{
    function_table_init(table, release_callback, functions);
}

static void stop_late_library(void *ctx, lua_State *lua)
{
    const struct functions *functions = ctx;
    if (clock_mono_usec() < functions->load_until) return;
    interpreter_hurry(functions->interpreter);
    lua_push_error(lua, "FUNCTION LOAD timeout");
    lua_error(lua);
}

/* Pops the error at the top of the stack, and writes Redis' message for it. */
static void describe_load_error(lua_State *lua, const char *doing, const char *code,
                                char error[FUNCTION_ERROR_MAX])
{
    if (lua_istable(lua, -1)) {
        lua_getfield(lua, -1, "err");
        lua_replace(lua, -2);
        code = "";
    }
    const char *text = lua_isstring(lua, -1) ? lua_tostring(lua, -1) : "unknown error";
    snprintf(error, FUNCTION_ERROR_MAX, "ERR %s: %s%s", doing, code, text);
    lua_pop(lua, 1);
}

struct function_library *functions_compile(struct functions *functions, struct bytes name,
                                           struct bytes code, char error[FUNCTION_ERROR_MAX])
{
    lua_State *lua = functions->interpreter->lua;
    /* Leave out the first line, but not its newline, so that line numbers in errors are right. */
    const char *body = memchr(code.data, '\n', code.len);
    struct bytes text = bytes_of(body, code.len - (size_t)(body - code.data));
    if (!sandbox_compile(lua, text, CHUNK_NAME, false)) {
        describe_load_error(lua, "Error compiling function", "", error);
        return NULL;
    }
    registry_push(lua, REGISTRY_ENVIRONMENT);
    lua_setfenv(lua, -2);
    struct function_library *library = functions->loading = function_library_new(name);

    /* The library registers its functions, within limits of its own. */
    struct interpreter *interpreter = functions->interpreter;
    void (*on_steps)(void *, lua_State *) = interpreter->on_steps;
    void *ctx = interpreter->ctx;
    interpreter->on_steps = stop_late_library;
    interpreter->ctx = functions;
    functions->load_until = clock_mono_usec() + LOAD_USEC;
    set_variables(lua, REGISTRY_LOADING);
    interpreter_limit(interpreter, (size_t)functions->conf->script_memory_limit);
    bool good = interpreter_call(interpreter, 0, 0, 0);
    interpreter_unlimit(interpreter);
    set_variables(lua, REGISTRY_RUNNING);
    interpreter_resume(interpreter);
    sandbox_reset(lua);
    interpreter->on_steps = on_steps;
    interpreter->ctx = ctx;
    functions->loading = NULL;

    if (!good)
        describe_load_error(lua, "Error registering functions", "ERR ", error);
    else if (library->first == NULL)
        snprintf(error, FUNCTION_ERROR_MAX, "ERR No functions registered");
    if (good && library->first != NULL) return library;
    function_library_free(&functions->table, library);
    return NULL;
}

void functions_install(struct functions *functions, struct function_library *library,
                       const struct libraries *libraries, const struct library *stored)
{
    struct function_table *table = &functions->table;
    struct function_library *old = function_table_library(table, function_library_name(library));
    if (old != NULL) function_table_remove(table, old);
    library->stamp = library_stamp(stored);
    function_table_add(table, library);
    functions->version = libraries->version;
}

struct syncing {
    struct functions *functions;
    const struct libraries *libraries;
};

/* Compiles a library of the store unless it is compiled already. A library that does not compile,
 * or has a function whose name another one uses, is installed without functions, so that it is not
 * compiled again with each change of others. */
static void compile_stored(void *ctx, const struct library *stored)
{
    const struct syncing *syncing = ctx;
    struct functions *functions = syncing->functions;
    struct function_table *table = &functions->table;
    struct bytes name = library_name(stored);
    char error[FUNCTION_ERROR_MAX] = "ERR a function of this name already exists";
    if (function_table_library(table, name) != NULL) return;
    struct function_library *library =
        functions_compile(functions, name, library_code(stored), error);
    const struct function *function = function_table_clash(table, library);
    if (function != NULL) {
        function_library_free(table, library);
        library = NULL;
    }
    if (library == NULL) {
        log_line(LOG_WARNING, "The function library %.*s can't be used: %s", (int)name.len,
                 name.data, error);
        library = function_library_new(name);
    }
    functions_install(functions, library, syncing->libraries, stored);
}

void functions_sync(struct functions *functions, const struct libraries *libraries)
{
    if (functions->version == libraries->version) return;
    struct function_table *table = &functions->table;
    struct dict_iter iter;
    struct function_library *library;
    dict_iter_begin(&iter, &table->libraries);
    while ((library = dict_iter_next(&iter)) != NULL) {
        const struct library *stored = libraries_find(libraries, function_library_name(library));
        if (stored != NULL && library_stamp(stored) == library->stamp) continue;
        function_table_remove(table, library);
        dict_iter_begin(&iter, &table->libraries); /* removing ends the iteration */
    }
    libraries_each(libraries, compile_stored, &(struct syncing){ functions, libraries });
    functions->version = libraries->version;
}

void functions_init(struct functions *functions, struct interpreter *interpreter,
                    const struct conf *conf)
{
    static const char *const loading_fields[] = {
        "log",         "LOG_DEBUG",     "LOG_VERBOSE",       "LOG_NOTICE",
        "LOG_WARNING", "REDIS_VERSION", "REDIS_VERSION_NUM", NULL
    };
    static const char *const running_fields[] = {
        "call",        "pcall",        "error_reply", "status_reply",  "sha1hex",
        "log",         "setresp",      "set_repl",    "acl_check_cmd", "LOG_DEBUG",
        "LOG_VERBOSE", "LOG_NOTICE",   "LOG_WARNING", "REPL_NONE",     "REPL_AOF",
        "REPL_SLAVE",  "REPL_REPLICA", "REPL_ALL",    "REDIS_VERSION", "REDIS_VERSION_NUM",
        NULL
    };
    lua_State *lua = interpreter->lua;
    *functions = (struct functions){ .interpreter = interpreter, .conf = conf };
    functions_table_init(functions, &functions->table);

    /* The variables while a library loads: only `redis`, with a few of its fields. */
    lua_newtable(lua);
    lua_newtable(lua);
    lua_getglobal(lua, "redis");
    sandbox_copy_fields(lua, loading_fields);
    lua_pushlightuserdata(lua, &functions->loading);
    lua_pushcclosure(lua, register_function, 1);
    lua_setfield(lua, -2, "register_function");
    make_strict(lua);
    lua_setfield(lua, -2, "redis");
    make_strict(lua);
    registry_set(lua, REGISTRY_LOADING);

    /* The variables of a called function: those of scripts, with a smaller `redis`. */
    lua_newtable(lua);
    lua_newtable(lua);
    lua_getglobal(lua, "redis");
    sandbox_copy_fields(lua, running_fields);
    guards_wrap(lua);
    lua_setfield(lua, -2, "redis");
    lua_createtable(lua, 0, 1);
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, -2);
    registry_set(lua, REGISTRY_RUNNING);

    lua_newtable(lua);
    lua_createtable(lua, 0, 3);
    guards_seal(lua);
    lua_setmetatable(lua, -2);
    registry_set(lua, REGISTRY_ENVIRONMENT);
    set_variables(lua, REGISTRY_RUNNING);
}

void functions_drop(struct functions *functions)
{
    function_table_drop(&functions->table);
}
