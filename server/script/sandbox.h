/* sandbox: the world that scripts see: the functions of Lua 5.1 that are safe, in tables that
 * cannot be changed. Depends on LuaJIT's libraries and ours; knows no command.
 *
 * A table that scripts may read but not change is an empty table, its guard, whose metatable finds
 * the fields in the real one. Functions that would bypass the metatable (next, pairs, rawget,
 * rawset, setmetatable, table.insert ...) are replaced with ones that know about guards. */
#ifndef SERVER_SCRIPT_SANDBOX_H
#define SERVER_SCRIPT_SANDBOX_H

#include <stdbool.h>

#include <luajit-2.1/lua.h>

#include "store/base/bytes.h"

/* Makes the world in a new state: the globals of scripts and of chunks that they load. The real
 * table of the globals is then at the top of the stack: add fields to it, or keep a reference. */
void sandbox_open(lua_State *lua);
/* Call after each script, function or load of a library: resets cjson's settings and the seed of
 * math.random. */
void sandbox_reset(lua_State *lua);
/* Replaces the table at the top of the stack by a guard for it. */
void sandbox_guard(lua_State *lua);
bool sandbox_is_guard(lua_State *lua, int index);
/* For the metatables of tables of ours: __newindex, and __index of globals. They raise the errors
 * of Redis. */
int sandbox_refuse_change(lua_State *lua);
int sandbox_refuse_missing(lua_State *lua);

/* Compiles a text, never byte code: pushes the function and returns true, or pushes the error. The
 * functions that it defines see the sandbox's globals. first_only: nobody uses more than the first
 * value that the chunk returns, so that errors in its returns have a line (returns.h). */
bool sandbox_compile(lua_State *lua, struct bytes text, const char *chunk_name, bool first_only);

#endif
