/* guards: see guards.h. */
#include "server/script/guards.h"

#include <luajit-2.1/lauxlib.h>

#include "server/script/lua/interpreter.h"
#include "server/script/lua/registry.h"

enum {
    SORTED_AT_ONCE = 1000,
    SORTED_BYTES = 1 << 16,
    COMPARE_STEPS = 10,
    BYTES_PER_STEP = 32, /* bytes of two strings that a step compares */
    MOVE_STEPS = 5,
};

/* ---- guards ---- */

static int refuse_change(lua_State *lua)
{
    return luaL_error(lua, "Attempt to modify a readonly table");
}

bool guards_push_real(lua_State *lua, int index)
{
    if (!lua_istable(lua, index)) return false;
    lua_pushvalue(lua, index);
    registry_push(lua, REGISTRY_GUARDS);
    lua_insert(lua, -2);
    lua_rawget(lua, -2);
    lua_remove(lua, -2);
    if (!lua_isnil(lua, -1)) return true;
    lua_pop(lua, 1);
    return false;
}

/* Raises an error without a position, as in Redis, if the value is a guard. */
static void refuse_guard(lua_State *lua, int index)
{
    if (!guards_push_real(lua, index)) return;
    lua_pushliteral(lua, "Attempt to modify a readonly table");
    lua_error(lua);
}

void guards_seal(lua_State *lua)
{
    lua_pushcfunction(lua, refuse_change);
    lua_setfield(lua, -2, "__newindex");
    lua_pushboolean(lua, false);
    lua_setfield(lua, -2, "__metatable");
}

void guards_wrap(lua_State *lua)
{
    int real = lua_gettop(lua);
    lua_newtable(lua);
    lua_createtable(lua, 0, 3);
    lua_pushvalue(lua, real);
    lua_setfield(lua, -2, "__index");
    guards_seal(lua);
    lua_setmetatable(lua, -2);
    registry_push(lua, REGISTRY_GUARDS);
    lua_pushvalue(lua, -2);
    lua_pushvalue(lua, real);
    lua_rawset(lua, -3);
    lua_pop(lua, 1);
    lua_remove(lua, real);
}

/* ---- functions that know guards ---- */

/* Calls the function in the first upvalue: the one that the caller replaces, or the handler of an
 * xpcall. A function in C is called in this frame, so that its errors name the function and the
 * script's line. Checks C's stack first, because the function may call Lua. */
static int call_original(lua_State *lua)
{
    interpreter_check_stack(lua);
    lua_CFunction original = lua_tocfunction(lua, lua_upvalueindex(1));
    if (original != NULL) return original(lua);
    int count = lua_gettop(lua);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, count, LUA_MULTRET);
    return lua_gettop(lua);
}

/* Replaces a function that changes its first argument: refuses a guard, otherwise calls the
 * original. */
static int change_unguarded(lua_State *lua)
{
    refuse_guard(lua, 1);
    return call_original(lua);
}

/* Replaces a function that reads a table and returns fields of it, but never the table itself:
 * passes the real table to the original. */
static int read_guarded(lua_State *lua)
{
    if (guards_push_real(lua, 1)) lua_replace(lua, 1);
    return call_original(lua);
}

/* Compares two elements for a sort, and counts the work. The upvalue is the script's comparison
 * function, or nil for Lua's `<`. */
static int compare_counted(lua_State *lua)
{
    size_t compared = 0; /* bytes of strings: at most those of the shorter one */
    if (lua_type(lua, 1) == LUA_TSTRING && lua_type(lua, 2) == LUA_TSTRING) {
        size_t one = lua_objlen(lua, 1), other = lua_objlen(lua, 2);
        compared = one < other ? one : other;
    }
    interpreter_spend(lua, COMPARE_STEPS + (unsigned)(compared / BYTES_PER_STEP));
    if (lua_isnil(lua, lua_upvalueindex(1))) {
        lua_pushboolean(lua, lua_lessthan(lua, 1, 2));
        return 1;
    }
    lua_settop(lua, 2);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, 2, 1);
    return 1;
}

