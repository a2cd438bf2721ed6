/* lib_cjson: the library `cjson` of scripts: lua-cjson, wrapped so that it raises a Lua error where
 * it would otherwise end the process, overflow or leak memory. */
#pragma once

#include <luajit-2.1/lua.h>

/* Pushes the library's table. */
void script_open_cjson(lua_State *L);
/* Resets the settings of the shared module if a script has changed one. Modules that a script
 * creates with cjson.new keep their settings, because no other script sees them. */
void lib_cjson_reset(lua_State *L);
