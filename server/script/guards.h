/* guards: tables that scripts can read but not change, and replacements for those functions of Lua
 * that would bypass guards, run without bound, or nest coroutines until C's stack overflows.
 * Depends on LuaJIT's libraries and the interpreter.
 *
 * A guard is an empty table that a script sees in place of the real one. Its metatable finds fields
 * in the real table, and refuses new ones. Functions that ignore metatables (next, pairs, rawget,
 * rawset, setmetatable, table.insert ...) are replaced with functions that know guards. */
#pragma once

#include <stdbool.h>

#include <luajit-2.1/lua.h>

/* Makes the list of guards of a new state, which guards_wrap and guards_push_real need. */
void guards_open(lua_State *lua);
/* Replaces functions of Lua's own libraries, which must be open. */
void guards_adapt(lua_State *lua);

/* Replaces the table at the top of the stack with a guard for it. */
void guards_wrap(lua_State *lua);
/* If the value at `index` is a guard, pushes its real table and returns true. */
bool guards_push_real(lua_State *lua, int index);
/* Makes the metatable at the top refuse new fields of its table, and hides it from scripts. */
void guards_seal(lua_State *lua);