/* table.sort that can be stopped. Lua's can be stopped only while it calls a function, so a large
 * table is sorted with a comparison function that checks the time. A small table is sorted without
 * one, which is faster. */
static int sort_bounded(lua_State *lua)
{
    size_t count = lua_istable(lua, 1) ? lua_objlen(lua, 1) : 0, bytes = 0;
    for (size_t i = 1; count <= SORTED_AT_ONCE && i <= count && bytes <= SORTED_BYTES; i++) {
        lua_rawgeti(lua, 1, (int)i);
        if (lua_type(lua, -1) == LUA_TSTRING) bytes += lua_objlen(lua, -1);
        lua_pop(lua, 1);
    }
    if (count <= SORTED_AT_ONCE && bytes <= SORTED_BYTES) { /* well below a millisecond */
        interpreter_spend(lua, (unsigned)count * COMPARE_STEPS);
    } else if (lua_isnoneornil(lua, 2) || lua_isfunction(lua, 2)) {
        lua_settop(lua, 2);
        lua_pushcclosure(lua, compare_counted, 1);
    }
    return change_unguarded(lua);
}

/* table.insert that can be stopped. For a position such as -2^31, Lua's would move 2^31 elements
 * that do not exist, so positions below 1 are handled here. From 1 on, Lua's moves no more elements
 * than the table contains. */
static int insert_bounded(lua_State *lua)
{
    refuse_guard(lua, 1);
    if (lua_gettop(lua) != 3 || !lua_istable(lua, 1) || !lua_isnumber(lua, 2) ||
        lua_tonumber(lua, 2) >= 1)
        return call_original(lua);
    int at = luaL_checkint(lua, 2);
    for (int i = (int)lua_objlen(lua, 1) + 1; i > at; i--) {
        interpreter_spend(lua, MOVE_STEPS);
        lua_rawgeti(lua, 1, i - 1);
        lua_rawseti(lua, 1, i);
    }
    lua_rawseti(lua, 1, at);
    return 0;
}

/* pairs. For a plain table it returns Lua's next (the first upvalue). For a guard it returns a next
 * that knows guards (the second) and the guard, because the script must not get the real table. */
static int pairs_of(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    bool guarded = guards_push_real(lua, 1);
    lua_pushvalue(lua, lua_upvalueindex(guarded ? 2 : 1));
    lua_pushvalue(lua, 1);
    lua_pushnil(lua);
    return 3;
}

static void wrap_field(lua_State *lua, const char *name, lua_CFunction wrapper)
{
    lua_getfield(lua, -1, name);
    lua_pushcclosure(lua, wrapper, 1);
    lua_setfield(lua, -2, name);
}

static int setmetatable_of(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    refuse_guard(lua, 1);
    int kind = lua_type(lua, 2);
    luaL_argcheck(lua, kind == LUA_TNIL || kind == LUA_TTABLE, 2, "nil or table expected");
    if (luaL_getmetafield(lua, 1, "__metatable"))
        return luaL_error(lua, "cannot change a protected metatable");
    lua_settop(lua, 2);
    lua_setmetatable(lua, 1);
    return 1;
}

/* getmetatable. As in Redis, scripts see the metatable of the globals, but nil for any other
 * guard. */
static int getmetatable_of(lua_State *lua)
{
    luaL_checkany(lua, 1);
    if (!guards_push_real(lua, 1)) return call_original(lua);
    if (!lua_rawequal(lua, LUA_GLOBALSINDEX, 1)) {
        lua_pushnil(lua);
        return 1;
    }
    lua_createtable(lua, 0, 1);
    lua_getmetatable(lua, -2);
    lua_getfield(lua, -1, "__index");
    lua_setfield(lua, -3, "__index");
    lua_pop(lua, 1);
    guards_wrap(lua);
    return 1;
}

/* Calls the handler of an xpcall, unless the script is being stopped. The hook stops a script by
 * raising an error, and Lua calls no hook until this error has left the hook. The handler would run
 * before that, so a loop in it could not be stopped. */
