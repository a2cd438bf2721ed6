/* libraries: the libraries of scripts that are ours or wrap others, and our replacements for
 * functions of LuaJIT. Each is in a file of its own, lib_....c. */
#pragma once

#include <luajit-2.1/lua.h>

/* Push the table of a library. */
void script_open_cjson(lua_State *L);
void script_open_cmsgpack(lua_State *L);
void script_open_struct(lua_State *L);

/* Replaces functions in Lua's own libraries, which must be open. */
void lib_compat_adapt(lua_State *lua);
/* Sets find, match, gmatch and gsub in the library table at the top of the stack. */
void lib_pattern_open(lua_State *lua);

/* Resets the settings of the shared module cjson if a script has changed one. Modules that a script
 * creates with cjson.new keep their settings, because no other script sees them. */
void lib_cjson_reset(lua_State *L);
/* Makes math.random unpredictable again after a script has called math.randomseed. */
void lib_compat_reset(lua_State *lua);
