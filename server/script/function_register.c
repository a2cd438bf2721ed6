/* function_register: see function_register.h. Accepts what Redis 7.0 accepts: a name and a
 * function, or one table of named arguments. */
#include "server/script/function_register.h"

#include <luajit-2.1/lauxlib.h>

#include "server/script/shebang.h"
#include "store/library.h"

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

void function_register_push(lua_State *lua, struct function_library **loading)
{
    lua_pushlightuserdata(lua, loading);
    lua_pushcclosure(lua, register_function, 1);
}