static int handle_unless_hurried(lua_State *lua)
{
    if (interpreter_hurries(lua)) return lua_gettop(lua);
    return call_original(lua);
}

/* xpcall as in Lua 5.1, which passes no additional arguments to the function; LuaJIT does. */
static int xpcall_plain(lua_State *lua)
{
    lua_settop(lua, 2);
    if (lua_isfunction(lua, 2)) lua_pushcclosure(lua, handle_unless_hurried, 1);
    return call_original(lua);
}

/* ---- coroutines ---- */

static int resume_checked(lua_State *lua)
{
    luaL_argcheck(lua, lua_isthread(lua, 1), 1, "coroutine expected");
    return call_original(lua);
}

/* The function that coroutine.wrap returns. Upvalues: Lua's coroutine.resume, and the coroutine. */
static int resume_wrapped(lua_State *lua)
{
    interpreter_check_stack(lua);
    int count = lua_gettop(lua);
    luaL_checkstack(lua, 2, "too many arguments");
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_pushvalue(lua, lua_upvalueindex(2));
    lua_insert(lua, 2);
    lua_call(lua, count + 1, LUA_MULTRET);
    if (lua_toboolean(lua, 1)) return lua_gettop(lua) - 1;
    if (lua_isstring(lua, -1)) {
        luaL_where(lua, 1);
        lua_insert(lua, -2);
        lua_concat(lua, 2);
    }
    return lua_error(lua);
}

/* coroutine.wrap. Upvalues: Lua's coroutine.resume and coroutine.create. */
static int wrap_function(lua_State *lua)
{
    luaL_argcheck(lua, lua_isfunction(lua, 1), 1, "Lua function expected");
    lua_settop(lua, 1);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_pushvalue(lua, lua_upvalueindex(2));
    lua_pushvalue(lua, 1);
    lua_call(lua, 1, 1);
    lua_pushcclosure(lua, resume_wrapped, 2);
    return 1;
}

/* ---- replacing ---- */

void guards_open(lua_State *lua)
{
    lua_newtable(lua);
    lua_createtable(lua, 0, 1);
    lua_pushliteral(lua, "k");
    lua_setfield(lua, -2, "__mode");
    lua_setmetatable(lua, -2);
    registry_set(lua, REGISTRY_GUARDS);
}

void guards_adapt(lua_State *lua)
{
    static const char *const reading[] = { "foreach", "foreachi", "concat", "getn", "maxn" };
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    lua_getfield(lua, -1, "next");
    lua_pushvalue(lua, -1);
    lua_pushcclosure(lua, read_guarded, 1);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, -4, "next");
    lua_pushcclosure(lua, pairs_of, 2);
    lua_setfield(lua, -2, "pairs");
    wrap_field(lua, "rawget", read_guarded);
    wrap_field(lua, "unpack", read_guarded);
    wrap_field(lua, "rawset", change_unguarded);
    wrap_field(lua, "setmetatable", setmetatable_of);
    wrap_field(lua, "getmetatable", getmetatable_of);
    wrap_field(lua, "xpcall", xpcall_plain);

    lua_getfield(lua, -1, "table");
    for (size_t i = 0; i < sizeof(reading) / sizeof(reading[0]); i++)
        wrap_field(lua, reading[i], read_guarded);
    wrap_field(lua, "insert", insert_bounded);
    wrap_field(lua, "remove", change_unguarded);
    wrap_field(lua, "sort", sort_bounded);

    /* Lua limits the depth of calls in one coroutine, but not the depth of coroutines within
     * coroutines, which use up C's stack. The hook can't stop these alone: its error ends only the
     * innermost coroutine. So resume and wrap check C's stack. */
    lua_getfield(lua, -2, "coroutine");
    lua_getfield(lua, -1, "resume");
    lua_getfield(lua, -2, "create");
    lua_pushcclosure(lua, wrap_function, 2);
    lua_setfield(lua, -2, "wrap");
    wrap_field(lua, "resume", resume_checked);
    lua_pop(lua, 3);
}
